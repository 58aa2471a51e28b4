/* Statistics of many times: percentiles, and the error of the mean.
 *
 * Times of neighbouring steps resemble each other (the model grows, clocks drift), so that s / sqrt(n) would promise
 * far too much. Means of long enough batches are nearly independent (Law, Kelton, "Simulation Modeling and Analysis",
 * batch means): their scatter gives the error of the mean. A trend over the run makes the interval wider. */
#include "bench/times.h"
#include "base/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BATCHES 20
#define MIN_BATCHES 4
#define BATCH_LENGTH 10 /* at least, where there are enough times */

double splat_student_t(double freedom)
{
    static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622};
    if (freedom < 10) return table[freedom < 1 ? 0 : (int)freedom - 1]; /* rounded down: the wider interval */
    /* Cornish and Fisher's expansion around the normal quantile 1.959964; right to 3e-4 from here on */
    return 1.959964 + (2.37227 + (2.82250 + 2.55585 / freedom) / freedom) / freedom;
}

/* part of the way through the sorted times, 0 to 1 */
static double percentile(const double *sorted, size_t n, double part)
{
    double at = part * (double)(n - 1);
    size_t below = (size_t)at;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return sum / (double)n;
}

/* The standard deviation of single values, n - 1 in the denominator. */
static double deviation_of(const double *values, size_t n, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : (double)NAN;
}

static void add_interval(const double *times, size_t n, splat_bench_times *result)
{
    double means[MAX_BATCHES];
    size_t n_batches = n / BATCH_LENGTH;
    result->mean_error = result->mean_low = result->mean_high = (double)NAN;
    if (n < 2 * MIN_BATCHES) return;
    n_batches = n_batches > MAX_BATCHES ? MAX_BATCHES : n_batches < MIN_BATCHES ? MIN_BATCHES : n_batches;
    for (size_t i = 0; i < n_batches; i++) { /* lengths differ by one at most; no time is left out */
        size_t begin = n * i / n_batches, end = n * (i + 1) / n_batches;
        means[i] = mean_of(times + begin, end - begin);
    }
    double scatter = deviation_of(means, n_batches, mean_of(means, n_batches));
    result->n_batches = (int)n_batches;
    result->mean_error = scatter / sqrt((double)n_batches);
    double half = splat_student_t((double)n_batches - 1) * result->mean_error;
    result->mean_low = result->mean - half;
    result->mean_high = result->mean + half;
}

splat_status splat_bench_times_compute(const double *times, size_t n, splat_bench_times *result, splat_error *error)
{
    memset(result, 0, sizeof *result);
    if (n == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there are no times to summarise");
    double *sorted = n <= SIZE_MAX / sizeof *sorted ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu times", n);
    memcpy(sorted, times, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, splat_compare_doubles);
    result->n = n;
    result->mean = mean_of(times, n);
    result->median = percentile(sorted, n, 0.5);
    result->min = sorted[0];
    result->max = sorted[n - 1];
    result->p95 = percentile(sorted, n, 0.95);
    result->p99 = percentile(sorted, n, 0.99);
    result->standard_deviation = deviation_of(times, n, result->mean);
    add_interval(times, n, result);
    free(sorted);
    return SPLAT_OK;
}

void splat_bench_times_ratio(const splat_bench_times *a, const splat_bench_times *b, double *log_ratio,
                             double *half_width)
{
    *log_ratio = log(a->mean / b->mean);
    *half_width = (double)NAN;
    if (!a->n_batches || !b->n_batches) return;
    /* Relative errors of independent means add in squares; degrees of freedom after Welch and Satterthwaite. */
    double va = pow(a->mean_error / a->mean, 2), vb = pow(b->mean_error / b->mean, 2);
    double sum = va + vb, parts = va * va / (a->n_batches - 1) + vb * vb / (b->n_batches - 1);
    *half_width = sum > 0 ? splat_student_t(sum * sum / parts) * sqrt(sum) : 0;
}
