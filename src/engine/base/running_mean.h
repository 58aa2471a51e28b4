/* A mean over the values since it was last taken. */
#ifndef SPLAT_BASE_RUNNING_MEAN_H
#define SPLAT_BASE_RUNNING_MEAN_H

#include <math.h>

/* Zeroed: of nothing. */
typedef struct splat_running_mean {
    double sum;
    int n;
} splat_running_mean;

static inline void splat_running_mean_add(splat_running_mean *mean, double value)
{
    mean->sum += value;
    mean->n++;
}

/* Returns the mean, NaN without values, and begins again. */
static inline double splat_running_mean_take(splat_running_mean *mean)
{
    double value = mean->n ? mean->sum / mean->n : (double)NAN;
    *mean = (splat_running_mean){0};
    return value;
}

#endif
