/* Which views see the same places from other sides. */
#include "stereo/view_neighbors.h"

#include "stereo/view_places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRID 16              /* places looked at: GRID x GRID pixels of each view */
#define SMALL_ANGLE 2.0f     /* degrees: below, a view tells little that is new */
#define GOOD_ANGLE 12.0f     /* up to here a place looks the same */
#define LARGEST_ANGLE 45.0f
#define LEAST_SHARE 0.02f    /* of the places, with full marks, that a neighbour must add */
#define ENOUGH 0.5f          /* a place that a neighbour sees with full marks counts so much for those after it */
#define DEGREES 57.29577951f

/* Score of a place for a pair of views, from the angle between their rays. */
static float marks(const float place[3], const splat_camera *a, const splat_camera *b)
{
    float cosine = splat_view_cosine(place, a, b);
    float angle = acosf(cosine > 1 ? 1 : cosine < -1 ? -1 : cosine) * DEGREES;
    if (angle < SMALL_ANGLE) return angle * angle / (SMALL_ANGLE * SMALL_ANGLE);
    if (angle <= GOOD_ANGLE) return 1;
    return angle <= LARGEST_ANGLE ? GOOD_ANGLE / angle : 0;
}

/* The marks of n places in another view: one[n]. */
static void compare(const splat_depth_view *view, const splat_depth_view *other, float places[GRID * GRID][3], int n,
                    float *one)
{
    for (int i = 0; i < n; i++)
        one[i] = splat_view_sees(other, places[i]) ? marks(places[i], view->camera, other->camera) : 0;
}

/* The view whose marks add most to what the places still need; `none` if no view adds enough. A view that was chosen
 * has no marks. */
static size_t choose(const float *all_marks, size_t n_views, const float *need, int n, size_t none)
{
    float most = 0;
    size_t best = none;
    for (size_t i = 0; i < n_views; i++) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += need[k] * all_marks[i * GRID * GRID + (size_t)k];
        if (sum >= LEAST_SHARE * (float)n && sum > most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

/* all_marks: [n][GRID * GRID], work. */
static void find(const splat_depth_view *views, size_t n_views, size_t v, float *all_marks,
                 splat_view_neighbors *neighbors)
{
    float places[GRID * GRID][3], need[GRID * GRID];
    const int n = splat_view_places(&views[v], GRID, places);
    neighbors->n = 0;
    for (int k = 0; k < n; k++) need[k] = 1;
    for (size_t i = 0; i < n_views; i++) {
        float *one = all_marks + i * GRID * GRID;
        if (i == v)
            memset(one, 0, GRID * GRID * sizeof *one);
        else
            compare(&views[v], &views[i], places, n, one);
    }
    while (n > 0 && neighbors->n < SPLAT_VIEW_NEIGHBORS) {
        const size_t best = choose(all_marks, n_views, need, n, v);
        if (best == v) break;
        float *one = all_marks + best * GRID * GRID;
        for (int k = 0; k < n; k++) need[k] *= 1 - ENOUGH * one[k];
        memset(one, 0, GRID * GRID * sizeof *one);
        neighbors->views[neighbors->n++] = (uint32_t)best;
    }
}

splat_status splat_view_neighbors_find(const splat_depth_view *views, size_t n, int threads,
                                       splat_view_neighbors *neighbors, splat_error *error)
{
    bool ok = true;
#pragma omp parallel num_threads(threads) reduction(&& : ok)
    {
        float *all_marks = malloc((n + 1) * GRID * GRID * sizeof *all_marks);
        ok = all_marks != NULL;
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < n; v++)
            if (all_marks) find(views, n, v, all_marks, &neighbors[v]);
        free(all_marks);
    }
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", n);
}
