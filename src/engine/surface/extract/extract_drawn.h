/* A mesh as the training views see it. */
#ifndef SPLAT_SURFACE_EXTRACT_DRAWN_H
#define SPLAT_SURFACE_EXTRACT_DRAWN_H

#include "math/camera.h"
#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

#define SPLAT_DRAWN_WORKERS 16 /* at most: each holds pictures */

/* The mesh in one training view. */
typedef struct splat_drawn_view {
    size_t number;        /* of the training view */
    int worker;           /* below SPLAT_DRAWN_WORKERS; one view at a time has it */
    splat_camera camera;  /* at the size of the pictures */
    const uint32_t *faces; /* [height][width]: 0, or 1 + the nearest face */
    const float *depth;
    const uint8_t *front;  /* 1: the face shows its front */
    const uint8_t *kept;   /* 0: the mask of the photo leaves the pixel out; NULL: the photo has no mask */
} splat_drawn_view;

typedef void (*splat_drawn_function)(void *user, const splat_drawn_view *view);

/* Draws the mesh in training views, in pictures of `most_pixels` at most, and calls `use` for each, from several
 * threads and in any order. of_mesh: in those alone that the mesh is made from (splat_extract_is_of_mesh). Errors:
 * those of splat_mesh_rasterize and of decoding masks, MEMORY. */
splat_status splat_extract_draw(const splat_extraction *extraction, const splat_mesh *mesh, bool of_mesh,
                                double most_pixels, splat_drawn_function use, void *user, splat_error *error);

/* True if the mesh is made from this training view, too: all views, or enough of them (splat_view_maps_thin). */
bool splat_extract_is_of_mesh(const splat_extraction *extraction, size_t number);

#endif
