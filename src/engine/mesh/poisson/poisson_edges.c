/* The finest edge that a vertex of the surface lies on, and squares that it crosses. */
#include "mesh/poisson/poisson_edges.h"

#include "mesh/poisson/poisson_octree.h"

uint32_t poisson_edge_child(const poisson_octree *tree, int d, uint32_t cell, int corner, int axis, int *start)
{
    int b = (axis + 1) % 3, c = (axis + 2) % 3;
    for (int k = 0; k < 4; k++) {
        int offset[3] = {0};
        offset[b] = (corner >> b & 1) - 1 + (k & 1);
        offset[c] = (corner >> c & 1) - 1 + (k >> 1);
        uint32_t other = poisson_neighbor(tree, d, cell, offset);
        uint32_t child = other == POISSON_NONE ? POISSON_NONE : tree->level[d].child[other];
        if (child == POISSON_NONE) continue;
        *start = (k & 1 ? 0 : 1 << b) | (k & 2 ? 0 : 1 << c);
        return child + (uint32_t)*start;
    }
    return POISSON_NONE;
}

uint32_t *poisson_find_edge(const poisson_shape *s, int d, uint32_t cell, int corner, int axis)
{
    int start;
    uint32_t child = poisson_edge_child(s->tree, d, cell, corner, axis, &start);
    if (child == POISSON_NONE) return &s->edge[d][poisson_corner(&s->tree->level[d], cell, corner)][axis];
    if (poisson_is_inside(s, d + 1, child, start) == poisson_is_inside(s, d + 1, child, start | 1 << axis))
        child += 1u << axis;
    return poisson_find_edge(s, d + 1, child, start, axis);
}

bool poisson_is_joined(const float value[4])
{
    bool even = value[0] > 0;
    float product[2] = {value[0] * value[2], value[1] * value[3]};
    return product[even ? 0 : 1] > product[even ? 1 : 0];
}
