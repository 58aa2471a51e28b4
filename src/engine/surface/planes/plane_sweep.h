/* Depths of the cells of a plain segment from shading alone, without a start: every depth is asked at every cell, and
 * neighbours agree (semi-global matching, Hirschmueller 2008). */
#ifndef SPLAT_SURFACE_PLANE_SWEEP_H
#define SPLAT_SURFACE_PLANE_SWEEP_H

#include "surface/planes/plane_shade.h"

/* A cell: a place of the picture, and the inverse depth that was found; sigma: its error as a part of it. */
typedef struct plane_sweep_cell {
    float x, y;   /* pixels */
    bool is_in;   /* of the segment */
    float rim;    /* inverse depth of a seed in the cell; 0: none */
    float q, sigma;
} plane_sweep_cell;

/* cells: [rows][columns]. Depths between 1 / most and 1 / least are asked. noise: levels, of a right depth. */
splat_status plane_sweep(const plane_shade *shade, uint32_t view, plane_sweep_cell *cells, size_t columns, size_t rows,
                         float least, float most, float noise, splat_error *error);

#endif
