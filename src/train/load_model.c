/* Starting from a splat instead of the scene's points. */
#include "math/projection.h"
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

static bool sees(const splat_camera *c, const float *mean)
{
    float p[3];
    for (int k = 0; k < 3; k++)
        p[k] = c->rotation[3 * k] * mean[0] + c->rotation[3 * k + 1] * mean[1] + c->rotation[3 * k + 2] * mean[2] +
               c->translation[k];
    if (!(p[2] > SPLAT_NEAR)) return false;
    float u = c->fx * p[0] / p[2] + c->cx, v = c->fy * p[1] / p[2] + c->cy;
    return u >= 0 && v >= 0 && u <= (float)c->width && v <= (float)c->height;
}

#define LOOKED_AT 4096 /* Gaussians, evenly over the splat */

/* A splat of another scene would be trained to nothing. */
static splat_status check_seen(const splat_trainer *t, const splat_ply_gaussians *host, const char *path,
                               splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    size_t stride = host->n / LOOKED_AT + 1;
    for (size_t i = 0; i < host->n; i += stride)
        for (size_t v = 0; v < dataset->n_train; v++)
            if (sees(&dataset->views[dataset->train[v]].camera, host->means + 3 * i)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "no training view of %s sees this splat; was it trained on this scene?",
                         t->scene->options.source_path);
}

splat_status splat_trainer_start_coarse(splat_trainer *t, const char *path, splat_error *error)
{
    splat_ply_gaussians host;
    if (!splat_schedule_is_coarse(&t->options))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the trainer was made without coarse options");
    if (t->scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          t->scene->dataset.n_train);
    SPLAT_TRY(read_fused(t, path, &host, error));
    splat_status status = host.n ? check_seen(t, &host, path, error) : SPLAT_OK; /* none at all is told below */
    if (status == SPLAT_OK) status = begin_with(t, &host, path, t->options.coarse.first_iteration, error);
    splat_ply_gaussians_free(&host);
    return status == SPLAT_OK ? splat_trainer_check_surface(t, path, error) : status;
}
