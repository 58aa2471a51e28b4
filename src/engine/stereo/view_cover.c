/* Which of many views are enough to see all places. */
#include "stereo/view_cover.h"

#include "stereo/view_places.h"

#include <stdlib.h>
#include <string.h>

#define GRID 8               /* places looked at: GRID x GRID pixels of each view */
#define PLACES (GRID * GRID)
#define LEAST_COSINE 0.7071f /* of the angle between two rays to the same side of a place */

typedef struct cover {
    const splat_depth_view *views;
    size_t n, n_places;
    float (*places)[3]; /* [n_places] */
    uint32_t *from;     /* [n_places] the view that shows the place */
    uint8_t *sees;      /* [n][n_places]: 1 if the view sees the place */
    uint32_t *count;    /* [n_places] kept views that see the place */
} cover;

static void find_places(cover *c)
{
    for (size_t v = 0; v < c->n; v++) {
        const int n = splat_view_places(&c->views[v], GRID, c->places + c->n_places);
        for (int i = 0; i < n; i++) c->from[c->n_places++] = (uint32_t)v;
    }
}

/* True if view v sees a place of view `from`, from the same side. */
static bool is_seen(const cover *c, size_t v, size_t from, const float place[3])
{
    if (v == from) return true;
    return splat_view_sees(&c->views[v], place) &&
           splat_view_cosine(place, c->views[v].camera, c->views[from].camera) >= LEAST_COSINE;
}

static void look(const cover *c, int threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < c->n; v++)
        for (size_t p = 0; p < c->n_places; p++)
            c->sees[v * c->n_places + p] = is_seen(c, v, c->from[p], c->places[p]);
    for (size_t v = 0; v < c->n; v++)
        for (size_t p = 0; p < c->n_places; p++) c->count[p] += c->sees[v * c->n_places + p];
}

/* Leaves view v out if it is one of enough. */
static void ask(const cover *c, size_t v, double enough, uint8_t *is_kept)
{
    const uint8_t *sees = c->sees + v * c->n_places;
    double sum = 0, n = 0;
    for (size_t p = 0; p < c->n_places; p++) {
        if (!sees[p]) continue;
        sum += 1 / (double)c->count[p];
        n++;
    }
    if (n == 0 || sum * enough > n) return;
    is_kept[v] = 0;
    for (size_t p = 0; p < c->n_places; p++) c->count[p] -= sees[p];
}

splat_status splat_view_cover_find(const splat_depth_view *views, size_t n, double enough, int threads,
                                   uint8_t *is_kept, splat_error *error)
{
    const size_t most = n * PLACES;
    memset(is_kept, 1, n);
    if ((double)n <= enough) return SPLAT_OK;
    cover c = {.views = views, .n = n, .places = malloc(most * sizeof *c.places), .from = malloc(most * sizeof *c.from),
               .sees = malloc(n * most), .count = calloc(most, sizeof *c.count)};
    const bool ok = c.places && c.from && c.sees && c.count;
    if (ok) {
        find_places(&c);
        look(&c, threads);
        for (size_t step = 2; step < 2 * n; step *= 2)
            for (size_t v = step / 2; v < n; v += step) ask(&c, v, enough, is_kept);
    }
    free(c.places);
    free(c.from);
    free(c.sees);
    free(c.count);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", n);
}
