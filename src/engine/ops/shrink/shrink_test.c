/* shrink against the storages' own functions, a value at a time; the same bytes for any number of rows, threads and
 * pieces. */
#include "ops/shrink/shrink.h"

#include "base/rng.h"
#include "ops/test_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 40000 }; /* more than two pieces */

/* Values of all sizes, zeros among them; every seventh row is all zero, and one in a hundred has an infinity. */
static void make_values(float *values, size_t n, uint32_t channels, bool positive)
{
    for (size_t i = 0; i < n * channels; i++) {
        splat_random4 r = splat_random(5, SPLAT_STREAM_TEST, (uint32_t)positive, (uint32_t)i);
        float size = expf(30.0f * (splat_uniform(r.x[0]) - 0.7f)), sign = !positive && r.x[1] & 1 ? -1.0f : 1.0f;
        values[i] = (i / channels) % 7 == 3 || r.x[2] % 11 == 0 ? 0.0f : sign * size;
        if ((i / channels) % 100 == 50 && i % channels == channels / 2 && !positive) values[i] = INFINITY;
    }
}

static uint32_t *run(splat_backend *backend, struct splat_shrink_args args, const float *m, const float *v,
                     int *failures)
{
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    size_t bytes = (size_t)args.n * args.channels * sizeof *m;
    size_t small = (size_t)args.n * splat_shrink_row_words(&args) * sizeof(uint32_t);
    uint32_t *rows = calloc(small + 4, 1);
    args.m = test_upload(backend, &blocks[0], m, bytes);
    if (args.v) args.v = test_upload(backend, &blocks[1], v, bytes);
    TEST_CHECK(*failures, splat_op_shrink(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, rows, args.m, small);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    return rows;
}

static int check_halves(splat_backend *backend, uint32_t n, uint32_t channels, const float *values)
{
    int failures = 0;
    struct splat_shrink_args args = {.storage = SPLAT_STORED_HARMONICS, .n = n, .channels = channels};
    uint16_t *rows = (uint16_t *)run(backend, args, values, NULL, &failures);
    size_t width = splat_half_row(channels), n_wrong = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < width; c++) {
            uint16_t wanted = c < channels ? splat_half_encode(values[i * channels + c], SPLAT_ROUND_NEAREST) : 0;
            n_wrong += rows[i * width + c] != wanted;
        }
    TEST_CHECK(failures, n_wrong == 0, "%u rows of %u: %zu halves are wrong", n, channels, n_wrong);
    free(rows);
    return failures;
}

static int check_pairs(splat_backend *backend, uint32_t n, uint32_t channels, const float *m, const float *v)
{
    int failures = 0;
    struct splat_shrink_args args = {.storage = SPLAT_STORED_FLOATS, .n = n, .channels = channels, .v = v};
    uint32_t *rows = run(backend, args, m, v, &failures);
    size_t n_wrong = 0;
    for (size_t i = 0; i < (size_t)n * channels; i++) n_wrong += rows[i] != splat_pair_encode(m[i], v[i], 0x80008000u);
    TEST_CHECK(failures, n_wrong == 0, "%u rows of %u: %zu pairs are wrong", n, channels, n_wrong);
    free(rows);
    return failures;
}

/* Codes are within half a step of what they stand for: m by its place among the squares, v by that among the fourth
 * powers; and no second moment is lost. */
static int check_rows(splat_backend *backend, uint32_t n, uint32_t channels, const float *m, const float *v)
{
    int failures = 0;
    struct splat_shrink_args args = {.storage = SPLAT_STORED_HARMONICS, .n = n, .channels = channels, .v = v};
    uint32_t *rows = run(backend, args, m, v, &failures);
    size_t words = splat_moment_row_words(channels), n_wrong = 0, n_lost = 0;
    for (size_t i = 0; i < n; i++) {
        float scales[2];
        const uint8_t *codes = (const uint8_t *)(rows + i * words + 2);
        memcpy(scales, rows + i * words, sizeof scales);
        bool finite = true;
        for (size_t c = 0; c < channels; c++) finite &= isfinite(m[i * channels + c]) != 0;
        for (size_t c = 0; finite && c < channels; c++) {
            double wanted = (double)m[i * channels + c], root = sqrt((double)v[i * channels + c]);
            double got = (double)splat_row_decode_m((int8_t)codes[c], scales[0]);
            double code = fabs((double)(int8_t)codes[c]), step = (2 * code + 1) / (127.0 * 127.0) * (double)scales[0];
            n_wrong += !(fabs(got - wanted) <= 0.5001 * step + 1e-30);
            double code_v = codes[channels + c], unit = (double)scales[1] / (255.0 * 255.0);
            double above = (code_v + 1) * unit * (code_v + 1);
            double below = code_v > 0 ? (code_v - 1) * unit * (code_v - 1) : 0;
            n_wrong += !(root <= above * 1.0001 + 1e-18 && root >= below * 0.9999 - 1e-18);
            n_lost += v[i * channels + c] > 1e-36f && scales[1] > 0 && codes[channels + c] == 0;
        }
    }
    TEST_CHECK(failures, n_wrong == 0, "%u rows of %u: %zu codes are wrong", n, channels, n_wrong);
    TEST_CHECK(failures, n_lost == 0, "%u rows of %u: %zu second moments are lost", n, channels, n_lost);
    /* The same bytes as one thread of the CPU makes. */
    splat_backend *plain;
    if (splat_backend_cpu_create(1, "c", &plain, NULL) != SPLAT_OK) return failures + 1;
    uint32_t *others = run(plain, args, m, v, &failures);
    TEST_CHECK(failures, memcmp(rows, others, n * words * sizeof *rows) == 0, "%s: %u rows of %u differ",
               backend->description, n, channels);
    splat_backend_destroy(plain);
    free(rows), free(others);
    return failures;
}

int test_op_shrink(splat_backend *backend)
{
    static const uint32_t counts[] = {0, 1, 33, 16384, N_MAX};
    static const uint32_t channels[] = {1, 3, 9, 24, 45};
    int failures = 0;
    float *m = malloc(45 * (size_t)N_MAX * sizeof *m), *v = malloc(45 * (size_t)N_MAX * sizeof *v);
    for (size_t k = 0; k < sizeof channels / sizeof channels[0]; k++) {
        make_values(m, N_MAX, channels[k], false);
        make_values(v, N_MAX, channels[k], true);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            if (channels[k] > 4) failures += check_halves(backend, counts[i], channels[k], m);
            if (channels[k] > 4) failures += check_rows(backend, counts[i], channels[k], m, v);
            if (channels[k] < 9) failures += check_pairs(backend, counts[i], channels[k], m, v);
        }
    }
    free(m), free(v);
    return failures;
}
