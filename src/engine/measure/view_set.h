/* Measuring a model on a set of views, one view a rank in memory at a time. */
#ifndef SPLAT_MEASURE_VIEW_SET_H
#define SPLAT_MEASURE_VIEW_SET_H

#include "measure/evaluate.h"

/* Measures the evaluator's set; see splat_model_evaluate. */
splat_status splat_evaluator_run(splat_evaluator *evaluator, splat_metrics *mean, splat_error *error);

#endif
