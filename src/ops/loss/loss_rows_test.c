/* Tests of loss_rows and loss_total: the parts of a picture beside op loss of the whole. */
#include "ops/test_ops.h"

#include "base/rng.h"
#include "ops/loss/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARTS = 4 };

/* A picture on the host, and what the backend has of it. */
typedef struct parts {
    splat_backend *backend;
    int32_t width, height;
    size_t n; /* 3 width height */
    float *image;
    struct splat_loss_args args;
    splat_block blocks[5];
    splat_loss_sums *sums;
} parts;

static void open_parts(parts *p, splat_backend *backend, int32_t width, int32_t height, bool in_bytes, bool masked)
{
    *p = (parts){.backend = backend, .width = width, .height = height};
    p->n = 3 * (size_t)width * (size_t)height;
    p->image = malloc(p->n * sizeof *p->image);
    float *photo = malloc(p->n * sizeof *photo);
    uint8_t *bytes = malloc(p->n), *mask = malloc(p->n / 3);
    size_t n_kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        const splat_random4 r = splat_random(77, SPLAT_STREAM_TEST, 3, i);
        photo[i] = splat_uniform(r.x[0]);
        bytes[i] = (uint8_t)(255.0f * photo[i]);
        p->image[i] = 0.7f * photo[i] + 0.4f * splat_uniform(r.x[1]);
    }
    for (size_t i = 0; i < p->n / 3; i++) n_kept += (mask[i] = (uint8_t)(i / 5 % 3 ? 255 : 0)) > 0;
    p->args = (struct splat_loss_args){.width = width, .height = height, .kept = (double)n_kept / (double)(p->n / 3)};
    p->args.image = test_upload(backend, &p->blocks[0], p->image, p->n * sizeof *p->image);
    if (in_bytes)
        p->args.photo_u8 = test_upload(backend, &p->blocks[1], bytes, p->n);
    else
        p->args.photo_f32 = test_upload(backend, &p->blocks[1], photo, p->n * sizeof *photo);
    if (masked) p->args.mask = test_upload(backend, &p->blocks[2], mask, p->n / 3);
    p->args.grad_image = test_upload(backend, &p->blocks[3], NULL, p->n * sizeof(float));
    p->sums = test_upload(backend, &p->blocks[4], NULL, (N_PARTS + 1) * 3 * sizeof *p->sums);
    free(photo), free(bytes), free(mask);
}

static void close_parts(parts *p)
{
    for (int i = 0; i < 5; i++) splat_block_free(p->backend, &p->blocks[i]);
    free(p->image);
}

/* Rows that need not be there are not numbers. */
static void upload_around(const parts *p, int32_t first, int32_t end)
{
    float *image = malloc(p->n * sizeof *image);
    const size_t width = (size_t)p->width, plane = width * (size_t)p->height;
    memcpy(image, p->image, p->n * sizeof *image);
    for (size_t i = 0; i < p->n; i++) {
        const int32_t y = (int32_t)(i % plane / width);
        if (y < first - 2 * SPLAT_SSIM_RADIUS || y >= end + 2 * SPLAT_SSIM_RADIUS) image[i] = NAN;
    }
    splat_backend_upload(p->backend, (float *)p->args.image, image, p->n * sizeof *image, NULL);
    free(image);
}

/* Gradients of the parts, each zero elsewhere, added up into `gradient`. */
static int run_parts(const parts *p, const int32_t *cuts, float *gradient)
{
    int failures = 0;
    splat_error error = {0};
    const size_t width = (size_t)p->width, plane = width * (size_t)p->height;
    float *own = malloc(p->n * sizeof *own);
    memset(gradient, 0, p->n * sizeof *gradient);
    for (int k = 0; k < N_PARTS; k++) {
        const struct splat_loss_rows_args args = {p->args, cuts[k], cuts[k + 1], p->sums + 3 * k};
        memset(own, 0xff, p->n * sizeof *own);
        splat_backend_upload(p->backend, p->args.grad_image, own, p->n * sizeof *own, NULL);
        upload_around(p, cuts[k], cuts[k + 1]);
        TEST_CHECK(failures, splat_op_loss_rows(p->backend, &args, &error) == SPLAT_OK, "%s", error.message);
        test_download(p->backend, own, p->args.grad_image, p->n * sizeof *own);
        for (size_t i = 0; i < p->n; i++) {
            const int32_t y = (int32_t)(i % plane / width);
            TEST_CHECK(failures, own[i] == 0 || (y >= cuts[k] && y < cuts[k + 1]), "part %d: %g in row %d", k,
                       (double)own[i], y);
            gradient[i] += own[i];
        }
    }
    free(own);
    return failures;
}

/* A pixel's gradient is made of the same numbers; a device adds up the values of other tiles in float (1e-7). */
static int compare(splat_backend *backend, int32_t width, int32_t height, bool in_bytes, bool masked, float lambda)
{
    int failures = 0;
    parts p;
    splat_loss_result wanted, result;
    splat_error error = {0};
    open_parts(&p, backend, width, height, in_bytes, masked);
    const int32_t cuts[N_PARTS + 1] = {0, height / 3 / 16 * 16, height / 2 / 16 * 16, height, height};
    float *gradient = malloc(p.n * sizeof *gradient), *whole = malloc(p.n * sizeof *whole);
    p.args.lambda_dssim = lambda;
    p.args.result = &wanted;
    TEST_CHECK(failures, splat_op_loss(backend, &p.args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, whole, p.args.grad_image, p.n * sizeof *whole);
    failures += run_parts(&p, cuts, gradient);
    struct splat_loss_total_args total = {p.args, p.sums, N_PARTS};
    total.picture.result = &result;
    TEST_CHECK(failures, splat_op_loss_total(backend, &total, &error) == SPLAT_OK, "%s", error.message);
    TEST_CHECK(failures, fabs(result.l1 - wanted.l1) <= 1e-6 * wanted.l1 &&
                   fabs(result.ssim - wanted.ssim) <= 1e-6 * fabs(wanted.ssim) &&
                   fabs(result.loss - wanted.loss) <= 2e-6 * fabs(wanted.loss),
               "%dx%d: %.9g, %.9g, %.9g, not %.9g, %.9g, %.9g", width, height, result.l1, result.ssim, result.loss,
               wanted.l1, wanted.ssim, wanted.loss);
    const double nmse = test_nmse(gradient, whole, p.n);
    TEST_CHECK(failures, nmse <= 1e-12, "%dx%d lambda %g mask %d: gradient NMSE %g", width, height, (double)lambda,
               masked, nmse);
    free(gradient), free(whole);
    close_parts(&p);
    return failures;
}

/* Where the loss is not finite in one part, the view of the whole is marked, and later ops leave the model alone. */
static int check_not_finite(splat_backend *backend)
{
    int failures = 0;
    parts p;
    splat_error error = {0};
    splat_loss_result result;
    open_parts(&p, backend, 40, 48, true, false);
    const struct splat_loss_total_args total = {p.args, p.sums, 2};
    splat_loss_sums sums[6] = {{0}};
    struct splat_loss_total_args asked = total;
    sums[3].l1 = NAN;
    splat_backend_upload(backend, p.sums, sums, sizeof sums, NULL);
    asked.picture.result = &result;
    TEST_CHECK(failures, splat_op_loss_total(backend, &asked, &error) == SPLAT_OK, "%s", error.message);
    TEST_CHECK(failures, isnan(result.loss), "a loss of %g", result.loss);
    close_parts(&p);
    return failures;
}

int test_op_loss_rows(splat_backend *backend)
{
    static const int32_t sizes[][2] = {{33, 17}, {1, 100}, {70, 90}, {200, 133}};
    int failures = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int kind = 0; kind < 4; kind++) {
            failures += compare(backend, sizes[s][0], sizes[s][1], kind & 1, kind & 2, 0.2f);
            failures += compare(backend, sizes[s][0], sizes[s][1], kind & 1, kind & 2, kind < 2 ? 0.0f : 1.0f);
        }
    return failures;
}

int test_op_loss_total(splat_backend *backend)
{
    return check_not_finite(backend) + compare(backend, 96, 80, true, false, 0.2f);
}
