/* Rotations out of matrices in files. */
#include "io/orthonormal.h"

#include "math/vec3.h"

#include <math.h>

bool splat_orthonormalize(double columns[3][3])
{
    double scale = 0;
    for (int c = 0; c < 3; c++) {
        double length = sqrt(splat_dot3(columns[c], columns[c]));
        if (c == 0) scale = length;
        if (!(length > 1e-12) || !isfinite(length) || fabs(length - scale) > 1e-2 * scale) return false;
        for (int k = 0; k < 3; k++) columns[c][k] /= length;
    }
    const double *x = columns[0];
    double *y = columns[1], *z = columns[2];
    double xy = splat_dot3(x, y);
    for (int k = 0; k < 3; k++) y[k] -= xy * x[k];
    double length = sqrt(splat_dot3(y, y));
    for (int k = 0; k < 3; k++) y[k] /= length;
    const double cross[3] = {x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]};
    double agreement = splat_dot3(cross, z);
    for (int k = 0; k < 3; k++) z[k] = cross[k];
    return fabs(xy) < 1e-3 && agreement > 1 - 1e-6; /* a thousandth of a radian: three decimals in the file */
}
