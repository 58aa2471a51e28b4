/* The level of the function on the edges of the octree's cells. */
#ifndef SPLAT_MESH_POISSON_EDGES_H
#define SPLAT_MESH_POISSON_EDGES_H

#include "mesh/poisson/poisson_parts.h"

/* A surface under work. */
typedef struct poisson_shape {
    poisson_job *job;
    const poisson_octree *tree;
    float *const *values;
    float iso;
    uint32_t (*edge[POISSON_MAX_LEVELS])[3]; /* [n_corners]: the vertex of the edge up an axis, plus 1; 0: none */
    splat_mesh *mesh;
} poisson_shape;

static inline float poisson_value_at(const poisson_shape *s, int d, uint32_t cell, int corner)
{
    return s->values[d][poisson_corner(&s->tree->level[d], cell, corner)] - s->iso;
}

static inline bool poisson_is_inside(const poisson_shape *s, int d, uint32_t cell, int corner)
{
    return poisson_value_at(s, d, cell, corner) > 0;
}

/* The first half of an edge of a cell, which starts at `corner` and goes up the axis: the child, of a cell around the
 * edge, whose edge from corner *start on it is. The other half is that of the child 1 << axis further. NONE: the edge
 * is not divided. */
uint32_t poisson_edge_child(const poisson_octree *tree, int d, uint32_t cell, int corner, int axis, int *start);
/* The note of the vertex on an edge of a cell: the edge starts at `corner` and goes up the axis, and its ends differ in
 * sign. */
uint32_t *poisson_find_edge(const poisson_shape *s, int d, uint32_t cell, int corner, int axis);
/* Two diagonal corners of a square are inside, of four on the way around it. Two pairs of segments are possible: true
 * where the bilinear function connects the inside across the middle (asymptotic decider, Nielson and Hamann 1991). The
 * same from both sides of the square. */
bool poisson_is_joined(const float value[4]);

#endif
