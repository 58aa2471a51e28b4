/* A clock for durations. */
#ifndef SPLAT_BASE_CLOCK_H
#define SPLAT_BASE_CLOCK_H

#include <time.h>

/* Seconds of a clock that never goes back. */
static inline double splat_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
