/* Spherical harmonics turn with the faces of an edited mesh. A band that is turned stays a band, so 2 l + 1 values tell
 * its new coefficients: with directions d_i, B_ik = b_k(d_i) and the rotation Q, B c' = (b_k(Q^T d_i))_ik c. */
#include "surface/bound/bound.h"
#include "surface/bound/face_frame.h"

#include "math/sh.h"

#include <math.h>
#include <string.h>

#define MOST 7 /* coefficients of a band */

static void basis_of(int band, const double d[3], double values[MOST])
{
    float all[16] = {0}, x = (float)d[0], y = (float)d[1], z = (float)d[2];
    if (band == 1) splat_sh_band1(x, y, z, all, 1);
    if (band == 2) splat_sh_band2(x, y, z, all, 1);
    if (band == 3) splat_sh_band3(x, y, z, all, 1);
    for (int k = 0; k < 2 * band + 1; k++) values[k] = (double)all[band * band + k];
}

/* Directions on a half sphere along a spiral: the condition of B is below 50. */
static void direction_of(int band, int i, double d[3])
{
    const double z = 1 - (i + 0.5) / (2 * band + 1), radius = sqrt(1 - z * z), angle = 2.399963229728653 * i;
    d[0] = radius * cos(angle);
    d[1] = radius * sin(angle);
    d[2] = z;
}

/* Gauss-Jordan with pivots. */
static void invert(int n, double a[MOST][MOST], double inverse[MOST][MOST])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[i][j] = i == j;
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int i = column + 1; i < n; i++)
            if (fabs(a[i][column]) > fabs(a[pivot][column])) pivot = i;
        for (int j = 0; j < n; j++) {
            double kept = a[column][j], other = inverse[column][j];
            a[column][j] = a[pivot][j], a[pivot][j] = kept;
            inverse[column][j] = inverse[pivot][j], inverse[pivot][j] = other;
        }
        const double scale = 1 / a[column][column];
        for (int j = 0; j < n; j++) a[column][j] *= scale, inverse[column][j] *= scale;
        for (int i = 0; i < n; i++) {
            const double factor = i == column ? 0 : a[i][column];
            for (int j = 0; j < n; j++) {
                a[i][j] -= factor * a[column][j];
                inverse[i][j] -= factor * inverse[column][j];
            }
        }
    }
}

typedef struct turner {
    int sh_degree;
    double inverse[4][MOST][MOST]; /* of B, by band */
} turner;

static turner turner_make(int sh_degree)
{
    turner t = {.sh_degree = sh_degree};
    for (int band = 1; band <= sh_degree; band++) {
        double basis[MOST][MOST], d[3];
        for (int i = 0; i < 2 * band + 1; i++) {
            direction_of(band, i, d);
            basis_of(band, d, basis[i]);
        }
        invert(2 * band + 1, basis, t.inverse[band]);
    }
    return t;
}

/* The matrix of a band: new coefficients = matrix old ones. */
static void matrix_of(const turner *t, int band, double rotation[3][3], double matrix[MOST][MOST])
{
    const int n = 2 * band + 1;
    double turned[MOST][MOST];
    for (int i = 0; i < n; i++) {
        double d[3], back[3] = {0};
        direction_of(band, i, d);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) back[a] += rotation[b][a] * d[b];
        basis_of(band, back, turned[i]);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            matrix[i][k] = 0;
            for (int j = 0; j < n; j++) matrix[i][k] += t->inverse[band][i][j] * turned[j][k];
        }
}

static void turn_band(int band, double matrix[MOST][MOST], float *rest)
{
    const int n = 2 * band + 1;
    float *first = rest + 3 * (band * band - 1);
    double sums[MOST][3] = {{0}};
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int c = 0; c < 3; c++) sums[i][c] += matrix[i][k] * (double)first[3 * k + c];
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) first[3 * i + c] = (float)sums[i][c];
}

/* False: it turns nothing that single precision would show. */
static bool rotation_between(const splat_face_frame *from, const splat_face_frame *to, double rotation[3][3])
{
    double farthest = 0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            rotation[a][b] = to->r0[a] * from->r0[b] + to->e1[a] * from->e1[b] + to->e2[a] * from->e2[b];
            farthest = fmax(farthest, fabs(rotation[a][b] - (a == b)));
        }
    return farthest > 1e-7;
}

void splat_bound_turn_colors(const splat_bound_mesh *bound, const splat_mesh *reference, const splat_mesh *edited,
                             int sh_degree, float *sh_rest)
{
    const turner t = turner_make(sh_degree);
    const size_t floats = splat_sh_rest_floats(sh_degree), per_face = (size_t)bound->per_face;
    for (size_t f = 0; f < reference->n_faces; f++) {
        splat_face_frame from, to;
        double rotation[3][3], matrix[MOST][MOST];
        if (!splat_face_frame_of(bound, reference, f, &from) || !splat_face_frame_of(bound, edited, f, &to)) continue;
        if (!rotation_between(&from, &to, rotation)) continue;
        for (int band = 1; band <= sh_degree; band++) {
            matrix_of(&t, band, rotation, matrix);
            for (size_t i = f * per_face; i < (f + 1) * per_face; i++) turn_band(band, matrix, sh_rest + i * floats);
        }
    }
}
