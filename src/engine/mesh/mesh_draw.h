/* A mesh in its colours as a camera sees it: texture, colours of vertices, or grey faces. */
#ifndef SPLAT_MESH_MESH_DRAW_H
#define SPLAT_MESH_MESH_DRAW_H

#include "math/dome.h"
#include "mesh/mesh_mips.h"
#include "mesh/mesh_raster.h"
#include "splatsmith/core.h"

/* How the texels of a texture become a colour. All in the photos' encoding (sRGB), as 3DGS and SuGaR blend. */
typedef enum splat_mesh_filter {
    SPLAT_MESH_FILTER_TRILINEAR = 0,  /* bilinear on two levels of mip maps, as programs that show meshes do */
    SPLAT_MESH_FILTER_NEAREST = 1,    /* the texel of the full texture, as SuGaR measures its meshes */
    SPLAT_MESH_FILTER_ANISOTROPIC = 2 /* up to 16 trilinear samples along the longer side of the pixel's footprint */
} splat_mesh_filter;

typedef struct splat_mesh_draw_options {
    size_t size;
    splat_mesh_filter filter; /* TRILINEAR */
    int supersampling;        /* samples along each side of a pixel, 1 to 8; 2 */
} splat_mesh_draw_options;

void splat_mesh_draw_options_init_sized(splat_mesh_draw_options *options, size_t size);
#define splat_mesh_draw_options_init(options) splat_mesh_draw_options_init_sized(options, sizeof *(options))

typedef struct splat_mesh_painter {
    const splat_mesh *mesh;
    splat_mesh_draw_options options;
    splat_mesh_raster_options raster;
    splat_mesh_mips mips; /* none for a mesh without a texture */
    splat_mesh_raster_maps maps; /* maps with one sample a pixel */
    size_t n_pixels; /* pixels that fit in the maps */
    splat_dome dome; /* the sky behind the mesh, set by the caller; colors NULL, as opened: none */
} splat_mesh_painter;

/* ARGUMENT when an option is out of its range. */
splat_status splat_mesh_draw_options_check(const splat_mesh_draw_options *options, splat_error *error);
/* For pictures of at most n_pixels. The mesh must be valid (splat_mesh_check) and stay. The options
 * are of this library's size. Memory: a third of the texture, and 16 bytes a pixel. Close it in either case. Errors:
 * ARGUMENT (an option out of its range), MEMORY. */
splat_status splat_mesh_painter_open(splat_mesh_painter *painter, const splat_mesh *mesh,
                                     const splat_mesh_draw_options *options, size_t n_pixels, int threads,
                                     splat_error *error);
void splat_mesh_painter_close(splat_mesh_painter *painter);

/* Draws both sides of all faces, nothing nearer than 0.01 along the camera's axis. image: [3][height][width], sRGB as
 * photos are encoded, 0 to 1; coverage: [height][width], the part of the pixel's samples that show the mesh, NULL: not
 * wanted. Elsewhere there is the painter's dome, or without one the background. The bytes do not depend on the threads.
 *
 * With supersampling s a pixel is the mean of s x s samples on a grid; else it is what lies at its centre. A face with
 * a texture has the page's colours times those of its vertices, if any; all is interpolated in perspective. TRILINEAR
 * takes the level of the longer of the two steps on the page that lead to the next samples to the right and below, by
 * the exact derivatives in the face's plane: what graphics hardware estimates from neighbouring pixels; ANISOTROPIC
 * that of the shorter step, in up to 16 samples along the longer one; NEAREST the texel of the full page. A mesh with
 * neither is grey in the light of a lamp at the camera. Errors: those of splat_mesh_rasterize. */
splat_status splat_mesh_painter_draw(const splat_mesh_painter *painter, const splat_camera *camera,
                                     const float background[3], float *image, float *coverage, splat_error *error);

/* The normal of a face in the world, zero when it has no area. */
void splat_mesh_face_normal(const splat_mesh *mesh, size_t face, double normal[3]);
/* Grey of a face with this normal in pixel (column, row), from 30 seen from the side to 230: light from the camera. */
double splat_mesh_shade(const splat_camera *camera, double column, double row, const double normal[3]);

#endif
