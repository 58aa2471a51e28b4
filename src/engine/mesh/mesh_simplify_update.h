/* Rings and costs after the collapses of a pass. */
#ifndef SPLAT_MESH_MESH_SIMPLIFY_UPDATE_H
#define SPLAT_MESH_MESH_SIMPLIFY_UPDATE_H

#include "mesh/mesh_simplify_edges.h"

/* Rings, costs and torn vertices' kinds, where collapses touched them; the rest stays. Sets `stale` if a ring finds no
 * room. */
void simplify_update(simplifier *s);

#endif
