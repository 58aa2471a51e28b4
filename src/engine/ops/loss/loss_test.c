/* The loss: values against slow double sums and golden numbers, the fast version against the references, the double
 * reference's gradient against central differences, and the same bytes at every SIMD level and thread count. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/loss/loss.h"
#include "ops/ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A test picture on the host. x is the render; the photo is in 8 bits, or in float. */
typedef struct picture {
    int width, height;
    size_t n; /* 3 width height */
    float *image, *photo;
    uint8_t *bytes; /* NULL: the photo is only in float */
    uint8_t *mask;  /* [height][width]; NULL: none */
    double *image_f64, *photo_f64;
} picture;

static void set_photo(picture *p, size_t i, float value)
{
    size_t plane = p->n / 3;
    if (p->bytes) {
        uint8_t byte = (uint8_t)(value * 255.0f);
        p->bytes[i % plane * 3 + i / plane] = byte;
        value = (float)byte / 255.0f;
    }
    p->photo[i] = value;
    p->photo_f64[i] = (double)value;
}

static void set_image(picture *p, size_t i, float value)
{
    p->image[i] = value;
    p->image_f64[i] = (double)value;
}

/* Noise on a ramp; `closeness` is the size of render - photo, so that large (first steps) and small (last steps)
 * differences are met. Renders leave [0, 1] at times, as they are not clamped. */
static picture picture_make(int width, int height, bool in_bytes, float closeness, uint64_t seed)
{
    picture p = {.width = width, .height = height, .n = 3 * (size_t)width * (size_t)height};
    p.image = malloc(p.n * sizeof *p.image);
    p.photo = malloc(p.n * sizeof *p.photo);
    p.image_f64 = malloc(p.n * sizeof *p.image_f64);
    p.photo_f64 = malloc(p.n * sizeof *p.photo_f64);
    p.bytes = in_bytes ? malloc(p.n) : NULL;
    for (size_t i = 0; i < p.n; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_TEST, 0, i);
        float ramp = 0.5f * (float)(i % (size_t)width) / (float)width;
        float step = i % (size_t)width % 32 < 16 ? 0.0f : 0.1f; /* flat stripes with little noise, then busy ones */
        set_photo(&p, i, ramp + 0.1f + (step + 0.01f) * splat_uniform(r.x[0]));
        set_image(&p, i, p.photo[i] + closeness * (splat_uniform(r.x[1]) - 0.45f));
    }
    return p;
}

static void picture_free(picture *p)
{
    free(p->image);
    free(p->photo);
    free(p->image_f64);
    free(p->photo_f64);
    free(p->bytes);
    free(p->mask);
}

/* Discs that are not kept, one over a corner, with every byte there is on both sides of the limit. */
static void give_mask(picture *p, uint64_t seed)
{
    p->mask = malloc(p->n / 3);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            size_t at = (size_t)y * (size_t)p->width + (size_t)x;
            double u = x - 0.6 * p->width, v = y - 0.5 * p->height, radius = 0.2 * p->width + 1;
            bool is_kept = u * u + v * v > radius * radius && x * x + y * y > 0.5 * radius * radius;
            uint32_t byte = splat_random(seed, SPLAT_STREAM_TEST, 1, at).x[0] % 128;
            p->mask[at] = (uint8_t)(is_kept ? 128 + byte : byte);
        }
}

/* The mean of the mask, as the caller of the op gives it. */
static double kept_share(const picture *p)
{
    double sum = 0;
    for (size_t i = 0; p->mask && i < p->n / 3; i++) sum += p->mask[i] >= SPLAT_LOSS_KEPT;
    return p->mask ? sum / (double)(p->n / 3) : 1;
}

/* Runs the op of a backend; grad (NULL allowed) is host memory. The scratch is filled with NaN first: the op must not
 * depend on what another op or another picture size left there. */
static int run_loss(splat_backend *backend, const picture *p, float lambda, float *grad, splat_loss_result *result)
{
    int failures = 0;
    splat_block image = {0}, photo = {0}, mask = {0}, gradient = {0};
    size_t bytes = p->n * sizeof(float), dirty = 1 << 16;
    float *nans = malloc(dirty);
    memset(nans, 0xff, dirty);
    memset(result, 0xff, sizeof *result);
    void *scratch = NULL;
    TEST_CHECK(failures, splat_scratch_reset(backend, NULL) == SPLAT_OK &&
                             splat_scratch_take(backend, dirty, &scratch, NULL) == SPLAT_OK &&
                             splat_backend_upload(backend, scratch, nans, dirty, NULL) == SPLAT_OK, "no scratch");
    free(nans);
    struct splat_loss_args args = {
        .width = p->width, .height = p->height, .lambda_dssim = lambda, .kept = kept_share(p), .result = result};
    if (p->mask) args.mask = test_upload(backend, &mask, p->mask, p->n / 3);
    args.image = test_upload(backend, &image, p->image, bytes);
    if (p->bytes)
        args.photo_u8 = test_upload(backend, &photo, p->bytes, p->n);
    else
        args.photo_f32 = test_upload(backend, &photo, p->photo, bytes);
    if (grad) args.grad_image = test_upload(backend, &gradient, NULL, bytes);
    splat_error error = {0};
    TEST_CHECK(failures, splat_op_loss(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(backend, NULL);
    if (grad) test_download(backend, grad, args.grad_image, bytes);
    splat_block_free(backend, &image);
    splat_block_free(backend, &photo);
    splat_block_free(backend, &mask);
    splat_block_free(backend, &gradient);
    return failures;
}

/* Mean SSIM by its definition: the 11x11 window at every pixel, in double. */
static double slow_ssim(const picture *p)
{
    double window[11], norm = 0, total = 0;
    for (int k = 0; k < 11; k++) norm += window[k] = exp(-(k - 5) * (k - 5) / (2 * 1.5 * 1.5));
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < p->height; y++)
            for (int x = 0; x < p->width; x++) {
                double m1 = 0, m2 = 0, s11 = 0, s22 = 0, s12 = 0;
                for (int j = -5; j <= 5; j++)
                    for (int i = -5; i <= 5; i++) {
                        if (y + j < 0 || y + j >= p->height || x + i < 0 || x + i >= p->width) continue;
                        size_t at = ((size_t)c * p->height + y + j) * p->width + x + i;
                        double w = window[i + 5] * window[j + 5] / (norm * norm);
                        double a = p->image_f64[at], b = p->photo_f64[at];
                        m1 += w * a, m2 += w * b, s11 += w * a * a, s22 += w * b * b, s12 += w * a * b;
                    }
                total += (2 * m1 * m2 + 1e-4) * (2 * (s12 - m1 * m2) + 9e-4) /
                         ((m1 * m1 + m2 * m2 + 1e-4) * (s11 - m1 * m1 + s22 - m2 * m2 + 9e-4));
            }
    return total / (double)p->n;
}

static double slow_l1(const picture *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) sum += fabs(p->image_f64[i] - p->photo_f64[i]);
    return sum / (double)p->n;
}

static double relative(double a, double b)
{
    return fabs(a - b) / fmax(fabs(b), 1e-30);
}

/* The fast version against both references. */
static int test_parity(splat_backend *backend, const picture *p, float lambda)
{
    int failures = 0;
    splat_loss_result result, values;
    float *grad = malloc(p->n * sizeof *grad), *grad_ref = malloc(p->n * sizeof *grad_ref);
    double *grad_f64 = malloc(p->n * sizeof *grad_f64);
    failures += run_loss(backend, p, lambda, grad, &result);
    failures += run_loss(backend, p, lambda, NULL, &values);
    ref_loss_result_f32 f32 = ref_loss_f32(p->width, p->height, p->image, p->photo, p->mask, lambda, grad_ref);
    ref_loss_result_f64 f64 = ref_loss_f64(p->width, p->height, p->image_f64, p->photo_f64, p->mask, (double)lambda,
                                           grad_f64);

    /* Against double: pixels carry float rounding (6e-8), the sums are in double, so the mean is good to 1e-6. */
    TEST_CHECK(failures, relative(result.l1, f64.l1) < 1e-6, "%dx%d l1 %.9g, not %.9g", p->width, p->height, result.l1,
               f64.l1);
    TEST_CHECK(failures, relative(result.ssim, f64.ssim) < 1e-6, "%dx%d ssim %.9g, not %.9g", p->width, p->height,
               result.ssim, f64.ssim);
    /* 1 - SSIM of near-equal pictures is a small number: 1e-6 of the terms, not of their difference. Where nothing is
     * kept both are 0. */
    TEST_CHECK(failures, result.loss == f64.loss ||
                   fabs(result.loss - f64.loss) < 1e-6 * (fabs(f64.loss) + (double)lambda * f64.ssim),
               "%dx%d loss %.9g, not %.9g", p->width, p->height, result.loss, f64.loss);
    /* Against float: it adds up to 8e4 floats in a row, which alone costs 1e-5. */
    TEST_CHECK(failures, relative(result.ssim, (double)f32.ssim) < 3e-5, "%dx%d ssim %.9g, float reference %.9g",
               p->width, p->height, result.ssim, (double)f32.ssim);
    TEST_CHECK(failures, memcmp(&result, &values, sizeof result) == 0, "%dx%d values change without a gradient",
               p->width, p->height);
    /* 1e-6: the float reference's E[x^2] - mu^2 loses digits (1e-7 against C2 = 9e-4, so 1e-4 in flat areas). */
    double nmse = test_nmse(grad, grad_ref, p->n);
    TEST_CHECK(failures, nmse <= 1e-6, "%dx%d lambda %g gradient NMSE %g to float", p->width, p->height, (double)lambda,
               nmse);
    for (size_t i = 0; i < p->n; i++) grad_ref[i] = (float)grad_f64[i];
    nmse = test_nmse(grad, grad_ref, p->n);
    TEST_CHECK(failures, nmse <= 1e-7, "%dx%d lambda %g gradient NMSE %g to double", p->width, p->height,
               (double)lambda, nmse);
    free(grad);
    free(grad_ref);
    free(grad_f64);
    return failures;
}

static int test_sizes(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {10, 10}, {11, 11}, {16, 16}, {33, 17}, {200, 133}};
    static const float lambdas[] = {0.0f, 0.2f, 1.0f};
    int failures = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int in_bytes = 0; in_bytes < 2; in_bytes++) {
            picture p = picture_make(sizes[s][0], sizes[s][1], in_bytes, in_bytes ? 0.5f : 0.05f, s + 1);
            for (size_t l = 0; l < 3; l++) failures += test_parity(backend, &p, lambdas[l]);
            give_mask(&p, s + 1);
            for (size_t l = 0; l < 3; l++) failures += test_parity(backend, &p, lambdas[l]);
            picture_free(&p);
        }
    return failures;
}

/* The gradient in double against central differences. */
static int test_reference_gradient(bool masked)
{
    int failures = 0;
    picture p = picture_make(14, 12, false, 0.3f, 40);
    if (masked) give_mask(&p, 41);
    for (size_t i = 0; i < p.n; i++) /* away from the kink of |x - y| */
        p.image_f64[i] += p.image_f64[i] < p.photo_f64[i] ? -0.01 : 0.01;
    double *grad = malloc(p.n * sizeof *grad), error = 0, power = 0, h = 1e-5;
    ref_loss_f64(p.width, p.height, p.image_f64, p.photo_f64, p.mask, 0.2, grad);
    for (size_t i = 0; i < p.n; i++) {
        double x = p.image_f64[i];
        p.image_f64[i] = x + h;
        double above = ref_loss_f64(p.width, p.height, p.image_f64, p.photo_f64, p.mask, 0.2, NULL).loss;
        p.image_f64[i] = x - h;
        double below = ref_loss_f64(p.width, p.height, p.image_f64, p.photo_f64, p.mask, 0.2, NULL).loss;
        p.image_f64[i] = x;
        double difference = (above - below) / (2 * h) - grad[i];
        error += difference * difference;
        power += grad[i] * grad[i];
    }
    /* h = 1e-5: rounding 1e-16 / h of a gradient of 1e-3 and the h^2 term both give about 1e-8 relative. */
    TEST_CHECK(failures, error <= 1e-14 * power, "relative error of the gradient %g", sqrt(error / power));
    free(grad);
    picture_free(&p);
    return failures;
}

/* Equal pictures: SSIM is 1, the loss and the gradient are 0, to the last bit. */
static int test_identity(splat_backend *backend)
{
    int failures = 0;
    for (int in_bytes = 0; in_bytes < 2; in_bytes++) {
        picture p = picture_make(45, 39, in_bytes, 0.0f, 50);
        for (size_t i = 0; i < p.n; i++) set_image(&p, i, p.photo[i]);
        float *grad = malloc(p.n * sizeof *grad);
        splat_loss_result result;
        failures += run_loss(backend, &p, 0.2f, grad, &result);
        TEST_CHECK(failures, result.ssim == 1 && result.l1 == 0 && result.loss == 0, "ssim %.17g l1 %g loss %g",
                   result.ssim, result.l1, result.loss);
        size_t n_wrong = 0;
        for (size_t i = 0; i < p.n; i++) n_wrong += grad[i] != 0.0f;
        TEST_CHECK(failures, n_wrong == 0, "%zu gradients of equal pictures are not 0", n_wrong);
        free(grad);
        picture_free(&p);
    }
    return failures;
}

/* A white mask gives the bits of none. What is not kept has no gradient, and the render there changes nothing, be it
 * NaN; nor does it matter which byte says so. */
static int test_masks(splat_backend *backend)
{
    int failures = 0;
    for (int k = 0; k < 4; k++) {
        float lambda = k % 2 ? 0.2f : 0.0f;
        picture p = picture_make(70, 45, k / 2 == 0, 0.3f, 90);
        size_t bytes = p.n * sizeof(float), plane = p.n / 3, n_wrong = 0, n_masked = 0;
        float *grad = malloc(bytes), *other = malloc(bytes);
        splat_loss_result result, again;
        failures += run_loss(backend, &p, lambda, grad, &result);
        p.mask = malloc(plane);
        memset(p.mask, 255, plane);
        failures += run_loss(backend, &p, lambda, other, &again);
        TEST_CHECK(failures, memcmp(grad, other, bytes) == 0, "lambda %g: gradient of a white mask", (double)lambda);
        TEST_CHECK(failures, memcmp(&result, &again, sizeof result) == 0, "lambda %g: values of a white mask",
                   (double)lambda);
        free(p.mask);
        give_mask(&p, 91);
        failures += run_loss(backend, &p, lambda, grad, &result);
        for (size_t i = 0; i < p.n; i++) {
            if (p.mask[i % plane] >= SPLAT_LOSS_KEPT) continue;
            n_masked++;
            n_wrong += grad[i] != 0;
            set_image(&p, i, i % 5 ? 17.0f : NAN);
            p.mask[i % plane] = (uint8_t)(i % 128);
        }
        TEST_CHECK(failures, n_masked > 100 && n_wrong == 0, "%zu of %zu gradients outside", n_wrong, n_masked);
        failures += run_loss(backend, &p, lambda, other, &again);
        TEST_CHECK(failures, memcmp(grad, other, bytes) == 0, "lambda %g: the render outside matters", (double)lambda);
        TEST_CHECK(failures, memcmp(&result, &again, sizeof result) == 0, "lambda %g: values", (double)lambda);
        memset(p.mask, 0, plane);
        failures += run_loss(backend, &p, lambda, grad, &result);
        TEST_CHECK(failures, result.l1 == 0 && result.ssim == 0 && result.loss == 0, "all masked: loss %g",
                   result.loss);
        free(grad);
        free(other);
        picture_free(&p);
    }
    return failures;
}

/* Golden values of an independent program (numpy, 2D window, double), and the slow double sums. */
static int test_values(splat_backend *backend)
{
    int failures = 0;
    picture p = picture_make(14, 9, true, 0.0f, 60);
    for (size_t i = 0; i < p.n; i++) {
        size_t x = i % 14, y = i / 14 % 9, c = i / (14 * 9);
        set_image(&p, i, (float)((7 * x + 13 * y + 29 * c + x * y * (c + 1)) % 251) / 255.0f);
        set_photo(&p, i, ((float)((11 * x + 5 * y + 17 * c + x * y * (c + 1)) % 251) + 0.25f) / 255.0f);
    }
    splat_loss_result result;
    failures += run_loss(backend, &p, 0.2f, NULL, &result);
    TEST_CHECK(failures, relative(result.ssim, 0.7515549950628428) < 1e-6, "golden ssim %.17g", result.ssim);
    TEST_CHECK(failures, relative(result.l1, 0.14480755265068992) < 1e-6, "golden l1 %.17g", result.l1);
    picture_free(&p);

    p = picture_make(37, 23, false, 0.4f, 61);
    failures += run_loss(backend, &p, 0.2f, NULL, &result);
    double ssim = slow_ssim(&p), l1 = slow_l1(&p); /* float pixels, double sums: 1e-6 */
    TEST_CHECK(failures, relative(result.ssim, ssim) < 1e-6, "ssim %.9g, not %.9g", result.ssim, ssim);
    TEST_CHECK(failures, relative(result.l1, l1) < 1e-6, "l1 %.9g, not %.9g", result.l1, l1);
    TEST_CHECK(failures, relative(result.loss, 0.8 * l1 + 0.2 * (1 - ssim)) < 1e-6, "loss %.9g", result.loss);
    picture_free(&p);
    return failures;
}

/* A render far above 1, flat, where E[x^2] - mu^2 is rounding alone and may pass C2: SSIM and its gradient stay
 * bounded. And NaN in one pixel is seen in the loss. */
static int test_extremes(splat_backend *backend)
{
    int failures = 0;
    picture p = picture_make(300, 15, true, 0.0f, 80);
    for (size_t i = 0; i < p.n; i++) { /* blocks of 12 columns: some have a level whose variance rounds below 0 */
        set_image(&p, i, 95.0f + 1.37f * (float)(i % 300 / 12 + 25 * (i / 4500)));
        set_photo(&p, i, 1.0f);
    }
    float *grad = malloc(p.n * sizeof *grad), largest = 0;
    splat_loss_result result;
    failures += run_loss(backend, &p, 1.0f, grad, &result);
    for (size_t i = 0; i < p.n; i++) largest = grad[i] == grad[i] ? fmaxf(largest, fabsf(grad[i])) : INFINITY;
    /* |dS/dx| of a pixel is below the sum over its windows of about 4 / sqrt(C2). */
    TEST_CHECK(failures, result.ssim >= -1 && result.ssim <= 1, "ssim %g", result.ssim);
    TEST_CHECK(failures, largest * (float)p.n < 4.0f / 0.03f, "gradient %g", (double)(largest * (float)p.n));
    set_image(&p, 700, NAN);
    failures += run_loss(backend, &p, 0.2f, NULL, &result);
    TEST_CHECK(failures, isnan(result.loss) && isnan(result.ssim) && isnan(result.l1), "NaN is hidden: %g",
               result.loss);
    free(grad);
    picture_free(&p);
    return failures;
}

/* The same bytes from every SIMD level and thread count of the CPU. */
static int test_bits(splat_backend *backend)
{
    static const char *const levels[] = {"c", "avx2", "avx512"};
    static const int threads[] = {1, 2, 5};
    int failures = 0;
    const bool is_plain = backend->threads == 1 && backend->simd == SPLAT_SIMD_C; /* once is enough */
    if (strcmp(splat_backend_name(backend), "cpu") != 0 || !is_plain) return 0;
    picture p = picture_make(101, 150, true, 0.3f, 70);
    give_mask(&p, 71);
    size_t bytes = p.n * sizeof(float);
    float *grad = malloc(bytes), *other_grad = malloc(bytes);
    splat_loss_result result, other_result;
    failures += run_loss(backend, &p, 0.2f, grad, &result);
    for (size_t level = 0; level < 3; level++)
        for (size_t t = 0; t < 3; t++) {
            splat_backend *other;
            if (splat_backend_cpu_create(threads[t], levels[level], &other, NULL) != SPLAT_OK) continue;
            failures += run_loss(other, &p, 0.2f, other_grad, &other_result);
            TEST_CHECK(failures, memcmp(grad, other_grad, bytes) == 0, "gradient of %s", other->description);
            TEST_CHECK(failures, memcmp(&result, &other_result, sizeof result) == 0, "values of %s",
                       other->description);
            splat_backend_destroy(other);
        }
    free(grad);
    free(other_grad);
    picture_free(&p);
    return failures;
}

static int test_refusals(splat_backend *backend)
{
    int failures = 0;
    float pixels[3] = {0};
    uint8_t bytes[3] = {0};
    splat_loss_result result;
    const struct splat_loss_args good = {.width = 1,
                                         .height = 1,
                                         .image = pixels,
                                         .photo_u8 = bytes,
                                         .lambda_dssim = 0.2f,
                                         .result = &result};
    struct splat_loss_args bad[5] = {good, good, good, good, good};
    bad[0].width = 0;
    bad[1].height = -3;
    bad[2].photo_u8 = NULL;
    bad[3].photo_f32 = pixels;
    bad[4].lambda_dssim = NAN;
    for (int i = 0; i < 5; i++) {
        splat_error error = {0};
        TEST_CHECK(failures,
                   splat_op_loss(backend, &bad[i], &error) == SPLAT_ERROR_ARGUMENT && error.message[0],
                   "case %d", i);
    }
    return failures;
}

int test_op_loss(splat_backend *backend)
{
    int failures = test_reference_gradient(false) + test_reference_gradient(true);
    failures += test_masks(backend);
    failures += test_values(backend);
    failures += test_identity(backend);
    failures += test_sizes(backend);
    failures += test_extremes(backend);
    failures += test_bits(backend);
    failures += test_refusals(backend);
    return failures;
}
