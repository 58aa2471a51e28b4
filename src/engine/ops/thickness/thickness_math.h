/* The thickness of one Gaussian; the same on every backend. */
#ifndef SPLAT_OPS_THICKNESS_MATH_H
#define SPLAT_OPS_THICKNESS_MATH_H

#include "math/gaussian.h"
#include "ops/thickness/thickness.h"

/* The shortest axis, and the two shorter scales: 0 and 0 where nothing is asked of the Gaussian. */
typedef struct splat_thickness {
    int shortest;
    float length_shortest, length_middle;
} splat_thickness;

/* No array is indexed by the axes, which on a device would move it out of registers. */
SPLAT_MATH_INLINE splat_thickness splat_thickness_of(const float *log_scale, float ratio, float least)
{
    splat_thickness t = {0, log_scale[0], log_scale[1]};
    if (t.length_middle < t.length_shortest) {
        t.shortest = 1;
        t.length_shortest = log_scale[1];
        t.length_middle = log_scale[0];
    }
    if (log_scale[2] < t.length_shortest) {
        t.length_middle = t.length_shortest;
        t.shortest = 2;
        t.length_shortest = log_scale[2];
    } else if (log_scale[2] < t.length_middle) {
        t.length_middle = log_scale[2];
    }
    t.length_shortest = expf(t.length_shortest);
    t.length_middle = expf(t.length_middle);
    if (!(t.length_shortest > ratio * t.length_middle && t.length_shortest > least))
        t.length_shortest = t.length_middle = 0.0f;
    return t;
}

#endif
