/* Some Gaussians of a model stay, the others go. */
#ifndef SPLAT_MODEL_CLEAN_H
#define SPLAT_MODEL_CLEAN_H

#include "model/model.h"

/* The Gaussians i with keep[i] (host memory, [n]) stay, in their order; the others go. By way of a copy of the whole in
 * host memory. Errors: MEMORY, DEVICE. */
splat_status splat_model_keep(splat_model *model, const uint8_t *keep, splat_error *error);

#endif
