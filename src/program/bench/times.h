/* Statistics of measured times (public part in splatsmith.h). */
#ifndef SPLAT_BENCH_TIMES_H
#define SPLAT_BENCH_TIMES_H

#include "base/error.h"
#include "splatsmith/observe.h"

/* The 0.975 quantile of Student's t with `freedom` >= 1 degrees of freedom. */
double splat_student_t(double freedom);

/* log(a / b) of two means: its estimate, and half of its 95 % interval (NaN when either has no batches). */
void splat_bench_times_ratio(const splat_bench_times *a, const splat_bench_times *b, double *log_ratio,
                             double *half_width);

#endif
