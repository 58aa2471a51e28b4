/* A training step: what its files share. trainer.c has the step itself. */
#ifndef SPLAT_TRAIN_STEP_H
#define SPLAT_TRAIN_STEP_H

#include "ops/jitter/jitter.h"
#include "ops/loss/loss.h"
#include "ops/project/project.h"
#include "splatsmith/train.h"
#include "train/parts/depths.h"
#include "train/parts/exposure.h"
#include "train/photo_store.h"

/* ---------------------------------------------------------------- step_view.c */

typedef struct splat_step_view {
    uint32_t index;         /* into the dataset's views */
    const splat_camera *camera;
    float background[3];
    splat_photo photo;
    double kept;            /* the share of its pixels that count; 1 without a mask */
    float *photo_resampled; /* device, instead of the photo: with resample_gt_image, or over another background */
    float *grad_image;      /* device, dL/dimage */
    float *exposed;         /* device; with exposure the picture that the loss compares, else NULL */
    double *exposure_sums;
    float *grad_alpha;      /* device, dL/dopacity where the mask asks for it, else NULL */
    splat_step_depths depths; /* what is known of its depth */
} splat_step_view;

/* What a step takes of the frame beside the view's own arrays: dL/dimage, with ray jitter op jitter's arrays, with
 * exposure the exposed picture. */
static inline size_t splat_step_gradient_bytes(size_t n_pixels)
{
    return 3 * n_pixels * sizeof(float);
}

static inline size_t splat_step_view_bytes(const splat_train_options *options, size_t width, size_t height)
{
    const size_t n_pixels = width * height;
    size_t bytes = splat_step_gradient_bytes(n_pixels);
    if (options->ray_jitter) bytes += splat_jitter_offsets_bytes(n_pixels);
    if (options->resample_gt_image) bytes += splat_jitter_photo_bytes(n_pixels);
    return bytes + splat_exposures_view_bytes(options, width, height);
}

/* What it takes for the views of a scene with masks that ask for an opacity: dL/dopacity, and the photo over the step's
 * background. */
static inline size_t splat_step_matte_bytes(splat_mask_mode mode, bool random_background, size_t n_pixels)
{
    if (mode == SPLAT_MASKS_IGNORE) return 0;
    bool has_photo = mode == SPLAT_MASKS_ALPHA && random_background;
    return n_pixels * sizeof(float) + (has_photo ? splat_jitter_photo_bytes(n_pixels) : 0);
}

/* The view of an iteration, without its photo; has those of the next ones decoded, which are `stride` iterations apart:
 * 1, or those of other ranks' views lie between. A view of which a mask keeps nothing
 * is passed over for the next one in the scene's order. Errors: ARGUMENT (all are so); those of decoding. */
splat_status splat_step_next_view(splat_trainer *trainer, int iteration, int stride, splat_step_view *view,
                                  splat_error *error);
/* The mask of the view's photo where it says which pixels count; NULL: all do. */
const uint8_t *splat_step_mask(const splat_trainer *trainer, const splat_step_view *view);
/* The photo, room for the gradient of the picture and, with ray jitter, the sampling offsets and the photo resampled
 * there. After the view has begun: buffers are the frame's. */
splat_status splat_step_stage_photo(splat_trainer *trainer, int iteration, splat_step_view *view, splat_error *error);

/* The gradient of the losses of the opacity that the mask asks for (docs/method.md 8.3), after the view is blended. */
splat_status splat_step_ask_opacity(splat_trainer *trainer, const splat_step_view *view, splat_error *error);

/* ---------------------------------------------------------------- step_parts.c */

/* Lists and picture of a view, and depth where it is known. The marks of a view in bands count the bin of all but the
 * first band as raster. */
splat_status splat_step_blend(splat_trainer *trainer, const splat_step_view *view, splat_error *error);
/* The gradient of the loss; on a synchronous backend also its value, not looked at. */
splat_status splat_step_loss(splat_trainer *trainer, const splat_step_view *view, splat_loss_result *loss,
                             splat_error *error);
/* Adam's rates and corrections of a step of n_views views, the last of which is of this iteration; the tensors' steps
 * are counted. */
void splat_step_adam(splat_trainer *trainer, int iteration, int n_views, splat_adam *adam);
/* What the caller of a step is told. */
void splat_step_tell(const splat_trainer *trainer, const splat_step_result *result, uint32_t view, int n_views,
                     double begin_seconds, splat_step_info *info);
/* ---------------------------------------------------------------- batch_step.c */

/* The next step of several ranks that have a view each. */
splat_status splat_batch_step(splat_trainer *trainer, splat_step_info *info, splat_error *error);

/* ---------------------------------------------------------------- step_results.c */

/* NUMERIC unless the loss is finite. */
splat_status splat_step_check_loss(const splat_trainer *trainer, double loss, int iteration, uint32_t view,
                                   splat_error *error);
/* Means over all pixels become means over those that count, for whoever looks at them. */
void splat_step_scale_result(splat_step_result *result, double kept);
/* An asynchronous backend: posts this step's result and takes that of the step before (zeros at the first). */
splat_status splat_step_exchange_results(splat_trainer *trainer, int iteration, const splat_step_view *view,
                                         splat_step_result *result, splat_error *error);

/* ---------------------------------------------------------------- step_times.c */

/* The step's stages, in order; each ends at the mark of its number. Those of ranks are set where there are ranks. */
typedef enum splat_step_mark {
    SPLAT_MARK_BEGIN,
    SPLAT_MARK_DATA,
    SPLAT_MARK_PROJECT,
    SPLAT_MARK_SEND,
    SPLAT_MARK_BIN,
    SPLAT_MARK_RASTER,
    SPLAT_MARK_LOSS,
    SPLAT_MARK_RASTER_BACKWARD,
    SPLAT_MARK_SEND_BACK,
    SPLAT_MARK_PROJECT_BACKWARD,
    SPLAT_N_MARKS
} splat_step_mark;

/* Marks the end of a stage, when stages are measured. */
splat_status splat_step_stamp(splat_trainer *trainer, splat_step_mark mark, splat_error *error);
/* The same for a mark that another will make, as splat_view_forward does. */
void splat_step_note_mark(splat_trainer *trainer, splat_step_mark mark);
/* The stopwatch's number of a mark of this step. */
int splat_step_mark_number(const splat_trainer *trainer, splat_step_mark mark);
/* After a step that has set all marks: adds the times of the step two before. */
splat_status splat_step_add_times(splat_trainer *trainer, splat_error *error);

#endif
