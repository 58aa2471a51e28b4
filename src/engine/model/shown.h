/* In how many views each Gaussian of a model shows. */
#ifndef SPLAT_MODEL_SHOWN_H
#define SPLAT_MODEL_SHOWN_H

#include "model/model.h"
#include "ops/foremost/foremost.h"

/* The mask of view i on the device, needed until the next is asked for; or *mask stays NULL: every pixel is kept. */
typedef splat_status (*splat_shown_mask)(void *user, size_t i, const uint8_t **mask, splat_error *error);

/* Op foremost over the views of the cameras, in the model's frame. args: light and weight, and the arrays for stamps
 * and counts, zero; frame, mask and stamp are set here. max_instances: room for a view's, 0: no bound. mask: or
 * NULL. */
splat_status splat_model_count_shown(splat_model *model, const splat_camera *cameras, size_t n, uint64_t max_instances,
                                     struct splat_foremost_args args, splat_shown_mask mask, void *user,
                                     splat_error *error);

#endif
