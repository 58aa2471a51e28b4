/* Depth maps fused into a truncated signed distance field (Curless and Levoy, SIGGRAPH 1996) on a sparse grid of
 * voxels. Every depth map is shown twice: first all are planned, which names the blocks near surface; then the bytes
 * are known (splat_voxel_grid_bytes), the grid is allocated, and all are fused:
 *
 *     splat_voxel_grid_init, splat_tsdf_plan for each frame, splat_voxel_grid_allocate,
 *     splat_tsdf_fuse for each frame, splat_tsdf_mesh
 *
 * The planned blocks do not depend on the order of frames; the fused values do, by rounding.
 */
#ifndef SPLAT_MESH_TSDF_H
#define SPLAT_MESH_TSDF_H

#include "mesh/mesh.h"
#include "mesh/voxel_grid.h"

typedef struct splat_tsdf_options {
    double truncation;      /* scene units, at least two voxels; four to eight are usual. Surface that is seen at less
                             * than asin(1.7 voxels / truncation) by every view gets holes */
    float max_depth;        /* pixels farther away are left out; 0: none are */
    int threads;            /* >= 1; results do not depend on it */
} splat_tsdf_options;

typedef struct splat_tsdf_frame {
    splat_camera camera;    /* width and height are those of the maps */
    const float *depth;     /* [height][width], along the camera's z axis, of pixel centres; +INFINITY: the ray meets
                             * nothing, which clears the voxels on it; not above 0, or NaN: nothing is known there */
    const float *weights;   /* [height][width], 0 to 1; NULL: 1 */
    const uint8_t *rgb;     /* [height][width][3]; NULL: no colour */
} splat_tsdf_frame;

/* Touches the blocks within the truncation of the frame's surface. Errors: ARGUMENT, MEMORY (also when max_bytes of the
 * grid would be passed). */
splat_status splat_tsdf_plan(splat_voxel_grid *grid, const splat_tsdf_options *options, const splat_tsdf_frame *frame,
                             splat_error *error);
/* Adds the frame to the voxels of the grid that it sees: values are distances along the ray, positive in front of the
 * surface, at most the truncation; weights fall from a voxel behind the surface to 0 at the truncation. Errors:
 * ARGUMENT. */
splat_status splat_tsdf_fuse(splat_voxel_grid *grid, const splat_tsdf_options *options, const splat_tsdf_frame *frame,
                             splat_error *error);
/* The surface at distance 0, by marching cubes, through voxels of at least min_weight. 1 is one view of voxels before
 * the surface, but those behind it have a part of that, the less the more slanted the view: 0.1 is a good value, and
 * larger ones leave holes where the surface is seen from the side only. */
splat_status splat_tsdf_mesh(const splat_voxel_grid *grid, float min_weight, int threads, splat_mesh *mesh,
                             splat_error *error);

#endif
