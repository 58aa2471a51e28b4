/* The views of a set dealt over the ranks of a training, one each at a time: no rank needs the whole model, and the
 * time falls with their number. */
#ifndef SPLAT_MEASURE_DEALT_VIEWS_H
#define SPLAT_MEASURE_DEALT_VIEWS_H

#include "measure/evaluate.h"
#include "train/ranks/shards.h"

/* Rank 0: measures the views of a set in their order, adds them to *mean and shows those that shall be shown, by way of
 * `render` (NULL: nobody looks). What fails at one rank while it measures leaves all others where they are. Errors: as
 * splat_model_evaluate; RANK. */
splat_status splat_dealt_views_run(splat_evaluator *evaluator, const uint32_t *indices, size_t n, float *render,
                                   splat_metrics *mean, splat_error *error);
/* The others: one order of that. *lpips: NULL at first; what this rank measures LPIPS with, the caller's to destroy. */
splat_status splat_dealt_views_serve(splat_trainer *trainer, const splat_order *order, splat_lpips **lpips,
                                     splat_error *error);

#endif
