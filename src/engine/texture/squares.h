/* SuGaR's packing of a texture: pairs of faces in squares. */
#ifndef SPLAT_TEXTURE_SQUARES_H
#define SPLAT_TEXTURE_SQUARES_H

#include "texture/atlas.h"

/* SuGaR's packing: pairs of faces in squares of square_size x square_size texels (at least 5), whatever their shapes.
 * Faces that do not fit into one page of max_texture go on to more pages. Errors: ARGUMENT (square_size below 5 or
 * above max_texture; more than SPLAT_MESH_MAX_PAGES pages: the sentence names the largest size that fits), MEMORY. */
splat_status splat_atlas_squares(splat_mesh *mesh, int square_size, int max_texture, splat_atlas *atlas,
                                 splat_error *error);

#endif
