/* Tests if a step reached an iteration of a list. A step with a batch of views reaches several iterations; work that
 * belongs to one inside the batch is done after the batch. */
#ifndef SPLAT_RUN_REACHED_ITERATION_H
#define SPLAT_RUN_REACHED_ITERATION_H

#include "splatsmith/train.h"

/* One of a list. */
static inline bool splat_reached_iteration(const splat_step_info *step, const int *iterations, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (iterations[i] <= step->iteration && iterations[i] > step->iteration - step->n_views) return true;
    return false;
}

/* A multiple of an interval; none of one below 1. */
static inline bool splat_reached_multiple(const splat_step_info *step, int interval)
{
    return interval > 0 && step->iteration % interval < step->n_views;
}

#endif
