/* Products of vectors of three doubles. */
#ifndef SPLAT_MATH_VEC3_H
#define SPLAT_MATH_VEC3_H

static inline double splat_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* out may not be a or b. */
static inline void splat_cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
