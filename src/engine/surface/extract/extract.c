/* A mesh from a splat, by one of the methods of extract_*.c; then cleaning, simplification, projection, normals. */
#include "base/context.h"
#include "base/point_tree.h"
#include "math/camera.h"
#include "mesh/poisson/poisson_reconstruct.h"
#include "model/dome.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extract_checks.h"
#include "surface/extract/extract_collider.h"
#include "surface/extract/extract_density.h"
#include "surface/extract/extract_free.h"
#include "surface/extract/extract_fusion.h"
#include "surface/extract/extract_outlines.h"
#include "surface/extract/extract_poisson.h"
#include "surface/extract/extract_visible.h"
#include "surface/extract/extraction.h"
#include "surface/extract/free_space.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/surface_views.h"
#include "surface/extract/view_maps.h"

#include "base/file.h"
#include "base/options.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_fair.h"
#include "mesh/mesh_project.h"
#include "mesh/mesh_simplify.h"

#include <stdlib.h>
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

/* Vertices of a closed mesh stay apart: where two fall together, a merge could open it. */
static splat_status clean(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    splat_mesh_clean_options options;
    splat_mesh_clean_options_init(&options);
    if (e->options->surface == SPLAT_MESH_CLOSED) options.merge_distance = -1;
    options.min_component_faces = e->options->min_component_faces;
    options.threads = e->threads;
    SPLAT_TRY(splat_surface_go_on(e->options, "cleaning", 0, error));
    SPLAT_TRY(splat_mesh_clean(mesh, &options, NULL, error));
    if (mesh->n_faces > 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "nothing is left of the mesh: all its pieces have fewer than %zu faces",
                      e->options->min_component_faces);
}

/* sizes[n_vertices]: that of the nearest point. */
static splat_status find_sizes(const splat_extraction *e, const splat_surface_points *points, const splat_mesh *mesh,
                               float *sizes, splat_error *error)
{
    splat_point_tree tree;
    SPLAT_TRY(splat_point_tree_make(&tree, points->positions, points->n, e->threads, error));
#pragma omp parallel for num_threads(e->threads) schedule(dynamic, 256)
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        float distance2;
        uint32_t nearest;
        splat_point_tree_nearest(&tree, mesh->vertices + 3 * i, 1, SPLAT_NO_POINT, &distance2, &nearest);
        sizes[i] = points->sizes[nearest];
    }
    splat_point_tree_free(&tree);
    return SPLAT_OK;
}

/* Triangles stay where the sizes of the points are small: near the cameras. */
static splat_status simplify(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                             splat_error *error)
{
    splat_mesh_simplify_options options;
    float *sizes = NULL;
    splat_status status = SPLAT_OK;
    splat_mesh_simplify_options_init(&options);
    options.target_vertices = e->options->target_vertices;
    options.threads = e->threads;
    options.progress = e->options->progress;
    options.progress_user = e->options->progress_user;
    SPLAT_TRY(splat_surface_go_on(e->options, "simplifying", 0, error));
    if (points && points->sizes) {
        sizes = malloc((mesh->n_vertices + 1) * sizeof *sizes);
        if (!sizes)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify %zu vertices", mesh->n_vertices);
        status = find_sizes(e, points, mesh, sizes, error);
    }
    options.sizes = sizes;
    if (status == SPLAT_OK) status = splat_mesh_simplify(mesh, &options, NULL, error);
    free(sizes);
    return status;
}

/* Vertices move within what photos can tell: of such surfaces a smooth one. */
static splat_status fair(const splat_extraction *e, const float *sizes, splat_mesh *mesh, splat_error *error)
{
    splat_mesh_fair_options options;
    splat_mesh_fair_options_init(&options);
    options.threads = e->threads;
    SPLAT_TRY(splat_surface_go_on(e->options, "smoothing", 0, error));
    float *reach = malloc((mesh->n_vertices + 1) * sizeof *reach);
    if (!reach) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to smooth %zu vertices", mesh->n_vertices);
    for (size_t i = 0; i < mesh->n_vertices; i++) reach[i] = (float)e->options->fairing * sizes[i];
    splat_status status = splat_mesh_fair(mesh, reach, &options, error);
    free(reach);
    return status;
}

/* Vertices move by pixels or less. */
static splat_status adjust(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                           splat_error *error)
{
    float *sizes = malloc((mesh->n_vertices + 1) * sizeof *sizes);
    if (!sizes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to move %zu vertices", mesh->n_vertices);
    splat_status status = find_sizes(e, points, mesh, sizes, error);
    if (status == SPLAT_OK && e->options->fairing > 0) status = fair(e, sizes, mesh, error);
    if (status == SPLAT_OK && e->options->outlines) status = splat_extract_outlines(e, sizes, mesh, error);
    free(sizes);
    return status;
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
    if (simplifies) SPLAT_TRY(simplify(e, points, mesh, error));
    SPLAT_TRY(splat_extract_drop_free(e, mesh, &info->n_faces_free, error));
    SPLAT_TRY(splat_extract_drop_invisible(e, mesh, &info->n_faces_unseen, error));
    if (simplifies || info->n_faces_free || info->n_faces_unseen) SPLAT_TRY(clean(e, mesh, error));
    if (points && points->sizes && (o->fairing > 0 || o->outlines)) SPLAT_TRY(adjust(e, points, mesh, error));
    if (points && o->project)
        SPLAT_TRY(project(e, points, mesh, error)); /* computes normals, too */
    else
        SPLAT_TRY(splat_mesh_compute_normals(mesh, e->threads, error));
    info->n_vertices = mesh->n_vertices;
    info->n_faces = mesh->n_faces;
    return splat_extract_check(e, mesh, info, error);
}

#define PATH_SIZE 4096

static splat_status write(const splat_extraction *e, const splat_mesh *mesh, const char *path, splat_error *error)
{
    splat_mesh_write_options format;
    splat_mesh_write_options_init(&format);
    splat_scene_up(e->scene, format.up);
    format.is_metric = splat_scene_is_metric(e->scene);
    SPLAT_TRY(splat_folder_create_for(path, error));
    return splat_mesh_write_as(path, mesh, &format, error);
}

static splat_status finish_and_write(const splat_extraction *e, const splat_surface_points *points, splat_mesh *mesh,
                                     const char *const *paths, size_t n_paths, splat_mesh_extract_info *info,
                                     splat_error *error)
{
    SPLAT_TRY(finish(e, points, mesh, info, error));
    SPLAT_TRY(splat_surface_go_on(e->options, "writing", 0, error));
    for (size_t i = 0; i < n_paths; i++) {
        SPLAT_TRY(write(e, mesh, paths[i], error));
        SPLAT_TRY(splat_model_save_dome(e->model, paths[i], error));
    }
    return SPLAT_OK;
}

/* mesh: from the points, by an octree of `depth` levels. */
static splat_status write_collider(const splat_extraction *e, const splat_surface_points *points, int depth,
                                   const splat_mesh *mesh, const char *const *paths, size_t n_paths,
                                   splat_mesh_extract_info *info, splat_error *error)
{
    splat_mesh collider = {0};
    char path[PATH_SIZE];
    if (e->options->collider_faces == 0) return SPLAT_OK;
    splat_status status = splat_extract_collider(e, points, depth, mesh, &collider, error);
    info->n_collider_faces = collider.n_faces;
    for (size_t i = 0; i < n_paths && status == SPLAT_OK; i++) {
        status = splat_mesh_collider_path(paths[i], path, sizeof path, error);
        if (status == SPLAT_OK) status = write(e, &collider, path, error);
    }
    splat_mesh_free(&collider);
    return status;
}

#define MANY_POINTS 10000u /* with fewer a mesh needs each of them */

/* Removes points that views look through: they would bend the surface around before their faces go. */
static splat_status remove_free_points(const splat_extraction *e, splat_surface_points *points, splat_error *error)
{
    size_t n_found, n = points->n;
    const splat_free_witness witness = n < MANY_POINTS ? SPLAT_FREE_BY_SKY : SPLAT_FREE_BY_ALL;
    SPLAT_TRY(splat_free_space_remove_points(e->space, witness, points, e->threads, &n_found, error));
    if (n_found)
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "%zu of %zu points stand in free space and go", n_found, n);
    return SPLAT_OK;
}

/* Finds the space before the sky, where nothing else is known. */
static splat_status find_sky_space(const splat_extraction *e, splat_free_space *space, splat_error *error)
{
    const splat_sky *sky;
    SPLAT_TRY(splat_scene_find_sky(e->scene, &sky, error));
    return splat_free_space_from_sky(e->scene, sky, space, error);
}

static splat_status extract_points(splat_extraction *e, const char *const *paths, size_t n_paths,
                                   splat_mesh_extract_info *info, splat_error *error)
{
    splat_surface_points points[SPLAT_MESH_LEVELS];
    splat_free_space space;
    size_t n = splat_mesh_extract_count(e->options), n_opaque;
    SPLAT_TRY(splat_surface_points_collect(e->scene, e->model, e->options, points, &space, &n_opaque, error));
    splat_status status = space.n ? SPLAT_OK : find_sky_space(e, &space, error);
    e->space = &space;
    for (size_t i = 0; i < n; i++) {
        splat_mesh mesh = {0};
        const char *const *own = paths + i * n_paths;
        int depth = 0;
        info[i].n_gaussians = n_opaque;
        if (status == SPLAT_OK) status = remove_free_points(e, &points[i], error);
        if (status == SPLAT_OK) status = splat_extract_poisson(e, &points[i], &mesh, &depth, error);
        info[i].n_points = points[i].n;
        if (status == SPLAT_OK) status = finish_and_write(e, &points[i], &mesh, own, n_paths, &info[i], error);
        if (status == SPLAT_OK)
            status = write_collider(e, &points[i], depth, &mesh, own, n_paths, &info[i], error);
        splat_surface_points_free(&points[i]);
        splat_mesh_free(&mesh);
    }
    splat_free_space_free(&space);
    return status;
}

/* One mesh without points: of a level of the density, or of fused depth. */
static splat_status extract_one(splat_extraction *e, float level, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error)
{
    splat_mesh mesh = {0};
    splat_free_space space;
    SPLAT_TRY(find_sky_space(e, &space, error));
    e->space = &space;
    splat_status status = e->options->method == SPLAT_MESH_TSDF
                              ? splat_extract_fusion(e, &mesh, error)
                              : splat_extract_density(e, level, &mesh, &info->n_gaussians, error);
    if (status == SPLAT_OK) status = finish_and_write(e, NULL, &mesh, paths, n_paths, info, error);
    splat_mesh_free(&mesh);
    splat_free_space_free(&space);
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

/* Bytes of what the views look through, while the mesh is made. */
static uint64_t free_bytes(const splat_scene *scene, const splat_mesh_extract_options *o)
{
    uint64_t n = 0, maps;
    float factor = splat_view_maps_choose(scene, o, &maps);
    if (o->points != SPLAT_MESH_POINTS_VIEWS || !(factor > 0)) return 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        splat_camera camera = splat_surface_camera(scene, i, factor);
        n += splat_camera_pixels(&camera);
    }
    return n * SPLAT_FREE_PIXEL_BYTES;
}

static splat_status refuse(uint64_t needed, uint64_t limit, const char *way_out, splat_error *error)
{
    char a[32], b[32];
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "this mesh may need %s of host memory, and the limit is %s; allow more with `max_host_memory`, "
                      "or use %s",
                      splat_bytes_format(needed, a, sizeof a), splat_bytes_format(limit, b, sizeof b), way_out);
}

#define USUAL_POINTS 2000000u
#define USUAL_VIEWS_POINTS 3000000u
#define LEAST_VIEWS_POINTS 100000u /* fewer do not make up for too little memory */

/* Bytes of the points with the space before them, the views and the octree. Errors: ARGUMENT. */
static splat_status estimate(const splat_scene *scene, const splat_model *model,
                             const splat_mesh_extract_options *options, int depth, uint64_t bytes[3],
                             splat_error *error)
{
    splat_poisson_options poisson;
    splat_extract_octree(options, depth, options->surface == SPLAT_MESH_CLOSED, &poisson);
    bool from_views = options->points == SPLAT_MESH_POINTS_VIEWS;
    uint64_t point = SPLAT_SURFACE_POINT_BYTES + (from_views ? SPLAT_SURFACE_VIEWS_BYTES : 0);
    size_t n_used = options->points == SPLAT_MESH_POINTS_CENTERS ? model->gaussians.n : options->n_points;
    bytes[0] = splat_surface_points_capacity(scene, model, options) * point * splat_mesh_extract_count(options);
    bytes[0] += free_bytes(scene, options);
    bytes[1] = picture_bytes(scene, model, options);
    return splat_poisson_estimate(&poisson, n_used, true, &bytes[2], error);
}

/* POISSON: what the options leave open becomes what fits into max_host_bytes: the number of VIEWS points, which decides
 * how fine they are, or else the depth. *needed: all that may be held at a time. */
static splat_status choose_sizes(const splat_scene *scene, const splat_model *model,
                                 splat_mesh_extract_options *options, int *most_depth, uint64_t bytes[3],
                                 uint64_t *needed, splat_error *error)
{
    uint64_t limit = options->max_host_bytes;
    bool from_views = options->points == SPLAT_MESH_POINTS_VIEWS, any_points = options->n_points == 0;
    bool any_depth = options->poisson_depth == 0;
    char text[32];
    if (any_points) options->n_points = from_views ? USUAL_VIEWS_POINTS : USUAL_POINTS;
    *most_depth = any_depth ? SPLAT_POISSON_MAX_DEPTH : options->poisson_depth;
    for (;;) {
        SPLAT_TRY(estimate(scene, model, options, *most_depth, bytes, error));
        *needed = bytes[0] + (bytes[1] > bytes[2] ? bytes[1] : bytes[2]);
        if (!limit || *needed <= limit) break;
        if (from_views && any_points && options->n_points > LEAST_VIEWS_POINTS)
            options->n_points -= options->n_points / 5;
        else if (any_depth && *most_depth > SPLAT_POISSON_MIN_DEPTH)
            --*most_depth;
        else
            break;
    }
    if (from_views && any_points && options->n_points < USUAL_VIEWS_POINTS)
        splat_log(model->context, SPLAT_LOG_NOTICE, "%zu surface points at most, for %s of host memory",
                  options->n_points, splat_bytes_format(limit, text, sizeof text));
    if (any_depth && *most_depth < SPLAT_POISSON_MAX_DEPTH)
        splat_log(model->context, SPLAT_LOG_NOTICE, "Poisson: a depth of %d at most, for %s of host memory",
                  *most_depth, splat_bytes_format(limit, text, sizeof text));
    return SPLAT_OK;
}

/* Tells the host memory that the mesh will need, and refuses what passes max_host_bytes. *octree_bytes: what the
 * reconstruction may take of it; 0: no limit. */
static splat_status check_memory(const splat_scene *scene, const splat_model *model,
                                 splat_mesh_extract_options *options, uint64_t *octree_bytes, int *most_depth,
                                 splat_error *error)
{
    uint64_t limit = options->max_host_bytes, bytes[3], needed;
    char text[4][32];
    *octree_bytes = 0;
    if (options->method == SPLAT_MESH_MARCHING_CUBES) { /* its own estimate comes once the Gaussians are chosen */
        uint64_t gaussians = 60 * (uint64_t)model->gaussians.n;
        if (limit && gaussians >= limit) return refuse(gaussians, limit, "fewer Gaussians", error);
        if (limit) *octree_bytes = limit - gaussians;
        return SPLAT_OK;
    }
    if (options->method == SPLAT_MESH_TSDF) {
        uint64_t pictures = picture_bytes(scene, model, options);
        if (limit && pictures >= limit)
            return refuse(pictures, limit, "a smaller `mesh_extraction_resolution_factor`", error);
        if (limit) *octree_bytes = limit - pictures;
        return SPLAT_OK;
    }
    SPLAT_TRY(choose_sizes(scene, model, options, most_depth, bytes, &needed, error));
    for (int i = 0; i < 3; i++) splat_bytes_format(bytes[i], text[i], sizeof text[i]);
    splat_log(model->context, SPLAT_LOG_NOTICE, "host memory: up to %s (points %s, then views %s or the octree %s)",
              splat_bytes_format(needed, text[3], sizeof text[3]), text[0], text[1], text[2]);
    if (limit && needed > limit)
        return refuse(needed, limit, "fewer `surface_points` or a smaller `poisson_depth`", error);
    if (limit) *octree_bytes = limit - bytes[0];
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- all of it */

/* Before the work, which takes minutes. */
static splat_status check_outputs(const char *const *paths, size_t n, bool has_collider, splat_error *error)
{
    char collider[PATH_SIZE];
    for (size_t i = 0; i < n; i++) {
        SPLAT_TRY(splat_folder_create_for(paths[i], error));
        SPLAT_TRY(splat_save_check(paths[i], error));
        if (!has_collider) continue;
        SPLAT_TRY(splat_mesh_collider_path(paths[i], collider, sizeof collider, error));
        SPLAT_TRY(splat_save_check(collider, error));
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
    SPLAT_TRY(check_outputs(paths, n_paths * splat_mesh_extract_count(options), options->collider_faces > 0, error));
    memset(info, 0, splat_mesh_extract_count(options) * sizeof *info);
    if (scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          scene->dataset.n_train);
    if (model->gaussians.n == 0) return splat_fail(error, SPLAT_ERROR_FORMAT, "the splat has no Gaussians");
    splat_extraction e = {.options = options, .scene = scene, .model = model, .threads = context->threads,
                    .box = splat_surface_box_make(scene, options)};
    SPLAT_TRY(check_memory(scene, model, &own, &e.octree_bytes, &e.most_depth, error));
    if (options->method == SPLAT_MESH_POISSON) return extract_points(&e, paths, n_paths, info, error);
    for (size_t i = 0; i < splat_mesh_extract_count(options); i++)
        SPLAT_TRY(extract_one(&e, options->levels[i], paths + i * n_paths, n_paths, &info[i], error));
    return SPLAT_OK;
}
