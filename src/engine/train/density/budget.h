/* The schedule of the strategy `budget`: pure functions, for its tests. */
#ifndef SPLAT_TRAIN_DENSITY_BUDGET_H
#define SPLAT_TRAIN_DENSITY_BUDGET_H

#include "scene/dataset.h"
#include "splatsmith/train.h"

/* The largest number of Gaussians; 0: no limit. With p pixels of training photos (splat_default_photo_pixels) the
 * number is 10^8 (p / 10^8)^x / pixels_per_gaussian, where x is 1/2 for p < 10^8 and 3/4 above: few photos get more
 * Gaussians for each pixel than many photos. It is at least splat_dataset_floor and at most target_gaussian_count. With
 * pixels_per_gaussian 0 it is target_gaussian_count. */
uint64_t splat_budget_cap(const splat_train_options *options, const splat_dataset *dataset);
/* The first number of Gaussians: the points of the scene, but at most half of the cap, so that the model can grow. */
uint64_t splat_budget_first(const splat_train_options *options, const splat_dataset *dataset);
/* The number of Gaussians that the model may have after a round at `iteration`: n_first + (cap - n_first) sqrt(x),
 * where x is the share of the growth phase that is over. Never above the cap. */
uint64_t splat_budget_at(const splat_train_options *options, uint64_t n_first, uint64_t cap, int iteration);
/* True if the least opaque fifth is removed after this iteration: when opacities have had time to recover from one of
 * the first two resets, which is 300 steps and 1.2 steps for each photo. Never if the next reset comes first. */
bool splat_budget_prunes_unrecovered_after(const splat_train_options *options, size_t n_photos, int iteration);

#endif
