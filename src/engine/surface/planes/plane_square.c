/* Planes that stand square to two others, as most do. */
#include "surface/planes/plane_square.h"

#include "math/vec3.h"

#include <string.h>

#define SQUARE 1.5   /* degrees from square */
#define APART 60.0   /* degrees between the two planes */
#define DEGREE (3.14159265358979 / 180)

void plane_pixels_count(const splat_view_maps *maps, const plane_view *views, size_t n, uint64_t *counts)
{
    memset(counts, 0, n * sizeof *counts);
    for (size_t v = 0; v < maps->n; v++)
        for (size_t p = 0; p < splat_camera_pixels(&maps->views[v].camera); p += PLANE_PIXELS_STRIDE) {
            const int plane = plane_of_label(&views[v], views[v].labels[p]);
            if (plane >= 0) counts[plane] += PLANE_PIXELS_STRIDE;
        }
}

static double cosine_of(const plane_global *a, const plane_global *b)
{
    return fabs(splat_dot3(a->fit.normal, b->fit.normal));
}

/* True if a plane is parallel or at right angles to another. */
static bool is_square(const plane_global *a, const plane_global *b)
{
    const double cosine = cosine_of(a, b);
    return cosine < sin(SQUARE * DEGREE) || cosine > cos(SQUARE * DEGREE);
}

/* How many views show planes that are square to both. */
static uint64_t count_views(const plane_global *planes, size_t n, const plane_global *a, const plane_global *b)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (is_square(&planes[i], a) && is_square(&planes[i], b)) sum += planes[i].n_views;
    return sum;
}

bool plane_square_mark(const plane_global *planes, size_t n, bool *are_square)
{
    const plane_global *best[2] = {NULL, NULL};
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            if (cosine_of(&planes[i], &planes[k]) > cos(APART * DEGREE)) continue;
            const uint64_t n_views = count_views(planes, n, &planes[i], &planes[k]);
            if (best[0] && n_views <= most) continue;
            most = n_views;
            best[0] = &planes[i];
            best[1] = &planes[k];
        }
    if (!best[0]) return false;
    for (size_t i = 0; i < n; i++) are_square[i] = is_square(&planes[i], best[0]) && is_square(&planes[i], best[1]);
    return true;
}
