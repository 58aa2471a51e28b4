/* A virtual scan: rays of cameras near the photos, against a mesh and against the true surface. It shows a sheet in
 * front of everything, whose area is small, and it does not reward holes. */
#ifndef SPLAT_MESH_MESH_SCAN_H
#define SPLAT_MESH_MESH_SCAN_H

#include "mesh/mesh.h"
#include "mesh/measure/mesh_figures.h"

/* A pinhole camera: x_camera = rotation (x_world - center), pixels. */
typedef struct splat_scan_photo {
    double rotation[9], center[3];
    double fx, fy, cx, cy, width, height;
} splat_scan_photo;

/* Reads the photos of the COLMAP model sparse/0 next to a file, such as ground_truth_mesh.ply of a built-in scene.
 * Errors: those of splat_colmap_read, FORMAT (a camera without focal length), MEMORY. *photos is to be freed. */
splat_status splat_scan_photos_read(const char *beside, splat_scan_photo **photos, size_t *n, splat_error *error);
/* Scans with 200 cameras of 80 x 60 rays: the photos' cameras, moved by up to a fifth of the median depth, but not
 * into the true surface. Both meshes are valid and have faces; thresholds[n_thresholds] in scene units. The same seed
 * gives the same figures for any number of threads. Errors: ARGUMENT (no photo; no photo sees the true surface),
 * MEMORY. */
splat_status splat_mesh_scan_make(const splat_mesh *mesh, const splat_mesh *truth, const splat_scan_photo *photos,
                                  size_t n_photos, const double *thresholds, size_t n_thresholds, uint64_t seed,
                                  int threads, splat_mesh_scan *scan, splat_error *error);

#endif
