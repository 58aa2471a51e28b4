/* All views are asked first, each on its own; then what a neighbour confirms enters the maps. */
#include "surface/extract/view_refine.h"

#include "surface/extract/view_sites.h"

#include <math.h>
#include <stdlib.h>

#define SWEEPS 3u
#define CONFIRMED 0.005f /* of the depth: a neighbour finds the same place */
#define SAME 0.01f       /* of the depth: a pixel lies on the plane of its site */
#define MOST_MOVE 0.03f  /* of the depth: a plane farther away is of another surface */

/* The plane of a site's pixel, or q = 0 where views do not agree. */
static void begin_at(const splat_view_map *map, size_t pixel, float plane[3])
{
    plane[0] = plane[1] = plane[2] = 0;
    if (map->state[pixel] == SPLAT_PIXEL_AGREED && map->depth[pixel] > 0) splat_view_map_plane(map, pixel, plane);
}

/* Planes become the best ones that are good. costs: [sites]. */
static splat_status ask(splat_view_sites *s, size_t view, float *costs, splat_error *error)
{
    const splat_view_map *map = &s->maps->views[view];
    splat_site_view *v = &s->views[view];
    const size_t n = splat_site_count(v);
    bool is_any;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t i = 0; i < n; i++) begin_at(map, splat_view_sites_pixel(s, view, i), v->planes[i]);
    SPLAT_TRY(splat_view_sites_ask(s, view, SWEEPS, &is_any, error));
    if (!is_any) return SPLAT_OK;
    SPLAT_TRY(splat_photo_matcher_costs(s->photos, n, costs, error));
    for (size_t i = 0; i < n; i++) {
        const float *best = s->photos->best[i];
        const bool is_good = v->planes[i][0] > 0 && costs[i] < SPLAT_MATCH_GOOD &&
                             fabsf(best[0] / v->planes[i][0] - 1) < MOST_MOVE;
        for (int k = 0; k < 3; k++) v->planes[i][k] = is_good ? best[k] : 0;
    }
    return SPLAT_OK;
}

/* Pixels that lay on the first plane of their site. */
static bool takes(const splat_view_map *map, size_t pixel, float own)
{
    return map->state[pixel] == SPLAT_PIXEL_AGREED && fabsf(map->depth[pixel] * own - 1) <= SAME;
}

static splat_status refine(splat_view_sites *s, float *costs, uint64_t *n_refined, splat_error *error)
{
    const size_t n = s->maps->n;
    for (size_t i = 0; i < n; i++) {
        if (s->go_on) SPLAT_TRY(s->go_on(s->user, (double)i / (double)n, error));
        SPLAT_TRY(ask(s, i, costs, error));
    }
    splat_view_sites_confirm(s, CONFIRMED);
    *n_refined += splat_view_sites_apply(s, takes, SPLAT_PIXEL_AGREED);
    return SPLAT_OK;
}

splat_status splat_view_maps_refine(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_refined, splat_error *error)
{
    splat_view_sites s = {.maps = maps, .photos = photos, .threads = threads, .corrects = true,
                          .go_on = go_on, .user = user};
    float *costs = NULL;
    splat_status status = splat_view_sites_make(&s, error);
    if (status == SPLAT_OK) {
        size_t most = 1;
        for (size_t i = 0; i < maps->n; i++)
            most = splat_site_count(&s.views[i]) > most ? splat_site_count(&s.views[i]) : most;
        costs = malloc(most * sizeof *costs);
        status = costs ? refine(&s, costs, n_refined, error)
                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the costs of a view");
    }
    splat_view_sites_free(&s);
    free(costs);
    return status;
}
