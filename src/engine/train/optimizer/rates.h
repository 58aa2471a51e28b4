/* Adam's learning rates of the tensors, as the options set them. */
#ifndef SPLAT_TRAIN_RATES_H
#define SPLAT_TRAIN_RATES_H

#include "splatsmith/train.h"

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
