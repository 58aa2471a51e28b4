/* opacity_entropy against the reference in double, that against central differences, and values known on paper. */
#include "ops/opacity_entropy/opacity_entropy.h"

#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START 0.5f

typedef struct entropy_output {
    double loss;
    float *gradient;
    uint32_t *visible, n_visible;
} entropy_output;

static entropy_output run(splat_backend *backend, const splat_gaussians *g, float pivot, float weight, int *failures)
{
    entropy_output out = {.gradient = calloc(g->n + 1, sizeof(float)), .visible = calloc(g->n + 1, sizeof(uint32_t))};
    splat_camera camera = test_camera_make(64, 48);
    splat_block blocks[2] = {{0}};
    project_scene scene;
    project_scene_open(&scene, backend, g, &camera, false, false);
    *failures += project_scene_run(&scene);
    for (uint32_t i = 0; i < g->n; i++) {
        if (scene.entry_of[i] >= 0) out.visible[out.n_visible++] = i;
        out.gradient[i] = START;
    }
    struct splat_opacity_entropy_args args = {
        .gaussians = &scene.gaussians, .frame = &scene.frame, .pivot = pivot, .weight = weight};
    args.grad_opacities = test_upload(backend, &blocks[0], out.gradient, g->n * sizeof(float));
    args.result = test_upload(backend, &blocks[1], (double[]){NAN}, sizeof(double));
    splat_error error = {0};
    TEST_CHECK(*failures, splat_op_opacity_entropy(backend, &args, &error) == SPLAT_OK, "%s",
               error.message);
    test_download(backend, out.gradient, args.grad_opacities, g->n * sizeof(float));
    test_download(backend, &out.loss, args.result, sizeof out.loss);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    project_scene_close(&scene);
    return out;
}

static void output_free(entropy_output *out)
{
    free(out->gradient);
    free(out->visible);
}

/* Near 1/2 the slope is a difference of two logarithms with 6e-8 of rounding each, times o (1 - o) and weight / n (9 at
 * the most): 3e-7. */
static int check_size(splat_backend *backend, uint32_t n, float pivot)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(n, 0, 0, 31);
    static const float odd[] = {0, 20, -20, 60, -60, 100, -100, 3e38f, -3e38f};
    for (uint32_t i = 0; i < 9 && i < n; i++) t.g.p.opacities[i] = odd[i];
    float weight = 3.0f * (float)n;
    entropy_output out = run(backend, &t.g, pivot, weight, &failures);
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g);
    double *gradient = calloc(n + 1, sizeof *gradient);
    double loss = ref_opacity_entropy_f64(&g, out.n_visible, out.visible, (double)pivot, (double)weight, gradient);
    TEST_CHECK(failures, fabs(out.loss - loss) <= 1e-6 * loss, "%u: %.9g, not %.9g", n, out.loss, loss);
    for (uint32_t i = 0; i < n; i++)
        TEST_CHECK(failures, fabs((double)(out.gradient[i] - START) - gradient[i]) <= 3e-6 * fabs(gradient[i]) + 4e-7,
                   "%u of %u: %.9g, not %.9g", i, n, (double)(out.gradient[i] - START), gradient[i]);
    splat_backend *other = project_other_backend(backend);
    entropy_output again = run(other ? other : backend, &t.g, pivot, weight, &failures);
    TEST_CHECK(failures, again.loss == out.loss && memcmp(again.gradient, out.gradient, n * sizeof(float)) == 0,
               "%u: other bytes", n);
    splat_backend_destroy(other);
    output_free(&out), output_free(&again);
    free(gradient);
    ref_gaussians_free_f64(&g);
    test_gaussians_free(&t);
    return failures;
}

/* ln 2 and no slope at the pivot; on both sides the same, to nothing for those that are sure; 0 without any. A part in
 * 100,000, or the epsilons inside the logarithms. */
static int check_known(splat_backend *backend)
{
    enum { N = 20, N_CASES = 9 };
    static const float logits[N_CASES] = {0, 12, -12, 30, -30, -2.5f, 7.5f, -14.5f, 0};
    static const float pivots[N_CASES] = {0, 0, 0, 0, 0, -2.5f, -4.5f, -2.5f, 0};
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, 0, 0, 32);
    for (int k = 0; k < N_CASES; k++) {
        bool is_seen = k + 1 < N_CASES;
        for (uint32_t i = 0; i < N; i++) {
            for (uint32_t a = 0; a < 3; a++) t.g.p.means[3 * i + a] = 0.01f * (float)i + (is_seen ? 0 : 1000);
            t.g.p.opacities[i] = logits[k];
        }
        double x = fabs((double)logits[k] - (double)pivots[k]), slope = x == 12 ? 1e-5 : 1e-8;
        double expected = is_seen ? log1p(exp(-x)) + x / (1 + exp(x)) : 0;
        entropy_output out = run(backend, &t.g, pivots[k], 1, &failures);
        TEST_CHECK(failures, out.n_visible == (is_seen ? N : 0), "%u are visible", out.n_visible);
        TEST_CHECK(failures, fabs(out.loss - expected) <= 1e-5 * expected + 3e-10, "case %d: %g, not %g", k, out.loss,
                   expected);
        for (int i = 0; i < N; i++)
            TEST_CHECK(failures, fabs((double)(out.gradient[i] - START)) < slope, "case %d has a slope", k);
        output_free(&out);
    }
    test_gaussians_free(&t);
    return failures;
}

/* Differences of the mean, near 0.5; a step of 1e-5 leaves 1e-10 of truncation and 1e-11 of rounding. */
static int check_differences(double pivot)
{
    enum { N = 30 };
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, 0, 0, 33);
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g);
    uint32_t visible[N / 2];
    double gradient[N] = {0};
    for (uint32_t v = 0; v < N / 2; v++) visible[v] = 2 * v;
    ref_opacity_entropy_f64(&g, N / 2, visible, pivot, 3, gradient);
    for (int i = 0; i < N; i++) {
        double kept = g.p.opacities[i], step = 1e-5;
        g.p.opacities[i] = kept + step;
        double above = ref_opacity_entropy_f64(&g, N / 2, visible, pivot, 0, NULL);
        g.p.opacities[i] = kept - step;
        double numeric = 3 * (above - ref_opacity_entropy_f64(&g, N / 2, visible, pivot, 0, NULL)) / (2 * step);
        g.p.opacities[i] = kept;
        TEST_CHECK(failures, fabs(numeric - gradient[i]) < 1e-9, "%d: %.9g, difference %.9g", i, gradient[i], numeric);
    }
    ref_gaussians_free_f64(&g);
    test_gaussians_free(&t);
    return failures;
}

int test_op_opacity_entropy(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 15, 100, 3000};
    int failures = check_known(backend) + check_differences(0) + check_differences(-1.5);
    for (int i = 0; i < 5; i++) failures += check_size(backend, counts[i], 0) + check_size(backend, counts[i], -3.25f);
    return failures;
}
