/* An extraction: its options, where it looks, how finely, and when it stops. */
#ifndef SPLAT_SURFACE_EXTRACTION_H
#define SPLAT_SURFACE_EXTRACTION_H

#include "splatsmith/mesh.h"

struct splat_free_space;

/* STOPPED when the caller's progress function says so. */
splat_status splat_surface_go_on(const splat_mesh_extract_options *options, const char *stage, double fraction,
                                 splat_error *error);

/* The box of the options, or a cube around the cameras' mean as wide as the scene's extent (docs/method.md). */
typedef struct splat_surface_box {
    double low[3], high[3];
} splat_surface_box;

splat_surface_box splat_surface_box_make(const splat_scene *scene, const splat_mesh_extract_options *options);

bool splat_surface_is_inside(const float point[3], const double low[3], const double high[3]);

/* An extraction in work. */
typedef struct splat_extraction {
    const splat_mesh_extract_options *options;
    splat_scene *scene;
    splat_model *model;
    splat_surface_box box; /* TSDF, MARCHING_CUBES: of the smallest voxels */
    const struct splat_free_space *space; /* that views look through (free_space.h) */
    int threads;
    uint64_t octree_bytes; /* host memory of an octree or a voxel grid; 0: no limit */
    int most_depth;        /* POISSON: of an octree; where the options name a depth, that */
} splat_extraction;

/* Side of a voxel: what the options say, or a 320th of the box's longest side. */
double splat_extract_voxel(const splat_extraction *extraction);

#endif
