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
} splat_evaluator;

/* Renders view `index` of the dataset, clamps (and quantises) it in model->frame.image, and measures it against the
 * photo, which stays acquired from the cache until the caller releases it. */
splat_status splat_evaluator_view(splat_evaluator *evaluator, uint32_t index, const uint8_t **photo,
                                  splat_metrics *metrics, splat_error *error);

#endif
