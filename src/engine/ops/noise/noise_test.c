/* means_noise: against its definition in double, and its distribution. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 99

static void run_rows(splat_backend *backend, test_gaussians *t, float strength, uint32_t step, uint32_t first,
                     uint32_t stride, float *means)
{
    splat_block blocks[5] = {{0}};
    const size_t n = t->g.n;
    splat_gaussians g = t->g;
    g.p.means = test_upload(backend, &blocks[0], t->g.p.means, 3 * n * sizeof(float));
    g.p.scales = test_upload(backend, &blocks[1], t->g.p.scales, 3 * n * sizeof(float));
    g.p.rotations = test_upload(backend, &blocks[2], t->g.p.rotations, 4 * n * sizeof(float));
    g.p.opacities = test_upload(backend, &blocks[3], t->g.p.opacities, n * sizeof(float));
    g.filter_3d = test_upload(backend, &blocks[4], t->g.filter_3d, n * sizeof(float));
    struct splat_means_noise_args args = {&g, strength, SEED, step, first, stride};
    splat_status status = splat_op_means_noise(backend, &args, NULL);
    test_download(backend, means, g.p.means, 3 * n * sizeof(float));
    if (status != SPLAT_OK) means[0] = NAN;
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
}

static void run(splat_backend *backend, test_gaussians *t, float strength, uint32_t step, float *means)
{
    run_rows(backend, t, strength, step, 0, 0, means);
}

/* strength gate Sigma~ xi in double; *size: the largest standard deviation. */
static void reference_move(const splat_gaussians *g, size_t i, double strength, uint32_t step, double move[3],
                           double *size)
{
    double q[4], norm = 0, f = g->filter_3d[i], o = 1 / (1 + exp(-(double)g->p.opacities[i])), v[3];
    float xi[4];
    for (int k = 0; k < 4; k++) q[k] = g->p.rotations[4 * i + k], norm += q[k] * q[k];
    for (int k = 0; k < 4; k++) q[k] /= sqrt(norm);
    double r = q[0], x = q[1], y = q[2], z = q[3];
    double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y)},
                      {2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x)},
                      {2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)}};
    *size = 0;
    for (int k = 0; k < 3; k++) {
        double s = exp((double)g->p.scales[3 * i + k]);
        v[k] = s * s + f * f;
        o *= s / sqrt(v[k]);
        *size = fmax(*size, sqrt(v[k]));
    }
    splat_random4 random = splat_random(SEED, SPLAT_STREAM_MEANS_NOISE, step, i);
    splat_normal2(random.x[0], random.x[1], &xi[0], &xi[1]);
    splat_normal2(random.x[2], random.x[3], &xi[2], &xi[3]);
    double factor = strength / (1 + exp(100 * (o - 0.005)));
    for (int a = 0; a < 3; a++) {
        move[a] = 0;
        for (int k = 0; k < 3; k++)
            for (int b = 0; b < 3; b++) move[a] += factor * R[a][k] * v[k] * R[b][k] * xi[b];
    }
}

static int check_definition(splat_backend *backend)
{
    enum { N = 5000 };
    const float strength = 3;
    int failures = 0, n_moved = 0, n_still = 0;
    static float means[3 * N];
    test_gaussians t = test_gaussians_make(N, 0, 0, 31);
    for (uint32_t i = 0; i < N; i += 2) t.g.p.opacities[i] = -6.0f + 0.0005f * (float)i;
    run(backend, &t, strength, 12, means);
    double worst = 0;
    for (size_t i = 0; i < N; i++) {
        double move[3], size, reference = 0, error = 0, at = 0;
        reference_move(&t.g, i, (double)strength, 12, move, &size);
        for (int k = 0; k < 3; k++) {
            double old = t.g.p.means[3 * i + k];
            reference = fmax(reference, fabs(move[k]));
            at = fmax(at, fabs(old));
            error = fmax(error, fabs((double)means[3 * i + k] - old - move[k]));
        }
        bool still = memcmp(means + 3 * i, t.g.p.means + 3 * i, 3 * sizeof(float)) == 0;
        n_still += still && reference > 0;
        n_moved += !still;
        /* what is left out is below 1e-7 sizes, times the few that xi is at most; ten roundings of the rest */
        worst = fmax(worst, error / (1e-5 * reference + 1e-6 * size + 2e-7 * (at + reference)));
    }
    TEST_CHECK(failures, worst < 1, "off by %g of what rounding may do", worst);
    TEST_CHECK(failures, n_moved > 500 && n_still > 500, "%d moved, %d did not", n_moved, n_still);
    test_gaussians_free(&t);
    return failures;
}

static int check_off(splat_backend *backend)
{
    enum { N = 3000 };
    int failures = 0;
    static float means[3 * N], again[3 * N];
    test_gaussians t = test_gaussians_make(N, 0, 0, 32);
    for (uint32_t i = 0; i < N; i++) t.g.p.opacities[i] = -8;
    run(backend, &t, 0, 12, means);
    TEST_CHECK(failures, memcmp(means, t.g.p.means, sizeof means) == 0, "no strength moves something");
    run(backend, &t, 2, 12, means);
    run(backend, &t, 2, 12, again);
    TEST_CHECK(failures, memcmp(means, again, sizeof means) == 0, "the same step moves otherwise");
    run(backend, &t, 2, 13, again);
    TEST_CHECK(failures, memcmp(means, again, sizeof means) != 0, "two steps move the same");
    t.g.p.scales[4] = NAN, t.g.p.rotations[10] = INFINITY, t.g.p.scales[12] = 80; /* of 1, 2 and 4 */
    run(backend, &t, 2, 12, again);
    for (size_t i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            TEST_CHECK(failures, again[3 * i + k] == (i == 0 || i == 3 ? means : t.g.p.means)[3 * i + k],
                       "Gaussian %zu with broken numbers", i);
    test_gaussians_free(&t);
    return failures;
}

/* Rows 2, 5, 8, ... of a model, alone, move as they do in it. */
static int check_rows(splat_backend *backend)
{
    enum { N = 3000, PART = N / 3 };
    int failures = 0, n_moved = 0;
    static float means[3 * N], part[3 * PART];
    test_gaussians t = test_gaussians_make(N, 0, 0, 34), few = test_gaussians_make(PART, 0, 0, 34);
    for (size_t i = 0; i < N; i++) t.g.p.opacities[i] = -8;
    for (size_t i = 0; i < PART; i++) {
        const size_t of = 3 * i + 2;
        memcpy(few.g.p.means + 3 * i, t.g.p.means + 3 * of, 3 * sizeof(float));
        memcpy(few.g.p.scales + 3 * i, t.g.p.scales + 3 * of, 3 * sizeof(float));
        memcpy(few.g.p.rotations + 4 * i, t.g.p.rotations + 4 * of, 4 * sizeof(float));
        few.g.p.opacities[i] = t.g.p.opacities[of];
        few.g.filter_3d[i] = t.g.filter_3d[of];
    }
    run(backend, &t, 2, 12, means);
    run_rows(backend, &few, 2, 12, 2, 3, part);
    for (size_t i = 0; i < PART; i++) {
        bool same = memcmp(part + 3 * i, means + 3 * (3 * i + 2), 3 * sizeof(float)) == 0;
        n_moved += memcmp(part + 3 * i, few.g.p.means + 3 * i, 3 * sizeof(float)) != 0;
        TEST_CHECK(failures, same, "row %zu of a part moves otherwise", i);
    }
    TEST_CHECK(failures, n_moved > PART / 2, "only %d rows moved", n_moved);
    test_gaussians_free(&t);
    test_gaussians_free(&few);
    return failures;
}

/* Many equal Gaussians, at the opacity where the gate is half open: mean 0, covariance (strength/2)^2 Sigma~^2. */
static int check_distribution(splat_backend *backend)
{
    enum { N = 100000 };
    int failures = 0;
    const double strength = 2, s[3] = {0.1, 0.3, 0.05}, f = 0.04;
    const double q[4] = {0.8, 0.4, -0.2, 0.4}, r = 0.8, x = 0.4, y = -0.2, z = 0.4; /* of norm 1 */
    const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y)},
                            {2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x)},
                            {2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)}};
    double raw = 0.005, expected[3][3] = {{0}}, found[3][3] = {{0}}, mean[3] = {0};
    for (int k = 0; k < 3; k++) raw /= s[k] / sqrt(s[k] * s[k] + f * f);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++)
                expected[a][b] += 0.25 * strength * strength * R[a][k] * R[b][k] * pow(s[k] * s[k] + f * f, 2);
    test_gaussians t = test_gaussians_make(N, 0, 0, 33);
    float *means = malloc(3 * N * sizeof *means);
    for (size_t i = 0; i < N; i++) {
        t.g.p.opacities[i] = (float)log(raw / (1 - raw));
        t.g.filter_3d[i] = (float)f;
        for (int k = 0; k < 3; k++) t.g.p.means[3 * i + k] = 0, t.g.p.scales[3 * i + k] = (float)log(s[k]);
        for (int k = 0; k < 4; k++) t.g.p.rotations[4 * i + k] = (float)q[k];
    }
    run(backend, &t, (float)strength, 5, means);
    for (size_t i = 0; i < N; i++)
        for (int a = 0; a < 3; a++) {
            mean[a] += (double)means[3 * i + a] / N;
            for (int b = 0; b < 3; b++) found[a][b] += (double)means[3 * i + a] * (double)means[3 * i + b] / N;
        }
    for (int a = 0; a < 3; a++) {
        TEST_CHECK(failures, fabs(mean[a]) < 5 * sqrt(expected[a][a] / N), "mean %g", mean[a]);
        for (int b = 0; b < 3; b++)
            TEST_CHECK(failures, fabs(found[a][b] - expected[a][b]) < 0.03 * sqrt(expected[a][a] * expected[b][b]),
                       "covariance %d %d: %g, not %g", a, b, found[a][b], expected[a][b]);
    }
    free(means);
    test_gaussians_free(&t);
    return failures;
}

int test_op_means_noise(splat_backend *backend)
{
    return check_definition(backend) + check_off(backend) + check_rows(backend) + check_distribution(backend);
}
