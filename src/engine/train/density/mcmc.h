/* When the strategy mcmc does what: pure functions of the iteration, for its tests. */
#ifndef SPLAT_TRAIN_STRATEGIES_MCMC_H
#define SPLAT_TRAIN_STRATEGIES_MCMC_H

#include "scene/dataset.h"
#include "splatsmith/train.h"

/* Relocation and growth: as often, and as long, as the default strategy densifies. */
bool splat_mcmc_refines_after(const splat_train_options *options, int iteration);
/* Rows are put into the order of a curve through space again, on a device: relocation scatters them. */
bool splat_mcmc_reorders_after(const splat_train_options *options, int iteration);
/* target_gaussian_count, but at most a Gaussian for pixels_per_gaussian (0: any) pixels of the training photos, or the
 * scene's points if they are more. */
uint64_t splat_mcmc_cap(const splat_train_options *options, const splat_dataset *dataset);
/* How many Gaussians a round leaves where there are n: a twentieth more, at most the cap, never fewer. */
uint32_t splat_mcmc_grown(const splat_train_options *options, uint64_t cap, uint32_t n);

#endif
