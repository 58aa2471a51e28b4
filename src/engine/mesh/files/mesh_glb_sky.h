/* The sky around a mesh in a GLB file: a cube with a texture, seen from inside. */
#ifndef SPLAT_MESH_GLB_SKY_H
#define SPLAT_MESH_GLB_SKY_H

#include "math/dome.h"
#include "mesh/mesh.h"

enum { SPLAT_GLB_SKY_VERTICES = 24, SPLAT_GLB_SKY_INDICES = 36 };

typedef struct splat_glb_sky {
    float positions[SPLAT_GLB_SKY_VERTICES][3], uvs[SPLAT_GLB_SKY_VERTICES][2];
    uint32_t indices[SPLAT_GLB_SKY_INDICES];
    uint8_t *picture; /* PNG: the six faces side by side; free it */
    size_t picture_size;
} splat_glb_sky;

/* Makes the cube around the dome's centre, twice as far as the farthest vertex. Its corners have the texture
 * coordinates of the middles of corner texels, so that the faces have no seams. Errors: MEMORY. */
splat_status splat_glb_sky_make(const splat_dome *dome, const splat_mesh *mesh, splat_glb_sky *sky,
                                splat_error *error);

#endif
