/* A mesh from a splat: screened Poisson reconstruction of surface points, or fusion of depth maps; then cleaning,
 * simplification, normals. */
#include "sugar/extract.h"

#include "base/compare.h"
#include "base/file.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_io.h"
#include "mesh/mesh_simplify.h"
#include "mesh/poisson.h"
#include "mesh/tsdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTER 4.0        /* background box over foreground box */
#define TRUNCATION 4.0   /* voxels */
#define DEFAULT_VOXELS 320.0 /* along the foreground box */

void splat_mesh_extract_options_init(splat_mesh_extract_options *options)
{
    *options = (splat_mesh_extract_options){.method = SPLAT_MESH_POISSON,
                                            .points = SPLAT_MESH_POINTS_LEVEL,
                                            .levels = {0.3f},
                                            .n_levels = 1,
                                            .resolution_factor = 1,
                                            .n_points = 2000000,
                                            .poisson_depth = 10,
                                            .density_quantile = 0.1,
                                            .min_alpha = 0.5f,
                                            .background = true,
                                            .center_bbox = true,
                                            .target_vertices = 1000000,
                                            .min_component_faces = 100};
}

size_t splat_mesh_extract_count(const splat_mesh_extract_options *options)
{
    return options->method == SPLAT_MESH_POISSON && options->points == SPLAT_MESH_POINTS_LEVEL ? options->n_levels : 1;
}

static splat_status check_levels(const splat_mesh_extract_options *o, splat_error *error)
{
    if (o->n_levels < 1 || o->n_levels > SPLAT_MESH_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "1 to %d surface levels are possible, not %zu",
                          SPLAT_MESH_LEVELS, o->n_levels);
    for (size_t i = 0; i < o->n_levels; i++) {
        if (!(o->levels[i] > 0 && o->levels[i] < 1))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a surface level must be above 0 and below 1, not %g",
                              (double)o->levels[i]);
        for (size_t k = 0; k < i; k++)
            if (o->levels[k] == o->levels[i])
                return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the surface level %g is given twice",
                                  (double)o->levels[i]);
    }
    return SPLAT_OK;
}

static splat_status check_options(const splat_mesh_extract_options *o, splat_error *error)
{
    if ((unsigned)o->method > SPLAT_MESH_TSDF)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown mesh method %d", (int)o->method);
    if ((unsigned)o->points > SPLAT_MESH_POINTS_CENTERS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown source of points %d", (int)o->points);
    if (o->method == SPLAT_MESH_POISSON && o->points == SPLAT_MESH_POINTS_LEVEL) SPLAT_TRY(check_levels(o, error));
    if (!(o->resolution_factor >= 0.05f && o->resolution_factor <= 8))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "resolution_factor must be from 0.05 to 8, not %g",
                          (double)o->resolution_factor);
    if (o->n_points < 1000 || o->n_points > 500000000)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "n_points must be between 1,000 and 500,000,000, not %zu",
                          o->n_points);
    if (!(o->density_quantile >= 0 && o->density_quantile < 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density_quantile must be in [0, 1), not %g",
                          o->density_quantile);
    if (!(o->min_alpha > 0 && o->min_alpha <= 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "min_alpha must be above 0 and at most 1, not %g",
                          (double)o->min_alpha);
    if (!(o->voxel_size >= 0) || !(o->max_depth >= 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxel_size and max_depth must not be negative");
    for (int k = 0; k < 3; k++)
        if (o->has_bbox && !(o->bbox_low[k] < o->bbox_high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box is empty: bboxmin must be below bboxmax");
    return SPLAT_OK;
}

splat_surface_boxes splat_surface_boxes_make(const splat_scene *scene, const splat_mesh_extract_options *options)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_surface_boxes boxes;
    double center[3] = {0, 0, 0}, extent = (double)dataset->extent;
    for (size_t i = 0; i < dataset->n_train && options->center_bbox; i++)
        for (int k = 0; k < 3; k++)
            center[k] += (double)dataset->views[dataset->train[i]].camera.center[k] / (double)dataset->n_train;
    for (int k = 0; k < 3; k++) { /* a box that the user gave is never shifted */
        boxes.low[k] = options->has_bbox ? options->bbox_low[k] : center[k] - extent;
        boxes.high[k] = options->has_bbox ? options->bbox_high[k] : center[k] + extent;
        boxes.outer_low[k] = fmin(boxes.low[k], center[k] - OUTER * extent);
        boxes.outer_high[k] = fmax(boxes.high[k], center[k] + OUTER * extent);
    }
    return boxes;
}

static bool is_inside(const float p[3], const double low[3], const double high[3])
{
    for (int k = 0; k < 3; k++)
        if (!((double)p[k] > low[k] && (double)p[k] < high[k])) return false;
    return true;
}

splat_status splat_surface_go_on(const splat_mesh_extract_options *options, const char *stage, double fraction,
                                 splat_error *error)
{
    if (!options->progress || options->progress(options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while %s", stage);
}

/* An extraction in work. */
typedef struct extraction {
    const splat_mesh_extract_options *options;
    splat_scene *scene;
    splat_model *model;
    splat_surface_boxes boxes;
    int threads;
    uint64_t octree_bytes; /* host memory of an octree or a voxel grid; 0: no limit */
} extraction;

/* ---------------------------------------------------------------- Poisson */

/* Removes the vertices below a quantile of the density: surface that the solver had to invent. */
static splat_status trim(splat_mesh *mesh, const float *density, double quantile, splat_error *error)
{
    size_t n = mesh->n_vertices;
    if (quantile <= 0 || n == 0) return SPLAT_OK;
    float *sorted = malloc(n * sizeof *sorted);
    uint8_t *keep = malloc(n);
    splat_status status = SPLAT_OK;
    if (sorted && keep) {
        memcpy(sorted, density, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, splat_compare_floats);
        double position = quantile * (double)(n - 1);
        size_t rank = (size_t)position;
        double above = (double)sorted[rank + 1 < n ? rank + 1 : rank], below = (double)sorted[rank];
        double threshold = below + (position - (double)rank) * (above - below);
        for (size_t i = 0; i < n; i++) keep[i] = (double)density[i] >= threshold;
        status = splat_mesh_keep_vertices(mesh, keep, error);
    } else {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to trim %zu vertices", n);
    }
    free(sorted);
    free(keep);
    return status;
}

/* Removes what the solver put outside of a box. */
static splat_status crop(splat_mesh *mesh, const double low[3], const double high[3], splat_error *error)
{
    uint8_t *keep = malloc(mesh->n_vertices + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to crop %zu vertices", mesh->n_vertices);
    for (size_t i = 0; i < mesh->n_vertices; i++) keep[i] = is_inside(mesh->vertices + 3 * i, low, high);
    splat_status status = splat_mesh_keep_vertices(mesh, keep, error);
    free(keep);
    return status;
}

static bool tell_poisson(void *user, const char *stage, double fraction)
{
    const splat_mesh_extract_options *o = user;
    (void)stage;
    return !o->progress || o->progress(o->progress_user, "reconstructing", fraction);
}

static splat_status reconstruct(const extraction *e, const splat_surface_points *points, size_t first, size_t n,
                                splat_mesh *mesh, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    splat_poisson_options options;
    splat_poisson_points input = {n, points->positions + 3 * first, points->normals + 3 * first,
                                  points->colors + 4 * first};
    splat_mesh_extract_options user = *o;
    float *density = NULL;
    splat_poisson_options_default(&options);
    options.depth = o->poisson_depth;
    options.threads = e->threads;
    options.memory_limit_bytes = e->octree_bytes;
    options.progress = tell_poisson;
    options.progress_user = &user;
    SPLAT_TRY(splat_poisson_reconstruct(&input, &options, mesh, &density, NULL, error));
    splat_status status = trim(mesh, density, o->density_quantile, error);
    free(density);
    return status;
}

/* Swaps the points inside the box to the front; how many there are. */
static size_t partition(splat_surface_points *points, size_t first, const double low[3], const double high[3])
{
    size_t kept = first;
    for (size_t i = first; i < points->n; i++) {
        if (!is_inside(points->positions + 3 * i, low, high)) continue;
        for (int k = 0; k < 3; k++) {
            float p = points->positions[3 * kept + (size_t)k], m = points->normals[3 * kept + (size_t)k];
            points->positions[3 * kept + (size_t)k] = points->positions[3 * i + (size_t)k];
            points->normals[3 * kept + (size_t)k] = points->normals[3 * i + (size_t)k];
            points->positions[3 * i + (size_t)k] = p;
            points->normals[3 * i + (size_t)k] = m;
        }
        uint8_t color[4];
        memcpy(color, points->colors + 4 * kept, 4);
        memcpy(points->colors + 4 * kept, points->colors + 4 * i, 4);
        memcpy(points->colors + 4 * i, color, 4);
        kept++;
    }
    return kept - first;
}

#define LEAST_POINTS 1000 /* of a part of its own */

/* Of foreground and background; they are not stitched. The order of the points changes. */
static splat_status mesh_points(const extraction *e, splat_surface_points *points, splat_mesh *mesh, size_t *n_points,
                                splat_error *error)
{
    const splat_surface_boxes *boxes = &e->boxes;
    splat_mesh far = {0};
    size_t n_near = partition(points, 0, boxes->low, boxes->high);
    size_t n_far = e->options->background ? partition(points, n_near, boxes->outer_low, boxes->outer_high) : 0;
    splat_status status = SPLAT_OK;
    *n_points = n_near + n_far;
    if (n_near < LEAST_POINTS && n_far < LEAST_POINTS)
        status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                            "only %zu of %zu surface points lie inside the boxes; move them with --bboxmin and "
                            "--bboxmax, or check that the splat belongs to the scene", *n_points, points->n);
    if (status == SPLAT_OK && n_near >= LEAST_POINTS) status = reconstruct(e, points, 0, n_near, mesh, error);
    if (status == SPLAT_OK && n_near >= LEAST_POINTS) status = crop(mesh, boxes->low, boxes->high, error);
    if (status == SPLAT_OK && n_far >= LEAST_POINTS) {
        status = reconstruct(e, points, n_near, n_far, &far, error);
        if (status == SPLAT_OK) status = splat_mesh_append(mesh, &far, error);
    }
    splat_mesh_free(&far);
    return status;
}

/* ---------------------------------------------------------------- fusion of depth maps */

typedef struct fusion {
    const splat_mesh_extract_options *options;
    splat_voxel_grid grid;
    splat_tsdf_options tsdf;
    splat_surface_boxes boxes;
    float *depth;  /* of a view, without what lies outside of the box */
    size_t n_views;
    bool fuses;    /* else plans */
} fusion;

/* Pixels outside of the foreground box are left out. */
static void cut_to_box(const fusion *f, const splat_surface_view *view)
{
    const splat_camera *c = view->camera;
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            size_t i = (size_t)y * (size_t)c->width + (size_t)x;
            float z = view->depth[i], p[3];
            const float local[3] = {((float)x + 0.5f - c->cx) / c->fx * z, ((float)y + 0.5f - c->cy) / c->fy * z, z};
            for (int k = 0; k < 3; k++)
                p[k] = c->center[k] + c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] +
                       c->rotation[6 + k] * local[2];
            f->depth[i] = z > 0 && is_inside(p, f->boxes.low, f->boxes.high) ? z : 0;
        }
}

static splat_status fuse_view(void *user, const splat_surface_view *view, splat_error *error)
{
    fusion *f = user;
    cut_to_box(f, view);
    splat_tsdf_frame frame = {*view->camera, f->depth, view->alpha, view->rgb};
    SPLAT_TRY(splat_surface_go_on(f->options, f->fuses ? "fusing depth" : "looking at depth",
                                  (double)view->number / (double)f->n_views, error));
    return f->fuses ? splat_tsdf_fuse(&f->grid, &f->tsdf, &frame, error)
                    : splat_tsdf_plan(&f->grid, &f->tsdf, &frame, error);
}

static splat_status mesh_by_fusion(const extraction *e, splat_mesh *mesh, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    fusion f = {.options = o, .boxes = e->boxes, .n_views = e->scene->dataset.n_train};
    size_t n_pixels = splat_surface_pixels(e->scene, o->resolution_factor);
    double side = f.boxes.high[0] - f.boxes.low[0];
    for (int k = 1; k < 3; k++) side = fmax(side, f.boxes.high[k] - f.boxes.low[k]);
    double voxel = o->voxel_size > 0 ? o->voxel_size : side / DEFAULT_VOXELS;
    f.tsdf = (splat_tsdf_options){TRUNCATION * voxel, (float)o->max_depth, e->threads};
    f.depth = malloc(n_pixels * sizeof *f.depth);
    if (!f.depth) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %zu pixels", n_pixels);
    splat_status status = splat_voxel_grid_init(&f.grid, f.boxes.low, voxel, true,
                                                e->octree_bytes ? (size_t)e->octree_bytes : SIZE_MAX, error);
    if (status == SPLAT_OK) {
        status = splat_surface_views(e->scene, e->model, o, fuse_view, &f, error);
        if (status == SPLAT_OK && f.grid.n_blocks == 0)
            status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                                "no training view sees a surface inside the box; move it with --bboxmin and --bboxmax");
        if (status == SPLAT_OK)
            splat_log(e->model->context, SPLAT_LOG_NOTICE, "host memory: %.2f GB of voxels",
                      (double)splat_voxel_grid_bytes(&f.grid) / 1073741824.0);
        if (status == SPLAT_OK) status = splat_voxel_grid_allocate(&f.grid, error);
        f.fuses = true;
        if (status == SPLAT_OK) status = splat_surface_views(e->scene, e->model, o, fuse_view, &f, error);
        if (status == SPLAT_OK) status = splat_tsdf_mesh(&f.grid, 1.5f, e->threads, mesh, error);
        splat_voxel_grid_free(&f.grid);
    }
    free(f.depth);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static splat_status finish(splat_mesh *mesh, const splat_mesh_extract_options *o, int threads,
                           splat_mesh_extract_info *info, splat_error *error)
{
    splat_mesh_clean_options clean;
    splat_mesh_simplify_options simplify;
    splat_mesh_clean_options_init(&clean);
    clean.min_component_faces = o->min_component_faces;
    info->n_vertices_first = mesh->n_vertices;
    info->n_faces_first = mesh->n_faces;
    SPLAT_TRY(splat_surface_go_on(o, "cleaning", 0, error));
    SPLAT_TRY(splat_mesh_clean(mesh, &clean, NULL, error));
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "nothing is left of the mesh: all its pieces have fewer than %zu faces",
                          o->min_component_faces);
    if (o->target_vertices && mesh->n_vertices > o->target_vertices) {
        splat_mesh_simplify_options_init(&simplify);
        simplify.target_vertices = o->target_vertices;
        simplify.threads = threads;
        SPLAT_TRY(splat_surface_go_on(o, "simplifying", 0, error));
        SPLAT_TRY(splat_mesh_simplify(mesh, &simplify, NULL, error));
        SPLAT_TRY(splat_mesh_clean(mesh, &clean, NULL, error));
    }
    SPLAT_TRY(splat_mesh_compute_normals(mesh, error));
    info->n_vertices = mesh->n_vertices;
    info->n_faces = mesh->n_faces;
    return SPLAT_OK;
}

/* Into a folder that is made when it is absent. */
static splat_status write_mesh(const char *path, const splat_mesh *mesh, splat_error *error)
{
    size_t length = (size_t)(splat_basename(path) - path);
    if (length > 1) {
        char *folder = splat_format("%.*s", (int)length - 1, path);
        splat_status status = folder ? splat_folder_create(folder, error)
                                     : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        free(folder);
        if (status != SPLAT_OK) return status;
    }
    return splat_mesh_write(path, mesh, error);
}

static splat_status finish_and_write(const extraction *e, splat_mesh *mesh, const char *const *paths, size_t n_paths,
                                     splat_mesh_extract_info *info, splat_error *error)
{
    SPLAT_TRY(finish(mesh, e->options, e->threads, info, error));
    SPLAT_TRY(splat_surface_go_on(e->options, "writing", 0, error));
    for (size_t i = 0; i < n_paths; i++) SPLAT_TRY(write_mesh(paths[i], mesh, error));
    return SPLAT_OK;
}

static splat_status extract_levels(const extraction *e, const char *const *paths, size_t n_paths,
                                   splat_mesh_extract_info *info, splat_error *error)
{
    splat_surface_points points[SPLAT_MESH_LEVELS];
    size_t n = splat_mesh_extract_count(e->options), n_opaque;
    SPLAT_TRY(splat_surface_points_collect(e->scene, e->model, e->options, points, &n_opaque, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n; i++) {
        splat_mesh mesh = {0};
        info[i].n_gaussians = n_opaque;
        if (status == SPLAT_OK) status = mesh_points(e, &points[i], &mesh, &info[i].n_points, error);
        splat_surface_points_free(&points[i]); /* of no more use, and memory is needed */
        if (status == SPLAT_OK) status = finish_and_write(e, &mesh, paths + i * n_paths, n_paths, &info[i], error);
        splat_mesh_free(&mesh);
    }
    return status;
}

splat_status splat_mesh_extract(splat_context *context, splat_scene *scene, splat_model *model,
                                const splat_mesh_extract_options *options, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error)
{
    SPLAT_TRY(check_options(options, error));
    memset(info, 0, splat_mesh_extract_count(options) * sizeof *info);
    if (scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          scene->dataset.n_train);
    if (model->gaussians.n == 0) return splat_fail(error, SPLAT_ERROR_FORMAT, "the splat has no Gaussians");
    extraction e = {.options = options, .scene = scene, .model = model, .threads = context->threads,
                    .boxes = splat_surface_boxes_make(scene, options)};
    SPLAT_TRY(splat_surface_check_memory(scene, model, options, &e.octree_bytes, error));
    if (options->method == SPLAT_MESH_POISSON) return extract_levels(&e, paths, n_paths, info, error);
    splat_mesh mesh = {0};
    splat_status status = mesh_by_fusion(&e, &mesh, error);
    if (status == SPLAT_OK) status = finish_and_write(&e, &mesh, paths, n_paths, info, error);
    splat_mesh_free(&mesh);
    return status;
}
