/* clear_space: known cases; the reference in double; the same bytes from every thread count. */
#include "ops/clear_space/clear_space.h"

#include "base/rng.h"
#include "ops/ref.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CAMERAS = 130, N = 5000 }; /* several launches of cameras */

static void run(splat_backend *backend, const float *means, uint32_t n, const splat_camera *cameras,
                const float *near_depths, uint32_t n_cameras, float *logits)
{
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    splat_gaussians g = {.n = n};
    const struct splat_clear_space_args args = {&g, cameras, near_depths, n_cameras};
    g.p.means = test_upload(backend, &blocks[0], means, 3 * (size_t)n * sizeof *means);
    g.p.opacities = test_upload(backend, &blocks[1], logits, n * sizeof *logits);
    if (splat_op_clear_space(backend, &args, &error) != SPLAT_OK) fprintf(stderr, "%s\n", error.message);
    test_download(backend, logits, g.p.opacities, n * sizeof *logits);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
}

/* Camera 0 stands at the origin, fx = 100, 100 x 100 pixels: it sees |x| <= 0.65 z and |y| <= 0.65 z. The scene begins
 * at 4 there. Camera 1 is 10 behind it and knows no depth. */
static int check_known(splat_backend *backend)
{
    int failures = 0;
    splat_camera cameras[2] = {{.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 100, .fy = 100, .cx = 50, .cy = 50,
                                .width = 100, .height = 100}};
    cameras[1] = cameras[0];
    cameras[1].translation[2] = 10;
    const float near_depths[2] = {4, 0};
    const struct {
        float mean[3], logit, expected;
    } cases[] = {
        {{0, 0, 0.4f}, 2, SPLAT_CLEARED_LOGIT}, /* a floater at a tenth */
        {{0, 0, 0.01f}, 2, SPLAT_CLEARED_LOGIT}, /* nearer than anything that is drawn */
        {{0, 0, 3.99f}, -3, SPLAT_CLEARED_LOGIT}, {{0, 0, 4}, 2, 2}, {{0, 0, 4.01f}, 2, 2}, {{0, 0, 400}, 2, 2},
        {{0, 0, 0}, 2, 2}, {{0, 0, -1}, 2, 2}, /* behind camera 0, in front of camera 1 */
        {{1.299f, 0, 2}, 2, SPLAT_CLEARED_LOGIT}, {{-1.299f, 0, 2}, 2, SPLAT_CLEARED_LOGIT},
        {{0, 1.299f, 2}, 2, SPLAT_CLEARED_LOGIT}, {{0, -1.299f, 2}, 2, SPLAT_CLEARED_LOGIT},
        {{1.301f, 0, 2}, 2, 2}, {{-1.301f, 0, 2}, 2, 2}, {{0, 1.301f, 2}, 2, 2}, {{0, -1.301f, 2}, 2, 2},
        {{NAN, 0, 2}, 2, 2}, {{0, 0, NAN}, 2, 2}, {{0, INFINITY, 2}, 2, 2}, {{0, 0, INFINITY}, 2, 2},
        {{0, 0, 2}, -20, -20},
    };
    enum { N_CASES = sizeof cases / sizeof cases[0] };
    float means[3 * N_CASES], logits[N_CASES];
    for (int none = 0; none < 2; none++) {
        for (int i = 0; i < N_CASES; i++) {
            memcpy(means + 3 * i, cases[i].mean, sizeof cases[i].mean);
            logits[i] = cases[i].logit;
        }
        run(backend, means, N_CASES, cameras, near_depths, none ? 0 : 2, logits);
        for (int i = 0; i < N_CASES; i++) {
            const float expected = none ? cases[i].logit : cases[i].expected;
            TEST_CHECK(failures, logits[i] == expected, "case %d, %d cameras: %g, not %g", i, none ? 0 : 2, logits[i],
                       expected);
        }
    }
    run(backend, means, 0, cameras, near_depths, 2, logits); /* no Gaussians */
    return failures;
}

/* Cameras of different sizes around the origin that look at it. */
static void make_cameras(splat_camera cameras[N_CAMERAS], float near_depths[N_CAMERAS])
{
    for (int k = 0; k < N_CAMERAS; k++) {
        const float angle = 0.9f * (float)k, cosine = cosf(angle), sine = sinf(angle);
        const float rotation[9] = {cosine, 0, -sine, 0, 1, 0, sine, 0, cosine};
        cameras[k] = test_camera_make(64 + 16 * (k % 5), 48 + 8 * (k % 3));
        memcpy(cameras[k].rotation, rotation, sizeof rotation);
        memset(cameras[k].translation, 0, sizeof cameras[k].translation);
        cameras[k].translation[2] = 4;
        near_depths[k] = k % 4 ? 0.06f * (float)(k % 7) : 0;
    }
}

/* Means around the cameras' ring. Rounding decides within 1e-5 of a depth and at the border of a picture: such means
 * are few, and counted. */
static int check_reference(splat_backend *backend)
{
    int failures = 0;
    uint32_t n_differ = 0, n_before = 0;
    splat_camera cameras[N_CAMERAS];
    float near_depths[N_CAMERAS];
    float *means = malloc(3 * N * sizeof *means), *logits = malloc(N * sizeof *logits);
    double *means64 = malloc(3 * N * sizeof *means64);
    bool *is_before = malloc(N * sizeof *is_before);
    make_cameras(cameras, near_depths);
    for (uint32_t i = 0; i < N; i++) {
        const splat_random4 r = splat_random(11, SPLAT_STREAM_TEST, 77, i);
        const float angle = 6.3f * splat_uniform(r.x[0]), radius = 3.6f + 0.5f * splat_uniform(r.x[1]);
        const float mean[3] = {radius * cosf(angle), 0.2f * (splat_uniform(r.x[2]) - 0.5f), radius * sinf(angle)};
        memcpy(means + 3 * i, mean, sizeof mean);
        logits[i] = 1;
    }
    for (uint32_t i = 0; i < 3 * N; i++) means64[i] = means[i];
    run(backend, means, N, cameras, near_depths, N_CAMERAS, logits);
    ref_clear_space_f64(N, means64, cameras, near_depths, N_CAMERAS, is_before);
    for (uint32_t i = 0; i < N; i++) {
        n_before += is_before[i];
        n_differ += logits[i] != (is_before[i] ? SPLAT_CLEARED_LOGIT : 1);
    }
    TEST_CHECK(failures, n_differ <= 2, "%u of %u means differ from the reference", n_differ, N);
    TEST_CHECK(failures, n_before > N / 40 && n_before < N / 2, "the data exercises nothing: %u before", n_before);
    free(means), free(logits), free(means64), free(is_before);
    return failures;
}

int test_op_clear_space(splat_backend *backend)
{
    return check_known(backend) + check_reference(backend);
}
