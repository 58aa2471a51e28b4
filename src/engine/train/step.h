/* A training step: what its files share. trainer.c has the step itself. */
#ifndef SPLAT_TRAIN_STEP_H
#define SPLAT_TRAIN_STEP_H

#include "ops/loss/loss.h"
#include "ops/project/project.h"
#include "ops/raster/raster.h"
#include "splatsmith/train.h"
#include "train/photo_store.h"

/* The view of a photo. Pointers are device memory of the frame unless stated otherwise; parts (parts/part.h) fill
 * them. */
typedef struct splat_step_view {
    uint32_t index;         /* into the dataset's views */
    const splat_camera *camera;
    float background[3];
    splat_photo photo;
    double kept;            /* the share of its pixels that count; 1 without a mask */
    float *photo_resampled; /* instead of the photo: resampled, or over another background; NULL: none */
    float *grad_image;      /* dL/dimage */
    float *exposed;         /* the picture that the loss compares; NULL: the frame's */
    float *grad_alpha;      /* dL/dopacity; NULL: no loss of the opacity */
    splat_raster_depth *depth; /* blended depth and its gradients; NULL: no loss of depth. Host memory */
} splat_step_view;

/* A step: views of iterations first .. last. One rank has one view, of several ranks rank r has that of first + r. */
typedef struct splat_step {
    int first, last, n_views;
    int iteration;                   /* of this rank's view */
    bool wants_statistics;
    bool has_view;                   /* this rank has one; the last step of a run may have fewer views than ranks */
    splat_step_view view;            /* this rank's */
    uint32_t views[SPLAT_MAX_RANKS]; /* indices of all */
    const splat_camera *cameras[SPLAT_MAX_RANKS];
    splat_step_result result;        /* of this rank's view, as far as it is known */
    uint64_t n_degenerate;           /* of this rank's Gaussians, in all views */
    splat_tensors extra_gradients;   /* one rank: of a regularizer's losses */
    bool has_extra;
} splat_step;

/* ---------------------------------------------------------------- the view */

/* Bytes of the frame for dL/dimage. */
size_t splat_step_gradient_bytes(size_t n_pixels);

/* Chooses the view of an iteration, without its photo, and has the photos of the next views decoded, which are `stride`
 * iterations apart: the number of ranks. A view whose mask keeps no pixel is passed over for the next one in the
 * scene's order. Errors: ARGUMENT (masks keep no pixel of any view); those of decoding. */
splat_status splat_step_next_view(splat_trainer *trainer, int iteration, int stride, splat_step_view *view,
                                  splat_error *error);
/* The dropout of an iteration's view (options.dropout). */
splat_dropout splat_step_dropout(const splat_trainer *trainer, int iteration);
/* The mask of the view's photo where it says which pixels count; NULL: all do. */
const uint8_t *splat_step_mask(const splat_trainer *trainer, const splat_step_view *view);
/* The photo, and room for the gradient of the picture, in the frame of the view, which has begun. Errors: MEMORY,
 * DEVICE; those of decoding. */
splat_status splat_step_stage_photo(splat_trainer *trainer, splat_step_view *view, splat_error *error);

/* The expected needs of a view; unknown while results of steps are pending. */
splat_view_hint splat_step_hint(const splat_trainer *trainer, uint32_t view);
/* The turn (train/photo_store.h) of the step that is about to stage its photo. */
int splat_step_photo_turn(const splat_trainer *trainer);

/* ---------------------------------------------------------------- the picture and Adam */

/* Lists and picture of a view, and depth where it is known. The marks of a view in bands count the bin of all but the
 * first band as raster. */
splat_status splat_step_blend(splat_trainer *trainer, const splat_step_view *view, splat_error *error);
/* The gradient of the loss; on a synchronous backend also its value, not looked at. */
splat_status splat_step_loss(splat_trainer *trainer, const splat_step_view *view, splat_loss_result *loss,
                             splat_error *error);
/* Adam's rates and corrections of a step of n_views views, the last of which is of this iteration; the tensors' steps
 * are counted. */
void splat_step_adam(splat_trainer *trainer, int iteration, int n_views, splat_adam *adam);

/* Fills *info, which may be NULL. */
void splat_step_tell(const splat_trainer *trainer, const splat_step_result *result, uint32_t view, int n_views,
                     double begin_seconds, splat_step_info *info);
/* ---------------------------------------------------------------- results */

/* NUMERIC unless the loss is finite. */
splat_status splat_step_check_loss(const splat_trainer *trainer, double loss, int iteration, uint32_t view,
                                   splat_error *error);
/* Converts means over all pixels to means over those that count, for reports. */
void splat_step_scale_result(splat_step_result *result, double kept);
/* An asynchronous backend: posts this step's result and takes that of the step before (zeros at the first). */
splat_status splat_step_exchange_results(splat_trainer *trainer, int iteration, const splat_step_view *view,
                                         splat_step_result *result, splat_error *error);

/* When the trainer is made, or its state was replaced: no result is on its way, and the views' counts are unknown. */
void splat_step_forget_results(splat_trainer *trainer);

/* ---------------------------------------------------------------- times */

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
