/* Rates and moments as formulas of the iteration. */
#include "train/schedule.h"

#include "base/rng.h"
#include "math/gaussian.h"
#include "math/gaussians.h"
#include "train/parts/regularizer.h"

#include <math.h>
#include <stddef.h>

#define FEW_PHOTOS 30.0f  /* with which all of the dropout is made */
#define MANY_PHOTOS 80.0f /* with which none is made */

double splat_schedule_geometric(double first, double last, double t)
{
    return exp((1 - t) * log(first) + t * log(last));
}

float splat_schedule_position_lr(const splat_train_options *options, float extent, int iteration)
{
    double init = (double)options->position_lr_init * extent, final = (double)options->position_lr_final * extent;
    if (init <= 0 || final <= 0) return (float)(init > 0 ? init : 0);
    double t = (double)iteration / options->position_lr_max_steps;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return (float)splat_schedule_geometric(init, final, t);
}

float splat_schedule_lr_factor(const splat_train_options *options, int iteration)
{
    int from = options->lr_decay_from_iter, to = options->position_lr_max_steps;
    if (iteration <= from) return 1;
    return iteration >= to ? options->lr_final_factor
                           : (float)pow(options->lr_final_factor, (double)(iteration - from) / (to - from));
}

int splat_schedule_sh_degree(const splat_train_options *options, int iteration)
{
    const int degree = iteration / 1000;
    return degree < options->sh_degree && !splat_schedule_continues_splat(options) ? degree : options->sh_degree;
}

bool splat_schedule_filters_after(const splat_train_options *options, int iteration)
{
    return !splat_schedule_continues_splat(options) && iteration > options->densify_until_iter &&
           iteration % 100 == 0 && iteration < options->iterations - 100;
}

bool splat_schedule_continues_splat(const splat_train_options *options)
{
    return options->regularizer && options->regularizer->continues_splat;
}

uint32_t splat_schedule_view(uint64_t seed, uint32_t n_views, int iteration, uint32_t *order, uint32_t *order_epoch)
{
    uint32_t step = (uint32_t)(iteration - 1), epoch = step / n_views;
    if (*order_epoch != epoch + 1) { /* Fisher-Yates; 0 stands for "no order yet" */
        for (uint32_t i = 0; i < n_views; i++) order[i] = i;
        for (uint32_t i = n_views; i > 1; i--) {
            splat_random4 r = splat_random(seed, SPLAT_STREAM_VIEW_ORDER, epoch, i);
            uint32_t j = (uint32_t)(((uint64_t)r.x[0] * i) >> 32);
            uint32_t kept = order[i - 1];
            order[i - 1] = order[j];
            order[j] = kept;
        }
        *order_epoch = epoch + 1;
    }
    return order[step % n_views];
}

/* ---------------------------------------------------------------- Adam's rates, from the columns of gaussians.def */

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

float splat_schedule_dropout(const splat_train_options *o, size_t n_photos, int iteration)
{
    const float few = splat_clamp((MANY_PHOTOS - (float)n_photos) / (MANY_PHOTOS - FEW_PHOTOS), 0.0f, 1.0f);
    return o->dropout * few * (float)iteration / (float)o->iterations;
}
