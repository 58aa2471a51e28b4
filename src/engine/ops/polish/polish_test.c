/* polish_draw and polish_step against sums and Adam in double, and a texture that is found again from its pictures. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/polish/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PIXELS = 3000, SIDE = 24, N_TEXELS = SIDE * SIDE, N_STEPS = 4 };

static double random_unit(uint32_t stream, uint64_t i)
{
    return (double)splat_random(17, SPLAT_STREAM_TEST, stream, i).x[0] / 4294967296.0;
}

static void make_places(splat_polish_place *places)
{
    for (uint32_t i = 0; i < N_PIXELS; i++) {
        uint32_t column = (uint32_t)(random_unit(0, i) * (SIDE - 1)), row = (uint32_t)(random_unit(1, i) * (SIDE - 4));
        places[i] = (splat_polish_place){{row * SIDE + column, (row + 1) * SIDE + column}, (float)random_unit(2, i),
                                         (float)random_unit(3, i)};
        if (i % 7 == 3) places[i].left[0] = SPLAT_POLISH_NO_TEXEL;
    }
}

static double weight_of(const splat_polish_place *p, int k)
{
    return (k % 2 ? (double)p->right : 1 - (double)p->right) * (k / 2 ? (double)p->down : 1 - (double)p->down);
}

typedef struct arrays {
    splat_backend *backend;
    splat_block blocks[8];
    splat_polish_place *places;
    float *texels, *moments, *target, *image, *grad;
    int32_t *sums;
    uint8_t *counts;
} arrays;

/* In place: a backend knows its blocks by their addresses. */
static void open_arrays(arrays *a, splat_backend *backend, const splat_polish_place *places, const float *texels)
{
    *a = (arrays){.backend = backend};
    a->places = test_upload(backend, &a->blocks[0], places, N_PIXELS * sizeof *places);
    a->texels = test_upload(backend, &a->blocks[1], texels, 3 * N_TEXELS * sizeof *texels);
    a->moments = test_upload(backend, &a->blocks[2], NULL, 6 * N_TEXELS * sizeof(float));
    a->target = test_upload(backend, &a->blocks[3], NULL, 3 * N_PIXELS * sizeof(float));
    a->image = test_upload(backend, &a->blocks[4], NULL, 3 * N_PIXELS * sizeof(float));
    a->grad = test_upload(backend, &a->blocks[5], NULL, 3 * N_PIXELS * sizeof(float));
    a->sums = test_upload(backend, &a->blocks[6], NULL, 3 * N_TEXELS * sizeof(int32_t));
    a->counts = test_upload(backend, &a->blocks[7], NULL, N_TEXELS);
}

static void close_arrays(arrays *a)
{
    for (int i = 0; i < 8; i++) splat_block_free(a->backend, &a->blocks[i]);
}

int test_op_polish_draw(splat_backend *backend)
{
    int failures = 0;
    static splat_polish_place places[N_PIXELS];
    static float texels[3 * N_TEXELS], target[3 * N_PIXELS], image[3 * N_PIXELS];
    splat_error error = {0};
    make_places(places);
    for (size_t i = 0; i < 3 * N_TEXELS; i++) texels[i] = (float)random_unit(4, i);
    for (size_t i = 0; i < 3 * N_PIXELS; i++) target[i] = 2 + (float)random_unit(5, i);
    arrays a;
    open_arrays(&a, backend, places, texels);
    TEST_CHECK(failures, splat_backend_upload(backend, a.target, target, sizeof target, &error) == SPLAT_OK, "upload");
    struct splat_polish_draw_args args = {N_PIXELS, a.places, a.texels, a.target, a.image};
    TEST_CHECK(failures, splat_op_polish_draw(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, image, a.image, sizeof image);
    for (size_t i = 0; i < N_PIXELS; i++)
        for (size_t c = 0; c < 3; c++) {
            double wanted = (double)target[c * N_PIXELS + i];
            if (places[i].left[0] != SPLAT_POLISH_NO_TEXEL) {
                wanted = 0;
                for (int k = 0; k < 4; k++)
                    wanted += weight_of(&places[i], k) *
                              (double)texels[3 * ((size_t)places[i].left[k / 2] + (size_t)(k % 2)) + c];
            }
            TEST_CHECK(failures, fabs((double)image[c * N_PIXELS + i] - wanted) < 1e-6, "pixel %zu: %g, not %g", i,
                       (double)image[c * N_PIXELS + i], wanted);
        }
    close_arrays(&a);
    return failures;
}

static int test_adam(splat_backend *backend)
{
    int failures = 0;
    static splat_polish_place places[N_PIXELS];
    static float texels[3 * N_TEXELS], grad[3 * N_PIXELS];
    static double x[3 * N_TEXELS], m[3 * N_TEXELS], v[3 * N_TEXELS], g[3 * N_TEXELS];
    static int32_t sums[3 * N_TEXELS];
    int counts[N_TEXELS] = {0};
    splat_error error = {0};
    make_places(places);
    for (size_t i = 0; i < 3 * N_TEXELS; i++) {
        texels[i] = 0.2f + 0.6f * (float)random_unit(4, i);
        x[i] = (double)texels[i];
        m[i] = v[i] = 0;
    }
    arrays a;
    open_arrays(&a, backend, places, texels);
    for (int step = 0; step < N_STEPS; step++) {
        memset(g, 0, sizeof g);
        for (size_t i = 0; i < N_PIXELS; i++)
            for (size_t c = 0; c < 3; c++) { /* half of the pixels, other ones in each step */
                double value = (random_unit(6 + (uint32_t)step, 3 * i + c) - 0.5) / N_PIXELS;
                if ((i + (size_t)step) % 2) value = 0;
                grad[c * N_PIXELS + i] = (float)value;
                for (int k = 0; k < 4 && places[i].left[0] != SPLAT_POLISH_NO_TEXEL; k++)
                    g[3 * (places[i].left[k / 2] + (size_t)(k % 2)) + c] +=
                        3 * N_PIXELS * value * weight_of(&places[i], k);
            }
        TEST_CHECK(failures, splat_backend_upload(backend, a.grad, grad, sizeof grad, &error) == SPLAT_OK, "upload");
        struct splat_polish_step_args args = {N_PIXELS, N_TEXELS, a.places, a.grad, 0.01f, a.texels, a.moments, a.sums,
                                              a.counts};
        TEST_CHECK(failures, splat_op_polish_step(backend, &args, &error) == SPLAT_OK, "%s", error.message);
        for (size_t t = 0; t < N_TEXELS; t++) {
            if (g[3 * t] == 0 && g[3 * t + 1] == 0 && g[3 * t + 2] == 0) continue;
            counts[t]++;
            for (size_t i = 3 * t; i < 3 * t + 3; i++) {
                m[i] = 0.9 * m[i] + 0.1 * g[i];
                v[i] = 0.99 * v[i] + 0.01 * g[i] * g[i];
                double corrected = m[i] / (1 - pow(0.9, counts[t])), root = sqrt(v[i] / (1 - pow(0.99, counts[t])));
                x[i] = fmin(fmax(x[i] - 0.01 * corrected / (root + 1e-8), 0), 1);
            }
        }
    }
    test_download(backend, texels, a.texels, sizeof texels);
    test_download(backend, sums, a.sums, sizeof sums);
    size_t n_still = 0;
    for (size_t i = 0; i < 3 * N_TEXELS; i++) {
        /* a sum is off by at most 2^-17 a pixel; a gradient near 0 may turn, which a step shows at most */
        double far = fabs((double)texels[i] - x[i]);
        TEST_CHECK(failures, far < 2e-4 || fabs(g[i]) < 2e-3, "texel %zu: %g, not %g", i / 3, (double)texels[i], x[i]);
        TEST_CHECK(failures, sums[i] == 0, "sum %zu is %d", i, sums[i]);
        n_still += counts[i / 3] == 0;
    }
    TEST_CHECK(failures, n_still >= 3 * SIDE, "%zu numbers of texels without a pixel", n_still);
    close_arrays(&a);
    return failures;
}

int test_op_polish_step(splat_backend *backend)
{
    return test_adam(backend);
}
