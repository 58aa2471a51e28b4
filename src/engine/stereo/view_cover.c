/* Which of many views are enough to see all places. */
#include "stereo/view_cover.h"

#include "math/sight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID 8               /* places looked at: GRID x GRID pixels of each view */
#define PLACES (GRID * GRID)
#define HIDDEN 1.1f          /* a place so many times as far as what a view sees there is hidden */
#define LEAST_COSINE 0.7071f /* of the angle between two rays to the same side of a place */

typedef struct cover {
    const splat_depth_view *views;
    size_t n;
    float (*places)[3]; /* [n * PLACES]; NAN where a view has no depth */
    uint8_t *sees;      /* [n views][n * PLACES]: 1 if the view sees the place */
    uint32_t *count;    /* [n * PLACES] kept views that see the place */
} cover;

static void find_places(const splat_depth_view *view, float places[PLACES][3])
{
    const splat_camera *c = view->camera;
    for (int k = 0; k < PLACES; k++) {
        const int x = (int)((int64_t)(2 * (k % GRID) + 1) * c->width / (2 * GRID));
        const int y = (int)((int64_t)(2 * (k / GRID) + 1) * c->height / (2 * GRID));
        const float z = view->depth[(size_t)y * (size_t)c->width + (size_t)x];
        places[k][0] = NAN;
        if (z > 0) splat_camera_unproject(c, (float)x + 0.5f, (float)y + 0.5f, z, places[k]);
    }
}

static bool is_same_side(const float place[3], const float a[3], const float b[3])
{
    float aa = 0, bb = 0, ab = 0;
    for (int k = 0; k < 3; k++) {
        const float u = place[k] - a[k], v = place[k] - b[k];
        aa += u * u;
        bb += v * v;
        ab += u * v;
    }
    return ab >= LEAST_COSINE * sqrtf(aa * bb);
}

/* True if view v sees a place of view `from`. */
static bool is_seen(const cover *c, size_t v, size_t from, const float place[3])
{
    const splat_depth_view *view = &c->views[v];
    float image[3];
    if (isnan(place[0])) return false;
    if (v == from) return true;
    if (!splat_camera_project(view->camera, place, image)) return false;
    const float z = view->depth[(size_t)image[1] * (size_t)view->camera->width + (size_t)image[0]];
    if (z > 0 && image[2] > HIDDEN * z) return false;
    return is_same_side(place, view->camera->center, c->views[from].camera->center);
}

static void look(const cover *c, int threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < c->n; v++)
        for (size_t p = 0; p < c->n * PLACES; p++)
            c->sees[v * c->n * PLACES + p] = is_seen(c, v, p / PLACES, c->places[p]);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t p = 0; p < c->n * PLACES; p++)
        for (size_t v = 0; v < c->n; v++) c->count[p] += c->sees[v * c->n * PLACES + p];
}

/* Leaves view v out if it is one of enough. A view that sees no place shows nothing. */
static void ask(const cover *c, size_t v, double enough, uint8_t *is_kept)
{
    const uint8_t *sees = c->sees + v * c->n * PLACES;
    double sum = 0, n = 0;
    for (size_t p = 0; p < c->n * PLACES; p++) {
        if (!sees[p]) continue;
        sum += 1 / (double)c->count[p];
        n++;
    }
    if (sum * enough > n) return;
    is_kept[v] = 0;
    for (size_t p = 0; p < c->n * PLACES; p++) c->count[p] -= sees[p];
}

splat_status splat_view_cover_find(const splat_depth_view *views, size_t n, double enough, int threads,
                                   uint8_t *is_kept, splat_error *error)
{
    const size_t n_places = n * PLACES;
    memset(is_kept, 1, n);
    if ((double)n <= enough) return SPLAT_OK;
    cover c = {.views = views, .n = n, .places = malloc(n_places * sizeof *c.places), .sees = malloc(n * n_places),
               .count = calloc(n_places, sizeof *c.count)};
    const bool ok = c.places && c.sees && c.count;
    if (ok) {
        for (size_t v = 0; v < n; v++) find_places(&views[v], c.places + v * PLACES);
        look(&c, threads);
        for (size_t step = 2; step < 2 * n; step *= 2)
            for (size_t v = step / 2; v < n; v += step) ask(&c, v, enough, is_kept);
    }
    free(c.places);
    free(c.sees);
    free(c.count);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", n);
}
