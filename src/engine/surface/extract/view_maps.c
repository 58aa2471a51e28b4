/* The maps of all training views in host memory. */
#include "surface/extract/view_maps.h"

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "math/camera.h"
#include "model/model.h"
#include "scene/scene.h"
#include "stereo/view_cover.h"
#include "surface/extract/extraction.h"
#include "surface/extract/match_bytes.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/surface_views.h"
#include "surface/planes/planes_bytes.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH 24.0       /* views of a place: more tell little that is new, and take memory and time */
#define LEAST_PART 0.125f /* of the sides that the options ask for */
#define LEAST_ALONG (-0.1f) /* of a normal along its ray: one from the side says nothing */

/* Pixels of all views together. */
static uint64_t pixels_of(const splat_scene *scene, float resolution_factor)
{
    uint64_t n = 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        splat_camera camera = splat_surface_camera(scene, i, resolution_factor);
        n += splat_camera_pixels(&camera);
    }
    return n;
}

/* With those of the view in work, before it is packed. */
static uint64_t bytes_of(const splat_scene *scene, float resolution_factor)
{
    uint64_t n = pixels_of(scene, resolution_factor);
    uint64_t work = 36 * (uint64_t)splat_surface_pixels(scene, resolution_factor);
    return n * SPLAT_VIEW_MAP_PIXEL_BYTES + scene->dataset.n_train * sizeof(splat_view_map) + work;
}

/* Bytes that the search for planes needs at the same time. */
static uint64_t bytes_of_planes(const splat_scene *scene, float resolution_factor)
{
    return splat_planes_bytes(scene->dataset.n_train, pixels_of(scene, resolution_factor),
                              splat_surface_pixels(scene, resolution_factor),
                              scene->context->threads);
}

/* Bytes that matching photos needs, before that. */
static uint64_t bytes_of_match(const splat_scene *scene, float resolution_factor)
{
    return splat_view_match_bytes(pixels_of(scene, resolution_factor), splat_surface_pixels(scene, resolution_factor),
                                  scene->context->threads);
}

float splat_view_maps_choose(const splat_scene *scene, const splat_mesh_extract_options *options, uint64_t *bytes)
{
    uint64_t limit = options->max_host_bytes, beside = splat_surface_agreed_bytes(options);
    uint64_t room = limit > beside ? limit - beside : 0;
    float part = 1;
    for (;; part *= 0.70710678f) {
        *bytes = bytes_of(scene, options->resolution_factor * part);
        uint64_t match = options->match ? bytes_of_match(scene, options->resolution_factor * part) : 0;
        uint64_t planes = options->planes ? bytes_of_planes(scene, options->resolution_factor * part) : 0;
        *bytes += match > planes ? match : planes;
        if (!limit || *bytes <= room) return options->resolution_factor * part;
        if (part < 1.01f * LEAST_PART) return 0;
    }
}

static void free_map(splat_view_map *map)
{
    free(map->depth);
    free(map->normal);
    free(map->rgb);
    free(map->alpha);
    free(map->state);
}

void splat_view_maps_free(splat_view_maps *maps)
{
    for (size_t i = 0; i < maps->n; i++) free_map(&maps->views[i]);
    if (maps->n) splat_host_memory_give_back(); /* what follows, an octree, needs as much */
    free(maps->views);
    memset(maps, 0, sizeof *maps);
}

/* Room alone: what the system gives is written for the first time by the threads that fill it. */
static splat_status make_room(splat_view_maps *maps, size_t n, const splat_camera *cameras, splat_error *error)
{
    *maps = (splat_view_maps){.n = n, .resolution_factor = 1, .bytes = n * sizeof *maps->views};
    maps->views = calloc(n ? n : 1, sizeof *maps->views);
    bool ok = maps->views != NULL;
    if (!ok) maps->n = 0;
    for (size_t i = 0; i < n && ok; i++) {
        splat_view_map *view = &maps->views[i];
        size_t n_pixels = splat_camera_pixels(&cameras[i]), bytes;
        view->camera = cameras[i];
        if (!splat_size_mul(n_pixels, SPLAT_VIEW_MAP_PIXEL_BYTES, &bytes)) ok = false;
        view->depth = ok ? calloc(n_pixels, sizeof *view->depth) : NULL;
        view->normal = ok ? malloc(2 * n_pixels * sizeof *view->normal) : NULL;
        view->rgb = ok ? calloc(n_pixels, 3) : NULL;
        view->alpha = ok ? calloc(n_pixels, 1) : NULL;
        view->state = ok ? calloc(n_pixels, 1) : NULL;
        ok = view->depth && view->normal && view->rgb && view->alpha && view->state;
        maps->bytes += bytes;
    }
    if (ok) return SPLAT_OK;
    splat_view_maps_free(maps);
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "no memory for the maps of %zu views; use a smaller `mesh_extraction_resolution_factor`", n);
}

splat_status splat_view_maps_init(splat_view_maps *maps, size_t n, const splat_camera *cameras, splat_error *error)
{
    SPLAT_TRY(make_room(maps, n, cameras, error));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 2 * splat_camera_pixels(&cameras[i]); k++) maps->views[i].normal[k] = INT16_MIN;
    return SPLAT_OK;
}

typedef struct filler {
    splat_view_maps *maps;
    const splat_mesh_extract_options *options;
    int threads;
} filler;

static splat_status fill(void *user, const splat_surface_view *view, splat_error *error)
{
    const filler *f = user;
    splat_view_map *map = &f->maps->views[view->number];
    size_t n = splat_camera_pixels(&map->camera);
    map->index = view->index;
    map->number = (uint32_t)view->number;
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        const float normal[3] = {view->normal[i], view->normal[n + i], view->normal[2 * n + i]};
        map->depth[i] = view->depth[i];
        memcpy(map->rgb + 3 * i, view->rgb + 3 * i, 3);
        splat_normal_encode(normal, map->normal + 2 * i);
        map->alpha[i] = (uint8_t)(fminf(fmaxf(view->alpha[i], 0), 1) * 255 + 0.5f);
        map->state[i] = view->state[i];
    }
    return splat_surface_go_on(f->options, "looking for surface", (double)(view->number + 1) / (double)f->maps->n,
                               error);
}

static splat_status init_for_scene(const splat_scene *scene, float factor, splat_view_maps *maps, splat_error *error)
{
    size_t n = scene->dataset.n_train;
    splat_camera *cameras = malloc(n * sizeof *cameras);
    if (!cameras) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cameras", n);
    for (size_t i = 0; i < n; i++) cameras[i] = splat_surface_camera(scene, i, factor);
    splat_status status = make_room(maps, n, cameras, error);
    if (status == SPLAT_OK) maps->resolution_factor = factor;
    free(cameras);
    return status;
}

splat_status splat_view_maps_make(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                  splat_view_maps *maps, splat_error *error)
{
    char needed[32], limit[32];
    uint64_t bytes;
    splat_mesh_extract_options sized = *options;
    memset(maps, 0, sizeof *maps);
    sized.resolution_factor = splat_view_maps_choose(scene, options, &bytes);
    splat_bytes_format(bytes, needed, sizeof needed);
    splat_bytes_format(options->max_host_bytes, limit, sizeof limit);
    if (!(sized.resolution_factor > 0))
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "the maps of %zu views take %s of host memory even at an eighth of their sides, and with "
                          "%zu points that is more than the limit of %s; allow more with `max_host_memory`",
                          scene->dataset.n_train, needed, options->n_points, limit);
    if (sized.resolution_factor < options->resolution_factor)
        splat_log(model->context, SPLAT_LOG_NOTICE,
                  "the views are looked at with %.2f of their sides, as their maps would not fit into %s otherwise",
                  (double)sized.resolution_factor, limit);
    SPLAT_TRY(splat_surface_go_on(options, "looking for surface", 0, error));
    SPLAT_TRY(init_for_scene(scene, sized.resolution_factor, maps, error));
    filler f = {maps, options, model->context->threads};
    splat_status status = splat_surface_views(scene, model, &sized, fill, &f, error);
    if (status == SPLAT_OK) status = splat_view_maps_find_neighbors(maps, model->context->threads, error);
    if (status != SPLAT_OK) splat_view_maps_free(maps);
    return status;
}

/* ---------------------------------------------------------------- neighbours */

splat_depth_view *splat_view_maps_depths(const splat_view_maps *maps)
{
    splat_depth_view *views = malloc((maps->n + 1) * sizeof *views);
    for (size_t i = 0; views && i < maps->n; i++)
        views[i] = (splat_depth_view){&maps->views[i].camera, maps->views[i].depth};
    return views;
}

splat_status splat_view_maps_find_neighbors(splat_view_maps *maps, int threads, splat_error *error)
{
    splat_depth_view *views = splat_view_maps_depths(maps);
    splat_view_neighbors *neighbors = malloc((maps->n + 1) * sizeof *neighbors);
    splat_status status = views && neighbors
                              ? splat_view_neighbors_find(views, maps->n, threads, neighbors, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", maps->n);
    for (size_t i = 0; status == SPLAT_OK && i < maps->n; i++) {
        maps->views[i].n_neighbors = neighbors[i].n;
        memcpy(maps->views[i].neighbors, neighbors[i].views, sizeof neighbors[i].views);
    }
    free(views);
    free(neighbors);
    return status;
}

/* ---------------------------------------------------------------- views that are not needed */

static void keep(splat_view_maps *maps, const uint8_t *is_kept)
{
    size_t n = 0;
    for (size_t i = 0; i < maps->n; i++) {
        splat_view_map *map = &maps->views[i];
        if (is_kept[i]) {
            maps->views[n++] = *map;
            continue;
        }
        maps->bytes -= splat_camera_pixels(&map->camera) * SPLAT_VIEW_MAP_PIXEL_BYTES;
        free_map(map);
    }
    maps->n = n;
}

splat_status splat_view_maps_thin(splat_view_maps *maps, const splat_context *context, splat_error *error)
{
    const size_t n = maps->n;
    splat_depth_view *views = splat_view_maps_depths(maps);
    uint8_t *is_kept = malloc(n + 1);
    splat_status status = views && is_kept
                              ? splat_view_cover_find(views, n, ENOUGH, context->threads, is_kept, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", n);
    if (status == SPLAT_OK) keep(maps, is_kept);
    free(views);
    free(is_kept);
    if (status != SPLAT_OK || maps->n == n) return status;
    splat_log(context, SPLAT_LOG_NOTICE, "the mesh is made from %zu of the %zu views: the others see the same places",
              maps->n, n);
    return splat_view_maps_find_neighbors(maps, context->threads, error);
}

void splat_view_map_plane(const splat_view_map *map, size_t pixel, float plane[3])
{
    const splat_camera *c = &map->camera;
    const float x = ((float)(pixel % (size_t)c->width) + 0.5f - c->cx) / c->fx,
                y = ((float)(pixel / (size_t)c->width) + 0.5f - c->cy) / c->fy;
    float normal[3], own[3];
    splat_normal_decode(map->normal + 2 * pixel, normal);
    for (int k = 0; k < 3; k++)
        own[k] = c->rotation[3 * k] * normal[0] + c->rotation[3 * k + 1] * normal[1] +
                 c->rotation[3 * k + 2] * normal[2];
    const float along = own[0] * x + own[1] * y + own[2];
    plane[0] = 1 / map->depth[pixel];
    plane[1] = plane[2] = 0;
    if (!(along < LEAST_ALONG)) return;
    plane[1] = own[0] / along * plane[0] / c->fx;
    plane[2] = own[1] / along * plane[0] / c->fy;
}

void splat_view_map_set_normal(splat_view_map *map, size_t pixel, const float plane[3])
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
