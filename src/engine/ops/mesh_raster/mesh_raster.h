/* mesh_raster: a mesh as a camera sees it, the same bits as mesh/mesh_raster.h gives on the host. */
#ifndef SPLAT_OPS_MESH_RASTER_H
#define SPLAT_OPS_MESH_RASTER_H

#include "ops/types.h"

#define SPLAT_MESH_RASTER_MAX_SIDE 65535

/* Device pointers but for the camera. The indices of the faces are below n_vertices. Every pixel is written. Scratch:
 * 12 bytes a vertex, 4 a face, 8 a pixel. Errors: ARGUMENT (near, sides), UNSUPPORTED (2^31 faces and more), MEMORY. */
struct splat_mesh_raster_args {
    const float *vertices; /* [n_vertices][3] world */
    const uint32_t *faces; /* [n_faces][3] */
    size_t n_vertices, n_faces;
    const splat_camera *camera;
    float near;          /* above 0, scene units along the camera's axis: what is nearer is cut off */
    uint32_t *ids;       /* [height][width] the nearest face + 1; 0: none, and the other maps are 0 there */
    float *depth;        /* [height][width] along the camera's axis */
    float (*weights)[2]; /* [height][width] b0, b1 of the face's corners; NULL: not wanted */
    uint8_t *front;      /* [height][width] 1: the face shows its front; NULL: not wanted */
};

/* Arguments that every backend refuses. */
static inline splat_status splat_mesh_raster_check(const struct splat_mesh_raster_args *args, splat_error *error)
{
    const splat_camera *c = args->camera;
    if (!(args->near > 0) || c->width < 1 || c->height < 1 || c->width > SPLAT_MESH_RASTER_MAX_SIDE ||
        c->height > SPLAT_MESH_RASTER_MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a mesh is drawn from a near plane above 0 on, in pictures of 1 to %d pixels a side; not %g, "
                          "%d x %d", SPLAT_MESH_RASTER_MAX_SIDE, (double)args->near, c->width, c->height);
    if (args->n_faces > INT32_MAX || args->n_vertices > INT32_MAX)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "a mesh of %zu faces is too large to be drawn",
                          args->n_faces);
    return SPLAT_OK;
}

#endif
