/* The curves of a run as charts of a page. */
#ifndef SPLAT_OBSERVE_RUN_CHARTS_H
#define SPLAT_OBSERVE_RUN_CHARTS_H

#include "report/page/run_history.h"

/* NaN: there is no point. */
double splat_history_median_step_ms(const splat_run_history *history);

/* Loss, quality, Gaussians and speed, memory, times of the stages: HTML sections. Charts without a value are left out.
 * Numbers need decimal points (splat_c_locale). Errors: MEMORY. */
splat_status splat_run_charts_put(FILE *out, const splat_run_history *history, splat_error *error);

#endif
