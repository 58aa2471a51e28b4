/* When the strategy `budget` does what: pure functions, for its tests. */
#ifndef SPLAT_TRAIN_DENSITY_BUDGET_H
#define SPLAT_TRAIN_DENSITY_BUDGET_H

#include "scene/dataset.h"
#include "splatsmith/train.h"

/* Gaussians at most: for p pixels of training photos (splat_default_photo_pixels) p^(3/4) (10^8)^(1/4) /
 * pixels_per_gaussian, so that few photos get more for each pixel and many fewer; as many as the scene has points, up
 * to twice that; target_gaussian_count where that is less, or pixels_per_gaussian is 0; 0: no limit. */
uint64_t splat_budget_cap(const splat_train_options *options, const splat_dataset *dataset);
/* Gaussians that it begins with: the scene's points, evenly thinned out to half of the cap, so that it can grow. */
uint64_t splat_budget_first(const splat_train_options *options, const splat_dataset *dataset);
/* Gaussians that the model may have after a round at `iteration`, when it began with n_first and the cap is `cap`:
 * n_first + (cap - n_first) sqrt(x), x the part of the growth that is over. Never above the cap. */
uint64_t splat_budget_at(const splat_train_options *options, uint64_t n_first, uint64_t cap, int iteration);
/* True if the least opaque fifth is removed after this iteration: when opacities have had time to recover from one of
 * the first two resets, which is 300 steps and 1.2 steps for each photo. Never if the next reset comes first. */
bool splat_budget_prunes_unrecovered_after(const splat_train_options *options, size_t n_photos, int iteration);

#endif
