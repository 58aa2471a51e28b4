/* Starting from a splat instead of the scene's points. */
#include "io/splat/formats.h"
#include "train/schedule.h"
#include "train/trainer.h"

static splat_status zero_moments(splat_trainer *t, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    for (int i = t->model->parameters.n_arrays; i < n_arrays; i++)
        if (arrays[i].rows && arrays[i].words)
            SPLAT_TRY(splat_backend_zero(t->backend, arrays[i].device,
                                         (size_t)arrays[i].rows * arrays[i].words * 4, error));
    return SPLAT_OK;
}

splat_status splat_trainer_begin_with(splat_trainer *t, splat_cloud *host, const char *path, int iteration,
                                      splat_error *error)
{
    static const int no_steps[SPLAT_N_TENSORS];
    int before = t->iteration;
    if (host->n == 0 || host->n > UINT32_MAX / 2)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the splat has %zu Gaussians; 1 to 2^31 can be trained", host->n);
    SPLAT_TRY(splat_cloud_set_degree(host, t->options.sh_degree, error));
    t->iteration = iteration; /* whether there are statistics depends on it */
    splat_status status = splat_trainer_resize(t, (uint32_t)host->n, error);
    if (status != SPLAT_OK) {
        t->iteration = before;
        return status;
    }
    SPLAT_TRY(zero_moments(t, error));
    SPLAT_TRY(splat_model_upload(t->model, host, error));
    splat_trainer_begin_at(t, iteration, false, no_steps);
    if (!splat_schedule_continues_splat(&t->options)) return splat_trainer_update_filter(t, error);
    return splat_backend_zero(t->backend, t->model->gaussians.filter_3d, host->n * sizeof(float), error);
}

splat_status splat_trainer_load_model(splat_trainer *t, const char *ply_path, int iteration, splat_error *error)
{
    splat_cloud host;
    if (iteration < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a splat cannot stand for iteration %d", iteration);
    SPLAT_TRY(splat_cloud_read(ply_path, &host, error));
    splat_status status = splat_trainer_begin_with(t, &host, ply_path, iteration, error);
    splat_cloud_free(&host);
    return status;
}
