/* The host memory of a mesh, before the work begins. */
#include "base/context.h"
#include "model/model.h"
#include "surface/extract/extract_memory.h"
#include "surface/extract/extract_poisson.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/surface_views.h"

#include "mesh/poisson/poisson_reconstruct.h"
#include "surface/extract/point_cells.h"
#include "surface/extract/view_maps.h"

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

splat_status splat_surface_check_memory(const splat_scene *scene, const splat_model *model,
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
