/* Pieces packed on pages. */
#ifndef SPLAT_TEXTURE_PACK_H
#define SPLAT_TEXTURE_PACK_H

#include "texture/layout.h"

/* Packs pieces, the highest first, each where it ends lowest on the first page that has room, in the turn that ends
 * lowest. columns, rows: of a page. heights[SPLAT_MESH_MAX_PAGES]: blocks that each page uses; *n_pages. Gives up and
 * says false when more pages than max_pages are needed. Errors: MEMORY. */
splat_status splat_pieces_pack(splat_piece *pieces, size_t n, int columns, int rows, size_t max_pages, int *heights,
                               size_t *n_pages, bool *fits, splat_error *error);
/* Blocks that the pieces need, together. */
uint64_t splat_pieces_blocks(const splat_piece *pieces, size_t n);

#endif
