/* Views in turn: a view and its neighbours go to the device, its planes and verdicts come back. */
#include "surface/extract/view_match.h"

#include "base/clock.h"
#include "base/context.h"
#include "math/camera.h"
#include "scene/scene.h"
#include "stereo/photo_matcher.h"
#include "stereo/resized_photo.h"
#include "surface/extract/extraction.h"
#include "surface/extract/view_planes.h"
#include "surface/extract/view_refine.h"
#include "surface/extract/view_search.h"

#include <math.h>
#include <stdlib.h>

#define SWEEPS 3
#define CPU_STRIDE 3u
#define MOST_PIXELS 1.1e6 /* of a picture of which a device asks every pixel */
#define COMPARES 0.25     /* of the time: where this part of the work begins */
#define REFINES 0.4
#define SEARCHES 0.55
#define SAME 0.01f        /* of the depth: a pixel lies on the plane of the site next to it */

typedef struct matcher {
    const splat_match_options *options;
    splat_view_maps *maps;
    uint32_t stride;
    int threads;
    splat_photo_matcher photos;
    splat_match_info info;
} matcher;

/* ---------------------------------------------------------------- one view */

/* The plane of a pixel that is asked; q = 0: it is not. */
static void plane_of(const splat_view_map *map, size_t pixel, float plane[3])
{
    plane[0] = plane[1] = plane[2] = 0;
    if (map->state[pixel] == SPLAT_PIXEL_SILENT && map->depth[pixel] > 0) splat_view_map_plane(map, pixel, plane);
}

static splat_status compare(matcher *m, size_t number, size_t sites_x, size_t sites_y, splat_error *error)
{
    const splat_view_map *map = &m->maps->views[number];
#pragma omp parallel for num_threads(m->threads) schedule(static)
    for (size_t i = 0; i < sites_x * sites_y; i++)
        plane_of(map, splat_match_site_pixel(map->camera.width, m->stride, sites_x, i), m->photos.first[i]);
    return splat_photo_matcher_compare(&m->photos, number, map->neighbors, map->n_neighbors, m->stride, SWEEPS, error);
}

/* Gives pixels of the map what the sites say. */
static void apply(matcher *m, splat_view_map *map, size_t sites_x, size_t sites_y)
{
    const int stride = (int)m->stride, width = map->camera.width, height = map->camera.height;
    uint64_t n_asked = 0, n_matched = 0, n_against = 0;
#pragma omp parallel for num_threads(m->threads) schedule(static) reduction(+ : n_asked, n_matched, n_against)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t pixel = (size_t)y * (size_t)width + (size_t)x, i = (size_t)(x / stride), j = (size_t)(y / stride);
            i = i < sites_x ? i : sites_x - 1;
            j = j < sites_y ? j : sites_y - 1;
            const float *first = m->photos.first[j * sites_x + i], *best = m->photos.best[j * sites_x + i];
            float dx = (float)(x - (int)i * stride - stride / 2), dy = (float)(y - (int)j * stride - stride / 2);
            float z = map->depth[pixel], q = best[0] + best[1] * dx + best[2] * dy;
            uint8_t verdict = m->photos.judged[j * sites_x + i];
            if (map->state[pixel] != SPLAT_PIXEL_SILENT || !(z > 0)) continue;
            n_asked++;
            if (verdict == SPLAT_MATCH_SILENT || !(q > 0)) continue;
            if (!(fabsf(z * (first[0] + first[1] * dx + first[2] * dy) - 1) <= SAME)) continue;
            const float plane[3] = {q, best[1], best[2]};
            bool is_matched = verdict == SPLAT_MATCH_MATCHED;
            n_matched += is_matched;
            n_against += !is_matched;
            map->state[pixel] = is_matched ? SPLAT_PIXEL_MATCHED : SPLAT_PIXEL_AGAINST;
            map->depth[pixel] = is_matched ? 1 / q : 0;
            if (is_matched)
                splat_view_map_set_normal(map, pixel, plane);
            else
                map->alpha[pixel] = 255;
        }
    m->info.n_asked += n_asked;
    m->info.n_matched += n_matched;
    m->info.n_against += n_against;
}

/* ---------------------------------------------------------------- all views */

static splat_status say(const matcher *m, double from, double to, double fraction, splat_error *error)
{
    const splat_match_options *o = m->options;
    return o->go_on ? o->go_on(o->go_on_user, from + (to - from) * fraction, error) : SPLAT_OK;
}

static splat_status go_on_refine(void *user, double fraction, splat_error *error)
{
    return say(user, REFINES, SEARCHES, fraction, error);
}

static splat_status go_on_search(void *user, double fraction, splat_error *error)
{
    return say(user, SEARCHES, 1, fraction, error);
}

static splat_status match_all(matcher *m, splat_error *error)
{
    const splat_match_options *o = m->options;
    for (size_t i = 0; i < m->maps->n; i++) {
        SPLAT_TRY(say(m, 0, COMPARES, (double)i / (double)m->maps->n, error));
        SPLAT_TRY(splat_view_planes_take(&m->photos, m->maps, i, o->planes, o->n_planes, m->threads,
                                         &m->info.n_on_planes, error));
    }
    for (size_t i = 0; i < m->maps->n; i++) {
        splat_view_map *map = &m->maps->views[i];
        size_t sites_x = splat_match_sites(map->camera.width, m->stride),
               sites_y = splat_match_sites(map->camera.height, m->stride);
        SPLAT_TRY(say(m, COMPARES, REFINES, (double)i / (double)m->maps->n, error));
        if (sites_x == 0 || sites_y == 0) continue;
        SPLAT_TRY(compare(m, i, sites_x, sites_y, error));
        apply(m, map, sites_x, sites_y);
        splat_photo_matcher_forget(&m->photos, i);
    }
    SPLAT_TRY(splat_view_maps_refine(m->maps, &m->photos, m->threads, go_on_refine, m, &m->info.n_refined, error));
    return splat_view_maps_search(m->maps, &m->photos, m->threads, go_on_search, m, &m->info.n_found, error);
}

splat_status splat_view_maps_match(splat_view_maps *maps, splat_backend *backend, const splat_match_options *options,
                                   splat_match_info *info, splat_error *error)
{
    matcher m = {.options = options, .maps = maps, .threads = backend->threads};
    splat_depth_view *views = splat_view_maps_depths(maps);
    *info = m.info;
    if (!views) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photos", maps->n);
    splat_status status = splat_photo_matcher_init(&m.photos, backend, views, maps->n, &options->photos, error);
    free(views);
    if (status != SPLAT_OK) return status;
    m.info.noise = m.photos.noise;
    m.stride = options->stride;
    if (m.stride == 0) m.stride = !backend->device_bytes ? CPU_STRIDE : (double)m.photos.largest > MOST_PIXELS ? 2 : 1;
    status = match_all(&m, error);
    *info = m.info;
    splat_photo_matcher_free(&m.photos);
    return status;
}

/* ---------------------------------------------------------------- a scene */

typedef struct scene_source {
    splat_scene *scene;
    const splat_mesh_extract_options *options;
    const splat_view_maps *maps;
} scene_source;

static splat_status take_photo(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    const scene_source *source = user;
    const splat_view_map *map = &source->maps->views[number];
    return splat_resized_photo(source->scene, map->index, &map->camera, rgb, error);
}

static splat_status go_on(void *user, double fraction, splat_error *error)
{
    const scene_source *source = user;
    return splat_surface_go_on(source->options, "matching photos", fraction, error);
}

splat_status splat_surface_match_apply(splat_scene *scene, splat_backend *backend,
                                       const splat_mesh_extract_options *options, const splat_planes_info *planes,
                                       splat_view_maps *maps, splat_error *error)
{
    scene_source source = {scene, options, maps};
    splat_match_options own = {.photos = {take_photo, &source}, .planes = planes->planes,
                               .n_planes = planes->n, .go_on = go_on, .go_on_user = &source};
    splat_match_info info;
    splat_error why;
    double begin = splat_clock_seconds();
    splat_status status = splat_view_maps_match(maps, backend, &own, &info, &why);
    if (status == SPLAT_ERROR_MEMORY) {
        splat_log(scene->context, SPLAT_LOG_NOTICE, "photos are not matched: %s", why.message);
        return SPLAT_OK;
    }
    if (status != SPLAT_OK) {
        if (error) *error = why;
        return status;
    }
    double all = (double)(info.n_asked ? info.n_asked : 1);
    splat_log(scene->context, SPLAT_LOG_NOTICE,
              "photos show %llu pixels on a plane of the scene; of those that views do not agree on %.1f %% match, "
              "%.2f %% are contradicted; photos correct the depth of %llu pixels and find that of %llu (%.1f s)",
              (unsigned long long)info.n_on_planes, 100.0 * (double)info.n_matched / all,
              100.0 * (double)info.n_against / all, (unsigned long long)info.n_refined,
              (unsigned long long)info.n_found, splat_clock_seconds() - begin);
    return SPLAT_OK;
}
