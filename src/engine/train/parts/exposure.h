/* Part `exposure` of a step: the gains of the training photos and of their cameras (ops/exposure). Without the option
 * `exposure` it has no rows and does nothing. */
#ifndef SPLAT_TRAIN_EXPOSURE_H
#define SPLAT_TRAIN_EXPOSURE_H

#include "io/exposure_file.h"
#include "ops/exposure/exposure.h"
#include "train/state.h"

typedef struct splat_exposure_state {
    splat_block values, m, v;       /* float[n_photos + n_cameras][SPLAT_EXPOSURE_ROW] */
    uint32_t n_photos, n_cameras;   /* training photos, in the order of dataset.train; 0: the part is off */
    uint32_t *photo_of, *camera_of; /* [n_views] rows of a training view; one allocation, at photo_of, with the next */
    uint32_t *view_of;              /* [n_photos] the view of a photo, the first of its crops */
    int steps;                      /* steps of Adam so far */
    double *sums;                   /* sums of the step's view, in the frame */
    splat_block batch_sums;         /* with several ranks: sums of the step's views, one after the other */
} splat_exposure_state;

static inline splat_exposure_state *splat_exposures_of(const splat_trainer *trainer)
{
    return trainer->parts[SPLAT_PART_exposure];
}

/* A whole picture of view `index` of the scene, in model->frame.image, as its photo's camera would have shown it. A
 * view that is no training photo stays as it is. camera: the view's, whatever the size. */
splat_status splat_exposures_show(splat_trainer *trainer, size_t index, const splat_camera *camera,
                                  splat_error *error);
/* For the plan and its test: bytes of the frame for a view. */
size_t splat_exposures_view_bytes(const splat_train_options *options, size_t width, size_t height);
/* Every rank gets the gains of rank 0. With one rank this is a no-op. Errors: MEMORY, DEVICE, RANK. */
splat_status splat_exposures_share(splat_trainer *trainer, splat_error *error);

/* Adam's rate at an iteration, of so many photos that are drawn in turn. */
float splat_exposures_rate(const splat_train_options *options, uint32_t n_photos, int iteration);

/* Summarises the exposures e, with their mean, in stops. Waits for the device. Errors: MEMORY, DEVICE. */
splat_status splat_exposures_summary(const splat_trainer *trainer, double *mean, double *min, double *max,
                                     splat_error *error);
/* The gains as a file has them: over the photos e, a and b have the mean 0. Freed with splat_exposures_file_free. Waits
 * for the device. Errors: MEMORY, DEVICE. */
splat_status splat_exposures_get(const splat_trainer *trainer, splat_exposures *exposures, splat_error *error);

#endif
