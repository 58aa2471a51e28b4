/* Guesses of depth, and which of the answers count. Few photos see most places of a large scene, and there the splat's
 * depth is as often wrong as right, while photos still match. */
#include "surface/extract/view_search.h"

#include "math/camera.h"
#include "stereo/depth_guess.h"
#include "surface/extract/view_sites.h"

#include <math.h>
#include <stdlib.h>

#define SWEEPS 5u
#define SPREAD 6   /* pixels from a trusted pixel that is a place to the next */
#define SAME 0.01f /* of the depth: a neighbour finds the same place */
#define ROUNDS 2    /* the second begins with the places of the first */

/* True if the splat shows something that nothing else supports. Without the splat nothing is searched: somebody may
 * have cut it out. */
static bool is_open(const splat_view_map *map, size_t pixel)
{
    const uint8_t state = map->state[pixel];
    return state == SPLAT_PIXEL_AGAINST || (state == SPLAT_PIXEL_SILENT && map->depth[pixel] > 0);
}

/* ---------------------------------------------------------------- where sites begin */

static size_t most_places(const splat_view_map *map)
{
    return (size_t)(map->camera.width / SPREAD + 1) * (size_t)(map->camera.height / SPREAD + 1);
}

/* Adds places that a view trusts. */
static void add_places(const splat_view_map *map, float (*places)[3], size_t *n)
{
    for (int y = SPREAD / 2; y < map->camera.height; y += SPREAD)
        for (int x = SPREAD / 2; x < map->camera.width; x += SPREAD) {
            const size_t pixel = (size_t)y * (size_t)map->camera.width + (size_t)x;
            if (splat_view_map_is_place(map, pixel)) splat_view_map_place(map, pixel, places[(*n)++]);
        }
}

/* Places that the view and its neighbours trust. */
static float (*list_places(const splat_view_sites *s, size_t view, size_t *n))[3]
{
    const splat_view_map *map = &s->maps->views[view];
    size_t most = most_places(map) + 1;
    for (uint32_t k = 0; k < map->n_neighbors; k++) most += most_places(&s->maps->views[map->neighbors[k]]);
    float(*places)[3] = malloc(most * sizeof *places);
    *n = 0;
    if (!places) return NULL;
    add_places(map, places, n);
    for (uint32_t k = 0; k < map->n_neighbors; k++) add_places(&s->maps->views[map->neighbors[k]], places, n);
    return places;
}

/* Sites that are open begin at a guess, facing the camera. */
static bool guess(splat_view_sites *s, size_t view)
{
    const splat_view_map *map = &s->maps->views[view];
    splat_site_view *v = &s->views[view];
    const splat_camera camera = splat_camera_resized(&map->camera, v->columns, v->rows);
    size_t n_places;
    float(*places)[3] = list_places(s, view, &n_places), *depth = malloc((splat_site_count(v) + 1) * sizeof *depth);
    const bool ok = places && depth &&
                    splat_depth_guess(&camera, (const float(*)[3])places, n_places, depth, NULL) == SPLAT_OK;
    for (size_t i = 0; ok && i < splat_site_count(v); i++) {
        v->planes[i][0] = is_open(map, splat_view_sites_pixel(s, view, i)) && depth[i] > 0 ? 1 / depth[i] : 0;
        v->planes[i][1] = v->planes[i][2] = 0;
    }
    free(places);
    free(depth);
    return ok;
}

static splat_status guess_all(splat_view_sites *s, splat_error *error)
{
    bool ok = true;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1) reduction(&& : ok)
    for (size_t i = 0; i < s->maps->n; i++)
        if (splat_site_count(&s->views[i]) > 0) ok = guess(s, i) && ok;
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to search for depth");
}

/* ---------------------------------------------------------------- which answers count */

static bool is_good(const splat_photo_matcher *photos, size_t site)
{
    return photos->judged[site] == SPLAT_MATCH_MATCHED;
}

static bool takes(const splat_view_map *map, size_t pixel, float own)
{
    (void)own; /* the splat's depth has no say here */
    return is_open(map, pixel);
}

static splat_status look_twice(splat_view_sites *s, uint64_t *n_found, splat_error *error)
{
    static const splat_site_pass pass = {.n_sweeps = SWEEPS, .most_cost = INFINITY, .is_good = is_good, .same = SAME,
                                         .takes = takes, .state = SPLAT_PIXEL_MATCHED};
    SPLAT_TRY(splat_view_sites_make(s, error));
    for (int round = 0; round < ROUNDS; round++) {
        SPLAT_TRY(guess_all(s, error));
        SPLAT_TRY(splat_view_sites_pass(s, &pass, (double)round / ROUNDS, (double)(round + 1) / ROUNDS, n_found,
                                        error));
    }
    return SPLAT_OK;
}

/* Guesses do not say what hides what, so the matcher forgets depth. */
splat_status splat_view_maps_search(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_found, splat_error *error)
{
    splat_view_sites s = {.maps = maps, .photos = photos, .threads = threads, .go_on = go_on, .user = user};
    for (size_t i = 0; i < maps->n; i++) photos->views[i].depth = NULL;
    photos->guesses = true;
    splat_status status = look_twice(&s, n_found, error);
    photos->guesses = false;
    for (size_t i = 0; i < maps->n; i++) photos->views[i].depth = maps->views[i].depth;
    splat_view_sites_free(&s);
    return status;
}
