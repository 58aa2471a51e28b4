/* Starts a training: from a splat made of the scene's points (also for callers that only show it), or from an existing
 * state. */
#include "train/start.h"

#include "base/options.h"
#include "io/splat/formats.h"
#include "model/init_points.h"
#include "train/density/density.h"
#include "train/memory/give_up.h"
#include "train/ranks/host_rows.h"
#include "train/resize.h"
#include "train/rest_state.h"
#include "train/schedule.h"
#include "train/step.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the scene's points */

splat_status splat_model_from_scene(splat_context *context, const splat_scene *scene,
                                    const splat_train_options *options, splat_model **model, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_train_options own;
    splat_train_options_init(&own);
    *model = NULL;
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_train_options", error));
    const splat_first_gaussians first = {.most = own.target_gaussian_count,
                                         .opacity = own.init_opacity,
                                         .scale = own.init_scale};
    SPLAT_TRY(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, model, error));
    splat_status status = splat_model_set_render_mode(*model, SPLAT_RENDER_MIP, own.kernel_size, error);
    if (status == SPLAT_OK)
        status = splat_model_init_from_points(*model, dataset->points, dataset->n_points, &first, error);
    if (status == SPLAT_OK) return SPLAT_OK;
    splat_model_destroy(*model);
    *model = NULL;
    return status;
}

/* ---------------------------------------------------------------- rows of a state from elsewhere */

/* All but the parameters; of a splat that is trained on the filter, too, which is fused. */
static splat_status zero_rest(splat_trainer *t, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    int n_arrays = splat_trainer_state_arrays(t, arrays);
    for (int i = t->model->parameters.n_arrays; i < n_arrays; i++)
        if (arrays[i].rows && arrays[i].words)
            SPLAT_TRY(splat_backend_zero(t->backend, arrays[i].device,
                                         (size_t)arrays[i].rows * arrays[i].words * 4, error));
    const splat_gaussians *g = &t->model->gaussians;
    if (!splat_schedule_continues_splat(&t->options)) return SPLAT_OK;
    return splat_backend_zero(t->backend, g->filter_3d, g->n * sizeof(float), error);
}

/* On every rank. */
static splat_status begin_own_rows(splat_trainer *t, const splat_beginning *b, splat_error *error)
{
    const int before = t->iteration;
    if (t->shards.comm) {
        t->shards.is_whole = false;
        t->shards.n_all = b->n;
    }
    t->iteration = b->iteration; /* the iteration decides if there are statistics */
    splat_status status = splat_rest_cache_drop(t, error);
    if (status == SPLAT_OK) status = splat_give_up_as(t, b->given_up, b->overhead, error);
    const uint32_t n = splat_shards_part(t, b->n);
    if (status == SPLAT_OK && t->shards.comm) status = splat_give_up_for(t, n, error); /* together */
    if (status == SPLAT_OK) status = splat_trainer_resize(t, n, error);
    if (status != SPLAT_OK) {
        t->iteration = before;
        return status;
    }
    if (b->strategy_cached) SPLAT_TRY(splat_extra_rows_cache(&t->strategy_rows, t->backend, n, error));
    if (b->regularizer_cached) SPLAT_TRY(splat_extra_rows_cache(&t->regularizer_rows, t->backend, n, error));
    return b->is_empty ? zero_rest(t, error) : SPLAT_OK;
}

/* Rank 0 of several says what all shall do. */
static splat_status order(splat_trainer *t, splat_order *o, splat_error *error)
{
    return splat_shards_leads(t) ? splat_order_give(t, o, error) : SPLAT_OK;
}

splat_status splat_trainer_begin_rows(splat_trainer *t, const splat_beginning *beginning, splat_error *error)
{
    splat_order o;
    splat_error own;
    SPLAT_TRY(splat_shards_check_count(t, beginning->n, error));
    splat_order_make(t, SPLAT_ORDER_BEGIN, &o);
    o.beginning = *beginning;
    SPLAT_TRY(order(t, &o, error));
    return splat_shards_fail(t, begin_own_rows(t, beginning, &own), &own, error);
}

splat_status splat_trainer_begin_at(splat_trainer *t, int iteration, bool density_control_done,
                                    const int adam_steps[SPLAT_N_TENSORS], splat_error *error)
{
    splat_order o;
    splat_order_make(t, SPLAT_ORDER_BEGIN_AT, &o);
    o.iteration = iteration;
    o.density_control_done = density_control_done;
    memcpy(o.adam_steps, adam_steps, sizeof o.adam_steps);
    SPLAT_TRY(order(t, &o, error));
    t->iteration = iteration;
    t->last_density_control = density_control_done ? iteration : -1;
    memcpy(t->adam_steps, adam_steps, sizeof t->adam_steps);
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, iteration);
    t->n_added = t->n_removed = t->n_refused = 0;
    t->is_broken = false;
    splat_step_forget_results(t);
    return SPLAT_OK;
}

splat_status splat_trainer_begin_filter(splat_trainer *t, splat_error *error)
{
    splat_order o;
    splat_error own;
    splat_order_make(t, SPLAT_ORDER_FILTER, &o);
    SPLAT_TRY(order(t, &o, error));
    return splat_shards_fail(t, splat_density_update_filter(t, &own), &own, error);
}

splat_status splat_trainer_begin_with(splat_trainer *t, splat_cloud *host, const char *path, int iteration,
                                      splat_error *error)
{
    static const int no_steps[SPLAT_N_TENSORS];
    if (host->n == 0 || host->n > UINT32_MAX / 2)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the splat has %zu Gaussians; 1 to 2^31 can be trained", host->n);
    SPLAT_TRY(splat_cloud_set_degree(host, t->options.sh_degree, error));
    const splat_beginning beginning = {.n = (uint32_t)host->n, .iteration = iteration, .is_empty = true};
    if (splat_schedule_continues_splat(&t->options)) { /* fused before; the rows begin with zeros */
        free(host->filter_3d);
        host->filter_3d = NULL;
    }
    SPLAT_TRY(splat_trainer_begin_rows(t, &beginning, error));
    SPLAT_TRY(splat_trainer_upload(t, host, error));
    SPLAT_TRY(splat_trainer_begin_at(t, iteration, false, no_steps, error));
    return splat_schedule_continues_splat(&t->options) ? SPLAT_OK : splat_trainer_begin_filter(t, error);
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
