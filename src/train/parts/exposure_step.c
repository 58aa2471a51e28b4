/* The place of exposure in a step: the ops in their order. */
#include "train/parts/exposure.h"

#include "distributed/device_exchange.h"
#include "math/camera.h"
#include "train/schedule.h"
#include "train/step.h"
#include "train/trainer.h"

#include <math.h>

/* Adam's rate falls to a hundredth over the run. What it begins with is chosen by how far a gain can get, so that
 * short runs and scenes of many photos find theirs, too. Coarse training has those of its splat already. */
#define STOPS 4          /* that a gain can move */
#define STOPS_LATER 0.4
#define RATE_END 0.01
#define MOST_RATE 0.1    /* of runs of a few hundred steps */
#define WARMUP (1 / 60.0) /* of the run: 500 of 30,000 steps */

/* A photo is drawn once in n steps: then Adam's v is g^2 (1 - beta2)/(1 - beta2^n) on average, and the steps until it
 * is drawn again add up to g/sqrt(v) of the rate. */
static double way_of_a_step(double n_photos)
{
    const double beta2 = (double)SPLAT_ADAM_BETA2;
    return sqrt((1 - pow(beta2, n_photos)) / (1 - beta2)) / n_photos;
}

float splat_exposures_rate(const splat_train_options *o, uint32_t n_photos, int iteration)
{
    bool is_later = splat_schedule_continues_splat(o) && !o->binding;
    int first = is_later ? o->coarse.first_iteration : 0;
    double n = fmax(o->iterations - first, 1), at = fmin(fmax((iteration - first) / n, 0), 1);
    double mean = (RATE_END - 1) / log(RATE_END); /* of the rate, over what it begins with */
    double start = (is_later ? STOPS_LATER : STOPS) / (n * mean * way_of_a_step(n_photos));
    if (start > MOST_RATE) start = MOST_RATE;
    return (float)(start * fmin(RATE_END + (1 - RATE_END) * at / WARMUP, 1) * pow(RATE_END, at));
}

size_t splat_exposures_view_bytes(const splat_train_options *o, size_t width, size_t height)
{
    return o->exposure ? splat_exposure_picture_bytes(width * height) + splat_exposure_sums_bytes(height) : 0;
}

size_t splat_exposures_batch_bytes(const splat_train_options *o, size_t height, size_t n_views)
{
    return o->exposure ? n_views * splat_exposure_sums_bytes(height) : 0;
}

/* ---------------------------------------------------------------- a step */

splat_status splat_exposures_stage(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const size_t picture = splat_exposure_picture_bytes(splat_camera_pixels(view->camera));
    const size_t sums = splat_exposure_sums_bytes((size_t)view->camera->height);
    splat_frame *frame = &t->model->frame;
    view->exposed = NULL;
    if (!t->exposures.n_photos) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, sums, (void **)&view->exposure_sums, error));
    return splat_frame_take(t->backend, frame, picture, (void **)&view->exposed, error);
}

/* Of a training view, without a photo. */
static struct splat_exposure_args args_of_view(const splat_trainer *t, size_t index, const splat_camera *camera,
                                               float *exposed)
{
    const splat_exposure_state *s = &t->exposures;
    const float *rows = s->values.data;
    return (struct splat_exposure_args){
        .width = camera->width,
        .height = camera->height,
        .cx = camera->cx,
        .cy = camera->cy,
        .photo_row = rows + SPLAT_EXPOSURE_ROW * (size_t)s->photo_of[index],
        .camera_row = rows + SPLAT_EXPOSURE_ROW * (size_t)(s->n_photos + s->camera_of[index]),
        .image = t->model->frame.image,
        .exposed = exposed};
}

static struct splat_exposure_args args_of(const splat_trainer *t, const splat_step_view *view)
{
    struct splat_exposure_args args = args_of_view(t, view->index, view->camera, view->exposed);
    args.photo_u8 = view->photo_resampled ? NULL : view->photo.rgb;
    args.photo_f32 = view->photo_resampled;
    return args;
}

splat_status splat_exposures_show(splat_trainer *t, size_t index, const splat_camera *camera, splat_error *error)
{
    if (!t->exposures.n_photos || t->scene->dataset.views[index].is_test) return SPLAT_OK;
    const struct splat_exposure_args args = args_of_view(t, index, camera, t->model->frame.image);
    return splat_op_exposure(t->backend, &args, error);
}

splat_status splat_exposures_apply(splat_trainer *t, const splat_step_view *view, splat_error *error)
{
    if (!t->exposures.n_photos) return SPLAT_OK;
    const struct splat_exposure_args args = args_of(t, view);
    return splat_op_exposure(t->backend, &args, error);
}

splat_status splat_exposures_backward(splat_trainer *t, const splat_step_view *view, splat_error *error)
{
    if (!t->exposures.n_photos) return SPLAT_OK;
    const struct splat_exposure_backward_args args = {args_of(t, view), view->grad_image, view->exposure_sums,
                                                      &t->model->frame};
    return splat_op_exposure_backward(t->backend, &args, error);
}

/* sums: of view `index`; frame: that view's, or NULL. */
static splat_status step_by(splat_trainer *t, int iteration, uint32_t index, const double *sums,
                            const splat_frame *frame, splat_error *error)
{
    splat_exposure_state *s = &t->exposures;
    s->steps++;
    const struct splat_exposure_step_args args = {
        .n_photos = s->n_photos,
        .n_cameras = s->n_cameras,
        .values = s->values.data,
        .m = s->m.data,
        .v = s->v.data,
        .photo = s->photo_of[index],
        .camera = s->camera_of[index],
        .sums = sums,
        .n_rows = (size_t)t->scene->dataset.views[index].camera.height,
        .lr = splat_exposures_rate(&t->options, s->n_photos, iteration),
        .correction1 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA1, s->steps)),
        .correction2 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA2, s->steps)),
        .frame = frame};
    return splat_op_exposure_step(t->backend, &args, error);
}

splat_status splat_exposures_step(splat_trainer *t, int iteration, const splat_step_view *view, splat_error *error)
{
    if (!t->exposures.n_photos) return SPLAT_OK;
    return step_by(t, iteration, view->index, view->exposure_sums, &t->model->frame, error);
}

/* ---------------------------------------------------------------- a view for each rank */

static size_t sums_bytes_of(const splat_trainer *t, uint32_t view)
{
    return splat_exposure_sums_bytes((size_t)t->scene->dataset.views[view].camera.height);
}

splat_status splat_exposures_reserve_batch(splat_trainer *t, const uint32_t *views, int n_views, splat_error *error)
{
    size_t bytes = 0;
    if (!t->exposures.n_photos) return SPLAT_OK;
    for (int r = 0; r < n_views; r++) bytes += sums_bytes_of(t, views[r]);
    return splat_block_ensure(t->backend, &t->exposures.batch_sums, "ranks.exposures", SPLAT_OWNER_LISTS, bytes, error);
}

/* Each rank's sums to all. */
static splat_status share_sums(splat_trainer *t, const uint32_t *views, int n_views, const splat_step_view *view,
                               splat_error *error)
{
    const splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    char *at = t->exposures.batch_sums.data;
    for (int r = 0; r < n_views; at += in[r++].bytes) in[r] = (splat_comm_part){at, sums_bytes_of(t, views[r])};
    for (int r = 0; r < comm->size && view; r++)
        out[r] = (splat_comm_part){view->exposure_sums, in[comm->rank].bytes};
    return splat_device_exchange(t->shards.comm, t->backend, out, in, error);
}

splat_status splat_exposures_step_batch(splat_trainer *t, int first_iteration, const uint32_t *views, int n_views,
                                        const splat_step_view *view, splat_error *error)
{
    const char *sums = t->exposures.batch_sums.data;
    if (!t->exposures.n_photos) return SPLAT_OK;
    SPLAT_TRY(share_sums(t, views, n_views, view, error));
    for (int r = 0; r < n_views; sums += sums_bytes_of(t, views[r++]))
        SPLAT_TRY(step_by(t, first_iteration + r, views[r], (const double *)sums, NULL, error));
    return SPLAT_OK;
}
