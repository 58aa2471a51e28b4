/* Atlases: where on the pages of a texture each face of a mesh lies, and which texels it has there.
 *
 * Coordinates are those of the mesh (mesh/mesh.h): u to the right, v down, 0 .. 1 over the page. A texel (column, row)
 * has its centre at ((column + 1/2) / width, (row + 1/2) / height). */
#ifndef SPLAT_TEXTURE_ATLAS_H
#define SPLAT_TEXTURE_ATLAS_H

#include "mesh/mesh.h"

typedef struct splat_atlas {
    size_t n_pages;
    struct { int width, height; } pages[SPLAT_MESH_MAX_PAGES];
    int gutter;             /* texels: charts stand at least so far apart, and share no block of gutter x gutter texels
                               that begins at a multiple of gutter */
    size_t n_charts;        /* pieces that are connected on the page; 0: unknown, as for squares, and blocks may be
                               shared */
    double texel_density;   /* texels a world unit: sqrt(texels of the faces / area of the faces) */
    double used;            /* share of the pages' area that faces cover; what two faces share between the centres of
                               texels counts twice */
} splat_atlas;

typedef struct splat_atlas_options {
    double texel_density; /* 1; above 0: factor of `densities`, or texels a world unit where there are none; up to
                             sqrt 2 times as much where small pieces save texels */
    int texture_size;     /* 0: pages as they come; else the only page is texture_size x texture_size, 64 to 65500, and
                             all densities are scaled so that it is full */
    int max_texture;      /* 8192: sides of pages, 64 to 65500 */
    int mip_levels;       /* 2; 0 to 5: mip levels whose texels mix no two charts; gutters are 2^mip_levels */
    int threads;          /* 1; the atlas does not depend on it */
} splat_atlas_options;

void splat_atlas_options_init(splat_atlas_options *options);

/* Parametrises a mesh: charts grow over faces within 45 degrees of their mean normal, are projected on their planes,
 * scaled, rotated to the smallest box and packed. Writes mesh->uvs and mesh->face_pages; the mesh loses its own
 * texture. densities[n_faces]: texels a world unit that each face is to have (of the best photo); 0 or not finite: not
 * seen, then the least; all are clamped to [1/4, 4] of the median; NULL: all the same.
 *
 * A connected piece that would use less than 1/16 of the smallest chart (4 of 64 texels at 2 mip levels) has no
 * chart of its own: its faces are unfolded, one along the edge of the other, into the free texels of a neighbour's
 * chart. A face that finds none is folded flat on an edge: it has no area on the page, and shows the colours there. The
 * other faces have at least half of the texels asked for (tilted ones have the least), but for rounding.
 *
 * Charts do not overlap themselves or each other: a texel's centre lies in one face at most, except where faces fold
 * over within 1/256 texel. Faces that share an edge inside of a chart share its coordinates exactly.
 *
 * Working memory: about 100 bytes a face, and a byte for each texel of the largest chart. The mesh must be valid and
 * have faces. Errors: ARGUMENT (an option; more than SPLAT_MESH_MAX_PAGES pages: the sentence names the density that
 * fits; a texture_size too small for the charts), MEMORY; the mesh then has no texture. */
splat_status splat_atlas_charts(splat_mesh *mesh, const splat_atlas_options *options, const float *densities,
                                splat_atlas *atlas, splat_error *error);

/* Texels around the faces of a chart that are the chart's, so that no block within this distance is another's. */
static inline int splat_atlas_margin(int gutter)
{
    return gutter > 4 ? gutter / 2 : 2;
}

/* The pages of a mesh that has a texture already, and what it uses of them. */
void splat_atlas_of_mesh(const splat_mesh *mesh, splat_atlas *atlas);
/* texel_density and used, from the mesh's coordinates and the sizes of the pages. */
void splat_atlas_measure(const splat_mesh *mesh, splat_atlas *atlas);

#endif
