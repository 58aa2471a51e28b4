/* Each level is a fusion of its own. A level is planned for the surface in its shell alone, and fused with all of it:
 * what a ray passes on its way to another level is empty. */
#include "mesh/tsdf_levels.h"

#include "math/camera.h"
#include "mesh/mesh_clean_vertices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 2.0 /* voxels over the borders of a shell, for the cells across them to be whole */

/* ---------------------------------------------------------------- levels */

splat_status splat_tsdf_levels_init(splat_tsdf_levels *levels, const double low[3], const double high[3],
                                    double voxel_size, size_t n_levels, size_t max_bytes, float max_depth, int threads,
                                    splat_error *error)
{
    memset(levels, 0, sizeof *levels);
    for (int k = 0; k < 3; k++)
        if (!(low[k] < high[k]) || !isfinite(high[k] - low[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box to fuse depth maps in is empty: from %g to %g",
                              low[k], high[k]);
    if (n_levels < 1 || n_levels > SPLAT_TSDF_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "depth maps are fused in 1 to %d levels, not %zu",
                          SPLAT_TSDF_LEVELS, n_levels);
    levels->boxes = splat_nested_boxes_make(low, high);
    levels->n = n_levels;
    levels->max_bytes = max_bytes;
    levels->max_depth = max_depth;
    levels->threads = threads;
    for (size_t l = 0; l < n_levels; l++) /* nothing is allocated yet */
        SPLAT_TRY(splat_voxel_grid_init(&levels->grids[l], levels->boxes.center, ldexp(voxel_size, (int)l), true,
                                        max_bytes, error));
    return SPLAT_OK;
}

void splat_tsdf_levels_free(splat_tsdf_levels *levels)
{
    for (size_t l = 0; l < SPLAT_TSDF_LEVELS; l++) splat_voxel_grid_free(&levels->grids[l]);
    free(levels->depth);
    levels->depth = NULL;
}

size_t splat_tsdf_levels_bytes(const splat_tsdf_levels *levels)
{
    size_t bytes = 0;
    for (size_t l = 0; l < levels->n; l++) bytes += splat_voxel_grid_bytes(&levels->grids[l]);
    return bytes;
}

size_t splat_tsdf_levels_blocks(const splat_tsdf_levels *levels)
{
    size_t n = 0;
    for (size_t l = 0; l < levels->n; l++) n += levels->grids[l].n_blocks;
    return n;
}

static splat_tsdf_options options_of(const splat_tsdf_levels *levels, size_t level)
{
    return (splat_tsdf_options){.truncation = SPLAT_TSDF_TRUNCATION * levels->grids[level].voxel_size,
                                .max_depth = levels->max_depth,
                                .threads = levels->threads};
}

/* The place that a pixel shows; false where it shows none. */
static bool place_of(const splat_tsdf_levels *levels, const splat_tsdf_frame *frame, size_t pixel, double place[3])
{
    const splat_camera *c = &frame->camera;
    double z = (double)frame->depth[pixel];
    size_t width = (size_t)c->width;
    if (!(z > 0) || isinf(z) || (levels->max_depth > 0 && z > (double)levels->max_depth)) return false;
    if (frame->weights && !(frame->weights[pixel] > 0)) return false;
    const double local[3] = {((double)(pixel % width) + 0.5 - (double)c->cx) / (double)c->fx * z,
                             ((double)(pixel / width) + 0.5 - (double)c->cy) / (double)c->fy * z, z};
    for (int k = 0; k < 3; k++)
        place[k] = (double)c->center[k] + (double)c->rotation[k] * local[0] + (double)c->rotation[3 + k] * local[1] +
                   (double)c->rotation[6 + k] * local[2];
    return true;
}

static bool is_within(const double place[3], const double low[3], const double high[3])
{
    for (int k = 0; k < 3; k++)
        if (!(place[k] > low[k] && place[k] < high[k])) return false;
    return true;
}

/* Leaves the depth of surface in the shell of a level and just over its borders. */
static void cut_to_shell(splat_tsdf_levels *levels, const splat_tsdf_frame *frame, size_t level)
{
    double margin = MARGIN * levels->grids[level].voxel_size, low[3], high[3], inner_low[3], inner_high[3];
    size_t n = splat_camera_pixels(&frame->camera);
    splat_nested_box(&levels->boxes, level, margin, low, high);
    splat_nested_box(&levels->boxes, level ? level - 1 : 0, -margin, inner_low, inner_high);
#pragma omp parallel for schedule(static) num_threads(levels->threads)
    for (size_t i = 0; i < n; i++) {
        double place[3];
        bool counts = place_of(levels, frame, i, place) && is_within(place, low, high) &&
                      !(level && is_within(place, inner_low, inner_high));
        levels->depth[i] = counts ? frame->depth[i] : 0;
    }
}

static void count_pixels(splat_tsdf_levels *levels, const splat_tsdf_frame *frame)
{
    size_t n = splat_camera_pixels(&frame->camera);
    for (size_t i = 0; i < n; i++) {
        double place[3];
        if (place_of(levels, frame, i, place)) levels->n_pixels[splat_nested_level(&levels->boxes, place, levels->n)]++;
    }
}

splat_status splat_tsdf_levels_plan(splat_tsdf_levels *levels, const splat_tsdf_frame *frame, splat_error *error)
{
    size_t n = frame->depth && frame->camera.width > 0 && frame->camera.height > 0
                   ? splat_camera_pixels(&frame->camera)
                   : 0; /* splat_tsdf_plan refuses such a frame */
    if (n > levels->depth_capacity) {
        free(levels->depth);
        levels->depth = malloc(n * sizeof *levels->depth);
        levels->depth_capacity = levels->depth ? n : 0;
        if (!levels->depth)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a depth map of %zu pixels", n);
    }
    if (n) count_pixels(levels, frame);
    for (size_t l = 0; l < levels->n; l++) {
        splat_tsdf_options options = options_of(levels, l);
        splat_tsdf_frame cut = *frame;
        if (n) {
            cut_to_shell(levels, frame, l);
            cut.depth = levels->depth;
        }
        size_t others = splat_tsdf_levels_bytes(levels) - splat_voxel_grid_bytes(&levels->grids[l]);
        levels->grids[l].max_bytes = levels->max_bytes - (others < levels->max_bytes ? others : levels->max_bytes);
        SPLAT_TRY(splat_tsdf_plan(&levels->grids[l], &options, &cut, error));
    }
    return SPLAT_OK;
}

splat_status splat_tsdf_levels_allocate(splat_tsdf_levels *levels, double share, splat_error *error)
{
    size_t all = 0, held = 0, n = 0;
    for (size_t l = 0; l <= SPLAT_TSDF_LEVELS; l++) all += levels->n_pixels[l];
    while (n < levels->n && (n == 0 || (double)held < share * (double)all)) held += levels->n_pixels[n++];
    for (size_t l = n; l < levels->n; l++) splat_voxel_grid_free(&levels->grids[l]);
    levels->n = n;
    for (size_t l = 0; l < n; l++) {
        levels->grids[l].max_bytes = levels->max_bytes;
        SPLAT_TRY(splat_voxel_grid_allocate(&levels->grids[l], error));
    }
    return SPLAT_OK;
}

splat_status splat_tsdf_levels_fuse(splat_tsdf_levels *levels, const splat_tsdf_frame *frame, splat_error *error)
{
    for (size_t l = 0; l < levels->n; l++) {
        splat_tsdf_options options = options_of(levels, l);
        SPLAT_TRY(splat_tsdf_fuse(&levels->grids[l], &options, frame, error));
    }
    return SPLAT_OK;
}

splat_status splat_tsdf_levels_mesh(const splat_tsdf_levels *levels, float min_weight, splat_mesh *mesh,
                                    splat_error *error)
{
    splat_status status = SPLAT_OK;
    memset(mesh, 0, sizeof *mesh);
    for (size_t l = 0; l < levels->n && status == SPLAT_OK; l++) {
        splat_mesh part = {0};
        size_t unused = 0;
        status = splat_tsdf_mesh(&levels->grids[l], min_weight, levels->threads, &part, error);
        if (status == SPLAT_OK) {
            splat_nested_crop(&levels->boxes, l, &part);
            status = splat_mesh_remove_unreferenced(&part, 1, &unused, error);
        }
        if (status == SPLAT_OK) status = splat_mesh_append(mesh, &part, error);
        splat_mesh_free(&part);
    }
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}
