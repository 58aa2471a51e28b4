/* Quadrics: sums of weighted squared distances to planes and points, as functions of a position. */
#ifndef SPLAT_MESH_QUADRIC_H
#define SPLAT_MESH_QUADRIC_H

#include <math.h>
#include <stdbool.h>

/* x^T A x + 2 b^T x + c, A symmetric: xx xy xz yy yz zz. `weight` is the sum of the planes' weights. */
typedef struct splat_quadric {
    double a[6], b[3], c, weight;
} splat_quadric;

static inline void splat_quadric_add(splat_quadric *sum, const splat_quadric *q)
{
    for (int i = 0; i < 6; i++) sum->a[i] += q->a[i];
    for (int i = 0; i < 3; i++) sum->b[i] += q->b[i];
    sum->c += q->c;
    sum->weight += q->weight;
}

/* w (n x + d)^2 for a unit normal. */
static inline void splat_quadric_add_plane(splat_quadric *q, const double n[3], double d, double w)
{
    q->a[0] += w * n[0] * n[0];
    q->a[1] += w * n[0] * n[1];
    q->a[2] += w * n[0] * n[2];
    q->a[3] += w * n[1] * n[1];
    q->a[4] += w * n[1] * n[2];
    q->a[5] += w * n[2] * n[2];
    for (int i = 0; i < 3; i++) q->b[i] += w * d * n[i];
    q->c += w * d * d;
    q->weight += w;
}

/* w |x - p|^2, which leaves `weight` as it is. */
static inline void splat_quadric_add_point(splat_quadric *q, const double p[3], double w)
{
    q->a[0] += w;
    q->a[3] += w;
    q->a[5] += w;
    for (int i = 0; i < 3; i++) {
        q->b[i] -= w * p[i];
        q->c += w * p[i] * p[i];
    }
}

static inline double splat_quadric_value(const splat_quadric *q, const double x[3])
{
    double y0 = q->a[0] * x[0] + q->a[1] * x[1] + q->a[2] * x[2] + 2.0 * q->b[0];
    double y1 = q->a[1] * x[0] + q->a[3] * x[1] + q->a[4] * x[2] + 2.0 * q->b[1];
    double y2 = q->a[2] * x[0] + q->a[4] * x[1] + q->a[5] * x[2] + 2.0 * q->b[2];
    double value = x[0] * y0 + x[1] * y1 + x[2] * y2 + q->c;
    return value > 0.0 ? value : 0.0; /* rounding */
}

/* The lowest point, by Cramer's rule; false where A is nearly singular. */
static inline bool splat_quadric_lowest(const splat_quadric *q, double x[3])
{
    const double *a = q->a, *b = q->b;
    double m0 = a[3] * a[5] - a[4] * a[4], m1 = a[2] * a[4] - a[1] * a[5], m2 = a[1] * a[4] - a[2] * a[3];
    double determinant = a[0] * m0 + a[1] * m1 + a[2] * m2, trace = a[0] + a[3] + a[5];
    if (!(determinant > 1e-11 * trace * trace * trace)) return false;
    double m3 = a[0] * a[5] - a[2] * a[2], m4 = a[1] * a[2] - a[0] * a[4], m5 = a[0] * a[3] - a[1] * a[1];
    x[0] = -(m0 * b[0] + m1 * b[1] + m2 * b[2]) / determinant;
    x[1] = -(m1 * b[0] + m3 * b[1] + m4 * b[2]) / determinant;
    x[2] = -(m2 * b[0] + m4 * b[1] + m5 * b[2]) / determinant;
    return true;
}

#endif
