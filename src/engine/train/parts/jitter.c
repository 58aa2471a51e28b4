/* Part `ray_jitter` of a step: rays at random positions inside their pixels, and the photo resampled there. */
#include "ops/jitter/jitter.h"

#include "math/camera.h"
#include "train/parts/part.h"
#include "train/state.h"
#include "train/step.h"

static void bytes(const splat_part_work *work, splat_part_bytes *b)
{
    const size_t n_pixels = splat_work_pixels(&work->view);
    if (work->options->ray_jitter) b->frame += splat_jitter_offsets_bytes(n_pixels);
    if (work->options->resample_gt_image) b->frame += splat_jitter_photo_bytes(n_pixels);
}

static splat_status stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    splat_frame *frame = &t->model->frame;
    const size_t n_pixels = splat_camera_pixels(view->camera);
    void *jitter, *resampled = NULL;
    if (!t->options.ray_jitter) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, splat_jitter_offsets_bytes(n_pixels), &jitter, error));
    if (t->options.resample_gt_image)
        SPLAT_TRY(splat_frame_take(t->backend, frame, splat_jitter_photo_bytes(n_pixels), &resampled, error));
    frame->jitter = jitter;
    view->photo_resampled = resampled;
    struct splat_jitter_args args = {view->camera->width, view->camera->height, t->options.seed, (uint32_t)iteration,
                                     jitter,              view->photo.rgb,      resampled};
    return splat_op_jitter(t->backend, &args, error);
}

const splat_part splat_part_jitter = {.name = "ray_jitter", .bytes = bytes, .stage = stage};
