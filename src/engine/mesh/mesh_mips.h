/* Mip maps of a mesh's pages, and colours of places on them: bilinear at texel centres, trilinear between levels. */
#ifndef SPLAT_MESH_MESH_MIPS_H
#define SPLAT_MESH_MESH_MIPS_H

#include "mesh/mesh.h"

#define SPLAT_MESH_MAX_LEVELS 17 /* sides of at most 65500 texels */

typedef struct splat_mip_level {
    int width, height;
    const uint8_t *rgb; /* [height][width][3] */
} splat_mip_level;

typedef struct splat_mip_page {
    int n_levels;
    splat_mip_level levels[SPLAT_MESH_MAX_LEVELS]; /* level 0 is the page of the mesh itself */
    uint8_t *memory;                               /* memory of the other levels */
} splat_mip_page;

typedef struct splat_mesh_mips {
    size_t n_pages;
    splat_mip_page *pages;
} splat_mesh_mips;

/* A place on a page, and the way to sample it: */
typedef struct splat_texture_place {
    double u, v;  /* place on the page, right and down, 0 to 1 */
    double level; /* 0: the page; each one more has half of its sides. Below 0 and beyond the last it is the nearest */
    bool repeats; /* the page goes on beyond its borders, as in files of others; false: the border's texel does */
} splat_texture_place;

/* Levels down to one texel: each side is halved and rounded down, every texel the mean of what it covers of the level
 * above, by area, rounded to 8 bits. In the encoding of the page (sRGB), as programs that shrink photos do. Takes a
 * third of the pages' bytes. The mesh must be valid and stay while the mips are used; one without pages has none. The
 * same bytes for any number of threads. Errors: MEMORY. */
splat_status splat_mesh_mips_make(const splat_mesh *mesh, int threads, splat_mesh_mips *mips, splat_error *error);
void splat_mesh_mips_free(splat_mesh_mips *mips);

/* The colour of a place, 0 to 255: between the centres of four texels on two levels. */
void splat_mip_page_sample(const splat_mip_page *page, const splat_texture_place *place, float rgb[3]);
/* The texel of the page itself in which the place lies. */
void splat_mip_page_texel(const splat_mip_page *page, const splat_texture_place *place, float rgb[3]);

#endif
