/* The Gaussians that a training begins with. */
#ifndef SPLAT_TRAIN_FIRST_GAUSSIANS_H
#define SPLAT_TRAIN_FIRST_GAUSSIANS_H

#include "splatsmith/train.h"

/* Gaussians at the scene's points and, with dense_start, at places where photos match (docs/method.md 3). A training of
 * a finished splat begins with that splat or with a checkpoint, which may have fewer Gaussians than the scene has
 * points: only the least that a model can have stands here until then. Errors: MEMORY, RANK, FORMAT (too few points),
 * those of reading photos. */
splat_status splat_trainer_make_first(splat_trainer *trainer, splat_error *error);

#endif
