/* A training starts: a state from elsewhere comes in, at rank 0 or alone. First room for it, then its rows
 * (ranks/host_rows.h), then what else there is to know. Each is done by all ranks, of which each has its rows. */
#ifndef SPLAT_TRAIN_START_H
#define SPLAT_TRAIN_START_H

#include "io/splat/cloud.h"
#include "splatsmith/train.h"

struct splat_beginning;

/* Rows for n Gaussians, as after an iteration; old ones keep their content, or with is_empty what belongs to optimizer
 * and statistics is zero. given_up, overhead: see splat_give_up_as. Errors: MEMORY, then it is the one before; RANK. */
splat_status splat_trainer_begin_rows(splat_trainer *trainer, const struct splat_beginning *beginning,
                                      splat_error *error);
/* The state was replaced by that after an iteration; density_control_done: and after the density control that follows
 * it. Errors: RANK. */
splat_status splat_trainer_begin_at(splat_trainer *trainer, int iteration, bool density_control_done,
                                    const int adam_steps[SPLAT_N_TENSORS], splat_error *error);
/* filter_3d of all Gaussians, from the training cameras. Errors: RANK. */
splat_status splat_trainer_begin_filter(splat_trainer *trainer, splat_error *error);
/* A splat in host memory, of any SH degree, becomes the state after an iteration: fresh moments, and the
 * filter of the training views, or none when a splat is trained on. Bands that the splat lacks start at zero; those
 * that the trainer lacks are cut off. path: for messages. Errors: FORMAT, MEMORY; on these the trainer is unchanged. */
splat_status splat_trainer_begin_with(splat_trainer *trainer, splat_cloud *host, const char *path,
                                      int iteration, splat_error *error);

#endif
