/* A tree of boxes: worlds of thousands of parts are traced with it. */
#ifndef SPLAT_SCENE_SAMPLE_TREE_H
#define SPLAT_SCENE_SAMPLE_TREE_H

#include "sample/sample_vec.h"

#include <stdbool.h>

enum { SPLAT_TREE_MAX_DEPTH = 60 };

typedef struct splat_tree_box {
    double low[3], high[3];
} splat_tree_box;

/* The left child follows its parent. */
typedef struct splat_tree_node {
    splat_tree_box box;
    int right;    /* inner nodes: the right child */
    int first, n; /* leaves: items order[first ...]; n is 0 in inner nodes */
} splat_tree_node;

typedef struct splat_tree {
    splat_tree_node *nodes; /* NULL: no tree */
    int *order;
} splat_tree;

/* Splits by the surface area heuristic; the same boxes give the same tree. False: no memory. */
bool splat_tree_make(splat_tree *tree, const splat_tree_box *boxes, int n);
void splat_tree_free(splat_tree *tree);

/* Cuts [*enter, *leave] down to the part of a ray between two planes: fmin and fmax are calls. */
static inline void splat_tree_cut(double a, double b, double *enter, double *leave)
{
    double near = a < b ? a : b, far = a < b ? b : a;
    if (near > *enter) *enter = near;
    if (far < *leave) *leave = far;
}

/* The place at which a ray enters a box, at least 0; more than `limit` if it misses the box or enters it later.
 * inverse: 1 / direction. */
static inline double splat_tree_enter(const splat_tree_box *box, splat_vec3 origin, splat_vec3 inverse, double limit)
{
    double enter = 0, leave = limit;
    splat_tree_cut((box->low[0] - origin.x) * inverse.x, (box->high[0] - origin.x) * inverse.x, &enter, &leave);
    splat_tree_cut((box->low[1] - origin.y) * inverse.y, (box->high[1] - origin.y) * inverse.y, &enter, &leave);
    splat_tree_cut((box->low[2] - origin.z) * inverse.z, (box->high[2] - origin.z) * inverse.z, &enter, &leave);
    return enter <= leave ? enter : 1e300;
}

#endif
