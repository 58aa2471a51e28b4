/* Code shared by the packed formats of splats. */
#include "io/splat/packed.h"

#include "math/morton.h"

#include <stdlib.h>
#include <string.h>

const float splat_packed_axis_signs[3] = {1, -1, -1};
const float splat_packed_rotation_signs[4] = {1, 1, -1, -1};
/* b_1 to b_15 of math/sh.h with -y and -z for y and z */
const float splat_packed_sh_signs[15] = {-1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1, 1};

/* ---------------------------------------------------------------- an order in space */

typedef struct place {
    uint64_t key;
    uint32_t row;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

splat_status splat_packed_order(const splat_cloud *cloud, uint32_t *order, splat_error *error)
{
    const double steps = (1 << 21) - 1;
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    place *places = malloc(cloud->n ? cloud->n * sizeof *places : 1);
    if (!places) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for an order of %zu Gaussians", cloud->n);
    for (size_t i = 0; i < 3 * cloud->n; i++) {
        low[i % 3] = fmin(low[i % 3], (double)cloud->means[i]);
        high[i % 3] = fmax(high[i % 3], (double)cloud->means[i]);
    }
    for (size_t i = 0; i < cloud->n; i++) {
        places[i] = (place){0, (uint32_t)i};
        for (int k = 0; k < 3; k++) {
            double size = high[k] - low[k], at = size > 0 ? ((double)cloud->means[3 * i + k] - low[k]) / size : 0;
            places[i].key |= splat_morton_spread(splat_packed_round(steps * at, steps)) << k;
        }
    }
    qsort(places, cloud->n, sizeof *places, compare_places);
    for (size_t i = 0; i < cloud->n; i++) order[i] = places[i].row;
    free(places);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- finite */

bool splat_packed_is_finite(const splat_cloud *cloud, size_t *row, int *tensor)
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    for (size_t i = 0, c = splat_tensor_channels(SPLAT_TENSOR_##name, cloud->sh_degree); i < cloud->n * c; i++) {      \
        bool good = SPLAT_TENSOR_##name == SPLAT_TENSOR_opacities ? !isnan(cloud->name[i]) : isfinite(cloud->name[i]); \
        if (good) continue;                                                                                            \
        *row = i / c;                                                                                                  \
        *tensor = SPLAT_TENSOR_##name;                                                                                 \
        return false;                                                                                                  \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    return true;
}

bool splat_packed_ply_begins(const uint8_t *head, size_t n)
{
    static const char word[] = "packed_position";
    return n >= 3 && memcmp(head, "ply", 3) == 0 && memmem(head, n, word, sizeof word - 1);
}
