/* The 256 cases of marching cubes. Internal to marching_cubes.c. */
#ifndef SPLAT_MESH_MARCHING_CUBES_TABLE_H
#define SPLAT_MESH_MARCHING_CUBES_TABLE_H

#include <stdint.h>

/* Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2). Edge 4a + u + 2v runs along axis a from the corner whose
 * coordinates along axes a + 1 and a + 2 (mod 3) are u and v. */
enum { SPLAT_CELL_EDGES = 12, SPLAT_CELL_TRIANGLES = 5 };

typedef struct splat_cell_case {
    uint8_t n_triangles;
    uint8_t edges[3 * SPLAT_CELL_TRIANGLES]; /* of the triangles' corners, counter-clockwise seen from outside */
} splat_cell_case;

/* cases[m]: bit c of m says that corner c is inside. */
void splat_marching_cubes_table(splat_cell_case cases[256]);

/* The corner where an edge starts; it ends at that corner plus 1 << axis. */
static inline int splat_cell_edge_start(int edge)
{
    int axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
    return (edge & 1) << u | (edge >> 1 & 1) << v;
}

#endif
