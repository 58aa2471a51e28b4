/* Planes that stand square to the two largest of a scene. */
#include "surface/planes/plane_square.h"

#include "math/vec3.h"

#include <string.h>

#define STRIDE 11    /* of pixels that are counted */
#define SQUARE 1.5   /* degrees from square */
#define APART 60.0   /* degrees between the two planes */
#define DEGREE (3.14159265358979 / 180)

void plane_pixels_count(const splat_view_maps *maps, const plane_view *views, size_t n, uint64_t *counts)
{
    memset(counts, 0, n * sizeof *counts);
    for (size_t v = 0; v < maps->n; v++)
        for (size_t p = 0; p < splat_camera_pixels(&maps->views[v].camera); p += STRIDE) {
            const int plane = plane_of_label(&views[v], views[v].labels[p]);
            if (plane >= 0) counts[plane] += STRIDE;
        }
}

static double cosine_of(const plane_global *a, const plane_global *b)
{
    return fabs(splat_dot3(a->fit.normal, b->fit.normal));
}

bool plane_square_mark(const plane_global *planes, size_t n, const uint64_t *counts, bool *are_square)
{
    const plane_global *largest[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        uint64_t most = 0;
        for (size_t i = 0; i < n; i++) {
            if (counts[i] <= most || (k && cosine_of(&planes[i], largest[0]) > cos(APART * DEGREE))) continue;
            most = counts[i];
            largest[k] = &planes[i];
        }
        if (!largest[k]) return false;
    }
    for (size_t i = 0; i < n; i++) {
        are_square[i] = true;
        for (int k = 0; k < 2; k++) {
            const double cosine = cosine_of(&planes[i], largest[k]);
            if (cosine > sin(SQUARE * DEGREE) && cosine < cos(SQUARE * DEGREE)) are_square[i] = false;
        }
    }
    return true;
}
