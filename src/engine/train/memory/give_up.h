/* Saves memory during a training, by giving up features, when growth would not fit below the memory limit otherwise
 * (may_give_up). It happens between two steps, in place, and for good: a form (forms.h) is never left for an earlier
 * one. */
#ifndef SPLAT_TRAIN_GIVE_UP_H
#define SPLAT_TRAIN_GIVE_UP_H

#include "splatsmith/train.h"

/* At the beginning: what the forms follow from. */
void splat_give_up_init(splat_trainer *trainer);
/* True if this run may give features up. */
bool splat_gives_up(const splat_trainer *trainer);
/* All ranks call these three functions, with n Gaussians on each rank, and do the same. */

/* Sets *is_due if splat_give_up_for would give something up. Errors: RANK. */
splat_status splat_give_up_is_due(splat_trainer *trainer, size_t n, bool *is_due, splat_error *error);
/* Gives up what n Gaussians need, before they are made room for; nothing when they fit. Errors: DEVICE, RANK; MEMORY
 * when something could not be given up: it is as it was. */
splat_status splat_give_up_for(splat_trainer *trainer, size_t n, splat_error *error);
/* Gives up the next of what is left, since memory was refused after all. *gave: false: there is nothing more. */
splat_status splat_give_up_next(splat_trainer *trainer, bool *gave, splat_error *error);
/* After the number of Gaussians has changed: what the limit leaves is room for the lists of views. */
void splat_give_up_set_lists(splat_trainer *trainer);

/* SPLAT_GIVE_UP_* of what this run does without, for a checkpoint; and what a run had given up that is gone on with. */
unsigned splat_given_up(const splat_trainer *trainer);
splat_status splat_give_up_as(splat_trainer *trainer, unsigned bits, size_t overhead, splat_error *error);

#endif
