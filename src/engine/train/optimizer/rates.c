/* Adam's learning rates, from the columns of gaussians.def. */
#include "train/optimizer/rates.h"

#include "math/gaussians.h"
#include "train/schedule.h"

#include <stddef.h>

const splat_tensor_rate splat_gaussian_rates[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels, storage, ply, schedule, rate, divisor)                                            \
    {SPLAT_RATE_##schedule, offsetof(splat_train_options, rate), divisor},
#include "math/gaussians.def"
#undef SPLAT_TENSOR
};

float splat_tensor_rate_at(const splat_tensor_rate *rate, const splat_train_options *options, float extent,
                           int iteration)
{
    if (rate->schedule == SPLAT_RATE_POSITION)
        return splat_schedule_position_lr(options, extent, iteration) / rate->divisor;
    float base = *(const float *)((const char *)options + rate->field) / rate->divisor;
    if (rate->schedule == SPLAT_RATE_SH_REST && options->sh_rest_lr > 0) base = options->sh_rest_lr;
    return base * splat_schedule_lr_factor(options, iteration);
}
