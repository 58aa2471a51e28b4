/* Depth maps fused in nested boxes, so that a scene of any size fits in memory: each box is twice as large as the one
 * inside it and has voxels twice as large. Surface in the innermost box comes from the finest grid, that between two
 * boxes from the grid of the outer one:
 *
 *     splat_tsdf_levels_init, splat_tsdf_levels_plan for each frame, splat_tsdf_levels_allocate,
 *     splat_tsdf_levels_fuse for each frame, splat_tsdf_levels_mesh, splat_tsdf_levels_free
 */
#ifndef SPLAT_MESH_TSDF_LEVELS_H
#define SPLAT_MESH_TSDF_LEVELS_H

#include "mesh/nested_boxes.h"
#include "mesh/tsdf.h"

enum { SPLAT_TSDF_LEVELS = 12 };
#define SPLAT_TSDF_TRUNCATION 4.0 /* voxels of the level */

typedef struct splat_tsdf_levels {
    splat_nested_boxes boxes;
    size_t n;                                 /* levels */
    splat_voxel_grid grids[SPLAT_TSDF_LEVELS];
    size_t n_pixels[SPLAT_TSDF_LEVELS + 1];   /* pixels with surface on each level; the last: beyond all levels */
    size_t max_bytes;                         /* limit of all grids together */
    float max_depth;
    int threads;
    float *depth;                             /* depth of a frame, only where a level needs it */
    size_t depth_capacity;
} splat_tsdf_levels;

/* The innermost box and its voxels; n_levels 1 to SPLAT_TSDF_LEVELS. max_depth and threads as those of
 * splat_tsdf_options; max_bytes: SIZE_MAX for no limit. Errors: ARGUMENT. On failure there is nothing to free. */
splat_status splat_tsdf_levels_init(splat_tsdf_levels *levels, const double low[3], const double high[3],
                                    double voxel_size, size_t n_levels, size_t max_bytes, float max_depth, int threads,
                                    splat_error *error);
void splat_tsdf_levels_free(splat_tsdf_levels *levels);
/* Errors: as splat_tsdf_plan; MEMORY when all grids together would pass max_bytes. */
splat_status splat_tsdf_levels_plan(splat_tsdf_levels *levels, const splat_tsdf_frame *frame, splat_error *error);
/* Drops the outermost levels as long as the others hold `share` of the pixels that show surface, and allocates what is
 * left. Errors: MEMORY. */
splat_status splat_tsdf_levels_allocate(splat_tsdf_levels *levels, double share, splat_error *error);
size_t splat_tsdf_levels_bytes(const splat_tsdf_levels *levels);
size_t splat_tsdf_levels_blocks(const splat_tsdf_levels *levels);
splat_status splat_tsdf_levels_fuse(splat_tsdf_levels *levels, const splat_tsdf_frame *frame, splat_error *error);
/* Overwrites *mesh: one piece a level, cropped to its shell, not stitched. Errors: MEMORY. */
splat_status splat_tsdf_levels_mesh(const splat_tsdf_levels *levels, float min_weight, splat_mesh *mesh,
                                    splat_error *error);

#endif
