/* When things happen in a run, and at what rates: pure functions of the iteration (docs/method.md 9, 10). Iterations
 * are 1-based. "After iteration i" work (density control, opacity reset, the late 3D filter) is done at the start of
 * step i + 1, so that what is measured and saved at i is what the published trainer measures and saves at i. */
#ifndef SPLAT_TRAIN_SCHEDULE_H
#define SPLAT_TRAIN_SCHEDULE_H

#include "splatsmith.h"

/* Learning rate of the positions: E exp((1 - t) ln init + t ln final), t = min(iteration / max_steps, 1), with the
 * delay factor of the published code when delay_mult < 1 and there were delay steps (there are none: no effect). */
float splat_schedule_position_lr(const splat_train_options *options, float extent, int iteration);
/* One band more at the start of iterations 1000, 2000, ...; at most options->sh_degree, and all of it in coarse
 * training. */
int splat_schedule_sh_degree(const splat_train_options *options, int iteration);
bool splat_schedule_collects_statistics(const splat_train_options *options, int iteration);
bool splat_schedule_densifies_after(const splat_train_options *options, int iteration);
bool splat_schedule_resets_opacity_after(const splat_train_options *options, int iteration);
bool splat_schedule_filters_after(const splat_train_options *options, int iteration);
/* Coarse training (docs/method.md, "Coarse training"); all false without it. */
bool splat_schedule_is_coarse(const splat_train_options *options);
/* Opacities are pushed to 0 or 1 in this iteration. */
bool splat_schedule_has_entropy(const splat_train_options *options, int iteration);
/* The transparent are removed. */
bool splat_schedule_prunes_coarse_after(const splat_train_options *options, int iteration);
/* The losses of the surface are part of this iteration. */
bool splat_schedule_regularizes(const splat_train_options *options, int iteration);
/* ... and before them the nearest neighbours are searched again. */
bool splat_schedule_searches_neighbors(const splat_train_options *options, int iteration);

/* Prune Gaussians larger than a tenth of the extent. */
bool splat_schedule_prunes_large(const splat_train_options *options, int iteration);
/* The training view (index into the training list) of an iteration: each epoch is a random permutation. */
uint32_t splat_schedule_view(uint64_t seed, uint32_t n_views, int iteration, uint32_t *order_storage,
                             uint32_t *order_epoch);

#endif
