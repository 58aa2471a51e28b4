/* The gains of the training photos and of their cameras (ops/exposure): where they lie, and their place in a step. With
 * the option `exposure`; else all of it is empty, and a step is what it is without. */
#ifndef SPLAT_TRAIN_EXPOSURE_H
#define SPLAT_TRAIN_EXPOSURE_H

#include "backend/memory.h"
#include "io/exposure_file.h"
#include "ops/exposure/exposure.h"
#include "splatsmith/train.h"

/* The arrays, in checkpoints and lists of memory. */
#define SPLAT_EXPOSURES_NAMES {"exposures", "adam_m.exposures", "adam_v.exposures"}
#define SPLAT_EXPOSURES_BLOCKS 3

typedef struct splat_exposure_state {
    splat_block values, m, v;       /* float[n_photos + n_cameras][SPLAT_EXPOSURE_ROW] */
    uint32_t n_photos, n_cameras;   /* training photos, in the order of dataset.train; 0: off */
    uint32_t *photo_of, *camera_of; /* [n_views] rows of a training view; one allocation, at photo_of, with the next */
    uint32_t *view_of;              /* [n_photos] the view of a photo, the first of its crops */
    int steps;                      /* that Adam made */
    splat_block batch_sums;         /* of the views of a batch, one after the other (distributed/batch_views.h) */
} splat_exposure_state;

/* Rows of zeros when the options want them: no gain. Photos are of one camera when its size and focal lengths are
 * the same. Crops of a photo share its row, and have cameras of their own, which follow that of the first. Errors:
 * MEMORY. */
splat_status splat_exposures_init(splat_trainer *trainer, splat_error *error);
void splat_exposures_free(splat_trainer *trainer);
/* The exposures begin as the photos' EXIF says, where every training photo of a camera tells; a warning when these
 * differ and the option is off. Reads the beginning of each photo. Errors: MEMORY, DEVICE. */
splat_status splat_exposures_seed(splat_trainer *trainer, splat_error *error);

/* What it takes of the frame for a view of so many pixels; and besides, for the sums of a batch of views. */
size_t splat_exposures_view_bytes(const splat_train_options *options, size_t width, size_t height);
size_t splat_exposures_batch_bytes(const splat_train_options *options, size_t height, size_t n_views);

struct splat_step_view;
/* Room in the frame, after the photo is staged. */
splat_status splat_exposures_stage(splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
/* The picture as the photo's camera would have shown it, which the loss then compares. */
splat_status splat_exposures_apply(splat_trainer *trainer, const struct splat_step_view *view, splat_error *error);
/* A whole picture of view `index` of the scene, in model->frame.image, likewise, but without a photo that is saturated;
 * as it is where the view is no training photo. camera: the view's, whatever the size. */
splat_status splat_exposures_show(splat_trainer *trainer, size_t index, const splat_camera *camera,
                                  splat_error *error);
/* After the loss: its gradient becomes that of the picture, with the photo's weight. */
splat_status splat_exposures_backward(splat_trainer *trainer, const struct splat_step_view *view, splat_error *error);
/* Adam's step of all gains, when nothing can fail any more. */
splat_status splat_exposures_step(splat_trainer *trainer, int iteration, const struct splat_step_view *view,
                                  splat_error *error);

/* With several ranks every rank has all gains, and makes the steps of all views; rank r's view is views[r].
 * reserve_batch makes room for the sums of all views, in the place of stage (MEMORY); step_batch makes one step a view,
 * in the order of the ranks. view: the rank's own one, or NULL. */
splat_status splat_exposures_reserve_batch(splat_trainer *trainer, const uint32_t *views, int n_views,
                                           splat_error *error);
splat_status splat_exposures_step_batch(splat_trainer *trainer, int first_iteration, const uint32_t *views, int n_views,
                                        const struct splat_step_view *view, splat_error *error);
/* What rank 0 has, to all; alone nothing. Errors: MEMORY, DEVICE, RANK. */
splat_status splat_exposures_share(splat_trainer *trainer, splat_error *error);

/* Adam's rate at an iteration, of so many photos that are drawn in turn. */
float splat_exposures_rate(const splat_train_options *options, uint32_t n_photos, int iteration);

/* Of the exposures e, their mean among them, in stops. Waits for the device. Errors: MEMORY, DEVICE. */
splat_status splat_exposures_summary(const splat_trainer *trainer, double *mean, double *min, double *max,
                                     splat_error *error);
/* The gains as a file has them: over the photos e, a and b have the mean 0. Freed with splat_exposures_file_free. Waits
 * for the device. Errors: MEMORY, DEVICE. */
splat_status splat_exposures_get(const splat_trainer *trainer, splat_exposures *exposures, splat_error *error);

#endif
