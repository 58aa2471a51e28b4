/* Starting from a splat instead of the scene's points. */
#include "train/schedule.h"
#include "train/trainer.h"

#include <string.h>

static splat_status zero_moments(splat_trainer *t, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    for (int i = t->model->parameters.n_arrays; i < n_arrays; i++)
        if (arrays[i].rows && arrays[i].words)
            SPLAT_TRY(t->backend->functions->zero(t->backend, arrays[i].device,
                                                  (size_t)arrays[i].rows * arrays[i].words * 4, error));
    return SPLAT_OK;
}

/* A splat in host memory becomes the state after an iteration: fresh moments, the filter of the training views, or, for
 * coarse training, none. Bands that the splat lacks start at zero; those that the trainer lacks are cut off. */
static splat_status begin_with(splat_trainer *t, splat_ply_gaussians *host, const char *path, int iteration,
                               splat_error *error)
{
    static const int no_steps[SPLAT_N_TENSORS];
    int before = t->iteration;
    if (host->n == 0 || host->n > UINT32_MAX / 2)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the splat has %zu Gaussians; 1 to 2^31 can be trained", host->n);
    SPLAT_TRY(splat_ply_gaussians_set_degree(host, t->options.sh_degree, error));
    t->iteration = iteration; /* whether there are statistics depends on it */
    splat_status status = splat_trainer_resize(t, (uint32_t)host->n, error);
    if (status != SPLAT_OK) {
        t->iteration = before;
        return status;
    }
    SPLAT_TRY(zero_moments(t, error));
    SPLAT_TRY(splat_model_upload(t->model, host, error));
    splat_trainer_begin_at(t, iteration, false, no_steps);
    if (!splat_schedule_is_coarse(&t->options)) return splat_trainer_update_filter(t, error);
    return t->backend->functions->zero(t->backend, t->model->gaussians.filter_3d, host->n * sizeof(float), error);
}

splat_status splat_trainer_load_model(splat_trainer *t, const char *ply_path, int iteration, splat_error *error)
{
    splat_ply_gaussians host;
    if (iteration < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a splat cannot stand for iteration %d", iteration);
    SPLAT_TRY(splat_ply_read_gaussians(ply_path, &host, error));
    splat_status status = begin_with(t, &host, ply_path, iteration, error);
    splat_ply_gaussians_free(&host);
    return status;
}

/* The splat as others would read it, in host memory: its filter is part of scales and opacities. It is on the device
 * only before the trainer's own arrays grow. */
static splat_status read_fused(splat_trainer *t, const char *path, splat_ply_gaussians *host, splat_error *error)
{
    splat_model *source;
    splat_model_info info;
    SPLAT_TRY(splat_model_load(t->context, path, &source, error));
    splat_status status = splat_model_fuse_filter(source, error);
    splat_model_get_info(source, &info);
    if (status == SPLAT_OK) status = splat_model_download(source, host, error);
    splat_model_destroy(source);
    if (status != SPLAT_OK) return status;
    bool is_mip = info.render_mode == SPLAT_RENDER_MIP;
    return splat_model_set_render_mode(t->model, info.render_mode, is_mip ? t->options.kernel_size : 0, error);
}

splat_status splat_trainer_start_coarse(splat_trainer *t, const char *path, splat_error *error)
{
    splat_ply_gaussians host;
    if (!splat_schedule_is_coarse(&t->options))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the trainer was made without coarse options");
    SPLAT_TRY(read_fused(t, path, &host, error));
    splat_status status = begin_with(t, &host, path, t->options.coarse.first_iteration, error);
    splat_ply_gaussians_free(&host);
    return status == SPLAT_OK ? splat_trainer_check_surface(t, path, error) : status;
}
