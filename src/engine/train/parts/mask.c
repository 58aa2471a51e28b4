/* Part `masks` of a step: what masks ask of the opacity of a view (docs/method.md 8.3), and photos with alpha over the
 * background of the step. Which pixels count in the loss is an argument of op loss, not of this part. */
#include "math/camera.h"
#include "ops/alpha_mask/alpha_mask.h"
#include "ops/jitter/jitter.h"
#include "train/parts/part.h"
#include "train/state.h"
#include "train/step.h"

/* Weights of the losses of the opacity, docs/method.md 8.3. */
#define SEGMENT_WEIGHT 1.0f
#define ALPHA_WEIGHT 0.1f

static void bytes(const splat_part_work *work, splat_part_bytes *b)
{
    const splat_mask_mode mode = work->setup->mask_mode;
    const size_t n_pixels = splat_work_pixels(&work->view);
    if (mode == SPLAT_MASKS_IGNORE) return;
    b->frame = n_pixels * sizeof(float);
    if (mode == SPLAT_MASKS_ALPHA && work->options->random_background) b->frame += splat_jitter_photo_bytes(n_pixels);
}

static bool asks_opacity(const splat_trainer *t, const splat_step_view *view)
{
    return view->photo.mask && t->scene->dataset.mask_mode != SPLAT_MASKS_IGNORE;
}

/* With a background drawn for the step, a photo with alpha lies over that. */
static splat_status set_background(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const size_t n_bytes = splat_jitter_photo_bytes(splat_camera_pixels(view->camera));
    if (dataset->mask_mode != SPLAT_MASKS_ALPHA || !t->options.random_background) return SPLAT_OK;
    struct splat_alpha_mask_args args = {.width = view->camera->width,
                                         .height = view->camera->height,
                                         .mask = view->photo.mask,
                                         .composited = dataset->white_background ? 1.0f : 0.0f};
    if (!view->photo_resampled) {
        args.photo_u8 = view->photo.rgb;
        SPLAT_TRY(splat_frame_take(t->backend, &t->model->frame, n_bytes, (void **)&view->photo_resampled, error));
    }
    args.photo_f32 = view->photo_resampled;
    for (int c = 0; c < 3; c++) args.background[c] = view->background[c];
    return splat_op_alpha_mask(t->backend, &args, error);
}

static splat_status stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    const size_t n_bytes = splat_camera_pixels(view->camera) * sizeof(float);
    (void)iteration;
    if (!asks_opacity(t, view)) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, &t->model->frame, n_bytes, (void **)&view->grad_alpha, error));
    return set_background(t, view, error);
}

static splat_status loss(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const bool is_soft = t->scene->dataset.mask_mode == SPLAT_MASKS_ALPHA;
    if (!asks_opacity(t, view)) return SPLAT_OK;
    struct splat_alpha_mask_args args = {.width = view->camera->width,
                                         .height = view->camera->height,
                                         .mask = view->photo.mask,
                                         .is_soft = is_soft,
                                         .weight = is_soft ? ALPHA_WEIGHT : SEGMENT_WEIGHT,
                                         .transmittance = t->model->frame.transmittance,
                                         .grad_alpha = view->grad_alpha};
    return splat_op_alpha_mask(t->backend, &args, error);
}

const splat_part splat_part_mask = {.name = "masks", .bytes = bytes, .stage = stage, .loss = loss};
