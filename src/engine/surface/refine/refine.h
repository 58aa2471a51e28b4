/* Refinement as a binding of the trainer. */
#ifndef SPLAT_SURFACE_REFINE_H
#define SPLAT_SURFACE_REFINE_H

#include "surface/refine/refine_arrays.h"
#include "train/state.h"

extern const splat_binding splat_refine_binding;

/* The bound parameters of a trainer: device memory. */
splat_bound_tensors splat_refine_tensors(const splat_trainer *trainer);

/* The lists of the mesh follow from the arrays that were restored. Errors: those of splat_bound_lists_make. */
splat_status splat_refine_restored(splat_trainer *trainer, splat_error *error);
/* The Gaussians follow from the arrays. */
splat_status splat_refine_follow(splat_trainer *trainer, splat_error *error);

#endif
