/* A mesh in the memory of the device, drawn in one view after the other. */
#ifndef SPLAT_MODEL_MESH_DRAWER_H
#define SPLAT_MODEL_MESH_DRAWER_H

#include "backend/backend.h"

typedef struct splat_mesh_drawer {
    splat_backend *backend; /* NULL: the drawer is closed */
    size_t n_vertices, n_faces;
    splat_block blocks[6];
} splat_mesh_drawer;

/* Opens the drawer where a device has memory of its own and room for the mesh: 24 bytes a vertex, 16 a face and 25 a
 * pixel of the largest picture, at most a quarter of what a limit of memory leaves. Otherwise the drawer stays closed,
 * which is no error: mesh/mesh_raster.h gives the same bits on the host. `drawer` is all zero before. */
void splat_mesh_drawer_open(splat_mesh_drawer *drawer, splat_backend *backend, const float *vertices,
                            size_t n_vertices, const uint32_t *faces, size_t n_faces, size_t most_pixels);
void splat_mesh_drawer_close(splat_mesh_drawer *drawer);

/* The maps of ops/mesh_raster/mesh_raster.h in the caller's host memory; weights and front may be NULL. The drawer is
 * open. Several threads may call; the device draws one picture after the other. */
splat_status splat_mesh_drawer_draw(splat_mesh_drawer *drawer, const splat_camera *camera, float near, uint32_t *ids,
                                    float *depth, float (*weights)[2], uint8_t *front, splat_error *error);

#endif
