/* Coarse training between the steps: which Gaussians become opaque, pruning, and the nearest neighbours. */
#ifndef SPLAT_SURFACE_COARSE_PRUNE_H
#define SPLAT_SURFACE_COARSE_PRUNE_H

#include "train/step.h"

/* The logit that the entropy pushes opacities away from, so that at least the share `keep` of n Gaussians has the
 * higher side: the (1 - keep)-quantile of the logits, those that are not finite being least, and 0 (an opacity of 1/2)
 * at most; 0 for keep 0, and where no logit is finite. Errors: MEMORY. */
splat_status splat_coarse_find_pivot(const float *logits, size_t n, float keep, float *pivot, splat_error *error);

/* Removes the Gaussians that stand in front in fewer than trim_views training views, by op view_count; nothing with 0.
 * Part of a change of density (train/density/density.h). Errors: NUMERIC (too few are left), MEMORY. */
splat_status splat_coarse_trim(splat_trainer *trainer, int iteration, splat_error *error);

/* Prunes once, after the iteration that asks for it: Gaussians that are not opaque make no surface. */
splat_status splat_coarse_after(splat_trainer *trainer, int iteration, splat_error *error);
/* The nearest neighbours, when they are due before one of the iterations first .. last, which share a step. */
splat_status splat_coarse_search_neighbors(splat_trainer *trainer, int first, int last, splat_error *error);
/* There are enough Gaussians to have neighbours. path: the splat's, or NULL. Errors: NUMERIC. */
splat_status splat_coarse_check_surface(const splat_trainer *trainer, const char *path, splat_error *error);

#endif
