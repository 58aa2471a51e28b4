/* From texels to faces: bands of rows with lists of their faces. */
#ifndef SPLAT_TEXTURE_TEXELS_H
#define SPLAT_TEXTURE_TEXELS_H

#include "texture/atlas.h"

/* Which face each texel belongs to: prepared once, then asked band by band. */
typedef struct splat_atlas_texels splat_atlas_texels;

/* mesh (with uvs) and atlas must outlive it. Working memory: 12 bytes a face, and 4 for each 64 rows that it touches.
 * Errors: MEMORY. */
splat_status splat_atlas_texels_make(const splat_mesh *mesh, const splat_atlas *atlas, splat_atlas_texels **texels,
                                     splat_error *error);
void splat_atlas_texels_free(splat_atlas_texels *texels);

/* Rows [first, first + n) of a page. faces[n][width]: number of the face + 1, 0: none; weights[n][width]: barycentrics
 * b0, b1 (b2 = 1 - b0 - b1) of the point of the face that the texel shows, all within 0 .. 1 but for rounding.
 *
 * A texel whose centre lies in a face shows that point. One whose centre lies in none shows the nearest point of the
 * nearest face (of equal ones the lowest) of the chart that its block belongs to: so every texel that a bilinear lookup
 * inside of a face reads, down to the mip level that the atlas was made for, is given. In an atlas without blocks it
 * shows the nearest face less than sqrt 2 texels away. A face without area on the page gets a texel only where no face
 * with area does. The others are empty: fill them (splat_texture_fill). The result does not depend on the bands asked
 * for, nor on the number of threads. Memory: 4 bytes a texel of the rows. Errors: ARGUMENT (no such rows), MEMORY. */
splat_status splat_atlas_texels_rows(const splat_atlas_texels *texels, size_t page, int first, int n, int threads,
                                     uint32_t *faces, float (*weights)[2], splat_error *error);
/* The texels whose centres lie in a face, without those beyond its edges. */
splat_status splat_atlas_texels_inside(const splat_atlas_texels *texels, size_t page, int first, int n, int threads,
                                       uint32_t *faces, float (*weights)[2], splat_error *error);

#endif
