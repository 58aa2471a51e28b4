/* The sky around a mesh in a GLB file. */
#include "mesh/files/mesh_glb_sky.h"

#include "io/picture/image_write.h"

#include <math.h>
#include <stdlib.h>

#define FACES 6

static float half_side(const splat_dome *dome, const splat_mesh *mesh)
{
    double most = (double)dome->radius * (double)dome->radius / 4;
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        double square = 0;
        for (size_t k = 0; k < 3; k++) {
            double d = (double)mesh->vertices[3 * i + k] - (double)dome->center[k];
            square += d * d;
        }
        most = fmax(most, square);
    }
    return (float)(2 * sqrt(most));
}

/* Four corners of a face; corner k has the row k / 2 and the column k % 2 at their ends. */
static void place_face(size_t face, const splat_dome *dome, float half, splat_glb_sky *sky)
{
    const size_t axis = face / 2;
    const bool is_negative = face % 2;
    for (size_t k = 0; k < 4; k++) {
        float *at = sky->positions[4 * face + k], *uv = sky->uvs[4 * face + k], d[3];
        const float row = k / 2 ? 1 : -1, column = k % 2 ? 1 : -1, reach = (SPLAT_DOME_SIDE - 1) / 2.0f;
        d[axis] = is_negative ? -1 : 1;
        d[(axis + 1) % 3] = row;
        d[(axis + 2) % 3] = column;
        for (int c = 0; c < 3; c++) at[c] = dome->center[c] + half * d[c];
        uv[0] = ((float)face + 0.5f + column * reach / SPLAT_DOME_SIDE) / FACES;
        uv[1] = 0.5f + row * reach / SPLAT_DOME_SIDE;
    }
    /* the product of the directions of rows and columns is the axis; the fronts of both triangles look inwards */
    static const uint32_t inwards[2][6] = {{0, 1, 2, 2, 1, 3}, {0, 2, 1, 2, 3, 1}};
    for (size_t k = 0; k < 6; k++) sky->indices[6 * face + k] = (uint32_t)(4 * face) + inwards[is_negative][k];
}

splat_status splat_glb_sky_make(const splat_dome *dome, const splat_mesh *mesh, splat_glb_sky *sky, splat_error *error)
{
    enum { SIDE = SPLAT_DOME_SIDE };
    uint8_t *rgb = malloc((size_t)3 * SPLAT_DOME_NODES);
    const float half = half_side(dome, mesh);
    *sky = (splat_glb_sky){.picture = NULL};
    if (!rgb) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the picture of a sky");
    for (size_t face = 0; face < FACES; face++) place_face(face, dome, half, sky);
    for (size_t i = 0; i < SPLAT_DOME_NODES; i++) {
        const size_t face = i / SIDE / SIDE, row = i / SIDE % SIDE, column = i % SIDE;
        uint8_t *to = rgb + 3 * (row * FACES * SIDE + face * SIDE + column);
        for (size_t c = 0; c < 3; c++)
            to[c] = (uint8_t)(255 * splat_clamp(dome->colors[3 * i + c], 0.0f, 1.0f) + 0.5f);
    }
    splat_status status = splat_png_encode("the sky", FACES * SIDE, SIDE, 3, rgb, &sky->picture, &sky->picture_size,
                                           error);
    free(rgb);
    return status;
}
