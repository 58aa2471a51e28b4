/* A step of one rank: a view, and project_backward fused with Adam. */
#include "train/ranks/alone.h"

#include "model/dome.h"
#include "model/render.h"
#include "model/rest.h"
#include "train/parts/bound_rows.h"
#include "train/parts/regularizer.h"
#include "train/state.h"
#include "train/step.h"

static splat_status open_step(splat_trainer *t, splat_error *error)
{
    (void)t;
    (void)error;
    return SPLAT_OK;
}

static void close_step(splat_trainer *t, splat_status status, const splat_error *error)
{
    (void)t;
    (void)status;
    (void)error;
}

static void order_views(splat_trainer *t)
{
    (void)t;
}

static splat_status choose(splat_trainer *t, splat_step *s, splat_error *error)
{
    s->first = s->last = s->iteration = t->iteration + 1;
    s->n_views = 1;
    s->has_view = true;
    SPLAT_TRY(splat_step_next_view(t, s->first, 1, &s->view, error));
    s->views[0] = s->view.index;
    return SPLAT_OK;
}

static splat_status agree(splat_trainer *t, splat_status local, splat_error *error)
{
    (void)t;
    (void)error;
    return local;
}

static splat_status regularize(splat_trainer *t, splat_step *s, splat_error *error)
{
    return splat_regularize(t, s->first, s->view.index, &s->extra_gradients, &s->has_extra, error);
}

static splat_status begin(splat_trainer *t, splat_step *s, splat_error *error)
{
    SPLAT_TRY(splat_model_begin_view(t->model, &t->model->frame, s->view.camera, s->view.background, error));
    splat_model_set_background(t->model, &t->model->frame, s->view.background);
    t->model->frame.hint = splat_step_hint(t, s->view.index);
    t->model->frame.dropout = splat_step_dropout(t, s->iteration);
    return SPLAT_OK;
}

static splat_status project(splat_trainer *t, splat_step *s, splat_error *error)
{
    (void)s;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_STEP, &rows, error));
    const struct splat_project_args args = {&rows.gaussians, &t->model->frame, rows.state};
    return splat_op_project(t->backend, &args, error);
}

static splat_status stay(splat_trainer *t, splat_step *s, splat_error *error)
{
    (void)t;
    (void)s;
    (void)error;
    return SPLAT_OK;
}

static splat_status check_loss(splat_trainer *t, const splat_step *s, double loss, splat_error *error)
{
    if (splat_backend_result_latency(t->backend) > 0) return SPLAT_OK;
    return splat_step_check_loss(t, loss, s->first, s->view.index, error);
}

static splat_status reserve(splat_trainer *t, splat_error *error)
{
    (void)t;
    (void)error;
    return SPLAT_OK;
}

static splat_status give_back(splat_trainer *t, splat_step *s, splat_error *error)
{
    (void)s;
    return splat_bound_reserve(t, error);
}

/* Adam's step of the tensors that are free. Tensors that follow from something else stay, and have no moments. */
static splat_adam adam_of_free(const splat_trainer *t, const splat_adam *adam)
{
    splat_adam free_ones = *adam;
    for (int i = 0; i < t->model->tensors->n; i++)
        if (splat_bound_follows(&t->options) >> i & 1) free_ones.update[i] = false;
    return free_ones;
}

/* The mesh that Gaussians follow makes its step, and they follow. After a failure the colours have made their step
 * already. */
static splat_status step_bound(splat_trainer *t, const splat_adam *adam, const splat_tensors *gradients, bool of_seen,
                               splat_error *error)
{
    const splat_binding *binding = t->options.binding;
    splat_status status = binding ? binding->step(t, adam, gradients, of_seen, error) : SPLAT_OK;
    t->is_broken |= status != SPLAT_OK;
    return status;
}

static splat_status update(splat_trainer *t, splat_step *s, splat_error *error)
{
    const float n = (float)t->model->gaussians.n;
    const bool of_seen = !s->has_extra && !(t->options.scale_reg > 0); /* both pull at the unseen as well */
    const splat_statistics statistics = splat_trainer_statistics(t);
    splat_tensors bound_gradients;
    splat_adam adam;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_STEP, &rows, error));
    splat_step_adam(t, s->first, 1, &adam);
    const splat_adam adam_free = adam_of_free(t, &adam);
    const struct splat_project_backward_args args = {
        .gaussians = &rows.gaussians,
        .frame = &t->model->frame,
        .source = {.extra = s->has_extra ? &s->extra_gradients : NULL,
                   .depth = s->view.depth ? s->view.depth->grad_depth : NULL,
                   .opacity_pull = t->options.opacity_reg / n,
                   .scale_pull = t->options.scale_reg / (3.0f * n)},
        .sink = {.step = &adam_free,
                 .write = splat_bound_gradients(t, &bound_gradients),
                 .write_seen = of_seen,
                 .rest = rows.state,
                 .statistics = s->wants_statistics ? &statistics : NULL,
                 .statistics_mask = splat_step_mask(t, &s->view)}};
    SPLAT_TRY(splat_op_project_backward(t->backend, &args, error));
    s->n_degenerate = t->model->frame.n_degenerate;
    return step_bound(t, &adam, &bound_gradients, of_seen, error);
}

static bool may_ask_again(const splat_trainer *t)
{
    return t->backend->memory.limit > 0;
}

static splat_status release(splat_trainer *t, splat_error *error)
{
    (void)error;
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_free(t->backend, &t->backend->scratch);
    return SPLAT_OK;
}

static splat_status report(splat_trainer *t, const splat_step *s, splat_status found, splat_step_result *mean,
                           splat_error *error)
{
    (void)t;
    (void)error;
    *mean = s->result;
    return found;
}

const splat_way splat_way_alone = {.open = open_step,
                                   .close = close_step,
                                   .order_views = order_views,
                                   .choose = choose,
                                   .agree = agree,
                                   .regularize = regularize,
                                   .begin = begin,
                                   .project = project,
                                   .send = stay,
                                   .check_loss = check_loss,
                                   .reserve = reserve,
                                   .give_back = give_back,
                                   .update = update,
                                   .may_ask_again = may_ask_again,
                                   .release = release,
                                   .report = report};
