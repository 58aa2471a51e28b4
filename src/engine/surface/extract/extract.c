/* A mesh from a splat, by one of the methods of extract_*.c; then cleaning, simplification, projection, normals. */
#include "base/context.h"
#include "mesh/poisson/poisson_reconstruct.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extract_density.h"
#include "surface/extract/extract_fusion.h"
#include "surface/extract/extract_poisson.h"
#include "surface/extract/extract_sky.h"
#include "surface/extract/extract_visible.h"
#include "surface/extract/extraction.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/sky_space.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/surface_views.h"
#include "surface/extract/view_maps.h"

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
    SPLAT_TRY(splat_extract_drop_before_sky(e, mesh, &info->n_faces_before_sky, error));
    SPLAT_TRY(splat_extract_drop_invisible(e, mesh, &info->n_faces_unseen, error));
    if (simplifies || info->n_faces_before_sky || info->n_faces_unseen) SPLAT_TRY(clean(e, mesh, error));
    if (points && o->project)
        SPLAT_TRY(project(e, points, mesh, error)); /* computes normals, too */
    else
        SPLAT_TRY(splat_mesh_compute_normals(mesh, e->threads, error));
    info->n_vertices = mesh->n_vertices;
    info->n_faces = mesh->n_faces;
    return splat_extract_measure_sky(e, mesh, &info->n_sky_pixels, &info->n_sky_covered, error);
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
        if (status == SPLAT_OK) status = splat_sky_remove_points(e->scene, &points[i], error);
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

/* ---------------------------------------------------------------- host memory, before the work begins */

/* Bytes of one view, and of the pieces or the splat that points are made from. */
static uint64_t picture_bytes(const splat_scene *scene, const splat_model *model, const splat_mesh_extract_options *o)
{
    uint64_t n_pixels = splat_surface_pixels(scene, o->resolution_factor), n = model->gaussians.n;
    const uint64_t level = 4 + 16, depth = 20 + 12 + 3, tsdf = depth + 4;
    if (o->method == SPLAT_MESH_TSDF) return tsdf * n_pixels;
    switch (o->points) {
    case SPLAT_MESH_POINTS_LEVEL:
        return level * n_pixels + 4 * n + (uint64_t)SPLAT_SURFACE_PIECE * (4 + 25 * o->n_levels);
    case SPLAT_MESH_POINTS_CENTERS: return 60 * n + 4 * n_pixels;
    case SPLAT_MESH_POINTS_VIEWS: {
        uint64_t maps;
        splat_view_maps_choose(scene, o, &maps);
        return maps + splat_point_cells_bytes(o->n_points);
    }
    case SPLAT_MESH_POINTS_DEPTH: break;
    }
    return depth * n_pixels;
}

static splat_status refuse(uint64_t needed, uint64_t limit, const char *way_out, splat_error *error)
{
    char a[32], b[32];
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "this mesh may need %s of host memory, and the limit is %s; allow more with `max_host_memory`, "
                      "or use %s",
                      splat_bytes_format(needed, a, sizeof a), splat_bytes_format(limit, b, sizeof b), way_out);
}

/* Tells the host memory that the mesh will need, and refuses what passes max_host_bytes. *octree_bytes: what the
 * reconstruction may take of it; 0: no limit. */
static splat_status check_memory(const splat_scene *scene, const splat_model *model,
                                        const splat_mesh_extract_options *options, uint64_t *octree_bytes,
                                        int *most_depth, splat_error *error)
{
    uint64_t limit = options->max_host_bytes, pictures = picture_bytes(scene, model, options), octree;
    bool automatic = options->poisson_depth == 0;
    *octree_bytes = 0;
    *most_depth = automatic ? SPLAT_EXTRACT_MOST_DEPTH : options->poisson_depth;
    if (options->method == SPLAT_MESH_MARCHING_CUBES) { /* its own estimate comes once the Gaussians are chosen */
        uint64_t gaussians = 60 * (uint64_t)model->gaussians.n;
        if (limit && gaussians >= limit) return refuse(gaussians, limit, "fewer Gaussians", error);
        if (limit) *octree_bytes = limit - gaussians;
        return SPLAT_OK;
    }
    if (options->method == SPLAT_MESH_TSDF) {
        if (limit && pictures >= limit)
            return refuse(pictures, limit, "a smaller `mesh_extraction_resolution_factor`", error);
        if (limit) *octree_bytes = limit - pictures;
        return SPLAT_OK;
    }
    splat_poisson_options poisson;
    splat_poisson_options_default(&poisson);
    uint64_t capacity = splat_surface_points_capacity(scene, model, options);
    uint64_t point = SPLAT_SURFACE_POINT_BYTES;
    if (options->points == SPLAT_MESH_POINTS_VIEWS) point += SPLAT_SURFACE_WEIGHT_BYTES;
    uint64_t points = capacity * point * splat_mesh_extract_count(options);
    size_t n_used = options->points == SPLAT_MESH_POINTS_CENTERS ? model->gaussians.n : options->n_points;
    uint64_t needed;
    char text[4][32];
    for (;; --*most_depth) { /* to the deepest that fits, where the points choose */
        poisson.depth = *most_depth;
        SPLAT_TRY(splat_poisson_estimate(&poisson, n_used, true, &octree, error));
        needed = points + (pictures > octree ? pictures : octree);
        if (!automatic || !limit || needed <= limit || *most_depth == SPLAT_POISSON_MIN_DEPTH) break;
    }
    if (automatic && *most_depth < SPLAT_EXTRACT_MOST_DEPTH)
        splat_log(model->context, SPLAT_LOG_NOTICE, "Poisson: a depth of %d at most, for %s of host memory",
                  *most_depth, splat_bytes_format(limit, text[0], sizeof text[0]));
    splat_log(model->context, SPLAT_LOG_NOTICE, "host memory: up to %s (points %s, then views %s or the octree %s)",
              splat_bytes_format(needed, text[0], sizeof text[0]), splat_bytes_format(points, text[1], sizeof text[1]),
              splat_bytes_format(pictures, text[2], sizeof text[2]),
              splat_bytes_format(octree, text[3], sizeof text[3]));
    if (limit && needed > limit)
        return refuse(needed, limit, "fewer `surface_points` or a smaller `poisson_depth`", error);
    if (limit) *octree_bytes = limit - points;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- all of it */

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
    SPLAT_TRY(check_memory(scene, model, options, &e.octree_bytes, &e.most_depth, error));
    if (options->method == SPLAT_MESH_POISSON) return extract_points(&e, paths, n_paths, info, error);
    for (size_t i = 0; i < splat_mesh_extract_count(options); i++)
        SPLAT_TRY(extract_one(&e, options->levels[i], paths + i * n_paths, n_paths, &info[i], error));
    return SPLAT_OK;
}
