/* What a trainer can be told: defaults and ranges. */
#include "train/schedule.h"
#include "train/trainer.h"

void splat_train_options_init(splat_train_options *options)
{
    *options = (splat_train_options){.iterations = 30000,
                                     .sh_degree = 3,
                                     .kernel_size = 0.1f,
                                     .position_lr_init = 0.00016f,
                                     .position_lr_final = 0.0000016f,
                                     .position_lr_delay_mult = 0.01f,
                                     .position_lr_max_steps = 30000,
                                     .feature_lr = 0.0025f,
                                     .opacity_lr = 0.05f,
                                     .scaling_lr = 0.005f,
                                     .rotation_lr = 0.001f,
                                     .lambda_dssim = 0.2f,
                                     .percent_dense = 0.01f,
                                     .densification_interval = 100,
                                     .opacity_reset_interval = 3000,
                                     .densify_from_iter = 500,
                                     .densify_until_iter = 15000,
                                     .densify_grad_threshold = 0.0002f,
                                     .min_opacity_threshold = 0.005f,
                                     .coarse = {.first_iteration = 7000,
                                                .regularize_after = 9000,
                                                .entropy_factor = 0.1f,
                                                .prune_opacity = 0.5f,
                                                .estimation_factor = 0.2f,
                                                .normal_factor = 0.2f,
                                                .dn_factor = 0.05f,
                                                .n_samples = 50000,
                                                .neighbor_interval = 500}};
}

void splat_train_options_init_coarse(splat_train_options *options, splat_regularization regularization)
{
    splat_train_options_init(options);
    options->coarse.regularization = regularization;
    options->iterations = 15000;
    options->densify_until_iter = 0; /* neither density control nor resets of the opacities */
}

splat_status splat_train_options_check(const splat_train_options *o, splat_error *error)
{
    const struct { const char *name; double value, low, high; } ranges[] = {
        {"iterations", o->iterations, 1, 1e8},
        {"sh_degree", o->sh_degree, 0, SPLAT_MAX_SH_DEGREE},
        {"kernel_size", o->kernel_size, 0, 100},
        {"position_lr_init", o->position_lr_init, 0, 1e3},
        {"position_lr_final", o->position_lr_final, 0, 1e3},
        {"position_lr_max_steps", o->position_lr_max_steps, 1, 1e9},
        {"feature_lr", o->feature_lr, 0, 1e3},
        {"opacity_lr", o->opacity_lr, 0, 1e3},
        {"scaling_lr", o->scaling_lr, 0, 1e3},
        {"rotation_lr", o->rotation_lr, 0, 1e3},
        {"lambda_dssim", o->lambda_dssim, 0, 1},
        {"percent_dense", o->percent_dense, 0, 1e3},
        {"densification_interval", o->densification_interval, 1, 1e8},
        {"opacity_reset_interval", o->opacity_reset_interval, 1, 1e9},
        {"densify_from_iter", o->densify_from_iter, 0, 1e9},
        {"densify_until_iter", o->densify_until_iter, 0, 1e9},
        {"densify_grad_threshold", o->densify_grad_threshold, 0, 1e6},
        {"min_opacity_threshold", o->min_opacity_threshold, 0, 1},
        {"first_iteration", o->coarse.first_iteration, 0, 1e8},
        {"regularize_after", o->coarse.regularize_after, 0, 1e8},
        {"entropy_factor", o->coarse.entropy_factor, 0, 1e3},
        {"prune_opacity", o->coarse.prune_opacity, 0, 1},
        {"estimation_factor", o->coarse.estimation_factor, 0, 1e3},
        {"normal_factor", o->coarse.normal_factor, 0, 1e3},
        {"dn_factor", o->coarse.dn_factor, 0, 1e3},
        {"n_samples", (double)o->coarse.n_samples, 1, 1 << 24},
        {"neighbor_interval", o->coarse.neighbor_interval, 1, 1e8},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s must be between %g and %g, not %g", ranges[i].name,
                              ranges[i].low, ranges[i].high, ranges[i].value);
    if ((unsigned)o->sh_storage > SPLAT_SH_FLOAT16 || (unsigned)o->optimizer_storage > SPLAT_OPTIMIZER_QUANTIZED)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown storage %d of the SH or %d of the optimizer",
                          (int)o->sh_storage, (int)o->optimizer_storage);
    if ((unsigned)o->coarse.regularization > SPLAT_REGULARIZE_DN_CONSISTENCY)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown regularization %d", (int)o->coarse.regularization);
    if (splat_schedule_is_coarse(o) && o->densify_until_iter > 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training has no density control: densify_until_iter "
                          "must be 0, not %d", o->densify_until_iter);
    if (splat_schedule_is_coarse(o) && o->iterations <= o->coarse.first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: iterations must be more, "
                          "not %d", o->coarse.first_iteration, o->iterations);
    if (splat_schedule_is_coarse(o) && o->coarse.regularize_after < o->coarse.first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: regularize_after must not "
                          "be before it, not %d, or the transparent would never go", o->coarse.first_iteration,
                          o->coarse.regularize_after);
    if (o->resample_gt_image && !o->ray_jitter)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "resample_gt_image needs ray_jitter; turn both on or both off");
    return SPLAT_OK;
}
