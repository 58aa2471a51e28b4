/* When things happen in a run, and at what rates: pure functions of the iteration (docs/method.md 9, 10). Iterations
 * are 1-based. "After iteration i" work (density control, opacity reset, the late 3D filter) is done at the start of
 * step i + 1, so that what is measured and saved at i is what the published trainer measures and saves at i. */
#ifndef SPLAT_TRAIN_SCHEDULE_H
#define SPLAT_TRAIN_SCHEDULE_H

#include "splatsmith/train.h"

/* From first (t = 0) to last (1), both above 0, by the same factor in the same time. */
double splat_schedule_geometric(double first, double last, double t);
/* Learning rate of the positions: E exp((1 - t) ln init + t ln final), t = min(iteration / max_steps, 1), with the
 * delay factor of the published code when delay_mult < 1 and there were delay steps (there are none: no effect). */
float splat_schedule_position_lr(const splat_train_options *options, float extent, int iteration);
/* Factor of the other learning rates: 1 until lr_decay_from_iter, lr_final_factor from position_lr_max_steps on,
 * geometric between. */
float splat_schedule_lr_factor(const splat_train_options *options, int iteration);
/* One band more at the start of iterations 1000, 2000, ...; at most options->sh_degree, and all of it when a splat is
 * trained on. */
int splat_schedule_sh_degree(const splat_train_options *options, int iteration);
/* The share of Gaussians that a view of the iteration leaves out: it grows to options->dropout, all of it for up to 30
 * photos, less of it for up to 80, and none for more photos. */
float splat_schedule_dropout(const splat_train_options *options, size_t n_photos, int iteration);
bool splat_schedule_filters_after(const splat_train_options *options, int iteration);
/* A finished splat is trained on (its regularizer says so), without a 3D filter. */
bool splat_schedule_continues_splat(const splat_train_options *options);
/* The training view (index into the training list) of an iteration: each epoch is a random permutation. */
uint32_t splat_schedule_view(uint64_t seed, uint32_t n_views, int iteration, uint32_t *order_storage,
                             uint32_t *order_epoch);

/* ---------------------------------------------------------------- Adam's rates, as the options set them */

typedef enum splat_rate_schedule {
    SPLAT_RATE_CONSTANT = 0, /* times splat_schedule_lr_factor */
    SPLAT_RATE_SH_REST,      /* the same; sh_rest_lr instead, unless that is 0 */
    SPLAT_RATE_POSITION      /* times the scene's extent, and falling: splat_schedule_position_lr */
} splat_rate_schedule;

typedef struct splat_tensor_rate {
    splat_rate_schedule schedule;
    size_t field;  /* a float of splat_train_options; with POSITION the first rate */
    float divisor; /* of it */
} splat_tensor_rate;

/* By tensor of splat_gaussian_tensors. */
extern const splat_tensor_rate splat_gaussian_rates[];

/* The rate in an iteration. */
float splat_tensor_rate_at(const splat_tensor_rate *rate, const splat_train_options *options, float extent,
                           int iteration);

#endif
