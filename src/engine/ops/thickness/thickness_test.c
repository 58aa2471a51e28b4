/* thickness against the reference in double, that against central differences, and values known on paper. */
#include "ops/thickness/thickness.h"

#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct thickness_output {
    double result[2];
    float *gradient;
    uint32_t *visible, n_visible;
} thickness_output;

static thickness_output run(splat_backend *backend, const splat_gaussians *g, float ratio, float least, float weight,
                            int *failures)
{
    thickness_output out = {.gradient = calloc(3 * (size_t)g->n + 1, sizeof(float)),
                            .visible = calloc((size_t)g->n + 1, sizeof(uint32_t))};
    splat_camera camera = test_camera_make(64, 48);
    splat_block blocks[2] = {{0}};
    size_t bytes = 3 * (size_t)g->n * sizeof(float);
    project_scene scene;
    project_scene_open(&scene, backend, g, &camera, false, false);
    *failures += project_scene_run(&scene);
    for (uint32_t i = 0; i < g->n; i++)
        if (scene.entry_of[i] >= 0) out.visible[out.n_visible++] = i;
    struct splat_thickness_args args = {
        .gaussians = &scene.gaussians, .frame = &scene.frame, .ratio = ratio, .least = least, .weight = weight};
    args.grad_scales = test_upload(backend, &blocks[0], out.gradient, bytes);
    args.result = test_upload(backend, &blocks[1], (double[]){NAN, NAN}, sizeof out.result);
    splat_error error = {0};
    TEST_CHECK(*failures, splat_op_thickness(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    /* Again: it adds. */
    TEST_CHECK(*failures, splat_op_thickness(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, out.gradient, args.grad_scales, bytes);
    test_download(backend, out.result, args.result, sizeof out.result);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    project_scene_close(&scene);
    return out;
}

static void output_free(thickness_output *out)
{
    free(out->gradient);
    free(out->visible);
}

/* Values that no training makes: spheres, pairs of equal scales, nearly 0, huge, not finite (which are not visible). */
static void make_odd(splat_gaussians *g)
{
    static const float odd[][3] = {{-3, -3, -3},       {-3, -3, -6},       {-6, -3, -3}, {-3, -6, -3},
                                   {-100, -100, -100}, {-100, -3, -3},     {40, 41, 42}, {3e38f, 3e38f, 3e38f},
                                   {-3e38f, -3, -2},   {NAN, -3, -2}};
    for (uint32_t i = 0; i < sizeof odd / sizeof odd[0] && i < g->n; i++) {
        memcpy(g->p.scales + 3 * i, odd[i], sizeof odd[i]);
        for (int k = 0; k < 3; k++) g->p.means[3 * i + (uint32_t)k] = 0.01f * (float)i;
    }
}

/* exp has a part in 2e-7 of the scale, a difference of two scales (0.03) has it of the larger one, and what is next to
 * 0 has fewer digits. */
static int check_case(splat_backend *backend, uint32_t n, float ratio, float least)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(n, 0, 0, 41);
    if (n > 50) make_odd(&t.g);
    float weight = 3.0f * (float)n;
    thickness_output out = run(backend, &t.g, ratio, least, weight, &failures);
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g);
    double *gradient = calloc(3 * (size_t)n + 1, sizeof *gradient);
    uint32_t n_active = 0;
    double loss = ref_thickness_f64(&g, &g, out.n_visible, out.visible, (double)ratio, (double)least,
                                    (double)weight, &n_active, gradient);
    double share = out.n_visible ? n_active / (double)out.n_visible : 0;
    TEST_CHECK(failures, fabs(out.result[0] - loss) <= 1e-6 * loss + 1e-8, "%u, ratio %g, least %g: %.9g, not %.9g", n,
               (double)ratio, (double)least, out.result[0], loss);
    TEST_CHECK(failures, fabs(out.result[1] - share) <= 1e-12, "%u, ratio %g, least %g: %g active, not %g", n,
               (double)ratio, (double)least, out.result[1], share);
    for (uint32_t i = 0; i < 3 * n; i++)
        TEST_CHECK(failures, fabs((double)out.gradient[i] - 2 * gradient[i]) <= 1e-6 * fabs(2 * gradient[i]) + 1e-40,
                   "%u of %u: %.9g, not %.9g", i, 3 * n, (double)out.gradient[i], 2 * gradient[i]);
    splat_backend *other = project_other_backend(backend);
    thickness_output again = run(other ? other : backend, &t.g, ratio, least, weight, &failures);
    TEST_CHECK(failures, memcmp(again.result, out.result, sizeof out.result) == 0 &&
               memcmp(again.gradient, out.gradient, 3 * n * sizeof(float)) == 0, "%u: other bytes", n);
    splat_backend_destroy(other);
    output_free(&out), output_free(&again);
    free(gradient);
    ref_gaussians_free_f64(&g);
    test_gaussians_free(&t);
    return failures;
}

/* Twenty equal Gaussians with scales on paper. A part in a million: the logarithm of a scale has 6e-8 of it. */
static int check_known(splat_backend *backend)
{
    enum { N = 20, N_CASES = 7 };
    static const struct {
        double scale[3];
        float ratio, least;
        double loss, share, by_log[3]; /* the gradient's, times N */
        bool is_hidden;
    } cases[N_CASES] = {
        {{0.1, 0.1, 0.1}, 0.2f, 0, 0.08, 1, {0.1, 0, 0}, false},       /* a sphere: its first axis is the shortest */
        {{0.1, 0.1, 0.1}, 1, 0, 0, 0, {0, 0, 0}, false},
        {{0.3, 0.01, 0.2}, 0.2f, 0, 0, 0, {0, 0, 0}, false},           /* a disc is left alone by the hinge */
        {{0.3, 0.01, 0.2}, 0, 0, 0.01, 1, {0, 0.01, 0}, false},        /* ... and is flattened without one */
        {{0.3, 0.01, 0.2}, 0, 0.02f, 0, 0, {0, 0, 0}, false},          /* ... unless it is thin enough */
        {{0.1, 0.3, 0.08}, 0.5f, 0, 0.03, 1, {0, 0, 0.08}, false},     /* too thick */
        {{0.1, 0.3, 0.08}, 0.5f, 0, 0, 0, {0, 0, 0}, true},
    };
    int failures = 0;
    test_gaussians t = test_gaussians_make(N, 0, 0, 42);
    for (int c = 0; c < N_CASES; c++) {
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t k = 0; k < 3; k++) {
                t.g.p.means[3 * i + k] = 0.01f * (float)i + (cases[c].is_hidden ? 1000 : 0);
                t.g.p.scales[3 * i + k] = (float)log(cases[c].scale[k]);
            }
        thickness_output out = run(backend, &t.g, cases[c].ratio, cases[c].least, 1, &failures);
        TEST_CHECK(failures, out.n_visible == (cases[c].is_hidden ? 0 : N), "%u are visible", out.n_visible);
        TEST_CHECK(failures, fabs(out.result[0] - cases[c].loss) <= 1e-6 * cases[c].loss, "case %d: %g, not %g", c,
                   out.result[0], cases[c].loss);
        TEST_CHECK(failures, out.result[1] == cases[c].share, "case %d: %g active", c, out.result[1]);
        for (uint32_t i = 0; i < 3 * N; i++) {
            double expected = 2 * cases[c].by_log[i % 3] / N;
            TEST_CHECK(failures, fabs((double)out.gradient[i] - expected) <= 1e-6 * fabs(expected),
                       "case %d, %u: %g, not %g", c, i, (double)out.gradient[i], expected);
        }
        output_free(&out);
    }
    test_gaussians_free(&t);
    return failures;
}

/* Differences of the mean of scales below 1; a step of 1e-5 leaves 1e-10 of truncation and 1e-11 of rounding. */
static int check_differences(double ratio, double least)
{
    enum { N = 30 };
    int failures = 0;
    uint32_t visible[N / 2], n_active, n_some;
    double gradient[3 * N] = {0};
    test_gaussians t = test_gaussians_make(N, 0, 0, 43);
    ref_gaussians_f64 g = ref_gaussians_from_f64(&t.g), fixed = ref_gaussians_from_f64(&t.g);
    for (uint32_t v = 0; v < N / 2; v++) visible[v] = 2 * v;
    ref_thickness_f64(&g, &fixed, N / 2, visible, ratio, least, 3, &n_some, gradient);
    TEST_CHECK(failures, n_some > 2 && n_some < N / 2, "%u of %d are active: no test of both", n_some, N / 2);
    for (int i = 0; i < 3 * N; i++) {
        double kept = g.p.scales[i], step = 1e-5;
        g.p.scales[i] = kept + step;
        double above = ref_thickness_f64(&g, &fixed, N / 2, visible, ratio, least, 0, &n_active, NULL);
        g.p.scales[i] = kept - step;
        double below = ref_thickness_f64(&g, &fixed, N / 2, visible, ratio, least, 0, &n_active, NULL);
        double numeric = 3 * (above - below) / (2 * step);
        g.p.scales[i] = kept;
        TEST_CHECK(failures, fabs(numeric - gradient[i]) < 1e-9, "%d: %.9g, difference %.9g", i, gradient[i], numeric);
    }
    ref_gaussians_free_f64(&g), ref_gaussians_free_f64(&fixed);
    test_gaussians_free(&t);
    return failures;
}

int test_op_thickness(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 15, 100, 3000};
    static const float ratios[] = {0, 0.2f, 0.8f};
    int failures = check_known(backend) + check_differences(0.5, 0) + check_differences(0, 0.02);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            failures += check_case(backend, counts[i], ratios[k], 0) + check_case(backend, counts[i], ratios[k], 0.01f);
    return failures;
}
