/* A plane through places: the two largest axes of their covariance. */
#include "surface/planes/plane_parts.h"

#include <string.h>

void plane_moments_add(plane_moments *m, const float position[3], double weight)
{
    double x = (double)position[0], y = (double)position[1], z = (double)position[2];
    m->weight += weight;
    m->sum[0] += weight * x;
    m->sum[1] += weight * y;
    m->sum[2] += weight * z;
    m->square[0] += weight * x * x;
    m->square[1] += weight * x * y;
    m->square[2] += weight * x * z;
    m->square[3] += weight * y * y;
    m->square[4] += weight * y * z;
    m->square[5] += weight * z * z;
}

/* Cyclic Jacobi: a becomes diagonal, the columns of v its eigenvectors. */
static void diagonalize(double a[3][3], double v[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) v[i][j] = i == j;
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (!(fabs(a[p][q]) > 1e-300)) continue;
                double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                    x = v[k][p], y = v[k][q];
                    v[k][p] = c * x - s * y;
                    v[k][q] = s * x + c * y;
                }
            }
}

bool plane_fit_make(const plane_moments *m, plane_fit *fit)
{
    static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double a[3][3], v[3][3], *c = fit->centroid;
    memset(fit, 0, sizeof *fit);
    if (!(m->weight > 2.5)) return false;
    for (int k = 0; k < 3; k++) c[k] = m->sum[k] / m->weight;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = m->square[at[i][j]] / m->weight - c[i] * c[j];
    diagonalize(a, v);
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (a[order[j]][order[j]] < a[order[j + 1]][order[j + 1]]) {
                int other = order[j];
                order[j] = order[j + 1];
                order[j + 1] = other;
            }
    for (int i = 0; i < 3; i++) {
        double square = a[order[i]][order[i]];
        fit->sigma[i] = square > 0 ? sqrt(square) : 0;
        for (int k = 0; k < 3; k++) (i < 2 ? fit->axes[i] : fit->normal)[k] = v[k][order[i]];
    }
    fit->offset = 0;
    for (int k = 0; k < 3; k++) fit->offset += fit->normal[k] * c[k];
    return isfinite(fit->offset);
}
