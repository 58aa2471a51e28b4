/* One step of several ranks that have a view each: the gradients of all views, then one step of Adam
 * (docs/distributed.md; Zhao et al., "On Scaling Up 3D Gaussian Splatting Training", ICLR 2025; Adam's as op
 * batch_step says). */
#include "train/step.h"

#include "base/clock.h"
#include "ops/share/share.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

/* A batch: views of iterations first .. last, the view of `first + rank` being this rank's, where there are so many. */
typedef struct batch {
    int first, last, n_views;
    bool has_view;
    splat_step_view view; /* the own one */
    const splat_camera *cameras[SPLAT_MAX_RANKS];
    uint32_t views[SPLAT_MAX_RANKS]; /* indices of all */
    splat_step_result result;        /* of the own view, as far as it is known */
} batch;

/* ---------------------------------------------------------------- views */

/* Each rank chooses its own: one whose mask keeps nothing is passed over, which only its rank looks at. */
static splat_status choose_views(splat_trainer *t, batch *b, splat_error *error)
{
    uint64_t all[SPLAT_MAX_RANKS];
    const int rank = t->shards.comm->rank;
    b->has_view = rank < b->n_views;
    if (b->has_view) SPLAT_TRY(splat_step_next_view(t, b->first + rank, b->n_views, &b->view, error));
    SPLAT_TRY(splat_comm_share_u64(t->shards.comm, b->has_view ? b->view.index : 0, all, error));
    for (int r = 0; r < b->n_views; r++) {
        b->views[r] = (uint32_t)all[r];
        b->cameras[r] = &t->scene->dataset.views[all[r]].camera;
        t->shards.batch.has_depths[r] = splat_depths_looks_at(t, b->first + r, b->views[r]);
    }
    return SPLAT_OK;
}

/* Room for the own picture, and for the own Gaussians in every view. */
static splat_status begin_views(splat_trainer *t, batch *b, splat_error *error)
{
    splat_model *model = t->model;
    SPLAT_TRY(splat_batch_begin(&t->shards.batch, model->gaussians.n, b->cameras, b->n_views, error));
    SPLAT_TRY(splat_exposures_reserve_batch(t, b->views, b->n_views, error));
    for (int r = 0; r < b->n_views; r++) {
        splat_frame *frame = splat_batch_frame(&t->shards.batch, r);
        frame->filter = splat_model_screen_filter(model);
        /* project asks only whether there are offsets; those are with the view's rank */
        if (t->options.ray_jitter) frame->jitter = frame->mean2d;
    }
    if (!b->has_view) return SPLAT_OK;
    SPLAT_TRY(splat_view_begin(t->backend, &model->frame, 0, b->view.camera, error));
    model->frame.filter = splat_model_screen_filter(model);
    model->frame.hint = splat_trainer_hint(t, b->view.index);
    memcpy(model->frame.background, b->view.background, sizeof model->frame.background);
    const int iteration = b->first + t->shards.comm->rank;
    SPLAT_TRY(splat_step_stage_photo(t, iteration, &b->view, error));
    return splat_depths_stage(t, iteration, &b->view, error);
}

static splat_status project_views(splat_trainer *t, batch *b, splat_error *error)
{
    const struct splat_project_views_args args = {&t->model->gaussians, t->shards.batch.frames, (uint32_t)b->n_views};
    SPLAT_TRY(begin_views(t, b, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_DATA, error));
    SPLAT_TRY(splat_op_project_views(t->backend, &args, error));
    return splat_step_stamp(t, SPLAT_MARK_PROJECT, error);
}

static splat_status project(splat_trainer *t, batch *b, splat_error *error)
{
    SPLAT_TRY(splat_batch_agree(&t->shards.batch, project_views(t, b, error), error));
    SPLAT_TRY(splat_batch_send(&t->shards.batch, b->has_view ? &t->model->frame : NULL, error));
    return splat_step_stamp(t, SPLAT_MARK_SEND, error);
}

/* ---------------------------------------------------------------- the picture, its loss and its gradients */

/* All ranks find the loss of a view that is not finite, where it is known now. */
static splat_status check_losses(splat_trainer *t, const batch *b, double loss, splat_error *error)
{
    uint64_t is_broken[SPLAT_MAX_RANKS];
    if (splat_backend_result_latency(t->backend) > 0) return SPLAT_OK;
    SPLAT_TRY(splat_comm_share_u64(t->shards.comm, !isfinite(loss), is_broken, error));
    for (int r = 0; r < b->n_views; r++)
        if (is_broken[r]) return splat_step_check_loss(t, NAN, b->first + r, b->views[r], error);
    return SPLAT_OK;
}

static splat_status blend_own(splat_trainer *t, batch *b, splat_loss_result *loss, splat_error *error)
{
    *loss = (splat_loss_result){0};
    if (!b->has_view) return SPLAT_OK;
    SPLAT_TRY(splat_step_blend(t, &b->view, error));
    SPLAT_TRY(splat_step_loss(t, &b->view, loss, error));
    SPLAT_TRY(splat_step_ask_opacity(t, &b->view, error));
    SPLAT_TRY(splat_depths_losses(t, &b->view, error));
    b->result = (splat_step_result){.loss_l1 = loss->l1,
                                    .loss_ssim = loss->ssim,
                                    .n_visible = t->model->frame.n_visible,
                                    .n_instances = t->model->frame.n_view_instances};
    splat_step_scale_result(&b->result, b->view.kept);
    return SPLAT_OK;
}

static splat_status blend(splat_trainer *t, batch *b, splat_error *error)
{
    splat_loss_result loss;
    SPLAT_TRY(splat_batch_agree(&t->shards.batch, blend_own(t, b, &loss, error), error));
    SPLAT_TRY(check_losses(t, b, loss.loss, error));
    return splat_step_stamp(t, SPLAT_MARK_LOSS, error);
}

/* Sums over the views: of their gradients, and of the squares of these. */
typedef struct batch_sums {
    splat_tensors gradients, squares;
} batch_sums;

/* Room for them; they are zero between steps. */
static splat_status reserve_sums(splat_trainer *t, batch_sums *sums, splat_error *error)
{
    splat_shards *s = &t->shards;
    const uint32_t n = t->model->gaussians.n, old_n = s->n_gradients;
    SPLAT_TRY(splat_row_blocks_resize(t->backend, &s->gradients, old_n, n, error));
    const splat_status status = splat_row_blocks_resize(t->backend, &s->squares, old_n, n, error);
    if (status != SPLAT_OK) {
        splat_row_blocks_resize(t->backend, &s->gradients, n, old_n, NULL);
        return status;
    }
    s->n_gradients = n;
    *sums = (batch_sums){splat_row_blocks_tensors(&s->gradients), splat_row_blocks_tensors(&s->squares)};
    return SPLAT_OK;
}

/* What a mask hides counts in no statistics: only the view's rank has the mask. */
static splat_status blend_back_own(splat_trainer *t, const batch *b, bool wants_statistics, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const splat_step_depths *depths = &b->view.depths;
    const splat_view_gradients screen = {.image = b->view.grad_image,
                                         .without_mean_abs = !wants_statistics,
                                         .alpha = depths->grad_alpha ? depths->grad_alpha : b->view.grad_alpha,
                                         .depth = splat_step_has_depths(depths) ? &depths->blend : NULL};
    const uint8_t *mask = b->has_view && wants_statistics ? splat_step_mask(t, &b->view) : NULL;
    if (b->has_view) SPLAT_TRY(splat_view_backward(t->backend, frame, &screen, error));
    if (mask) SPLAT_TRY(splat_op_share_hide(t->backend, &(struct splat_share_hide_args){frame, mask}, error));
    return splat_step_stamp(t, SPLAT_MARK_RASTER_BACKWARD, error);
}

static splat_status blend_back(splat_trainer *t, const batch *b, bool wants_statistics, batch_sums *sums,
                               splat_error *error)
{
    splat_batch_views *shared = &t->shards.batch;
    splat_status status = reserve_sums(t, sums, error);
    if (status == SPLAT_OK) status = blend_back_own(t, b, wants_statistics, error);
    SPLAT_TRY(splat_batch_agree(shared, status, error));
    SPLAT_TRY(splat_batch_return(shared, b->has_view ? &t->model->frame : NULL,
                                 b->has_view ? b->view.depths.blend.grad_depth : NULL, error));
    /* after this nothing is allocated */
    if (shared->agrees) SPLAT_TRY(splat_batch_agree(shared, splat_batch_reserve(shared, error), error));
    return splat_step_stamp(t, SPLAT_MARK_SEND_BACK, error);
}

/* ---------------------------------------------------------------- Adam */

static splat_status sum_views(splat_trainer *t, const batch *b, bool wants_statistics, const batch_sums *sums,
                              uint64_t *n_degenerate, splat_error *error)
{
    const splat_statistics statistics = splat_trainer_statistics(t);
    for (int r = 0; r < b->n_views; r++) {
        splat_frame *frame = splat_batch_frame(&t->shards.batch, r);
        splat_tensors extra;
        float *grad_depth;
        SPLAT_TRY(splat_batch_take(&t->shards.batch, r, &grad_depth, error));
        const bool has_extra = splat_regularized(t, r, &extra);
        const struct splat_project_backward_args args = {.gaussians = &t->model->gaussians,
                                                         .frame = frame,
                                                         .statistics = wants_statistics ? &statistics : NULL,
                                                         .gradients = &sums->gradients,
                                                         .adds = true,
                                                         .squares = &sums->squares,
                                                         .slot = (uint32_t)r,
                                                         .grad_depth = grad_depth,
                                                         .extra_gradients = has_extra ? &extra : NULL};
        SPLAT_TRY(splat_op_project_backward(t->backend, &args, error));
        *n_degenerate += frame->n_degenerate;
    }
    return SPLAT_OK;
}

static splat_status step_model(splat_trainer *t, const batch *b, const batch_sums *sums, splat_error *error)
{
    const float n_all = (float)splat_shards_count(t);
    splat_adam adam;
    splat_step_adam(t, b->last, b->n_views, &adam);
    const struct splat_batch_step_args args = {.gaussians = &t->model->gaussians,
                                               .adam = &adam,
                                               .gradients = &sums->gradients,
                                               .squares = &sums->squares,
                                               .n_views = (uint32_t)b->n_views,
                                               .opacity_pull = t->options.opacity_reg / n_all,
                                               .scale_pull = t->options.scale_reg / (3.0f * n_all),
                                               .clears = true};
    return splat_op_batch_step(t->backend, &args, error);
}

/* ---------------------------------------------------------------- what it was */

/* Means over the views. Where results come a step late, a loss that is not finite is found here, by its rank: all end
 * then. */
static splat_status mean_results(splat_trainer *t, const batch *b, uint64_t n_degenerate, splat_status found,
                                 splat_step_result *mean, splat_error *error)
{
    const splat_step_result *own = &b->result;
    splat_shards_note_view(t, own->n_visible, own->n_instances);
    enum { N_SUMS = 8 };
    double sums[N_SUMS + SPLAT_MAX_RANKS] = {own->loss_l1,
                                             own->loss_ssim,
                                             own->n_visible,
                                             (double)own->n_instances,
                                             (double)n_degenerate,
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
                          "%d or a batch before", b->last);
    splat_shard_views_note(t, sums + N_SUMS, b->views, b->n_views);
    const double n = b->n_views;
    *mean = (splat_step_result){.loss_l1 = sums[0] / n,
                                .loss_ssim = sums[1] / n,
                                .n_visible = (uint32_t)(sums[2] / n + 0.5),
                                .n_instances = (uint64_t)(sums[3] / n + 0.5),
                                .n_degenerate = (uint32_t)sums[4]};
    t->n_added = (size_t)sums[6];
    t->n_removed = (size_t)sums[7];
    return SPLAT_OK;
}

/* Iterations amid a batch move Gaussians by themselves alone: others end one (splat_shards_batch_end). */
static splat_status control_amid(splat_trainer *t, const batch *b, splat_error *error)
{
    for (int iteration = b->first; iteration < b->last; iteration++)
        SPLAT_TRY(splat_density_control_after(t, iteration, error));
    return SPLAT_OK;
}

/* To the gradients at home: a batch that a memory limit stops on the way has changed nothing. */
static splat_status find_gradients(splat_trainer *t, batch *b, bool wants_statistics, batch_sums *sums,
                                   splat_error *error)
{
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_BEGIN, error));
    SPLAT_TRY(splat_regularize_batch(t, b->first, b->last, b->view.index, error));
    SPLAT_TRY(project(t, b, error));
    SPLAT_TRY(blend(t, b, error));
    return blend_back(t, b, wants_statistics, sums, error);
}

/* As for one view (trainer.c): what the limit refuses to any rank is asked for again by all, without what working
 * memory still holds, then as long as there is something to give up for it. */
static splat_status find_within(splat_trainer *t, batch *b, bool wants_statistics, batch_sums *sums,
                                splat_error *error)
{
    splat_status status = find_gradients(t, b, wants_statistics, sums, error);
    for (bool gave = t->shards.batch.agrees; status == SPLAT_ERROR_MEMORY && gave;) {
        SPLAT_TRY(splat_shards_release(t, error));
        status = find_gradients(t, b, wants_statistics, sums, error);
        if (status != SPLAT_ERROR_MEMORY) break;
        SPLAT_TRY(splat_shards_release(t, error));
        splat_error refused;
        splat_status given = splat_give_up_next(t, &gave, &refused);
        if (given != SPLAT_OK && error) *error = refused;
        SPLAT_TRY(given);
    }
    return status;
}

/* A batch for which a rank has no room does not end the training: all leave it out. */
static splat_status leave_out(splat_trainer *t, const batch *b, const splat_error *refused, splat_step_result *mean,
                              splat_error *error)
{
    if (!t->shards.batch.agrees) {
        if (error) *error = *refused;
        return refused->status;
    }
    splat_log(t->context, SPLAT_LOG_WARNING, "iterations %d to %d (view %s and others) are left out: %s", b->first,
              b->last, t->scene->dataset.views[b->views[0]].name, refused->message);
    *mean = (splat_step_result){.loss_ssim = 1}; /* no loss */
    t->n_left_out += (size_t)b->n_views;
    t->has_posted = false; /* there is no result to wait for */
    t->shards.views.n_before = 0;
    t->iteration = b->last;
    return control_amid(t, b, error);
}

static splat_status step_all(splat_trainer *t, batch *b, bool wants_statistics, const batch_sums *sums,
                             splat_step_result *mean, splat_error *error)
{
    uint64_t n_degenerate = 0;
    t->is_broken = true; /* statistics are added to from here on */
    SPLAT_TRY(sum_views(t, b, wants_statistics, sums, &n_degenerate, error));
    SPLAT_TRY(step_model(t, b, sums, error));
    SPLAT_TRY(splat_exposures_step_batch(t, b->first, b->views, b->n_views, b->has_view ? &b->view : NULL, error));
    SPLAT_TRY(splat_step_stamp(t, SPLAT_MARK_PROJECT_BACKWARD, error));
    t->iteration = b->last;
    SPLAT_TRY(control_amid(t, b, error));
    t->is_broken = false;
    splat_status found = SPLAT_OK;
    if (b->has_view && splat_backend_result_latency(t->backend) > 0)
        found = splat_step_exchange_results(t, b->first + t->shards.comm->rank, &b->view, &b->result, error);
    if (found != SPLAT_OK && found != SPLAT_ERROR_NUMERIC) return found;
    SPLAT_TRY(mean_results(t, b, n_degenerate, found, mean, error));
    return splat_step_add_times(t, error); /* one that was left out did not set all marks */
}

static splat_status run_batch(splat_trainer *t, batch *b, splat_step_result *mean, splat_error *error)
{
    const bool wants_statistics = t->strategy->wants_statistics(&t->options, b->last);
    batch_sums sums;
    splat_error refused;
    splat_status status = find_within(t, b, wants_statistics, &sums, &refused);
    if (status == SPLAT_ERROR_MEMORY) return leave_out(t, b, &refused, mean, error);
    if (status != SPLAT_OK && error) *error = refused;
    return status == SPLAT_OK ? step_all(t, b, wants_statistics, &sums, mean, error) : status;
}

splat_status splat_batch_step(splat_trainer *t, splat_step_info *info, splat_error *error)
{
    const double begin = splat_clock_seconds();
    batch b = {.first = t->iteration + 1, .last = splat_shards_batch_end(t, t->iteration)};
    splat_step_result mean;
    b.n_views = b.last - t->iteration;
    SPLAT_TRY(splat_density_control_after(t, t->iteration, error));
    t->model->gaussians.active_sh_degree = splat_schedule_sh_degree(&t->options, b.first);
    splat_shard_views_begin_batch(t, b.first);
    SPLAT_TRY(choose_views(t, &b, error));
    SPLAT_TRY(run_batch(t, &b, &mean, error));
    splat_step_tell(t, &mean, b.views[0], b.n_views, begin, info);
    return SPLAT_OK;
}
