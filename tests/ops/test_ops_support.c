/* Gaussians, cameras, uploads and comparisons for the tests of ops. */
#include "ops/test_ops.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t current_part, n_parts_of_test = 1, n_cases;

bool test_is_in_part(void)
{
    return n_cases++ % n_parts_of_test == current_part;
}

void test_set_part(uint32_t part, uint32_t n_parts)
{
    current_part = part;
    n_parts_of_test = n_parts;
    n_cases = 0;
}

double test_nmse(const float *a, const float *b, size_t n)
{
    double error = 0, power = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)a[i] - (double)b[i];
        if (isnan(difference)) return INFINITY;
        error += difference * difference;
        power += (double)b[i] * (double)b[i];
    }
    if (error == 0) return 0;
    return power > 0 ? error / power : INFINITY;
}

void *test_upload(splat_backend *backend, splat_block *block, const void *host, size_t bytes)
{
    splat_error error;
    if (splat_block_resize(backend, block, "test", SPLAT_OWNER_OTHER, bytes ? bytes : 4, &error) != SPLAT_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    if (host) splat_backend_upload(backend, block->data, host, bytes, NULL);
    return block->data;
}

void test_download(splat_backend *backend, void *host, const void *device, size_t bytes)
{
    splat_backend_download(backend, host, device, bytes, NULL);
}

splat_camera test_camera_make(int width, int height)
{
    /* Three units in front of the origin, turned a little about y and x, off-centre principal point. */
    float ay = 0.2f, ax = -0.1f;
    float cy = cosf(ay), sy = sinf(ay), cx = cosf(ax), sx = sinf(ax);
    splat_camera camera = {
        .rotation = {cy, 0, sy, sx * sy, cx, -sx * cy, -cx * sy, sx, cx * cy},
        .translation = {0.05f, -0.1f, 3.0f},
        .fx = 1.1f * (float)width, .fy = 1.05f * (float)width,
        .cx = 0.5f * (float)width + 0.7f, .cy = 0.5f * (float)height - 0.4f,
        .width = width, .height = height};
    for (int i = 0; i < 3; i++)
        camera.center[i] = -(camera.rotation[i] * camera.translation[0] +
                             camera.rotation[3 + i] * camera.translation[1] +
                             camera.rotation[6 + i] * camera.translation[2]);
    return camera;
}

test_gaussians test_gaussians_make(uint32_t n, int sh_degree, int active_sh_degree, uint64_t seed)
{
    test_gaussians t = {.g = {.n = n, .sh_degree = sh_degree, .active_sh_degree = active_sh_degree}};
    splat_gaussians *g = &t.g;
    uint32_t rest = splat_sh_rest_floats(sh_degree);
#define SPLAT_TENSOR(name, ...)                                                                                        \
    g->p.name = calloc((size_t)n * splat_tensor_channels(SPLAT_TENSOR_##name, sh_degree) + 1, sizeof(float));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    g->filter_3d = calloc((size_t)n + 1, sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        float normals[16];
        for (uint32_t j = 0; j < 8; j++) {
            splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, j / 2, i);
            splat_normal2(r.x[2 * (j % 2)], r.x[2 * (j % 2) + 1], &normals[2 * j], &normals[2 * j + 1]);
        }
        uint32_t kind = i % 16;
        for (int k = 0; k < 3; k++) g->p.means[3 * i + k] = 0.6f * normals[k];
        if (kind == 3) g->p.means[3 * i + 2] -= 6.0f;          /* behind the camera */
        if (kind == 5) g->p.means[3 * i] *= 4.0f;              /* near or beyond the border */
        float size = kind == 7 ? -7.0f : kind == 9 ? -0.5f : -3.0f;
        for (int k = 0; k < 3; k++) g->p.scales[3 * i + k] = size + 0.5f * normals[3 + k];
        if (kind == 11) g->p.scales[3 * i + 1] = -9.0f;        /* a needle or a disc */
        for (int k = 0; k < 4; k++) g->p.rotations[4 * i + k] = normals[6 + k] + (k == 0 ? 0.5f : 0.0f);
        g->p.opacities[i] = kind == 13 ? -7.0f : 1.2f * normals[10];
        for (int k = 0; k < 3; k++) g->p.sh_dc[3 * i + k] = normals[11 + k];
        for (uint32_t k = 0; k < rest; k++) {
            splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 100 + k, i);
            g->p.sh_rest[(size_t)rest * i + k] = 0.4f * (splat_uniform(r.x[0]) - 0.5f);
        }
        g->filter_3d[i] = 0.004f + 0.004f * fabsf(normals[14]);
    }
    return t;
}

void test_gaussians_to_half(splat_gaussians *g)
{
    const size_t channels = splat_sh_rest_floats(g->sh_degree), row = splat_half_row((uint32_t)channels);
    g->sh_rest_half = calloc(row * g->n + 1, sizeof *g->sh_rest_half);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < channels; k++)
            g->sh_rest_half[row * i + k] = splat_half_encode(g->p.sh_rest[channels * i + k], SPLAT_ROUND_NEAREST);
    free(g->p.sh_rest);
    g->p.sh_rest = NULL;
}

void test_gaussians_free(test_gaussians *t)
{
#define SPLAT_TENSOR(name, ...) free(t->g.p.name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    free(t->g.sh_rest_half);
    free(t->g.filter_3d);
    memset(t, 0, sizeof *t);
}

int test_tensor_gradient(double (*value)(void *of), void *of, double *parameters, const double *gradients,
                         uint32_t n, const char *name)
{
    int failures = 0;
    double largest = 0;
    for (uint32_t i = 0; i < n; i++) largest = fmax(largest, fabs(gradients[i]));
    TEST_CHECK(failures, largest > 1e-3, "%s has no gradient to check", name);
    for (uint32_t i = 0; i < n; i++) {
        double kept = parameters[i], step = 1e-5;
        parameters[i] = kept + step;
        double above = value(of);
        parameters[i] = kept - step;
        double below = value(of), numeric = (above - below) / (2 * step);
        parameters[i] = kept;
        TEST_CHECK(failures, fabs(numeric - gradients[i]) <= 1e-6 * largest, "%s %u: %.9g, difference %.9g", name, i,
                   gradients[i], numeric);
    }
    return failures;
}
