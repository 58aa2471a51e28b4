/* When the default strategy does what: pure functions of the iteration, for its tests. */
#ifndef SPLAT_TRAIN_STRATEGIES_DEFAULT_H
#define SPLAT_TRAIN_STRATEGIES_DEFAULT_H

#include "splatsmith/train.h"

bool splat_default_wants_statistics(const splat_train_options *options, int iteration);
bool splat_default_densifies_after(const splat_train_options *options, int iteration);
/* Also once at the first densification, when the scene's background is white. */
bool splat_default_resets_opacity_after(const splat_train_options *options, bool white_background, int iteration);
/* Gaussians larger than a tenth of the extent go, too. */
bool splat_default_prunes_large(const splat_train_options *options, int iteration);

#endif
