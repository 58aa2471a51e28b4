/* The basis is orthonormal on the sphere, so the matrix is that of the inner products of b_k(d) with b_j(R^T d). They
 * are polynomials of degree 6 at most, which a product rule sums exactly: Gauss-Legendre with 4 nodes along z (degree
 * 7), and 8 equal steps around it. It asks nothing of the signs and the order of the basis. */
#include "math/sh_rotation.h"

#include "math/sh.h"

#include <math.h>
#include <string.h>

enum { N_NODES = 4, N_STEPS = 8 };

static void basis(const double d[3], float b[16])
{
    float x = (float)d[0], y = (float)d[1], z = (float)d[2];
    b[0] = SPLAT_SH_C0;
    splat_sh_band1(x, y, z, b, 1);
    splat_sh_band2(x, y, z, b, 1);
    splat_sh_band3(x, y, z, b, 1);
}

/* The band of a coefficient: 0; 1 to 3; 4 to 8; 9 to 15. */
static int band_of(int k)
{
    return k == 0 ? 0 : k < 4 ? 1 : k < 9 ? 2 : 3;
}

void splat_sh_rotation_make(splat_sh_rotation *turn, const double rotation[9])
{
    static const double nodes[N_NODES] = {-0.8611363115940526, -0.3399810435848563, 0.3399810435848563,
                                          0.8611363115940526};
    static const double weights[N_NODES] = {0.3478548451374538, 0.6521451548625461, 0.6521451548625461,
                                            0.3478548451374538};
    const double pi = 3.14159265358979323846;
    memset(turn, 0, sizeof *turn);
    for (int i = 0; i < N_NODES * N_STEPS; i++) {
        double z = nodes[i / N_STEPS], r = sqrt(1 - z * z), a = 2 * pi * (i % N_STEPS) / N_STEPS;
        const double d[3] = {r * cos(a), r * sin(a), z};
        double weight = weights[i / N_STEPS] * 2 * pi / N_STEPS, back[3];
        float now[16], before[16];
        for (int c = 0; c < 3; c++)
            back[c] = rotation[c] * d[0] + rotation[3 + c] * d[1] + rotation[6 + c] * d[2];
        basis(d, now);
        basis(back, before);
        for (int k = 0; k < 16; k++)
            for (int j = 0; j < 16; j++)
                if (band_of(k) == band_of(j)) turn->m[k][j] += weight * (double)now[k] * (double)before[j];
    }
}

void splat_sh_rotate(const splat_sh_rotation *turn, int sh_degree, float *sh_rest)
{
    float old[15][3];
    int n = (sh_degree + 1) * (sh_degree + 1);
    memcpy(old, sh_rest, (size_t)(n - 1) * sizeof *old);
    for (int k = 1; k < n; k++) {
        int band = band_of(k);
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int j = band * band; j < (band + 1) * (band + 1); j++) sum += turn->m[k][j] * (double)old[j - 1][c];
            sh_rest[3 * (k - 1) + c] = (float)sum;
        }
    }
}
