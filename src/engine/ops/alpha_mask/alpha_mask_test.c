/* alpha_mask: gradients against the reference, its gradient against central differences, and photos over another
 * background. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/alpha_mask/alpha_mask.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float uniform(uint32_t step, uint64_t index)
{
    return splat_uniform(splat_random(21, SPLAT_STREAM_TEST, step, index).x[0]);
}

/* d/dA in double, at opacities away from the kink of |A - m|. */
static int test_reference(bool is_soft)
{
    enum { WIDTH = 9, HEIGHT = 5, N = WIDTH * HEIGHT };
    int failures = 0;
    double alpha[N], gradient[N], worst = 0;
    uint8_t mask[N];
    for (int i = 0; i < N; i++) {
        mask[i] = (uint8_t)(256 * uniform(0, (uint64_t)i));
        alpha[i] = (double)uniform(1, (uint64_t)i);
        if (fabs(alpha[i] - mask[i] / 255.0) < 0.01) alpha[i] += 0.02;
    }
    ref_alpha_mask_f64(WIDTH, HEIGHT, alpha, mask, is_soft, 0.7, gradient);
    for (int i = 0; i < N; i++) {
        double kept = alpha[i], h = 1e-5;
        alpha[i] = kept + h;
        double above = ref_alpha_mask_f64(WIDTH, HEIGHT, alpha, mask, is_soft, 0.7, NULL);
        alpha[i] = kept - h;
        double below = ref_alpha_mask_f64(WIDTH, HEIGHT, alpha, mask, is_soft, 0.7, NULL);
        alpha[i] = kept;
        worst = fmax(worst, fabs((above - below) / (2 * h) - gradient[i]));
    }
    TEST_CHECK(failures, worst < 1e-9, "is_soft %d: off by %g", is_soft, worst); /* 1e-16 / h */
    return failures;
}

/* With a photo of bytes or of floats, and without one. */
static int test_against_reference(splat_backend *backend, int width, int height, bool is_soft, int photo_kind)
{
    int failures = 0;
    size_t n = (size_t)width * (size_t)height;
    uint8_t *mask = malloc(4 * n), *bytes = mask + n;
    float *t = malloc(8 * n * sizeof *t), *alpha = t + n, *expected = t + 2 * n, *got = t + 3 * n, *floats = t + 4 * n;
    for (size_t i = 0; i < n; i++) {
        mask[i] = (uint8_t)(256 * uniform(2, i));
        t[i] = i % 7 == 0 ? 1.0f - (float)mask[i] / 255.0f : uniform(3, i);
        alpha[i] = 1.0f - t[i];
    }
    for (size_t i = 0; i < 3 * n; i++) {
        bytes[i] = (uint8_t)(256 * uniform(4, i));
        floats[i] = uniform(5, i);
    }
    splat_block blocks[5] = {{0}};
    splat_error error = {0};
    struct splat_alpha_mask_args args = {.width = width, .height = height, .is_soft = is_soft, .weight = 0.3f,
                                         .background = {0.2f, 1, 0.5f}, .composited = 1};
    args.mask = test_upload(backend, &blocks[0], mask, n);
    args.transmittance = test_upload(backend, &blocks[1], t, n * sizeof *t);
    args.grad_alpha = test_upload(backend, &blocks[2], NULL, n * sizeof *t);
    if (photo_kind == 1) args.photo_u8 = test_upload(backend, &blocks[3], bytes, 3 * n);
    if (photo_kind) args.photo_f32 = test_upload(backend, &blocks[4], floats, 3 * n * sizeof *floats);
    TEST_CHECK(failures, splat_op_alpha_mask(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(backend, NULL);
    test_download(backend, got, args.grad_alpha, n * sizeof *got);
    ref_alpha_mask_f32(width, height, alpha, mask, is_soft, 0.3f, expected);
    for (size_t i = 0; i < n; i++) /* a sign and one product, of which the divisor may be rounded in another order */
        TEST_CHECK(failures, fabsf(got[i] - expected[i]) <= 1e-6f * fabsf(expected[i]), "pixel %zu: %g, not %g", i,
                   (double)got[i], (double)expected[i]);
    float *photo = malloc(3 * n * sizeof *photo);
    if (photo_kind) test_download(backend, photo, args.photo_f32, 3 * n * sizeof *photo);
    for (size_t i = 0; photo_kind && i < 3 * n; i++) {
        size_t pixel = i % n, c = i / n;
        double before = photo_kind == 1 ? bytes[3 * pixel + c] / 255.0 : (double)floats[i];
        double want = before + ((double)args.background[c] - 1) * (1 - mask[pixel] / 255.0);
        TEST_CHECK(failures, fabs((double)photo[i] - want) < 2e-7, "photo %zu: %g, not %g", i, (double)photo[i], want);
    }
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
    free(photo);
    free(mask);
    free(t);
    return failures;
}

/* True if the mask hides a pixel of the maps, from the other side: by the masked pixels. */
static bool is_hidden(const uint8_t *mask, int width, int height, double x, double y, int margin)
{
    int under_x = (int)x, under_y = (int)y;
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            if (mask[j * width + i] < SPLAT_LOSS_KEPT && abs(i - under_x) <= margin && abs(j - under_y) <= margin)
                return true;
    return false;
}

/* Maps of another size: each pixel looks at the one of the mask under its middle, and at those around. */
static int test_maps(splat_backend *backend, int width, int height, int maps_width, int maps_height, int margin,
                     float value)
{
    enum { CHANNELS = 3 };
    int failures = 0;
    size_t n = (size_t)width * (size_t)height, n_maps = (size_t)maps_width * (size_t)maps_height, n_kept = 0;
    uint8_t *mask = malloc(n);
    float *maps = malloc(CHANNELS * n_maps * sizeof *maps), *got = malloc(CHANNELS * n_maps * sizeof *got);
    const float hidden = margin ? 0.02f : 0.5f;
    for (size_t i = 0; i < n; i++) mask[i] = (uint8_t)(SPLAT_LOSS_KEPT * (uniform(6, i) >= hidden));
    for (size_t i = 0; i < n; i++) mask[i] = (uint8_t)(mask[i] ? mask[i] + i % 128 : i % SPLAT_LOSS_KEPT);
    for (size_t i = 0; i < CHANNELS * n_maps; i++) maps[i] = uniform(7, i) + 0.1f;
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    struct splat_alpha_mask_args args = {.width = width, .height = height, .maps_width = maps_width,
                                         .maps_height = maps_height, .n_channels = CHANNELS, .margin = margin,
                                         .maps_value = value};
    args.mask = test_upload(backend, &blocks[0], mask, n);
    args.maps = test_upload(backend, &blocks[1], maps, CHANNELS * n_maps * sizeof *maps);
    TEST_CHECK(failures, splat_op_alpha_mask(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(backend, NULL);
    test_download(backend, got, args.maps, CHANNELS * n_maps * sizeof *got);
    for (size_t i = 0; i < CHANNELS * n_maps; i++) {
        size_t x = i % n_maps % (size_t)maps_width, y = i % n_maps / (size_t)maps_width;
        bool kept = !is_hidden(mask, width, height, ((double)x + 0.5) * width / maps_width,
                               ((double)y + 0.5) * height / maps_height, margin);
        bool good = kept ? got[i] == maps[i] : isnan(value) ? isnan(got[i]) : got[i] == value;
        n_kept += kept;
        TEST_CHECK(failures, good, "margin %d, map %zu: %g", margin, i, (double)got[i]);
    }
    TEST_CHECK(failures, n_kept > n_maps / 4 && n_kept < 11 * n_maps / 4, "%zu kept", n_kept);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    free(mask);
    free(maps);
    free(got);
    return failures;
}

int test_op_alpha_mask(splat_backend *backend)
{
    int failures = test_reference(false) + test_reference(true);
    for (int k = 0; k < 6; k++) {
        failures += test_against_reference(backend, 1, 1, k % 2, k / 2);
        failures += test_against_reference(backend, 67, 31, k % 2, k / 2);
    }
    failures += test_maps(backend, 60, 40, 60, 40, 0, 0) + test_maps(backend, 61, 43, 31, 22, 0, 1);
    failures += test_maps(backend, 61, 43, 31, 22, 3, 1) + test_maps(backend, 60, 40, 60, 40, 1, NAN);
    splat_error error = {0};
    struct splat_alpha_mask_args args = {.width = 0, .height = 4};
    TEST_CHECK(failures, splat_op_alpha_mask(backend, &args, &error) == SPLAT_ERROR_ARGUMENT && error.message[0],
               "an empty picture");
    return failures;
}
