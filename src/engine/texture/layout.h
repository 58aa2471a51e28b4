/* Charts laid flat: projected, rotated to their smallest boxes, rounded to 1/256 texel, and cut where they overlap
 * themselves, but for small pieces, which are unfolded; then packed onto pages in blocks of texels. */
#ifndef SPLAT_TEXTURE_LAYOUT_H
#define SPLAT_TEXTURE_LAYOUT_H

#include "texture/charts.h"

/* A chart on its way to a page: which blocks it needs. A block is gutter x gutter texels, and a chart needs those that
 * come within the margin of one of its faces. Columns and rows are blocks of the chart's box. */
typedef struct splat_piece {
    int columns, rows;
    uint16_t *top, *bottom; /* [columns]: needed blocks of a column are top .. bottom - 1; top >= bottom: none */
    uint16_t *left, *right; /* [rows], the same */
    int turn;               /* quarter turns, clockwise as seen with v down, that the packer chose */
    int page, column, row;  /* where the box of the turned piece stands on its page */
} splat_piece;

typedef struct splat_layout_rules {
    int block;      /* texels */
    int margin;     /* texels around the faces of a chart that are its own, at least 2 */
    int max_side;   /* texels of a page's side */
    double least;   /* texels, at factor 1: connected pieces of less get no chart of their own */
} splat_layout_rules;

/* Lays all charts out. Texel coordinates in the chart's own box come into mesh->uvs (in texels, not 0 .. 1), multiples
 * of 1/256. Charts that overlap themselves, are too steep, or are larger than a page, are cut, so there may be more of
 * them afterwards. A connected piece of less than rules->least texels that a chart could not keep is unfolded into
 * it, face by face, each along the edge of a neighbour. A face that finds no free texels there is folded flat on that
 * edge: it takes no texel, and shows the colours of the edge. densities: texels a unit of each face, times `factor`.
 * *pieces (one a chart) is for splat_pieces_free. Errors: ARGUMENT (a face larger than a page: the sentence names the
 * density that fits), MEMORY. */
splat_status splat_layout_charts(splat_mesh *mesh, splat_charts *charts, const float *densities, double factor,
                                 const splat_layout_rules *rules, splat_piece **pieces, splat_error *error);
void splat_pieces_free(splat_piece *pieces, size_t n);

#endif
