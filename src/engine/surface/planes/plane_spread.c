/* Few views see a floor: a part of its pixels is known and the rest is not, though all lie on one plane. In each view
 * the planes of known pixels grow, square by square, over unknown pixels that lie near them. */
#include "surface/planes/plane_spread.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_patches.h"

#include <math.h>
#include <stdlib.h>

#define MOST_PLANES 64
#define MOST_OFF 0.025f      /* of the depth: an unknown pixel that may lie on a plane */
#define LEAST_NEAR 0.5       /* of the unknown pixels of a square: so many do */
#define ON 0.6               /* of the known ones of a square, so that it shows a plane */
#define LEAST_TEXTURE 3.0    /* levels: deviation of a square; plain ones have been looked at */

enum { NO_PLANE = -1, OTHER = -2 }; /* of a square: nothing known; known, and on no plane */

typedef struct spreader {
    splat_view_maps *maps;
    plane_fit *planes; /* [MOST_PLANES] */
    size_t n_planes;
} spreader;

static bool is_known(const splat_view_map *map, size_t pixel)
{
    const uint8_t state = map->state[pixel];
    return map->depth[pixel] > 0 && (state == SPLAT_PIXEL_FITTED || state == SPLAT_PIXEL_AGREED ||
                                     state == SPLAT_PIXEL_MATCHED);
}

static bool is_known_in(const void *maps, size_t view, size_t pixel)
{
    return is_known(&((const splat_view_maps *)maps)->views[view], pixel);
}

/* ---------------------------------------------------------------- squares of a view */

/* Depth over that of the plane at a pixel, less 1; INFINITY without either. */
static float off(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    const float z = plane_depth(&map->camera, fit, pixel);
    return z < INFINITY && map->depth[pixel] > 0 ? map->depth[pixel] / z - 1 : INFINITY;
}

/* A pixel that nothing is known of, but its depth, or whose depth was dropped. */
static bool is_unknown(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] == SPLAT_PIXEL_SILENT && (map->depth[pixel] > 0 || map->alpha[pixel] == 255);
}

static bool is_near(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    return fabsf(off(map, fit, pixel)) < (float)PLANE_PATCH_NEAR;
}

/* The plane that the known pixels of a square show. Most planes are off three of them, and no more are asked then. */
static int32_t plane_of_known(const spreader *s, const splat_view_map *map, int column, int row)
{
    size_t known[PLANE_PATCH_SIDE * PLANE_PATCH_SIDE];
    uint32_t n = 0, most = 0;
    int32_t best = OTHER;
    PLANE_SQUARE_PIXELS(map, column, row, pixel)
        if (is_known(map, pixel)) known[n++] = pixel;
    if (n < PLANE_PATCH_KNOWN * PLANE_PATCH_SIDE * PLANE_PATCH_SIDE / 2) return NO_PLANE;
    for (size_t i = 0; i < s->n_planes; i++) {
        const plane_fit *fit = &s->planes[i];
        uint32_t n_on = 0;
        if (!is_near(map, fit, known[0]) && !is_near(map, fit, known[n / 2]) && !is_near(map, fit, known[n - 1]))
            continue;
        for (uint32_t k = 0; k < n; k++) n_on += is_near(map, fit, known[k]);
        if (n_on < ON * n || n_on <= most) continue;
        most = n_on;
        best = (int32_t)i;
    }
    return best;
}

static bool has_texture(const splat_view_map *map, int column, int row)
{
    double n = 0, sum = 0, square = 0;
    PLANE_SQUARE_PIXELS(map, column, row, pixel)
    {
        const uint8_t *c = map->rgb + 3 * pixel;
        const double level = 0.3 * c[0] + 0.6 * c[1] + 0.1 * c[2];
        n++;
        sum += level;
        square += level * level;
    }
    return n > 0 && square / n - sum / n * (sum / n) > LEAST_TEXTURE * LEAST_TEXTURE;
}

/* True if an unknown pixel may lie on a plane. */
static bool may_take(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    return !(map->depth[pixel] > 0) || fabsf(off(map, fit, pixel)) < MOST_OFF;
}

/* True if the unknown pixels of a square may lie on a plane. */
static bool may_lie(const splat_view_map *map, const plane_fit *fit, int column, int row)
{
    uint32_t n = 0, n_near = 0;
    PLANE_SQUARE_PIXELS(map, column, row, pixel)
    {
        if (!is_unknown(map, pixel)) continue;
        n++;
        n_near += may_take(map, fit, pixel);
    }
    return n > 0 && n_near >= LEAST_NEAR * n;
}

static uint64_t set_square(splat_view_map *map, const plane_fit *fit, int column, int row)
{
    uint64_t n = 0;
    PLANE_SQUARE_PIXELS(map, column, row, pixel)
    {
        const float z = plane_depth(&map->camera, fit, pixel);
        if (!is_unknown(map, pixel) || !(z < INFINITY) || !may_take(map, fit, pixel)) continue;
        plane_set_pixel(map, fit, pixel, z);
        map->alpha[pixel] = 255;
        n++;
    }
    return n;
}

/* Squares with known pixels first; then planes grow from square to square. */
static bool spread_view(spreader *s, size_t number, uint64_t *n_set)
{
    splat_view_map *map = &s->maps->views[number];
    const plane_squares g = plane_squares_of(map);
    const int n = g.columns * g.rows;
    int32_t *planes = malloc(((size_t)n + 1) * sizeof *planes);
    int *queue = malloc(((size_t)n + 1) * sizeof *queue), head = 0, tail = 0;
    *n_set = 0;
    for (int i = 0; planes && queue && i < n; i++) {
        planes[i] = plane_of_known(s, map, i % g.columns, i / g.columns);
        if (planes[i] >= 0) queue[tail++] = i;
    }
    for (int i = 0; planes && i < n; i++)
        if (planes[i] >= 0) *n_set += set_square(map, &s->planes[planes[i]], i % g.columns, i / g.columns);
    while (planes && queue && head < tail) {
        const int i = queue[head++], x = i % g.columns, y = i / g.columns;
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < g.columns ? i + 1 : -1, y > 0 ? i - g.columns : -1,
                             y + 1 < g.rows ? i + g.columns : -1};
        for (int k = 0; k < 4; k++) {
            const int at = next[k];
            if (at < 0 || planes[at] != NO_PLANE || !has_texture(map, at % g.columns, at / g.columns) ||
                !may_lie(map, &s->planes[planes[i]], at % g.columns, at / g.columns))
                continue;
            planes[at] = planes[i];
            queue[tail++] = at;
            *n_set += set_square(map, &s->planes[planes[at]], at % g.columns, at / g.columns);
        }
    }
    const bool ok = planes && queue;
    free(planes);
    free(queue);
    return ok;
}

splat_status plane_spread(splat_view_maps *maps, uint64_t seed, int threads, uint64_t *n_pixels,
                          splat_error *error)
{
    plane_fit planes[MOST_PLANES];
    spreader s = {.maps = maps, .planes = planes};
    plane_patches patches = {.maps = maps, .seed = seed, .threads = threads, .is_known = is_known_in, .user = maps};
    bool is_short = false;
    uint64_t n_set = 0;
    *n_pixels = 0;
    splat_status status = plane_patches_make(&patches, error);
    while (status == SPLAT_OK && s.n_planes < MOST_PLANES &&
           plane_patches_next(&patches, (uint32_t)s.n_planes, &planes[s.n_planes]))
        s.n_planes++;
    plane_patches_free(&patches);
    if (status != SPLAT_OK) return status;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : n_set) reduction(|| : is_short)
    for (size_t v = 0; v < maps->n; v++) {
        uint64_t own;
        is_short = !spread_view(&s, v, &own) || is_short;
        n_set += own;
    }
    *n_pixels = n_set;
    return is_short ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to spread planes") : SPLAT_OK;
}
