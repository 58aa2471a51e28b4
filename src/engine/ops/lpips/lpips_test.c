/* The two ends of LPIPS: pictures to network input, and the distance of features, by their definitions. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/lpips/lpips.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float uniform(uint32_t step, uint64_t index)
{
    return splat_uniform(splat_random(11, SPLAT_STREAM_TEST, step, index).x[0]);
}

int test_op_lpips_input(splat_backend *backend)
{
    enum { WIDTH = 37, HEIGHT = 11, PLANE = WIDTH * HEIGHT, FIRST = 3, END = 8, ROWS = (END - FIRST) * WIDTH };
    static const double shifts[3] = {-0.030, -0.088, -0.188}, scales[3] = {0.458, 0.448, 0.450};
    int failures = 0;
    float image[3 * PLANE], result[2 * 3 * ROWS];
    uint8_t photo[3 * PLANE], mask[PLANE];
    for (int i = 0; i < 3 * PLANE; i++) {
        image[i] = uniform(0, (uint64_t)i);
        photo[i] = (uint8_t)(256 * uniform(1, (uint64_t)i));
    }
    for (int i = 0; i < PLANE; i++) mask[i] = (uint8_t)(256 * uniform(4, (uint64_t)i));
    splat_block blocks[4] = {{0}};
    splat_error error = {0};
    for (int normalize = 0; normalize < 2; normalize++) {
        struct splat_lpips_input_args args = {
            WIDTH, HEIGHT, test_upload(backend, &blocks[0], image, sizeof image),
            test_upload(backend, &blocks[1], photo, sizeof photo),
            normalize ? test_upload(backend, &blocks[3], mask, sizeof mask) : NULL, normalize,
            {test_upload(backend, &blocks[2], NULL, sizeof result), 3, WIDTH, FIRST, END, ROWS, 3 * ROWS}};
        TEST_CHECK(failures, splat_op_lpips_input(backend, &args, &error) == SPLAT_OK, "%s",
                   error.message);
        test_download(backend, result, args.output.data, sizeof result);
        double worst = 0;
        for (int i = 0; i < 6 * ROWS; i++) {
            int c = i / ROWS % 3, pixel = FIRST * WIDTH + i % ROWS;
            bool is_render = i < 3 * ROWS && (!normalize || mask[pixel] >= SPLAT_LOSS_KEPT);
            double x = is_render ? (double)image[c * PLANE + pixel] : photo[3 * pixel + c] / 255.0;
            double expected = ((normalize ? 2 * x - 1 : x) - shifts[c]) / scales[c];
            worst = fmax(worst, fabs(result[i] - expected));
        }
        /* Values up to 3, a few roundings of 6e-8. */
        TEST_CHECK(failures, worst < 1e-6, "normalize %d: off by %g", normalize, worst);
        args.output.row_end = HEIGHT + 1;
        TEST_CHECK(failures, splat_op_lpips_input(backend, &args, &error) == SPLAT_ERROR_ARGUMENT,
                   "a row too many");
    }
    for (int i = 0; i < 4; i++) splat_block_free(backend, &blocks[i]);
    return failures;
}

/* Features as a ReLU leaves them: half of them 0, some pixels all 0; rows in bands, which must add up. */
static int test_distance(splat_backend *backend, int channels, int width, int height)
{
    int failures = 0;
    size_t plane = (size_t)width * (size_t)height, n = (size_t)channels * plane;
    float *features = malloc(2 * n * sizeof *features), *weights = malloc((size_t)channels * sizeof *weights);
    double *wide = malloc((2 * n + (size_t)channels) * sizeof *wide), expected, sums[2] = {1.5, 0};
    for (size_t i = 0; i < 2 * n; i++) features[i] = i % plane % 7 == 3 ? 0 : fmaxf(0, 4 * uniform(2, i) - 2);
    for (size_t i = 0; i < (size_t)channels; i++) weights[i] = uniform(3, i);
    for (size_t i = 0; i < 2 * n; i++) wide[i] = features[i];
    for (size_t i = 0; i < (size_t)channels; i++) wide[2 * n + i] = weights[i];
    expected = ref_lpips_distance_f64(channels, (int)plane, wide, wide + n, wide + 2 * n);

    splat_block blocks[3] = {{0}}, scratch = {0};
    splat_error error = {0};
    float *device = test_upload(backend, &blocks[0], features, 2 * n * sizeof *features);
    const float *device_weights = test_upload(backend, &blocks[1], weights, (size_t)channels * sizeof *weights);
    double *device_sums = test_upload(backend, &blocks[2], sums, sizeof sums);
    int cuts[3] = {0, height / 3, height};
    for (int band = 0; band < 2; band++) {
        if (cuts[band] == cuts[band + 1]) continue;
        struct splat_lpips_distance_args args = {{device, channels, width, 0, height, plane, n}, cuts[band],
                                                 cuts[band + 1], device_weights, &scratch, device_sums};
        TEST_CHECK(failures, splat_op_lpips_distance(backend, &args, &error) == SPLAT_OK, "%s",
                   error.message);
    }
    /* An image is no distance from itself. */
    struct splat_lpips_distance_args same = {{device, channels, width, 0, height, plane, 0}, 0, height, device_weights,
                                             &scratch, device_sums + 1};
    TEST_CHECK(failures, splat_op_lpips_distance(backend, &same, &error) == SPLAT_OK, "%s",
               error.message);
    test_download(backend, sums, device_sums, sizeof sums);
    /* Sums over channels in float: a few hundred terms of the same sign. */
    TEST_CHECK(failures, fabs(sums[0] - 1.5 - expected) < 1e-5 * expected, "%d channels, %dx%d: %.9g, not %.9g",
               channels, width, height, sums[0] - 1.5, expected);
    TEST_CHECK(failures, sums[1] == 0, "%g from itself", sums[1]);
    for (int i = 0; i < 3; i++) splat_block_free(backend, &blocks[i]);
    splat_block_free(backend, &scratch);
    free(features), free(weights), free(wide);
    return failures;
}

int test_op_lpips_distance(splat_backend *backend)
{
    int failures = 0;
    failures += test_distance(backend, 64, 15, 15);
    failures += test_distance(backend, 512, 6, 5);
    failures += test_distance(backend, 64, 301, 7);
    failures += test_distance(backend, 3, 1, 1);
    splat_error error = {0};
    splat_block scratch = {0};
    struct splat_lpips_distance_args bad = {{NULL, 8, 4, 2, 4, 8, 64}, 1, 3, NULL, &scratch, NULL};
    TEST_CHECK(failures, splat_op_lpips_distance(backend, &bad, &error) == SPLAT_ERROR_ARGUMENT,
               "rows that do not exist");
    return failures;
}
