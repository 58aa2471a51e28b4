/* Rotations in the planes of two axes, until the matrix is diagonal. */
#include "math/symmetric3.h"

#include <math.h>
#include <string.h>

#define SWEEPS 12

/* a becomes diagonal, the columns of v its eigenvectors. */
static void diagonalize(double a[3][3], double v[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) v[i][j] = i == j;
    for (int sweep = 0; sweep < SWEEPS; sweep++)
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

void splat_symmetric3_axes(const double m[3][3], double values[3], double axes[3][3])
{
    double a[3][3], v[3][3];
    int order[3] = {0, 1, 2};
    memcpy(a, m, sizeof a);
    diagonalize(a, v);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (a[order[j]][order[j]] < a[order[j + 1]][order[j + 1]]) {
                int other = order[j];
                order[j] = order[j + 1];
                order[j + 1] = other;
            }
    for (int i = 0; i < 3; i++) {
        values[i] = a[order[i]][order[i]];
        for (int k = 0; k < 3; k++) axes[i][k] = v[k][order[i]];
    }
}
