/* A mesh from a splat, by one of the methods of extract_*.c; then cleaning, simplification, projection, normals. */
#include "sugar/extract.h"

#include "base/file.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_io.h"
#include "mesh/mesh_project.h"
#include "mesh/mesh_simplify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTER 4.0        /* background box over foreground box */
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
                                            .density_quantile = 0.02,
                                            .outlier_neighbors = 20,
                                            .outlier_std = 20,
                                            .project = false,
                                            .least_scale = 0.5,
                                            .min_alpha = 0.5f,
                                            .background = true,
                                            .center_bbox = true,
                                            .target_vertices = 1000000,
                                            .min_component_faces = 100};
}

static bool has_levels(const splat_mesh_extract_options *o)
{
    return o->method == SPLAT_MESH_MARCHING_CUBES ||
           (o->method == SPLAT_MESH_POISSON && o->points == SPLAT_MESH_POINTS_LEVEL);
}

size_t splat_mesh_extract_count(const splat_mesh_extract_options *options)
{
    return has_levels(options) ? options->n_levels : 1;
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
    if ((unsigned)o->method > SPLAT_MESH_MARCHING_CUBES)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown mesh method %d", (int)o->method);
    if ((unsigned)o->points > SPLAT_MESH_POINTS_CENTERS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown source of points %d", (int)o->points);
    if (has_levels(o)) SPLAT_TRY(check_levels(o, error));
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
    if (o->outlier_neighbors == 1 || o->outlier_neighbors > 32 || !(o->outlier_std >= 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "outlier_neighbors must be 0 or 2 to 32 and outlier_std not "
                          "negative, not %zu and %g", o->outlier_neighbors, o->outlier_std);
    if (!(o->least_scale >= 0 && o->least_scale <= 100))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "least_scale must be from 0 to 100 voxels, not %g",
                          o->least_scale);
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

bool splat_surface_is_inside(const float p[3], const double low[3], const double high[3])
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

double splat_extract_voxel(const splat_extraction *e)
{
    double side = 0;
    for (int k = 0; k < 3; k++) side = fmax(side, e->boxes.high[k] - e->boxes.low[k]);
    return e->options->voxel_size > 0 ? e->options->voxel_size : side / DEFAULT_VOXELS;
}

/* ---------------------------------------------------------------- all of it */

/* Vertices go to the surface points that reconstruction and simplification smoothed away. */
static splat_status project(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                            splat_error *error)
{
    splat_mesh_project_options options;
    splat_mesh_project_options_init(&options);
    options.threads = e->threads;
    SPLAT_TRY(splat_surface_go_on(e->options, "projecting", 0, error));
    return splat_mesh_project(mesh, points->positions, points->colors, points->n, &options, NULL, error);
}

/* points: those that the mesh was made from, or NULL. */
static splat_status finish(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                           splat_mesh_extract_info *info, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
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
        simplify.threads = e->threads;
        SPLAT_TRY(splat_surface_go_on(o, "simplifying", 0, error));
        SPLAT_TRY(splat_mesh_simplify(mesh, &simplify, NULL, error));
        SPLAT_TRY(splat_mesh_clean(mesh, &clean, NULL, error));
    }
    if (points && o->project)
        SPLAT_TRY(project(e, points, mesh, error)); /* computes normals, too */
    else
        SPLAT_TRY(splat_mesh_compute_normals(mesh, error));
    info->n_vertices = mesh->n_vertices;
    info->n_faces = mesh->n_faces;
    return SPLAT_OK;
}

static splat_status finish_and_write(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                                     const char *const *paths, size_t n_paths, splat_mesh_extract_info *info,
                                     splat_error *error)
{
    SPLAT_TRY(finish(e, points, mesh, info, error));
    SPLAT_TRY(splat_surface_go_on(e->options, "writing", 0, error));
    for (size_t i = 0; i < n_paths; i++) {
        SPLAT_TRY(splat_folder_create_for(paths[i], error));
        SPLAT_TRY(splat_mesh_write(paths[i], mesh, error));
    }
    return SPLAT_OK;
}

static splat_status extract_points(const splat_extraction *e, const char *const *paths, size_t n_paths,
                                   splat_mesh_extract_info *info, splat_error *error)
{
    splat_surface_points points[SPLAT_MESH_LEVELS];
    size_t n = splat_mesh_extract_count(e->options), n_opaque;
    SPLAT_TRY(splat_surface_points_collect(e->scene, e->model, e->options, points, &n_opaque, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n; i++) {
        splat_mesh mesh = {0};
        info[i].n_gaussians = n_opaque;
        if (status == SPLAT_OK) status = splat_extract_poisson(e, &points[i], &mesh, error);
        info[i].n_points = points[i].n;
        if (!e->options->project) splat_surface_points_free(&points[i]); /* of no more use, and memory is needed */
        if (status == SPLAT_OK)
            status = finish_and_write(e, &points[i], &mesh, paths + i * n_paths, n_paths, &info[i], error);
        splat_surface_points_free(&points[i]);
        splat_mesh_free(&mesh);
    }
    return status;
}

/* One mesh without points: of a level of the density, or of fused depth. */
static splat_status extract_one(const splat_extraction *e, float level, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error)
{
    splat_mesh mesh = {0};
    splat_status status = e->options->method == SPLAT_MESH_TSDF
                              ? splat_extract_fusion(e, &mesh, error)
                              : splat_extract_density(e, level, &mesh, &info->n_gaussians, error);
    if (status == SPLAT_OK) status = finish_and_write(e, NULL, &mesh, paths, n_paths, info, error);
    splat_mesh_free(&mesh);
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
    splat_extraction e = {.options = options, .scene = scene, .model = model, .threads = context->threads,
                    .boxes = splat_surface_boxes_make(scene, options)};
    SPLAT_TRY(splat_surface_check_memory(scene, model, options, &e.octree_bytes, error));
    if (options->method == SPLAT_MESH_POISSON) return extract_points(&e, paths, n_paths, info, error);
    for (size_t i = 0; i < splat_mesh_extract_count(options); i++)
        SPLAT_TRY(extract_one(&e, options->levels[i], paths + i * n_paths, n_paths, &info[i], error));
    return SPLAT_OK;
}
