/* Points where the density of a splat passes levels along the rays of its training views (SuGaR, Guedon and Lepetit,
 * CVPR 2024, sec. 4.2; docs/method.md). */
#include "surface/extract/surface_levels.h"

#include "io/picture/image.h"
#include "math/density.h"
#include "math/sh.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_gaussians.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/surface_views.h"

#include "base/rng.h"
#include "math/camera.h"
#include "ops/knn/knn.h"
#include "ops/level_points/level_points.h"
#include "ops/visibility_buffer/visibility_buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct level_work {
    splat_model *model;               /* for the colours */
    const splat_gaussians *gaussians; /* that can be surface */
    const splat_mesh_extract_options *options;
    size_t n_levels, n_pixels; /* of the largest view */
    /* device */
    splat_block neighbors, ids, depth, pixels, points, normals, valid;
    /* host: a view, and a piece of it */
    uint32_t *host_ids, *host_pixels;
    float *rgb, *alpha, *host_points, *host_normals;
    uint8_t *host_valid;
    size_t n_hit, n_looked;
} level_work;

static void close_work(level_work *w)
{
    splat_block *const blocks[] = {&w->neighbors, &w->ids, &w->depth, &w->pixels, &w->points, &w->normals, &w->valid};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) splat_block_free(w->model->backend, blocks[i]);
    free(w->host_ids);
    free(w->host_pixels);
    free(w->rgb);
    free(w->alpha);
    free(w->host_points);
    free(w->host_normals);
    free(w->host_valid);
}

static splat_status open_device(level_work *w, splat_error *error)
{
    splat_backend *b = w->model->backend;
    size_t word = sizeof(float), entries = SPLAT_SURFACE_PIECE * w->n_levels;
    const splat_owner owner = SPLAT_OWNER_OTHER;
    size_t neighbor_bytes = (size_t)w->gaussians->n * SPLAT_NEIGHBORS * word;
    SPLAT_TRY(splat_block_resize(b, &w->neighbors, "neighbors", owner, neighbor_bytes, error));
    SPLAT_TRY(splat_block_resize(b, &w->ids, "front ids", owner, w->n_pixels * word, error));
    SPLAT_TRY(splat_block_resize(b, &w->depth, "front depth", owner, w->n_pixels * word, error));
    SPLAT_TRY(splat_block_resize(b, &w->pixels, "level pixels", owner, SPLAT_SURFACE_PIECE * word, error));
    SPLAT_TRY(splat_block_resize(b, &w->points, "level points", owner, 3 * entries * word, error));
    SPLAT_TRY(splat_block_resize(b, &w->normals, "level normals", owner, 3 * entries * word, error));
    return splat_block_resize(b, &w->valid, "level valid", owner, entries, error);
}

static splat_status open_host(level_work *w, splat_error *error)
{
    size_t n = w->n_pixels, entries = SPLAT_SURFACE_PIECE * w->n_levels;
    w->host_ids = malloc(n * sizeof *w->host_ids);
    w->rgb = malloc(3 * n * sizeof *w->rgb);
    w->alpha = malloc(n * sizeof *w->alpha);
    w->host_pixels = malloc(SPLAT_SURFACE_PIECE * sizeof *w->host_pixels);
    w->host_points = malloc(3 * entries * sizeof *w->host_points);
    w->host_normals = malloc(3 * entries * sizeof *w->host_normals);
    w->host_valid = malloc(entries);
    if (w->host_ids && w->rgb && w->alpha && w->host_pixels && w->host_points && w->host_normals && w->host_valid)
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %zu pixels", n);
}

/* Looks at the pixels of a piece and adds the points of every level. */
static splat_status look(level_work *w, const splat_camera *camera, uint32_t n, splat_surface_points *points,
                         splat_error *error)
{
    splat_backend *b = w->model->backend;
    size_t entries = n * w->n_levels, n_pixels = splat_camera_pixels(camera);
    struct splat_level_points_args args = {
        .gaussians = w->gaussians, .neighbors = w->neighbors.data, .camera = camera, .ids = w->ids.data,
        .depth = w->depth.data, .n = n, .pixels = w->pixels.data, .n_levels = (int)w->n_levels,
        .points = w->points.data, .normals = w->normals.data, .valid = w->valid.data};
    memcpy(args.levels, w->options->levels, w->n_levels * sizeof *args.levels);
    SPLAT_TRY(splat_backend_upload(b, w->pixels.data, w->host_pixels, n * sizeof *w->host_pixels, error));
    SPLAT_TRY(splat_op_level_points(b, &args, error));
    SPLAT_TRY(splat_backend_download(b, w->host_points, args.points, 3 * entries * sizeof *args.points, error));
    SPLAT_TRY(splat_backend_download(b, w->host_normals, args.normals, 3 * entries * sizeof *args.normals, error));
    SPLAT_TRY(splat_backend_download(b, w->host_valid, args.valid, entries, error));
    for (size_t i = 0; i < entries; i++) {
        uint8_t color[3];
        if (!w->host_valid[i]) continue;
        splat_surface_color(w->rgb, w->alpha, n_pixels, w->host_pixels[i % n], color);
        splat_surface_points_add(&points[i / n], w->host_points + 3 * i, w->host_normals + 3 * i, color);
    }
    w->n_looked += n;
    return SPLAT_OK;
}

/* Keeps n_wanted of the points from `first` on. */
static void thin_out(splat_surface_points *points, size_t first, size_t n_wanted, uint64_t seed, uint32_t view,
                     size_t level)
{
    size_t n_left = points->n - first, end = points->n;
    points->n = first;
    for (size_t i = first; i < end; i++) { /* pixels have numbers below 2^32 in this stream */
        uint64_t number = (uint64_t)(level + 1) << 32 | (i - first);
        splat_random4 r = splat_random(seed, SPLAT_STREAM_SURFACE_POINTS, view, number);
        if (!splat_surface_pick(r.x[0], &n_wanted, &n_left)) continue;
        float position[3], normal[3]; /* a row may be the one that is written */
        uint8_t color[3];
        memcpy(position, points->positions + 3 * i, sizeof position);
        memcpy(normal, points->normals + 3 * i, sizeof normal);
        memcpy(color, points->colors + 4 * i, sizeof color);
        splat_surface_points_add(points, position, normal, color);
    }
}

/* Finds the first Gaussian in each pixel of a view, and its colours; also on the host. */
static splat_status see(level_work *w, const splat_camera *camera, splat_error *error)
{
    splat_backend *b = w->model->backend;
    size_t n = splat_camera_pixels(camera);
    struct splat_visibility_buffer_args front = {w->gaussians, camera, w->ids.data, w->depth.data};
    SPLAT_TRY(splat_surface_render(w->model, camera, w->rgb, w->alpha, error));
    SPLAT_TRY(splat_op_visibility_buffer(b, &front, error));
    return splat_backend_download(b, w->host_ids, front.ids, n * sizeof *w->host_ids, error);
}

splat_status splat_surface_hide_masked(splat_scene *scene, uint32_t view, const splat_camera *camera, uint32_t *ids,
                                       splat_error *error)
{
    size_t n = splat_camera_pixels(camera);
    if (!scene->dataset.views[view].has_mask) return SPLAT_OK;
    uint8_t *kept = malloc(n);
    if (!kept) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mask");
    splat_status status = splat_scene_read_mask(scene, view, camera->width, camera->height, kept, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        if (!kept[i]) ids[i] = 0;
    free(kept);
    return status;
}

/* Twice as many pixels are examined as points are wanted: not every ray passes the level. */
static splat_status collect(level_work *w, splat_scene *scene, size_t number, splat_surface_points *points,
                            splat_error *error)
{
    const splat_mesh_extract_options *o = w->options;
    splat_camera camera = splat_surface_camera(scene, number, o->resolution_factor);
    size_t n = splat_camera_pixels(&camera), n_left = 0, before[SPLAT_MESH_LEVELS];
    size_t share = splat_surface_share(scene, o, number), n_wanted = 2 * share;
    uint32_t view = scene->dataset.train[number], n_piece = 0;
    SPLAT_TRY(see(w, &camera, error));
    SPLAT_TRY(splat_surface_hide_masked(scene, view, &camera, w->host_ids, error));
    for (size_t l = 0; l < w->n_levels; l++) before[l] = points[l].n;
    for (size_t i = 0; i < n; i++) n_left += w->host_ids[i] != 0;
    w->n_hit += n_left;
    for (size_t i = 0; i < n; i++) {
        if (!w->host_ids[i]) continue;
        splat_random4 r = splat_random(o->seed, SPLAT_STREAM_SURFACE_POINTS, view, (uint32_t)i);
        if (!splat_surface_pick(r.x[0], &n_wanted, &n_left)) continue;
        w->host_pixels[n_piece++] = (uint32_t)i;
        if (n_piece < SPLAT_SURFACE_PIECE) continue;
        SPLAT_TRY(look(w, &camera, n_piece, points, error));
        n_piece = 0;
    }
    if (n_piece) SPLAT_TRY(look(w, &camera, n_piece, points, error));
    for (size_t l = 0; l < w->n_levels; l++) thin_out(&points[l], before[l], share, o->seed, view, l);
    return SPLAT_OK;
}

static splat_status collect_all(level_work *w, splat_scene *scene, splat_surface_points *points,
                                splat_error *error)
{
    splat_backend *b = w->model->backend;
    const splat_gaussians *g = w->gaussians;
    SPLAT_TRY(open_device(w, error));
    SPLAT_TRY(open_host(w, error));
    SPLAT_TRY(splat_surface_go_on(w->options, "looking for neighbours", 0, error));
    struct splat_knn_args knn = {g->n, g->p.means, SPLAT_NEIGHBORS, NULL, w->neighbors.data};
    SPLAT_TRY(splat_op_knn(b, &knn, error));
    for (size_t i = 0, n = scene->dataset.n_train; i < n; i++) {
        SPLAT_TRY(splat_surface_go_on(w->options, "looking for surface", (double)i / (double)n, error));
        SPLAT_TRY(collect(w, scene, i, points, error));
    }
    if (w->n_hit == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "no training view sees one of the splat's %u opaque Gaussians; is it a splat of this scene?",
                          g->n);
    for (size_t l = 0; l < w->n_levels; l++)
        if (points[l].n == 0)
            return splat_fail(error, SPLAT_ERROR_NUMERIC,
                              "the density passes %g on none of %zu rays of the training views; use another "
                              "`surface_level`", (double)w->options->levels[l], w->n_looked);
    return SPLAT_OK;
}

splat_status splat_surface_levels(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                  const splat_mesh_extract_options *options, splat_surface_points *points,
                                  splat_error *error)
{
    level_work w = {.model = model, .gaussians = &opaque->g, .options = options, .n_levels = options->n_levels,
                    .n_pixels = splat_surface_pixels(scene, options->resolution_factor)};
    splat_status status = collect_all(&w, scene, points, error);
    close_work(&w);
    return status;
}
