/* Starting from a splat instead of the scene's points. */
#include "train/trainer.h"

#include <string.h>

splat_status splat_trainer_load_model(splat_trainer *t, const char *ply_path, int iteration, splat_error *error)
{
    splat_ply_gaussians host;
    if (iteration < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a splat cannot stand for iteration %d", iteration);
    SPLAT_TRY(splat_ply_read_gaussians(ply_path, &host, error));
    splat_status status = SPLAT_OK;
    if (host.n == 0 || host.n > UINT32_MAX / 2)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, ply_path, SPLAT_NO_OFFSET,
                               "the splat has %zu Gaussians; 1 to 2^31 can be trained", host.n);
    /* Bands that the splat lacks start at zero; those that the trainer lacks are cut off. */
    if (status == SPLAT_OK) status = splat_ply_gaussians_set_degree(&host, t->options.sh_degree, error);
    int before = t->iteration;
    t->iteration = iteration; /* whether there are statistics depends on it */
    if (status == SPLAT_OK) status = splat_trainer_resize(t, (uint32_t)host.n, error);
    if (status == SPLAT_OK) {
        splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
        int n_arrays = splat_trainer_state_arrays(t, arrays);
        for (int i = t->model->parameters.n_arrays; i < n_arrays && status == SPLAT_OK; i++)
            if (arrays[i].rows && arrays[i].words)
                status = t->backend->functions->zero(t->backend, arrays[i].device,
                                                     (size_t)arrays[i].rows * arrays[i].words * 4, error);
    } else {
        t->iteration = before;
    }
    if (status == SPLAT_OK) status = splat_model_upload(t->model, &host, error);
    if (status == SPLAT_OK) {
        static const int no_steps[SPLAT_N_TENSORS];
        splat_trainer_begin_at(t, iteration, false, no_steps);
        status = splat_trainer_update_filter(t, error);
    }
    splat_ply_gaussians_free(&host);
    return status;
}
