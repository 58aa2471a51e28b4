/* Which blocks of pages are taken, a bit each, and where small pieces fit among them. */
#ifndef SPLAT_TEXTURE_HOLES_H
#define SPLAT_TEXTURE_HOLES_H

#include "base/error.h"

/* Blocks that a piece needs: of row i those from `from[i]` to `to[i]` - 1. */
typedef struct splat_hole_rows {
    int columns, rows;
    int *from, *to;
} splat_hole_rows;

typedef struct splat_holes splat_holes;

/* Room for pieces of `side` rows, in one allocation; NULL: no memory. */
splat_hole_rows *splat_hole_rows_make(size_t side);
/* NULL: no memory. Pages get their memory, a bit a block, when the first piece is put on them. */
splat_holes *splat_holes_make(int columns, int rows, size_t n_pages);
void splat_holes_free(splat_holes *holes);
/* Takes the blocks. Errors: MEMORY. */
splat_status splat_holes_put(splat_holes *holes, size_t page, const splat_hole_rows *piece, int column, int row,
                             splat_error *error);
/* The first place, row by row, within the first `height` rows of a page where the blocks of a small piece are free;
 * false: there is none, or the piece is not small. Looks on from where the last search for a piece with the same sides
 * ended, so that all searches for them pass over a page once; that a place before it has room for a piece of another
 * shape is missed. */
bool splat_holes_find(splat_holes *holes, size_t page, const splat_hole_rows *piece, int height, int *column, int *row);

#endif
