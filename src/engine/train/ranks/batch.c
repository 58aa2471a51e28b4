/* A step of several ranks that have a view each: the gradients of all views, then one step of Adam
 * (docs/distributed.md; Zhao et al., "On Scaling Up 3D Gaussian Splatting Training", ICLR 2025; Adam's as op
 * batch_step says). */
#include "model/render.h"
#include "train/ranks/way.h"

#include "ops/share/share.h"
#include "train/parts/depths.h"
#include "train/schedule.h"
#include "train/state.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- views */

/* Each rank chooses its own view: one whose mask keeps nothing is passed over, which only its rank looks at. */
static splat_status choose(splat_trainer *t, splat_step *s, splat_error *error)
{
    uint64_t all[SPLAT_MAX_RANKS];
    const int rank = t->shards.comm->rank;
    s->first = t->iteration + 1;
    s->last = splat_shards_batch_end(t, t->iteration);
    s->n_views = s->last - t->iteration;
    s->has_view = rank < s->n_views;
    splat_shard_views_begin_batch(t, s->first);
    if (s->has_view) SPLAT_TRY(splat_step_next_view(t, s->first + rank, s->n_views, &s->view, error));
    SPLAT_TRY(splat_comm_share_u64(t->shards.comm, s->has_view ? s->view.index : 0, all, error));
    for (int r = 0; r < s->n_views; r++) {
        s->views[r] = (uint32_t)all[r];
        s->cameras[r] = &t->scene->dataset.views[all[r]].camera;
        t->shards.batch.has_depths[r] = splat_depths_looks_at(t, s->first + r, s->views[r]);
    }
    return SPLAT_OK;
}

static splat_status agree(splat_trainer *t, splat_status own, splat_error *error)
{
    return splat_batch_agree(&t->shards.batch, own, error);
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
        /* project asks only whether there are offsets; the offsets are with the view's rank */
        if (t->options.ray_jitter) frame->jitter = frame->mean2d;
    }
    if (!s->has_view) return SPLAT_OK;
    SPLAT_TRY(splat_view_begin(t->backend, &model->frame, 0, s->view.camera, error));
    model->frame.filter = splat_model_screen_filter(model);
    model->frame.hint = splat_trainer_hint(t, s->view.index);
    memcpy(model->frame.background, s->view.background, sizeof model->frame.background);
    return SPLAT_OK;
}

static splat_status project(splat_trainer *t, splat_step *s, splat_error *error)
{
    const struct splat_project_views_args args = {&t->model->gaussians, t->shards.batch.frames, (uint32_t)s->n_views};
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

static splat_status sum_views(splat_trainer *t, splat_step *s, const splat_tensors *gradients,
                              const splat_tensors *squares, splat_error *error)
{
    const splat_statistics statistics = splat_trainer_statistics(t);
    for (int r = 0; r < s->n_views; r++) {
        splat_frame *frame = splat_batch_frame(&t->shards.batch, r);
        splat_tensors extra;
        float *grad_depth;
        SPLAT_TRY(splat_batch_take(&t->shards.batch, r, &grad_depth, error));
        const bool has_extra = splat_regularized(t, r, &extra);
        const struct splat_project_backward_args args = {.gaussians = &t->model->gaussians,
                                                         .frame = frame,
                                                         .statistics = s->wants_statistics ? &statistics : NULL,
                                                         .gradients = gradients,
                                                         .adds = true,
                                                         .squares = squares,
                                                         .slot = (uint32_t)r,
                                                         .grad_depth = grad_depth,
                                                         .extra_gradients = has_extra ? &extra : NULL};
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
    t->is_broken = true; /* until all is done: statistics are added to */
    s->n_degenerate = 0;
    SPLAT_TRY(sum_views(t, s, &gradients, &squares, error));
    splat_step_adam(t, s->last, s->n_views, &adam);
    const struct splat_batch_step_args args = {.gaussians = &t->model->gaussians,
                                               .adam = &adam,
                                               .gradients = &gradients,
                                               .squares = &squares,
                                               .n_views = (uint32_t)s->n_views,
                                               .opacity_pull = t->options.opacity_reg / n_all,
                                               .scale_pull = t->options.scale_reg / (3.0f * n_all),
                                               .clears = true};
    SPLAT_TRY(splat_op_batch_step(t->backend, &args, error));
    t->is_broken = false;
    return SPLAT_OK;
}

static bool may_ask_again(const splat_trainer *t)
{
    return t->shards.batch.agrees;
}

/* ---------------------------------------------------------------- results */

/* Where results come a step late, a loss that is not finite is found here, by its rank: all ranks end then. */
static splat_status report(splat_trainer *t, const splat_step *s, splat_status found, splat_step_result *mean,
                           splat_error *error)
{
    const splat_step_result *own = &s->result;
    splat_shards_note_view(t, own->n_visible, own->n_instances);
    enum { N_SUMS = 8 };
    double sums[N_SUMS + SPLAT_MAX_RANKS] = {own->loss_l1,
                                             own->loss_ssim,
                                             own->n_visible,
                                             (double)own->n_instances,
                                             (double)s->n_degenerate,
                                             found != SPLAT_OK,
                                             (double)t->n_added,
                                             (double)t->n_removed};
    sums[N_SUMS + t->shards.comm->rank] = (double)own->n_instances;
    splat_error ignored;
    SPLAT_TRY(splat_comm_reduce_f64(t->shards.comm, SPLAT_COMM_SUM, sums, N_SUMS + (size_t)t->shards.comm->size,
                                    found == SPLAT_OK ? error : &ignored));
    if (found != SPLAT_OK) return found;
    if (sums[5] > 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the loss of a view of another rank is not finite, at iteration "
                          "%d or a batch before", s->last);
    splat_shard_views_note(t, sums + N_SUMS, s->views, s->n_views);
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

const splat_way splat_way_batch = {.choose = choose,
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
