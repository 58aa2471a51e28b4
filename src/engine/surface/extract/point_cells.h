/* Many observations of a surface thinned to one point for each cell of space: the mean of what fell into it. */
#ifndef SPLAT_SURFACE_EXTRACT_POINT_CELLS_H
#define SPLAT_SURFACE_EXTRACT_POINT_CELLS_H

#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#define SPLAT_CELL_LEVELS 9u /* sides of cells: the smallest, times 2, 4, .. 256 */

/* One observation. */
typedef struct splat_cell_sample {
    float position[3], normal[3], color[3], weight; /* weight > 0; colour 0 to 255 */
    float size; /* scene units: what a pixel of the view covers there, which decides the level of the cell */
} splat_cell_sample;

typedef struct splat_cell_part splat_cell_part;

/* Cells of several sizes at the same place: what a near view shows goes into small ones, what a far view shows into
 * large ones. Observations whose normals have different largest components, or signs of them, are kept apart: the two
 * sides of a thin wall. */
typedef struct splat_point_cells {
    double smallest, side; /* the size of samples of level 0, and the side of its cells, which may grow */
    size_t n_cells, most_cells;
    int threads;
    splat_cell_part *parts; /* parts of the cells, by a hash of their places; one thread works on a part */
    uint32_t *order, *part_begin; /* the samples being added, sorted by part */
    uint64_t *keys;
    uint8_t *part; /* part of every key */
    size_t n_room; /* capacity of order, keys and part */
} splat_point_cells;

/* smallest: above 0, the size that gives cells of level 0, whose side it is. When more than most_cells are needed,
 * cells that smaller ones replace go; and if that is not enough, the cells of all levels grow by a quarter as often as
 * it takes. Errors: MEMORY; on failure there is nothing to free. */
splat_status splat_point_cells_init(splat_point_cells *cells, double smallest, size_t most_cells, int threads,
                                    splat_error *error);
void splat_point_cells_free(splat_point_cells *cells);
/* Adds n samples, n < 2^32; those with valid[i] == 0 are passed over (valid NULL: none), and so are those farther than
 * 2^18 cells of their level from the origin. The result does not depend on threads, but on the order of samples and
 * calls, by rounding. Errors: MEMORY. */
splat_status splat_point_cells_add(splat_point_cells *cells, const splat_cell_sample *samples, const uint8_t *valid,
                                   size_t n, splat_error *error);
/* Removes the cells of which two or more of the eight half as wide exist: a nearer view shows the place better. */
void splat_point_cells_drop_replaced(splat_point_cells *cells);
/* Appends a point for each cell, with its weight and the cell's side; there must be room for n_cells. */
void splat_point_cells_collect(const splat_point_cells *cells, splat_surface_points *points);
/* Host memory of most_cells. */
uint64_t splat_point_cells_bytes(size_t most_cells);
/* Bytes of points and cells for SPLAT_MESH_POINTS_VIEWS, in addition to the maps. */
uint64_t splat_surface_agreed_bytes(const splat_mesh_extract_options *options);

#endif
