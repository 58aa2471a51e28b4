/* Measuring a model on a set of views, one view in memory at a time. */
#ifndef SPLAT_TRAIN_EVALUATE_H
#define SPLAT_TRAIN_EVALUATE_H

#include "model/model.h"
#include "scene/scene.h"

/* What an evaluation needs to know; it has no memory but the model's frame. */
typedef struct splat_evaluator {
    splat_context *context;
    splat_scene *scene;
    splat_model *model;
    bool quantize;
    float background[3];
    struct splat_lpips *lpips; /* NULL: not measured */
    size_t n_shown;            /* views of a set that the visitor sees, the first ones */
    uint32_t *blended; /* host; NULL, or room for the largest view: the number of Gaussians blended in each pixel of
                          the views that are shown */
} splat_evaluator;

/* All views are shown, without counts; LPIPS is the context's. */
splat_evaluator splat_evaluator_make(splat_context *context, splat_scene *scene, splat_model *model, bool quantize,
                                     bool white_background);
/* Measures a set; see splat_evaluate. */
splat_status splat_evaluator_run(splat_evaluator *evaluator, splat_view_set set, splat_view_function visit, void *user,
                                 splat_metrics *mean, splat_error *error);

/* Renders view `index` of the dataset, clamps (and quantises) it in model->frame.image, and measures it against the
 * photo, which stays acquired from the cache until the caller releases it. shown: fills evaluator->blended, if any. */
splat_status splat_evaluator_view(splat_evaluator *evaluator, uint32_t index, bool shown, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error);

#endif
