/* When what of coarse training happens: pure functions of the iteration. */
#include "surface/coarse/coarse_schedule.h"

static bool is_coarse(const splat_train_options *options)
{
    return options->coarse.regularization != SPLAT_REGULARIZE_NONE;
}

bool splat_coarse_has_entropy(const splat_train_options *options, int iteration)
{
    return is_coarse(options) && iteration < options->coarse.regularize_after &&
           options->coarse.entropy_factor > 0;
}

bool splat_coarse_prunes_after(const splat_train_options *options, int iteration)
{
    return is_coarse(options) && iteration == options->coarse.regularize_after;
}

bool splat_coarse_regularizes(const splat_train_options *options, int iteration)
{
    return is_coarse(options) && iteration > options->coarse.regularize_after;
}

double splat_coarse_fade(const splat_train_options *options, int iteration)
{
    double steps = (double)options->iterations - options->coarse.regularize_after;
    double left = (double)options->iterations - iteration;
    double part = (double)options->surface_fade * steps;
    return left < part ? left / part : 1;
}

bool splat_coarse_has_field(const splat_train_options *options, int iteration)
{
    return splat_coarse_regularizes(options, iteration) &&
           (options->coarse.estimation_factor > 0 || options->coarse.normal_factor > 0);
}

bool splat_coarse_has_depth_normal(const splat_train_options *options, int iteration)
{
    return splat_coarse_regularizes(options, iteration) && options->coarse.dn_factor > 0 &&
           (options->coarse.regularization == SPLAT_REGULARIZE_DN_CONSISTENCY ||
            options->coarse.regularization == SPLAT_REGULARIZE_MULTIVIEW);
}

bool splat_coarse_has_thickness(const splat_train_options *options, int iteration)
{
    return splat_coarse_regularizes(options, iteration) && options->flat_factor > 0;
}

bool splat_coarse_has_losses(const splat_train_options *options, int iteration)
{
    return splat_coarse_has_field(options, iteration) || splat_coarse_has_depth_normal(options, iteration) ||
           splat_coarse_has_entropy(options, iteration) || splat_coarse_has_thickness(options, iteration) ||
           splat_coarse_has_multi_view(options, iteration);
}

bool splat_coarse_sees_neighbors(const splat_train_options *options)
{
    return options->coarse.regularization == SPLAT_REGULARIZE_MULTIVIEW &&
           (options->geo_factor > 0 || options->ncc_factor > 0);
}

bool splat_coarse_has_multi_view(const splat_train_options *options, int iteration)
{
    return splat_coarse_regularizes(options, iteration) && splat_coarse_sees_neighbors(options);
}

bool splat_coarse_searches_neighbors(const splat_train_options *options, int iteration)
{
    return splat_coarse_has_field(options, iteration) &&
           (iteration == options->coarse.regularize_after + 1 || iteration % options->coarse.neighbor_interval == 0);
}
