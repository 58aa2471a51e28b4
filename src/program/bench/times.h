/* Statistics of measured times (public part in splatsmith.h). */
#ifndef SPLAT_BENCH_TIMES_H
#define SPLAT_BENCH_TIMES_H

#include "base/error.h"
#include "splatsmith/core.h"

/* Statistics of n times, in their unit. Percentiles interpolate between neighbours. The interval of the mean comes from
 * batch means, because times of neighbouring steps are similar: consecutive times are averaged in up to 20 batches of
 * at least 10 (4 batches if there are fewer), and Student's t is applied to the batches. */
typedef struct splat_bench_times {
    size_t n;
    double mean, median, min, max, p95, p99;
    double standard_deviation;  /* deviation of single times; NaN for n = 1 */
    double mean_error;          /* standard error of the mean; NaN for n < 8, as are the two below */
    double mean_low, mean_high; /* 95 % confidence interval of the mean */
    int n_batches;              /* 0 for n < 8 */
} splat_bench_times;

/* Errors: ARGUMENT (no times), MEMORY. */
splat_status splat_bench_times_compute(const double *times, size_t n, splat_bench_times *result, splat_error *error);

/* The 0.975 quantile of Student's t with `freedom` >= 1 degrees of freedom. */
double splat_student_t(double freedom);

/* log(a / b) of two means: its estimate, and half of its 95 % interval (NaN when either has no batches). */
void splat_bench_times_ratio(const splat_bench_times *a, const splat_bench_times *b, double *log_ratio,
                             double *half_width);

#endif
