/* The arrays of a refinement, in the order of its binding. */
#ifndef SPLAT_SURFACE_REFINE_ARRAYS_H
#define SPLAT_SURFACE_REFINE_ARRAYS_H

#include "math/bound.h"

/* The arrays of the binding: those of bound.def, then the lists of splat_bound_mesh. */
enum {
    SPLAT_REFINE_FACES = SPLAT_N_BOUND_TENSORS,
    SPLAT_REFINE_VERTEX_BEGIN,
    SPLAT_REFINE_VERTEX_CORNERS,
    SPLAT_REFINE_PAIR_BEGIN,
    SPLAT_REFINE_PAIRS,
    SPLAT_N_REFINE_ARRAYS
};

#endif
