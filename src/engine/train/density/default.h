/* When the default strategy does what: pure functions of the iteration, for its tests. */
#ifndef SPLAT_TRAIN_STRATEGIES_DEFAULT_H
#define SPLAT_TRAIN_STRATEGIES_DEFAULT_H

#include "base/error.h"
#include "scene/dataset.h"
#include "splatsmith/train.h"

bool splat_default_wants_statistics(const splat_train_options *options, int iteration);
bool splat_default_densifies_after(const splat_train_options *options, int iteration);
/* Also once at the first densification, when the scene's background is white. */
bool splat_default_resets_opacity_after(const splat_train_options *options, bool white_background, int iteration);
/* Gaussians larger than a tenth of the extent go, too. */
bool splat_default_prunes_large(const splat_train_options *options, int iteration);
/* Pixels of the training photos; photos below 405,000 count as many: reduced ones show as much, in fewer pixels. */
double splat_default_photo_pixels(const splat_dataset *dataset);
/* Gaussians that density control keeps at most: target_gaussian_count, and by pixels_per_gaussian what the training
 * photos tell of, but never fewer than the scene has points; 0: no limit. */
uint64_t splat_default_cap(const splat_train_options *options, const splat_dataset *dataset);
/* Gaussians less opaque than late_prune_opacity go: every opacity_reset_interval iterations from the end of
 * densification on, but not in the last such interval of the run, nor where it leaves opacities no time to recover. */
bool splat_default_prunes_late_after(const splat_train_options *options, int iteration);
/* Caps the filtered opacity of every Gaussian at `most`, and forgets Adam's moments of the opacities. */
splat_status splat_default_reset_opacities(splat_trainer *trainer, float most, splat_error *error);
/* True if opacities have time to recover between two resets. */
bool splat_default_recovers(const splat_train_options *options);
splat_status splat_default_prune_late(splat_trainer *trainer, int iteration, splat_error *error);

#endif
