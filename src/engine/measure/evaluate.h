/* Measuring a model on a view. */
#ifndef SPLAT_MEASURE_EVALUATE_H
#define SPLAT_MEASURE_EVALUATE_H

#include "io/exposure_file.h"
#include "model/model.h"
#include "scene/scene.h"
#include "train/state.h"

/* The state of an evaluation; its only memory is the model's frame. */
typedef struct splat_evaluator {
    splat_scene *scene;
    splat_model *model;
    splat_view_job job; /* lpips becomes NULL where it is given up */
    splat_trainer *trainer; /* whose ranks share the views (measure/dealt_views.h); NULL: the model is all here */
    float background[3];
    splat_exposures exposures; /* job.exposures, while the set is measured */
    splat_exposures nearby;    /* job.nearby_exposures, if they give a guess for every view */
    splat_exposures by_exif;   /* exposures by EXIF and job.nearby_exposures, if these suffice */
    size_t n_shown;     /* views of the set that the visitor sees, the first ones */
    uint32_t *blended;  /* host; NULL, or room for the largest view: the number of Gaussians blended in each pixel of
                          the views that are shown */
} splat_evaluator;

/* Over the scene's background; all views are shown, without counts, none is dealt. */
splat_evaluator splat_evaluator_make(splat_model *model, splat_scene *scene, const splat_view_job *job);

/* Renders view `index` of the dataset, clamps (and quantises) it in model->frame.image, and measures it against the
 * photo, which stays acquired from the cache until the caller releases it. shown: fills evaluator->blended, if any. */
splat_status splat_evaluator_view(splat_evaluator *evaluator, uint32_t index, bool shown, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error);

/* The picture in model->frame.image against its photo, which stays acquired if this succeeds; by all figures of the
 * job. */
splat_status splat_evaluator_measure(splat_evaluator *evaluator, uint32_t index, const uint8_t **photo,
                                     splat_metrics *metrics, splat_error *error);
/* `render`, a view's picture on the host, to the visitor. *go_on is what that says. */
splat_status splat_evaluator_show(splat_evaluator *evaluator, uint32_t index, size_t index_in_set, const float *render,
                                  const splat_metrics *metrics, bool *go_on, splat_error *error);

#endif
