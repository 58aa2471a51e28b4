/* edge_weight against the reference in double, and photos whose edges are known. */
#include "ops/edge_weight/edge_weight.h"

#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum photo_kind { NOISE, PLAIN, STEP } photo_kind;

/* STEP: black left of column `width` / 2, and white from there on. */
static uint8_t *photo_make(photo_kind kind, int width, int height)
{
    uint8_t *photo = malloc(3 * (size_t)width * (size_t)height);
    for (uint32_t i = 0; i < 3 * (uint32_t)(width * height); i++) {
        int x = (int)(i / 3) % width;
        float wave = 0.5f + 0.4f * sinf(0.3f * (float)x) + 0.1f * test_scene_random(70, i);
        photo[i] = kind == NOISE ? (uint8_t)(255 * wave) : kind == PLAIN ? 90 : x < width / 2 ? 0 : 255;
    }
    return photo;
}

static float *run(splat_backend *backend, const uint8_t *photo, int photo_width, int photo_height, int width,
                  int height, splat_status *status)
{
    splat_block blocks[2] = {{0}};
    size_t n = (size_t)width * (size_t)height;
    float *weights = malloc((n + 1) * sizeof *weights);
    memset(weights, 0x7f, n * sizeof *weights); /* all are overwritten */
    struct splat_edge_weight_args args = {NULL, photo_width, photo_height, width, height, NULL};
    args.photo = test_upload(backend, &blocks[0], photo, 3 * (size_t)photo_width * (size_t)photo_height);
    args.weights = test_upload(backend, &blocks[1], weights, n * sizeof *weights);
    *status = splat_op_edge_weight(backend, &args, NULL);
    test_download(backend, weights, args.weights, n * sizeof *weights);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    return weights;
}

/* Strengths have a few roundings of 6e-8, over a range of 0.1 and more. */
static int check_size(splat_backend *backend, int photo_width, int photo_height, int width, int height)
{
    int failures = 0;
    splat_status status;
    size_t n = (size_t)width * (size_t)height;
    uint8_t *photo = photo_make(NOISE, photo_width, photo_height);
    double *wanted = calloc(n, sizeof *wanted), sum = 0;
    ref_edge_weight_f64(photo_width, photo_height, photo, width, height, wanted);
    float *got = run(backend, photo, photo_width, photo_height, width, height, &status);
    TEST_CHECK(failures, status == SPLAT_OK, "status %d", (int)status);
    for (size_t i = 0; i < n && failures < 5; i++) {
        sum += wanted[i];
        TEST_CHECK(failures, fabs((double)got[i] - wanted[i]) < 1e-5, "%dx%d of %dx%d: pixel %zu: %g, not %g", width,
                   height, photo_width, photo_height, i, (double)got[i], wanted[i]);
    }
    TEST_CHECK(failures, width < 3 || height < 3 || sum > 0, "%dx%d: all weights are 0", width, height);
    free(got);
    free(wanted);
    free(photo);
    return failures;
}

/* At half the size: a plain photo counts everywhere except at the border, and a step everywhere except next to it. */
static int check_known(splat_backend *backend)
{
    enum { WIDTH = 40, HEIGHT = 9 };
    int failures = 0;
    for (int kind = PLAIN; kind <= STEP; kind++) {
        splat_status status;
        uint8_t *photo = photo_make((photo_kind)kind, 2 * WIDTH, 2 * HEIGHT);
        float *weights = run(backend, photo, 2 * WIDTH, 2 * HEIGHT, WIDTH, HEIGHT, &status);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                bool border = x == 0 || y == 0 || x == WIDTH - 1 || y == HEIGHT - 1;
                bool edge = kind == STEP && (x == WIDTH / 2 - 1 || x == WIDTH / 2);
                float wanted = border || edge ? 0 : 1, got = weights[y * WIDTH + x];
                /* a GPU fuses a product into the difference of equal colours, which leaves 1e-8 of them */
                TEST_CHECK(failures, fabsf(got - wanted) < 1e-6f, "kind %d, pixel %d, %d: %.9g", kind, x, y,
                           (double)got);
            }
        free(weights);
        free(photo);
    }
    return failures;
}

static int check_errors(splat_backend *backend)
{
    int failures = 0;
    splat_status status;
    uint8_t *photo = photo_make(PLAIN, 8, 6);
    free(run(backend, photo, 8, 6, 9, 6, &status));
    TEST_CHECK(failures, status == SPLAT_ERROR_ARGUMENT, "a photo that is too small: status %d", (int)status);
    free(photo);
    return failures;
}

int test_op_edge_weight(splat_backend *backend)
{
    static const int sizes[][4] = {{1, 1, 1, 1},     {2, 9, 2, 9},      {3, 3, 3, 3},       {7, 6, 3, 3},
                                   {65, 47, 32, 23}, {101, 67, 101, 67}, {200, 90, 100, 45}, {133, 100, 50, 71}};
    int failures = check_known(backend) + check_errors(backend);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        failures += check_size(backend, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
    return failures;
}
