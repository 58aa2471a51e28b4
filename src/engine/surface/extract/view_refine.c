/* Planes of agreed pixels, and which of the answers count. */
#include "surface/extract/view_refine.h"

#include "surface/extract/view_sites.h"

#include <math.h>

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

static void begin(splat_view_sites *s)
{
    for (size_t v = 0; v < s->maps->n; v++) {
        splat_site_view *view = &s->views[v];
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (size_t i = 0; i < splat_site_count(view); i++)
            begin_at(&s->maps->views[v], splat_view_sites_pixel(s, v, i), view->planes[i]);
    }
}

static bool is_good(const splat_photo_matcher *photos, size_t site)
{
    return fabsf(photos->best[site][0] / photos->first[site][0] - 1) < MOST_MOVE;
}

/* Pixels that lay on the first plane of their site. */
static bool takes(const splat_view_map *map, size_t pixel, float own)
{
    return map->state[pixel] == SPLAT_PIXEL_AGREED && fabsf(map->depth[pixel] * own - 1) <= SAME;
}

splat_status splat_view_maps_refine(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_refined, splat_error *error)
{
    static const splat_site_pass pass = {.n_sweeps = SWEEPS, .most_cost = SPLAT_MATCH_GOOD, .is_good = is_good,
                                         .same = CONFIRMED, .corrects = true, .takes = takes,
                                         .state = SPLAT_PIXEL_AGREED};
    splat_view_sites s = {.maps = maps, .photos = photos, .threads = threads, .go_on = go_on, .user = user};
    splat_status status = splat_view_sites_make(&s, error);
    if (status == SPLAT_OK) begin(&s);
    if (status == SPLAT_OK) status = splat_view_sites_pass(&s, &pass, 0, 1, n_refined, error);
    splat_view_sites_free(&s);
    return status;
}
