/* A mesh as a camera sees it: which face is nearest in each pixel, how far it is, and where on it the pixel lies. On
 * the CPU, with a z-buffer. */
#ifndef SPLAT_MESH_MESH_RASTER_H
#define SPLAT_MESH_MESH_RASTER_H

#include "mesh/mesh.h"

typedef struct splat_mesh_raster_options {
    float near;  /* 0.01; above 0, scene units along the camera's axis: what is nearer is cut off */
    int threads; /* 1; the maps are the same, bit for bit, for any number */
} splat_mesh_raster_options;

/* The caller's memory, each [height][width] of the camera; every pixel is written. */
typedef struct splat_mesh_raster_maps {
    uint32_t *faces;     /* number of the face + 1; 0: no face, and the other maps are 0 there */
    float *depth;        /* along the camera's z axis */
    float (*weights)[2]; /* b0, b1; NULL: not wanted. What vertices carry is, at the point of the surface that the pixel
                            shows, b0, b1 and b2 = 1 - b0 - b1 times that of the face's vertices, perspective and near
                            plane included. b0 and b1 are in [0, 1]; b2 may fall below 0 by rounding */
    uint8_t *front;      /* 1: the face shows its front, where it is counter-clockwise; 0: its back; NULL: not wanted */
} splat_mesh_raster_maps;

void splat_mesh_raster_options_init(splat_mesh_raster_options *options);

/* Draws both sides of all faces. A pixel shows what lies at its centre, (column + 1/2, row + 1/2), in a pinhole camera
 * that looks along +z with x to the right and y down; of faces at the same float depth the lower number.
 *
 * The picture has no cracks: vertices are rounded to 1/1024 pixel, and from there on all is exact. A pixel centre on an
 * edge between two faces belongs to one of them (the top-left rule); on an edge between front and back to both or none.
 * Faces that cross the near plane are cut there, with the same result on both sides of a shared edge; faces that go on
 * for more than 1e12 times what is seen of them lose accuracy. Faces without area on the screen show nothing.
 *
 * The mesh must be valid (splat_mesh_check). Working memory: 12 bytes a vertex, 4 a face and 4 for each band of 16 rows
 * that a face touches; a face that meets no pixel centre touches none. Errors: ARGUMENT (near, threads; sides that are
 * not 1 to 65535; a camera that is not finite or has a focal length of 0 or less), MEMORY. */
splat_status splat_mesh_rasterize(const splat_mesh *mesh, const splat_camera *camera,
                                  const splat_mesh_raster_options *options, const splat_mesh_raster_maps *maps,
                                  splat_error *error);

#endif
