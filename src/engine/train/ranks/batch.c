/* A step of several ranks that have a view each: the gradients of all views, then one step of Adam
 * (docs/distributed.md; Zhao et al., "On Scaling Up 3D Gaussian Splatting Training", ICLR 2025; Adam's as op
 * batch_step says). */
#include "train/ranks/batch.h"

#include "model/dome.h"
#include "model/render.h"
#include "model/rest.h"
#include "ops/share/share.h"
#include "train/density/density.h"
#include "train/density/prune_masked.h"
#include "train/density/strategy.h"
#include "train/parts/depths.h"
#include "train/parts/regularizer.h"
#include "train/ranks/report.h"
#include "train/ranks/rows.h"
#include "train/ranks/shapes.h"
#include "train/ranks/shards.h"
#include "train/rest_state.h"
#include "train/schedule.h"
#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- what belongs to the whole model */

static bool regularizer_changes_after(const splat_trainer *t, int iteration)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    return regularizer && regularizer->changes_after && regularizer->changes_after(&t->options, iteration);
}

static bool concerns_all_after(const splat_trainer *t, int iteration)
{
    bool changes = !t->strategy->changes_after || t->strategy->changes_after(t, iteration);
    return changes || regularizer_changes_after(t, iteration) || splat_schedule_filters_after(&t->options, iteration);
}

/* With rows of its own, or with all at rank 0: what masked pixels alone show is looked for in views of the whole
 * model, as is what a regularizer removes. */
static bool is_done_apart(const splat_trainer *t, int iteration)
{
    return !splat_density_prunes_masked_after(&t->options, &t->scene->dataset, iteration) &&
           !regularizer_changes_after(t, iteration);
}

/* The last iteration of the batch after an iteration: as many views as there are ranks, but no more than are left, and
 * none after one that concerns the whole model or is a multiple of 100, so that what happens or is saved then is. */
static int batch_end(const splat_trainer *t, int iteration)
{
    const int most = iteration + t->shards.comm->size;
    int end = iteration + 1;
    while (end < most && end < t->options.iterations && end % 100 != 0 && !concerns_all_after(t, end)) end++;
    return end;
}

static splat_status open_at_first(splat_trainer *t, splat_error *error)
{
    const int before = t->iteration;
    if (t->last_density_control != before && concerns_all_after(t, before) && !is_done_apart(t, before)) {
        SPLAT_TRY(splat_trainer_gather(t, error));
        SPLAT_TRY(splat_density_control_after(t, before, error));
    }
    SPLAT_TRY(splat_shards_deal(t, error));
    return splat_shards_order(t, SPLAT_ORDER_STEP, error);
}

static splat_status open_step(splat_trainer *t, splat_error *error)
{
    if (t->shards.comm->rank == 0) SPLAT_TRY(open_at_first(t, error));
    splat_shards_begin_traffic(t);
    return SPLAT_OK;
}

/* All ranks find a loss that is not finite in the same step, and nothing has changed anywhere. */
static void close_step(splat_trainer *t, splat_status status, const splat_error *error)
{
    if (status == SPLAT_OK)
        splat_shards_end_traffic(t);
    else if (status != SPLAT_ERROR_NUMERIC)
        splat_shards_fail(t, status, error, NULL);
}

/* ---------------------------------------------------------------- the order of views */

/* Views of similar cost share a step, because a step with a view on each rank takes as long as the longest view. The
 * cost of a view is its number of pairs when it was last trained on. */
#define WINDOW 8 /* batches whose views are sorted by cost */

static splat_shard_views *views_of(splat_trainer *t)
{
    return &t->shards.views;
}

static splat_status make_views(splat_trainer *t, splat_error *error)
{
    const size_t n = t->scene->dataset.n_views;
    /* runs with reproducible bytes continue from checkpoints, which do not have the costs of views */
    if (splat_backend_result_latency(t->backend) == 0 || t->backend->deterministic) return SPLAT_OK;
    views_of(t)->pairs = calloc(2 * n, sizeof *views_of(t)->pairs);
    if (!views_of(t)->pairs) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", n);
    views_of(t)->of_order = views_of(t)->pairs + n;
    return SPLAT_OK;
}

/* Half an epoch before it is needed: all ranks look at the same moment, though some begin the next epoch earlier. */
static void begin_batch(splat_trainer *t, int first)
{
    splat_shard_views *v = views_of(t);
    const size_t n_train = t->scene->dataset.n_train, step = (size_t)(first - 1);
    if (!v->pairs || step % n_train < n_train / 2 || v->looked_in == step / n_train + 1) return;
    memcpy(v->of_order, v->pairs, t->scene->dataset.n_views * sizeof *v->pairs);
    v->looked_in = step / n_train + 1;
}

/* pairs[r] of rank r's view of the batch before (0: not known); views: those of this one. */
static void note_views(splat_trainer *t, const double *pairs, const uint32_t *views, int n_views)
{
    splat_shard_views *v = views_of(t);
    for (int r = 0; v->pairs && r < v->n_before; r++)
        if (pairs[r] > 0) v->pairs[v->before[r]] = (float)pairs[r];
    v->n_before = n_views;
    memcpy(v->before, views, (size_t)n_views * sizeof *views);
}

/* By insertion: windows are small, and nearly nothing is equal. */
static void sort_window(uint32_t *order, size_t n, const uint32_t *views, const float *pairs)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t local = order[i];
        size_t at = i;
        for (; at > 0 && pairs[views[order[at - 1]]] > pairs[views[local]]; at--) order[at] = order[at - 1];
        order[at] = local;
    }
}

void splat_sort_views(uint32_t *order, size_t n, size_t window, const uint32_t *views, const float *pairs)
{
    for (size_t i = 0; i < n; i++)
        if (!(pairs[views[i]] > 0)) return; /* not all are known */
    for (size_t first = 0; first < n; first += window)
        sort_window(order + first, n - first < window ? n - first : window, views, pairs);
}

static void order_views(splat_trainer *t)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const size_t window = (size_t)t->shards.comm->size * WINDOW;
    if (views_of(t)->pairs && views_of(t)->looked_in)
        splat_sort_views(t->view_order, dataset->n_train, window, dataset->train, views_of(t)->of_order);
}

/* ---------------------------------------------------------------- views */

/* Each rank chooses its own view: one whose mask keeps nothing is passed over, which only its rank looks at. */
static splat_status choose(splat_trainer *t, splat_step *s, splat_error *error)
{
    uint64_t all[SPLAT_MAX_RANKS];
    const int rank = t->shards.comm->rank;
    s->first = t->iteration + 1;
    s->last = batch_end(t, t->iteration);
    s->n_views = s->last - t->iteration;
    s->has_view = rank < s->n_views;
    s->iteration = s->first + rank;
    begin_batch(t, s->first);
    if (s->has_view) SPLAT_TRY(splat_step_next_view(t, s->iteration, s->n_views, &s->view, error));
    SPLAT_TRY(splat_comm_share_u64(t->shards.comm, s->has_view ? s->view.index : 0, all, error));
    for (int r = 0; r < s->n_views; r++) {
        s->views[r] = (uint32_t)all[r];
        s->cameras[r] = &t->scene->dataset.views[all[r]].camera;
        t->shards.batch.has_depths[r] = splat_depths_looks_at(t, s->first + r, s->views[r]);
    }
    return SPLAT_OK;
}

static splat_status agree(splat_trainer *t, splat_status local, splat_error *error)
{
    return splat_batch_agree(&t->shards.batch, local, error);
}

static splat_status regularize(splat_trainer *t, splat_step *s, splat_error *error)
{
    return splat_regularize_batch(t, s->first, s->last, s->view.index, error);
}

static splat_status begin(splat_trainer *t, splat_step *s, splat_error *error)
{
    splat_model *model = t->model;
    SPLAT_TRY(splat_batch_begin(&t->shards.batch, model->gaussians.n, s->cameras, s->n_views, error));
    for (int r = 0; r < s->n_views; r++) {
        splat_frame *frame = splat_batch_frame(&t->shards.batch, r);
        frame->filter = splat_model_screen_filter(model);
        frame->dropout = splat_step_dropout(t, s->first + r);
        /* project asks only whether there are offsets; the offsets are with the view's rank */
        if (t->options.ray_jitter) frame->jitter = frame->mean2d;
    }
    if (!s->has_view) return SPLAT_OK;
    SPLAT_TRY(splat_view_begin(t->backend, &model->frame, 0, s->view.camera, error));
    model->frame.filter = splat_model_screen_filter(model);
    model->frame.hint = splat_step_hint(t, s->view.index);
    splat_model_set_background(model, &model->frame, s->view.background);
    return SPLAT_OK;
}

static splat_status project(splat_trainer *t, splat_step *s, splat_error *error)
{
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_STEP, &rows, error));
    const struct splat_project_views_args args = {&rows.gaussians, t->shards.batch.frames, (uint32_t)s->n_views,
                                                  rows.state};
    return splat_op_project_views(t->backend, &args, error);
}

static splat_status send(splat_trainer *t, splat_step *s, splat_error *error)
{
    SPLAT_TRY(splat_batch_send(&t->shards.batch, s->has_view ? &t->model->frame : NULL, error));
    return splat_step_stamp(t, SPLAT_MARK_SEND, error);
}

/* All ranks find the loss of a view that is not finite, where it is known now. */
static splat_status check_loss(splat_trainer *t, const splat_step *s, double loss, splat_error *error)
{
    uint64_t is_broken[SPLAT_MAX_RANKS];
    if (splat_backend_result_latency(t->backend) > 0) return SPLAT_OK;
    SPLAT_TRY(splat_comm_share_u64(t->shards.comm, !isfinite(loss), is_broken, error));
    for (int r = 0; r < s->n_views; r++)
        if (is_broken[r]) return splat_step_check_loss(t, NAN, s->first + r, s->views[r], error);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- gradients */

/* Room for the sums over the views, of their gradients and of the squares of these, which are zero between steps. */
static splat_status reserve(splat_trainer *t, splat_error *error)
{
    splat_shards *shards = &t->shards;
    const uint32_t n = t->model->gaussians.n, old_n = shards->n_gradients;
    SPLAT_TRY(splat_row_blocks_resize(t->backend, &shards->gradients, old_n, n, error));
    const splat_status status = splat_row_blocks_resize(t->backend, &shards->squares, old_n, n, error);
    if (status == SPLAT_OK)
        shards->n_gradients = n;
    else
        splat_row_blocks_resize(t->backend, &shards->gradients, n, old_n, NULL);
    return status;
}

/* Pixels that a mask hides count in no statistics. Only the view's rank has the mask, so it marks them. */
static splat_status hide_masked(splat_trainer *t, const splat_step *s, splat_error *error)
{
    const uint8_t *mask = s->has_view && s->wants_statistics ? splat_step_mask(t, &s->view) : NULL;
    if (!mask) return SPLAT_OK;
    return splat_op_share_hide(t->backend, &(struct splat_share_hide_args){&t->model->frame, mask}, error);
}

static splat_status give_back(splat_trainer *t, splat_step *s, splat_error *error)
{
    splat_batch_views *shared = &t->shards.batch;
    const float *grad_depth = s->has_view && s->view.depth ? s->view.depth->grad_depth : NULL;
    SPLAT_TRY(hide_masked(t, s, error));
    SPLAT_TRY(splat_batch_return(shared, s->has_view ? &t->model->frame : NULL, grad_depth, error));
    if (shared->agrees) SPLAT_TRY(splat_batch_agree(shared, splat_batch_reserve(shared, error), error));
    return splat_step_stamp(t, SPLAT_MARK_SEND_BACK, error);
}

/* ---------------------------------------------------------------- Adam */

static splat_status sum_views(splat_trainer *t, splat_step *s, splat_rest_rows *rows, const splat_tensors *gradients,
                              const splat_tensors *squares, splat_error *error)
{
    const splat_statistics statistics = splat_trainer_statistics(t);
    for (int r = 0; r < s->n_views; r++) {
        splat_frame *frame = splat_batch_frame(&t->shards.batch, r);
        splat_tensors extra;
        float *grad_depth;
        SPLAT_TRY(splat_batch_take(&t->shards.batch, r, &grad_depth, error));
        const bool has_extra = splat_regularized(t, r, &extra);
        const struct splat_project_backward_args args = {
            .gaussians = &rows->gaussians,
            .frame = frame,
            .source = {.extra = has_extra ? &extra : NULL, .depth = grad_depth},
            .sink = {.add = gradients,
                     .add_squares = squares,
                     .rest = rows->state,
                     .slot = (uint32_t)r,
                     .statistics = s->wants_statistics ? &statistics : NULL}};
        SPLAT_TRY(splat_op_project_backward(t->backend, &args, error));
        s->n_degenerate += frame->n_degenerate;
    }
    return SPLAT_OK;
}

static splat_status update(splat_trainer *t, splat_step *s, splat_error *error)
{
    const splat_tensors gradients = splat_row_blocks_tensors(&t->shards.gradients);
    const splat_tensors squares = splat_row_blocks_tensors(&t->shards.squares);
    const float n_all = (float)splat_shards_count(t);
    splat_adam adam;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_STEP, &rows, error));
    t->is_broken = true; /* until all is done: statistics are added to */
    s->n_degenerate = 0;
    SPLAT_TRY(sum_views(t, s, &rows, &gradients, &squares, error));
    splat_step_adam(t, s->last, s->n_views, &adam);
    const struct splat_batch_step_args args = {.gaussians = &rows.gaussians,
                                               .adam = &adam,
                                               .gradients = &gradients,
                                               .squares = &squares,
                                               .n_views = (uint32_t)s->n_views,
                                               .opacity_pull = t->options.opacity_reg / n_all,
                                               .scale_pull = t->options.scale_reg / (3.0f * n_all),
                                               .clears = true,
                                               .rest = rows.state};
    SPLAT_TRY(splat_op_batch_step(t->backend, &args, error));
    t->is_broken = false;
    return SPLAT_OK;
}

static bool may_ask_again(const splat_trainer *t)
{
    return t->shards.batch.agrees;
}

/* ---------------------------------------------------------------- results */

/* Reports a step. On a backend with late results a rank finds here that a loss is not finite: then all ranks end. */
static splat_status report(splat_trainer *t, const splat_step *s, splat_status found, splat_step_result *mean,
                           splat_error *error)
{
    const splat_step_result *local = &s->result;
    splat_shards_note_view(t, local->n_visible, local->n_instances);
    enum { N_SUMS = 8 };
    double sums[N_SUMS + SPLAT_MAX_RANKS] = {
        local->loss_l1,          local->loss_ssim,  local->n_visible,   (double)local->n_instances,
        (double)s->n_degenerate, found != SPLAT_OK, (double)t->n_added, (double)t->n_removed};
    sums[N_SUMS + t->shards.comm->rank] = (double)local->n_instances;
    splat_error ignored;
    SPLAT_TRY(splat_comm_reduce_f64(t->shards.comm, SPLAT_COMM_SUM, sums, N_SUMS + (size_t)t->shards.comm->size,
                                    found == SPLAT_OK ? error : &ignored));
    if (found != SPLAT_OK) return found;
    if (sums[5] > 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the loss of a view of another rank is not finite, at iteration "
                          "%d or a batch before", s->last);
    note_views(t, sums + N_SUMS, s->views, s->n_views);
    const double n = s->n_views;
    *mean = (splat_step_result){.loss_l1 = sums[0] / n,
                                .loss_ssim = sums[1] / n,
                                .n_visible = (uint32_t)(sums[2] / n + 0.5),
                                .n_instances = (uint64_t)(sums[3] / n + 0.5),
                                .n_degenerate = (uint32_t)sums[4]};
    t->n_added = (size_t)sums[6];
    t->n_removed = (size_t)sums[7];
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- beginning and end */

/* The sums of a batch over its views. */
static void describe_sums(splat_trainer *t)
{
    static const char *const names[2][SPLAT_N_TENSORS] = {{
#define SPLAT_TENSOR(name, ...) "ranks.gradients." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    }, {
#define SPLAT_TENSOR(name, ...) "ranks.squares." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    }};
    splat_row_blocks *const sums[] = {&t->shards.gradients, &t->shards.squares};
    const bool defers = splat_deferral_rows(t, 1) > 0; /* then sh_rest's wait elsewhere */
    for (int k = 0; k < 2; k++) {
        sums[k]->owner = SPLAT_OWNER_LISTS;
        for (int i = 0; i < SPLAT_N_TENSORS; i++)
            splat_row_blocks_add(sums[k], names[k][i], SPLAT_TYPE_FLOAT32,
                                 defers && i == SPLAT_TENSOR_sh_rest
                                     ? 0
                                     : splat_tensor_channels(i, t->options.sh_degree));
    }
}

splat_status splat_shard_batch_init(splat_trainer *t, splat_error *error)
{
    describe_sums(t);
    return make_views(t, error);
}

void splat_shard_batch_free(splat_trainer *t)
{
    splat_row_blocks_free(t->backend, &t->shards.gradients);
    splat_row_blocks_free(t->backend, &t->shards.squares);
    free(views_of(t)->pairs);
    *views_of(t) = (splat_shard_views){0};
}

const splat_way splat_way_batch = {.open = open_step,
                                   .close = close_step,
                                   .order_views = order_views,
                                   .choose = choose,
                                   .agree = agree,
                                   .regularize = regularize,
                                   .begin = begin,
                                   .project = project,
                                   .send = send,
                                   .check_loss = check_loss,
                                   .reserve = reserve,
                                   .give_back = give_back,
                                   .update = update,
                                   .may_ask_again = may_ask_again,
                                   .release = splat_shards_release,
                                   .report = report};
