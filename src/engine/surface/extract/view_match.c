/* Views in turn: a view and its neighbours go to the device, its planes and verdicts come back. */
#include "surface/extract/view_match.h"

#include "backend/memory.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/select.h"
#include "math/camera.h"
#include "ops/match/match.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/view_photos.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 3
#define CPU_STRIDE 3u
#define MOST_PIXELS 1.1e6 /* of a picture of which a device asks every pixel */
#define SAME 0.01f        /* of the depth: a pixel lies on the plane of the site next to it */
#define BLOCK 8           /* side of the squares whose noise is measured */
#define PLAINEST 0.2      /* part of them that shows the noise alone */

typedef struct matcher {
    const splat_match_options *options;
    splat_backend *backend;
    splat_view_maps *maps;
    uint8_t **grey;    /* [maps->n] */
    uint32_t stride;
    splat_block photos[1 + SPLAT_MATCH_NEIGHBORS], depths[1 + SPLAT_MATCH_NEIGHBORS], planes, costs, verdicts;
    float (*first)[3], (*best)[3]; /* [sites] */
    uint8_t *judged;
    splat_match_info info;
} matcher;

/* ---------------------------------------------------------------- photos */

/* Deviation of the noise (Immerkaer, Fast Noise Variance Estimation, 1996) in the squares with the least. */
static float measure_noise(const uint8_t *grey, int width, int height, float *noises)
{
    size_t n = 0, w = (size_t)width;
    for (int top = 1; top + BLOCK < height; top += BLOCK)
        for (int left = 1; left + BLOCK < width; left += BLOCK) {
            uint32_t sum = 0;
            for (int y = top; y < top + BLOCK; y++)
                for (int x = left; x < left + BLOCK; x++) {
                    const uint8_t *p = grey + (size_t)y * w + (size_t)x, *above = p - w, *below = p + w;
                    int second = above[-1] - 2 * above[0] + above[1] - 2 * (p[-1] - 2 * p[0] + p[1]) + below[-1] -
                                 2 * below[0] + below[1];
                    sum += (uint32_t)abs(second);
                }
            noises[n++] = (float)sum * 1.2533141f / (6 * BLOCK * BLOCK);
        }
    return n ? splat_select_float(noises, n, (size_t)(PLAINEST * (double)n)) : 0;
}

static splat_status read_photo(matcher *m, size_t number, uint8_t *rgb, float *noises, float *noise,
                               splat_error *error)
{
    const splat_camera *camera = &m->maps->views[number].camera;
    size_t n = splat_camera_pixels(camera);
    SPLAT_TRY(m->options->photo(m->options->photo_user, number, rgb, error));
    m->grey[number] = malloc(n);
    if (!m->grey[number]) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo of %zu pixels", n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = rgb + 3 * i;
        m->grey[number][i] = (uint8_t)((77 * p[0] + 150 * p[1] + 29 * p[2] + 128) / 256);
    }
    *noise = measure_noise(m->grey[number], camera->width, camera->height, noises);
    return SPLAT_OK;
}

static splat_status read_photos(matcher *m, size_t largest, splat_error *error)
{
    const size_t n = m->maps->n;
    splat_status status = SPLAT_OK;
    float *noise = calloc(n + 1, sizeof *noise);
    if (!noise) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photos", n);
#pragma omp parallel num_threads(m->backend->threads)
    {
        uint8_t *rgb = malloc(3 * largest);
        float *noises = malloc((largest / (BLOCK * BLOCK) + 1) * sizeof *noises);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < n; i++) {
            splat_error own;
            splat_status one = rgb && noises ? read_photo(m, i, rgb, noises, &noise[i], &own)
                                             : splat_fail(&own, SPLAT_ERROR_MEMORY, "no memory for photos");
            if (one == SPLAT_OK) continue;
#pragma omp critical(splat_view_match)
            {
                status = one;
                if (error) *error = own;
            }
        }
        free(rgb);
        free(noises);
    }
    if (n) m->info.noise = splat_select_float(noise, n, n / 2);
    free(noise);
    return status;
}

/* ---------------------------------------------------------------- one view */

/* The plane of a pixel in its view: inverse depth and slopes to the right and down; q = 0: it is not asked. */
static void plane_of(const splat_view_map *map, size_t pixel, float plane[3])
{
    const splat_camera *c = &map->camera;
    float x = ((float)(pixel % (size_t)c->width) + 0.5f - c->cx) / c->fx,
          y = ((float)(pixel / (size_t)c->width) + 0.5f - c->cy) / c->fy, normal[3], own[3];
    plane[0] = plane[1] = plane[2] = 0;
    if (map->state[pixel] != SPLAT_PIXEL_SILENT || !(map->depth[pixel] > 0)) return;
    splat_normal_decode(map->normal + 2 * pixel, normal);
    for (int k = 0; k < 3; k++)
        own[k] = c->rotation[3 * k] * normal[0] + c->rotation[3 * k + 1] * normal[1] +
                 c->rotation[3 * k + 2] * normal[2];
    float along = own[0] * x + own[1] * y + own[2];
    plane[0] = 1 / map->depth[pixel];
    if (!(along < -0.1f)) return; /* no normal, or a flat view: facing the camera */
    plane[1] = own[0] / along * plane[0] / c->fx;
    plane[2] = own[1] / along * plane[0] / c->fy;
}

static void set_normal(splat_view_map *map, size_t pixel, const float plane[3])
{
    const splat_camera *c = &map->camera;
    float x = ((float)(pixel % (size_t)c->width) + 0.5f - c->cx) / c->fx,
          y = ((float)(pixel / (size_t)c->width) + 0.5f - c->cy) / c->fy;
    const float own[3] = {-plane[1] * c->fx, -plane[2] * c->fy,
                          -plane[0] + plane[1] * c->fx * x + plane[2] * c->fy * y};
    float normal[3];
    for (int k = 0; k < 3; k++)
        normal[k] = c->rotation[k] * own[0] + c->rotation[3 + k] * own[1] + c->rotation[6 + k] * own[2];
    splat_normal_encode(normal, map->normal + 2 * pixel);
}

static splat_status send(matcher *m, int slot, size_t number, splat_match_view *view, splat_error *error)
{
    const splat_view_map *map = &m->maps->views[number];
    size_t n = splat_camera_pixels(&map->camera);
    SPLAT_TRY(splat_backend_upload(m->backend, m->photos[slot].data, m->grey[number], n, error));
    SPLAT_TRY(splat_backend_upload(m->backend, m->depths[slot].data, map->depth, n * sizeof *map->depth, error));
    *view = (splat_match_view){&map->camera, m->photos[slot].data, m->depths[slot].data};
    return SPLAT_OK;
}

/* m->first, m->best, m->judged of a view. */
static splat_status compare(matcher *m, size_t number, size_t sites_x, size_t sites_y, splat_error *error)
{
    const splat_view_map *map = &m->maps->views[number];
    size_t n = sites_x * sites_y, width = (size_t)map->camera.width, stride = m->stride;
    struct splat_match_args args = {.n_neighbors = map->n_neighbors, .noise = m->info.noise, .stride = m->stride,
                                    .n_sweeps = SWEEPS, .planes = m->planes.data, .costs = m->costs.data,
                                    .verdicts = m->verdicts.data};
#pragma omp parallel for num_threads(m->backend->threads) schedule(static)
    for (size_t i = 0; i < n; i++)
        plane_of(map, (i / sites_x * stride + stride / 2) * width + i % sites_x * stride + stride / 2, m->first[i]);
    SPLAT_TRY(send(m, 0, number, &args.reference, error));
    for (uint32_t k = 0; k < map->n_neighbors; k++)
        SPLAT_TRY(send(m, (int)k + 1, map->neighbors[k], &args.neighbors[k], error));
    SPLAT_TRY(splat_backend_upload(m->backend, m->planes.data, m->first, n * sizeof *m->first, error));
    SPLAT_TRY(splat_op_match(m->backend, &args, error));
    SPLAT_TRY(splat_backend_download(m->backend, m->best, m->planes.data, n * sizeof *m->best, error));
    return splat_backend_download(m->backend, m->judged, m->verdicts.data, n, error);
}

/* Gives pixels of the map what the sites say. */
static void apply(matcher *m, splat_view_map *map, size_t sites_x, size_t sites_y)
{
    const int stride = (int)m->stride, width = map->camera.width, height = map->camera.height;
    uint64_t n_asked = 0, n_matched = 0, n_against = 0;
#pragma omp parallel for num_threads(m->backend->threads) schedule(static) reduction(+ : n_asked, n_matched, n_against)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t pixel = (size_t)y * (size_t)width + (size_t)x, i = (size_t)(x / stride), j = (size_t)(y / stride);
            i = i < sites_x ? i : sites_x - 1;
            j = j < sites_y ? j : sites_y - 1;
            const float *first = m->first[j * sites_x + i], *best = m->best[j * sites_x + i];
            float dx = (float)(x - (int)i * stride - stride / 2), dy = (float)(y - (int)j * stride - stride / 2);
            float z = map->depth[pixel], q = best[0] + best[1] * dx + best[2] * dy;
            uint8_t verdict = m->judged[j * sites_x + i];
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
                set_normal(map, pixel, plane);
            else
                map->alpha[pixel] = 255;
        }
    m->info.n_asked += n_asked;
    m->info.n_matched += n_matched;
    m->info.n_against += n_against;
}

/* ---------------------------------------------------------------- all views */

static splat_status make_block(matcher *m, splat_block *block, const char *name, size_t bytes, splat_error *error)
{
    *block = (splat_block){.placement = SPLAT_ON_DEVICE, .type = SPLAT_TYPE_MIXED};
    return splat_block_resize(m->backend, block, name, SPLAT_OWNER_LISTS, bytes, error);
}

static splat_status make_blocks(matcher *m, size_t largest, splat_error *error)
{
    for (int k = 0; k <= SPLAT_MATCH_NEIGHBORS; k++) {
        SPLAT_TRY(make_block(m, &m->photos[k], "photos to match", largest, error));
        SPLAT_TRY(make_block(m, &m->depths[k], "depths to match", largest * sizeof(float), error));
    }
    SPLAT_TRY(make_block(m, &m->planes, "matched planes", largest * sizeof *m->first, error));
    SPLAT_TRY(make_block(m, &m->costs, "costs of planes", largest * sizeof(float), error));
    SPLAT_TRY(make_block(m, &m->verdicts, "verdicts", largest, error));
    m->first = malloc(largest * sizeof *m->first);
    m->best = malloc(largest * sizeof *m->best);
    m->judged = malloc(largest);
    return m->first && m->best && m->judged ? SPLAT_OK
                                            : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to match photos");
}

static void free_all(matcher *m)
{
    for (int k = 0; k <= SPLAT_MATCH_NEIGHBORS; k++) {
        splat_block_free(m->backend, &m->photos[k]);
        splat_block_free(m->backend, &m->depths[k]);
    }
    splat_block_free(m->backend, &m->planes);
    splat_block_free(m->backend, &m->costs);
    splat_block_free(m->backend, &m->verdicts);
    for (size_t i = 0; m->grey && i < m->maps->n; i++) free(m->grey[i]);
    free(m->grey);
    free(m->first);
    free(m->best);
    free(m->judged);
}

static splat_status match_all(matcher *m, size_t largest, splat_error *error)
{
    const splat_match_options *o = m->options;
    SPLAT_TRY(read_photos(m, largest, error));
    SPLAT_TRY(make_blocks(m, largest, error));
    for (size_t i = 0; i < m->maps->n; i++) {
        splat_view_map *map = &m->maps->views[i];
        size_t sites_x = splat_match_sites(map->camera.width, m->stride),
               sites_y = splat_match_sites(map->camera.height, m->stride);
        if (o->go_on) SPLAT_TRY(o->go_on(o->go_on_user, (double)i / (double)m->maps->n, error));
        if (sites_x == 0 || sites_y == 0) continue;
        SPLAT_TRY(compare(m, i, sites_x, sites_y, error));
        apply(m, map, sites_x, sites_y);
    }
    return SPLAT_OK;
}

splat_status splat_view_maps_match(splat_view_maps *maps, splat_backend *backend, const splat_match_options *options,
                                   splat_match_info *info, splat_error *error)
{
    matcher m = {.options = options, .backend = backend, .maps = maps, .grey = calloc(maps->n + 1, sizeof *m.grey)};
    size_t largest = 1;
    *info = m.info;
    if (!m.grey) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photos", maps->n);
    for (size_t i = 0; i < maps->n; i++) {
        size_t n = splat_camera_pixels(&maps->views[i].camera);
        largest = n > largest ? n : largest;
    }
    m.stride = options->stride;
    if (m.stride == 0) m.stride = !backend->device_bytes ? CPU_STRIDE : (double)largest > MOST_PIXELS ? 2 : 1;
    splat_status status = match_all(&m, largest, error);
    *info = m.info;
    free_all(&m);
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
    return splat_view_photo(source->scene, source->maps, number, rgb, error);
}

static splat_status go_on(void *user, double fraction, splat_error *error)
{
    const scene_source *source = user;
    return splat_surface_go_on(source->options, "matching photos", fraction, error);
}

splat_status splat_surface_match_apply(splat_scene *scene, splat_backend *backend,
                                       const splat_mesh_extract_options *options, splat_view_maps *maps,
                                       splat_error *error)
{
    scene_source source = {scene, options, maps};
    splat_match_options own = {.photo = take_photo, .photo_user = &source, .go_on = go_on, .go_on_user = &source};
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
              "photos match at %.1f %% of the pixels with a surface and contradict %.2f %% (%.1f s)",
              100.0 * (double)info.n_matched / all, 100.0 * (double)info.n_against / all,
              splat_clock_seconds() - begin);
    return SPLAT_OK;
}
