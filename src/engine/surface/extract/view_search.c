/* All views are asked first, each on its own; then what a neighbour confirms enters the maps. Few photos see most
 * places of a large scene, and there the splat's depth is as often wrong as right, while photos still match. */
#include "surface/extract/view_search.h"

#include "math/camera.h"
#include "stereo/depth_guess.h"
#include "surface/extract/match_bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 5u
#define SPREAD 6   /* pixels from a trusted pixel that is a place to the next */
#define SAME 0.01f /* of the depth: a neighbour finds the same place */
#define ROUNDS 2    /* the second begins with the places of the first */
#define STRIDE ((int)SPLAT_VIEW_SEARCH_STRIDE)

/* A view and its sites; planes as of op match. */
typedef struct found_view {
    int columns, rows;
    float (*planes)[3]; /* [sites] first the guesses, then what matched; q = 0: none */
    bool *is_confirmed; /* [sites] */
} found_view;

typedef struct search {
    splat_view_maps *maps;
    splat_photo_matcher *photos;
    found_view *views; /* [maps->n] */
    int threads;
    splat_status (*go_on)(void *user, double fraction, splat_error *error);
    void *user;
} search;

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to search for depth");
}

static size_t n_sites(const found_view *v)
{
    return (size_t)v->columns * (size_t)v->rows;
}

static size_t pixel_of(const search *s, size_t view, size_t site)
{
    return splat_match_site_pixel(s->maps->views[view].camera.width, STRIDE, (size_t)s->views[view].columns, site);
}

/* True if the pixel has depth that more than the splat supports. */
static bool is_place(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] != SPLAT_PIXEL_SKY && splat_view_map_trusted(map, pixel);
}

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
            if (is_place(map, pixel)) splat_view_map_place(map, pixel, places[(*n)++]);
        }
}

/* Places that the view and its neighbours trust. */
static float (*list_places(const search *s, size_t view, size_t *n))[3]
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
static bool guess(search *s, size_t view)
{
    const splat_view_map *map = &s->maps->views[view];
    found_view *v = &s->views[view];
    const splat_camera camera = splat_camera_resized(&map->camera, v->columns, v->rows);
    size_t n_places;
    float(*places)[3] = list_places(s, view, &n_places), *depth = malloc((n_sites(v) + 1) * sizeof *depth);
    const bool ok = places && depth &&
                    splat_depth_guess(&camera, (const float(*)[3])places, n_places, depth, NULL) == SPLAT_OK;
    for (size_t i = 0; ok && i < n_sites(v); i++) {
        v->planes[i][0] = is_open(map, pixel_of(s, view, i)) && depth[i] > 0 ? 1 / depth[i] : 0;
        v->planes[i][1] = v->planes[i][2] = 0;
        v->is_confirmed[i] = false;
    }
    free(places);
    free(depth);
    return ok;
}

static splat_status guess_all(search *s, splat_error *error)
{
    bool ok = true;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1) reduction(&& : ok)
    for (size_t i = 0; i < s->maps->n; i++)
        if (n_sites(&s->views[i]) > 0) ok = guess(s, i) && ok;
    return ok ? SPLAT_OK : fail_memory(error);
}

/* ---------------------------------------------------------------- one view */

/* The planes that match, in place of the guesses. */
static splat_status ask(search *s, size_t view, splat_error *error)
{
    const splat_view_map *map = &s->maps->views[view];
    found_view *v = &s->views[view];
    bool is_any = false;
    memcpy(s->photos->first, v->planes, n_sites(v) * sizeof *v->planes);
    for (size_t i = 0; i < n_sites(v) && !is_any; i++) is_any = v->planes[i][0] > 0;
    if (!is_any) return SPLAT_OK;
    SPLAT_TRY(splat_photo_matcher_compare(s->photos, view, map->neighbors, map->n_neighbors, STRIDE, SWEEPS, error));
    for (size_t i = 0; i < n_sites(v); i++) {
        const bool is_matched = s->photos->judged[i] == SPLAT_MATCH_MATCHED;
        for (int k = 0; k < 3; k++) v->planes[i][k] = is_matched ? s->photos->best[i][k] : 0;
    }
    return SPLAT_OK;
}

static splat_status make_view(search *s, size_t view, splat_error *error)
{
    const splat_camera *camera = &s->maps->views[view].camera;
    found_view *v = &s->views[view];
    v->columns = (int)splat_match_sites(camera->width, STRIDE);
    v->rows = (int)splat_match_sites(camera->height, STRIDE);
    v->planes = calloc(n_sites(v) + 1, sizeof *v->planes);
    v->is_confirmed = calloc(n_sites(v) + 1, sizeof *v->is_confirmed);
    return v->planes && v->is_confirmed ? SPLAT_OK : fail_memory(error);
}

/* ---------------------------------------------------------------- what neighbours confirm */

/* True if another view finds, or trusts, the place. */
static bool confirms(const search *s, size_t view, const float place[3])
{
    const splat_view_map *map = &s->maps->views[view];
    const found_view *v = &s->views[view];
    float image[3];
    if (!splat_camera_project(&map->camera, place, image)) return false;
    const size_t pixel = splat_view_map_pixel(map, (int)image[0], (int)image[1]);
    if (is_place(map, pixel)) return fabsf(map->depth[pixel] / image[2] - 1) < SAME;
    const size_t site = splat_match_site_at(STRIDE, v->columns, v->rows, (int)image[0], (int)image[1]);
    return fabsf(v->planes[site][0] * image[2] - 1) < SAME;
}

static void confirm(search *s, size_t view)
{
    const splat_view_map *map = &s->maps->views[view];
    found_view *v = &s->views[view];
    const size_t width = (size_t)map->camera.width;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1024)
    for (size_t i = 0; i < n_sites(v); i++) {
        const size_t pixel = pixel_of(s, view, i);
        float place[3];
        if (!(v->planes[i][0] > 0)) continue;
        splat_camera_unproject(&map->camera, (float)(pixel % width) + 0.5f, (float)(pixel / width) + 0.5f,
                               1 / v->planes[i][0], place);
        for (uint32_t k = 0; k < map->n_neighbors && !v->is_confirmed[i]; k++)
            v->is_confirmed[i] = confirms(s, map->neighbors[k], place);
    }
}

/* Gives open pixels what their sites have found. */
static uint64_t apply(const search *s, size_t view)
{
    splat_view_map *map = &s->maps->views[view];
    const found_view *v = &s->views[view];
    const int width = map->camera.width, height = map->camera.height;
    uint64_t n_found = 0;
#pragma omp parallel for num_threads(s->threads) schedule(static) reduction(+ : n_found)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const size_t pixel = (size_t)y * (size_t)width + (size_t)x;
            const int i = x / STRIDE < v->columns ? x / STRIDE : v->columns - 1,
                      j = y / STRIDE < v->rows ? y / STRIDE : v->rows - 1, site = j * v->columns + i;
            const float *at = v->planes[site], dx = (float)(x - i * STRIDE - STRIDE / 2),
                        dy = (float)(y - j * STRIDE - STRIDE / 2), q = at[0] + at[1] * dx + at[2] * dy;
            if (!v->is_confirmed[site] || !(q > 0) || !is_open(map, pixel)) continue;
            map->state[pixel] = SPLAT_PIXEL_MATCHED;
            map->depth[pixel] = 1 / q;
            splat_view_map_set_normal(map, pixel, (const float[3]){q, at[1], at[2]});
            n_found++;
        }
    return n_found;
}

/* ---------------------------------------------------------------- all views */

static splat_status look(search *s, int round, uint64_t *n_found, splat_error *error)
{
    const size_t n = s->maps->n;
    SPLAT_TRY(guess_all(s, error));
    for (size_t i = 0; i < n; i++) {
        const double part = ((double)round + (double)i / (double)n) / ROUNDS;
        if (s->go_on) SPLAT_TRY(s->go_on(s->user, part, error));
        if (n_sites(&s->views[i]) > 0) SPLAT_TRY(ask(s, i, error));
    }
    for (size_t i = 0; i < n; i++) confirm(s, i);
    for (size_t i = 0; i < n; i++) *n_found += apply(s, i);
    return SPLAT_OK;
}

static splat_status look_twice(search *s, uint64_t *n_found, splat_error *error)
{
    s->views = calloc(s->maps->n + 1, sizeof *s->views);
    if (!s->views) return fail_memory(error);
    for (size_t i = 0; i < s->maps->n; i++) SPLAT_TRY(make_view(s, i, error));
    for (int round = 0; round < ROUNDS; round++) SPLAT_TRY(look(s, round, n_found, error));
    return SPLAT_OK;
}

static void free_views(search *s)
{
    for (size_t i = 0; s->views && i < s->maps->n; i++) {
        free(s->views[i].planes);
        free(s->views[i].is_confirmed);
    }
    free(s->views);
}

/* Guesses do not say what hides what, so the matcher forgets depth. */
splat_status splat_view_maps_search(splat_view_maps *maps, splat_photo_matcher *photos, int threads,
                                    splat_status (*go_on)(void *user, double fraction, splat_error *error),
                                    void *user, uint64_t *n_found, splat_error *error)
{
    search s = {.maps = maps, .photos = photos, .threads = threads, .go_on = go_on, .user = user};
    for (size_t i = 0; i < maps->n; i++) photos->views[i].depth = NULL;
    photos->guesses = true;
    splat_status status = look_twice(&s, n_found, error);
    photos->guesses = false;
    for (size_t i = 0; i < maps->n; i++) photos->views[i].depth = maps->views[i].depth;
    free_views(&s);
    return status;
}
