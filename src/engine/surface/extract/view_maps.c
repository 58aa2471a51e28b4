/* The maps of all training views in host memory. */
#include "surface/extract/view_maps.h"

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "math/camera.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/match_bytes.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/surface_views.h"
#include "surface/planes/planes_bytes.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.125f /* of the sides that the options ask for */

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

void splat_view_maps_free(splat_view_maps *maps)
{
    for (size_t i = 0; i < maps->n; i++) {
        free(maps->views[i].depth);
        free(maps->views[i].normal);
        free(maps->views[i].rgb);
        free(maps->views[i].alpha);
        free(maps->views[i].state);
    }
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

/* ---------------------------------------------------------------- neighbours
 * Which training views see the same places from other sides. */

#define GRID 16              /* places looked at: GRID x GRID pixels of each view */
#define SMALL_ANGLE 2.0f     /* degrees: below, a view tells little that is new */
#define GOOD_ANGLE 12.0f     /* up to here a place looks the same */
#define LARGEST_ANGLE 45.0f
#define HIDDEN 1.1f          /* a place so many times as far as what the other view sees there is hidden */
#define LEAST_SHARE 0.02f    /* of the places, with full marks, that a neighbour must add */
#define ENOUGH 0.5f          /* a place that a neighbour sees with full marks counts so much for those after it */
#define DEGREES 57.29577951f

/* Score of a place for a pair of views, from the angle between their rays. */
static float marks(const float place[3], const splat_camera *a, const splat_camera *b)
{
    float aa = 0, bb = 0, ab = 0;
    for (int k = 0; k < 3; k++) {
        float u = place[k] - a->center[k], v = place[k] - b->center[k];
        aa += u * u;
        bb += v * v;
        ab += u * v;
    }
    float length = sqrtf(aa * bb), cosine = length > 0 ? ab / length : 1;
    float angle = acosf(cosine > 1 ? 1 : cosine < -1 ? -1 : cosine) * DEGREES;
    if (angle < SMALL_ANGLE) return angle * angle / (SMALL_ANGLE * SMALL_ANGLE);
    if (angle <= GOOD_ANGLE) return 1;
    return angle <= LARGEST_ANGLE ? GOOD_ANGLE / angle : 0;
}

/* Places of a view, at most one in each cell of the grid. */
static int find_places(const splat_view_map *view, float places[GRID * GRID][3])
{
    const splat_camera *c = &view->camera;
    int n = 0;
    for (int j = 0; j < GRID; j++)
        for (int i = 0; i < GRID; i++) {
            int x = (int)((int64_t)(2 * i + 1) * c->width / (2 * GRID));
            int y = (int)((int64_t)(2 * j + 1) * c->height / (2 * GRID));
            float z = view->depth[(size_t)y * (size_t)c->width + (size_t)x];
            if (z > 0) splat_camera_unproject(c, (float)x + 0.5f, (float)y + 0.5f, z, places[n++]);
        }
    return n;
}

/* The marks of n places in another view: one[n]. */
static void compare(const splat_view_map *view, const splat_view_map *other, float places[GRID * GRID][3], int n,
                    float *one)
{
    for (int i = 0; i < n; i++) {
        float image[3];
        one[i] = 0;
        if (!splat_camera_project(&other->camera, places[i], image)) continue;
        float z = other->depth[(size_t)image[1] * (size_t)other->camera.width + (size_t)image[0]];
        if (!(z > 0 && image[2] > HIDDEN * z)) one[i] = marks(places[i], &view->camera, &other->camera);
    }
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

/* all_marks: [maps->n][GRID * GRID], work. */
static void find(splat_view_maps *maps, size_t v, float *all_marks)
{
    splat_view_map *view = &maps->views[v];
    float places[GRID * GRID][3], need[GRID * GRID];
    const int n = find_places(view, places);
    view->n_neighbors = 0;
    for (int k = 0; k < n; k++) need[k] = 1;
    for (size_t i = 0; i < maps->n; i++) {
        float *one = all_marks + i * GRID * GRID;
        if (i == v)
            memset(one, 0, GRID * GRID * sizeof *one);
        else
            compare(view, &maps->views[i], places, n, one);
    }
    while (n > 0 && view->n_neighbors < SPLAT_VIEW_NEIGHBORS) {
        const size_t best = choose(all_marks, maps->n, need, n, v);
        if (best == v) break;
        float *one = all_marks + best * GRID * GRID;
        for (int k = 0; k < n; k++) need[k] *= 1 - ENOUGH * one[k];
        memset(one, 0, GRID * GRID * sizeof *one);
        view->neighbors[view->n_neighbors++] = (uint32_t)best;
    }
}

splat_status splat_view_maps_find_neighbors(splat_view_maps *maps, int threads, splat_error *error)
{
    bool ok = true;
#pragma omp parallel num_threads(threads) reduction(&& : ok)
    {
        float *all_marks = malloc((maps->n + 1) * GRID * GRID * sizeof *all_marks);
        ok = all_marks != NULL;
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < maps->n; v++)
            if (all_marks) find(maps, v, all_marks);
        free(all_marks);
    }
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare %zu views", maps->n);
}
