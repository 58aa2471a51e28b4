/* A mesh from a splat, by one of the methods of extract_*.c; then cleaning, simplification, projection, normals. */
#include "base/context.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extract_boxes.h"
#include "surface/extract/extract_density.h"
#include "surface/extract/extract_fusion.h"
#include "surface/extract/extract_memory.h"
#include "surface/extract/extract_poisson.h"
#include "surface/extract/extract_seen.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_points.h"

#include "base/file.h"
#include "base/options.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_project.h"
#include "mesh/mesh_simplify.h"

#include <string.h>

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

static splat_status clean(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    splat_mesh_clean_options options;
    splat_mesh_clean_options_init(&options);
    options.min_component_faces = e->options->min_component_faces;
    options.threads = e->threads;
    SPLAT_TRY(splat_surface_go_on(e->options, "cleaning", 0, error));
    SPLAT_TRY(splat_mesh_clean(mesh, &options, NULL, error));
    if (mesh->n_faces > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "nothing is left of the mesh: all its pieces have fewer than %zu faces",
                      e->options->min_component_faces);
}

static splat_status simplify(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    splat_mesh_simplify_options options;
    splat_mesh_simplify_options_init(&options);
    options.target_vertices = e->options->target_vertices;
    options.threads = e->threads;
    options.progress = e->options->progress;
    options.progress_user = e->options->progress_user;
    return splat_mesh_simplify(mesh, &options, NULL, error);
}

/* points: those that the mesh was made from, or NULL. What is not seen goes last: drawing takes as long as there are
 * faces. */
static splat_status finish(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                           splat_mesh_extract_info *info, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    bool simplifies = o->target_vertices && mesh->n_vertices > o->target_vertices;
    info->n_vertices_first = mesh->n_vertices;
    info->n_faces_first = mesh->n_faces;
    SPLAT_TRY(clean(e, mesh, error));
    if (simplifies) SPLAT_TRY(simplify(e, mesh, error));
    SPLAT_TRY(splat_extract_drop_unseen(e, mesh, &info->n_faces_unseen, error));
    if (simplifies || info->n_faces_unseen) SPLAT_TRY(clean(e, mesh, error));
    if (points && o->project)
        SPLAT_TRY(project(e, points, mesh, error)); /* computes normals, too */
    else
        SPLAT_TRY(splat_mesh_compute_normals(mesh, e->threads, error));
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
    splat_mesh_write_options format;
    splat_mesh_write_options_init(&format);
    splat_scene_up(e->scene, format.up);
    for (size_t i = 0; i < n_paths; i++) {
        SPLAT_TRY(splat_folder_create_for(paths[i], error));
        SPLAT_TRY(splat_mesh_write_as(paths[i], mesh, &format, error));
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

/* Before the work, which takes minutes. */
static splat_status check_outputs(const char *const *paths, size_t n, splat_error *error)
{
    for (size_t i = 0; i < n; i++) {
        SPLAT_TRY(splat_folder_create_for(paths[i], error));
        SPLAT_TRY(splat_save_check(paths[i], error));
    }
    return SPLAT_OK;
}

splat_status splat_mesh_extract(splat_context *context, splat_scene *scene, splat_model *model,
                                const splat_mesh_extract_options *options, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error)
{
    splat_mesh_extract_options own;
    splat_mesh_extract_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_mesh_extract_options", error));
    options = &own;
    SPLAT_TRY(splat_mesh_extract_options_check(options, error));
    SPLAT_TRY(check_outputs(paths, n_paths * splat_mesh_extract_count(options), error));
    memset(info, 0, splat_mesh_extract_count(options) * sizeof *info);
    if (scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          scene->dataset.n_train);
    if (model->gaussians.n == 0) return splat_fail(error, SPLAT_ERROR_FORMAT, "the splat has no Gaussians");
    splat_extraction e = {.options = options, .scene = scene, .model = model, .threads = context->threads,
                    .boxes = splat_surface_boxes_make(scene, options)};
    SPLAT_TRY(splat_surface_check_memory(scene, model, options, &e.octree_bytes, &e.most_depth, error));
    if (options->method == SPLAT_MESH_POISSON) return extract_points(&e, paths, n_paths, info, error);
    for (size_t i = 0; i < splat_mesh_extract_count(options); i++)
        SPLAT_TRY(extract_one(&e, options->levels[i], paths + i * n_paths, n_paths, &info[i], error));
    return SPLAT_OK;
}
