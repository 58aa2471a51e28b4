/* A band of the loss; compiled once a SIMD level. Plain loops over rows, which the compiler vectorises: no sum runs
 * across lanes except in row_sum, whose sixteen lanes are spelled out, so every level gives the same bytes.
 *
 * SSIM through differences. With D = mu1 - mu2 and V = E[(x-y)^2] - D^2 (the variance of x - y), the four factors of
 * docs/method.md 8 are A1 = B1 - D^2 and A2 = B2 - V, so
 *     S = q c,   q = 1 - D^2/B1,   c = 1 - V/B2,   B1 = mu1^2 + mu2^2 + C1,   B2 = E[x^2+y^2] - mu1^2 - mu2^2 + C2.
 * That takes four filtered moments instead of five, and where the pictures agree nothing cancels: equal pictures give
 * S = 1 and a zero gradient exactly. Its derivatives by E[x^2+y^2], E[(x-y)^2] and mu1 are
 *     s = q V/B2^2,   e = -q/B2,   m = 2 c (mu1 D^2/B1 - D)/B1 + 2 q (D - mu1 V/B2)/B2,
 * and dS/dx = w*m + 2 x (w*s) + 2 (x - y)(w*e). */
#include "ops/loss/loss_cpu.h"
#include "ops/simd.h"

#include <math.h>
#include <string.h>

enum { N_MOMENTS = 4, N_DERIVATIVES = 3 };

typedef struct band {
    const splat_loss_job *job;
    int channel, first, end; /* rows whose sums and gradient the band writes */
    float *workspace;
    size_t stride;
} band;

static float *band_row(const band *b, int row)
{
    return b->workspace + (size_t)row * b->stride + 16;
}

static int ring_slot(int y)
{
    return (y + 2 * SPLAT_SSIM_TAPS) % SPLAT_SSIM_TAPS; /* y >= -2 SPLAT_SSIM_RADIUS */
}

static size_t plane_row(const band *b, int y)
{
    return ((size_t)b->channel * (size_t)b->job->height + (size_t)y) * (size_t)b->job->width;
}

static splat_loss_sums *row_sums(const band *b, int y)
{
    return &b->job->rows[(size_t)b->channel * (size_t)b->job->height + (size_t)y];
}

static double row_sum(const float *values, int n)
{
    double lanes[16] = {0}, sum = 0;
    int x = 0;
    for (; x + 16 <= n; x += 16)
        for (int l = 0; l < 16; l++) lanes[l] += (double)values[x + l];
    for (int l = 0; x + l < n; l++) lanes[l] += (double)values[x + l];
    for (int l = 0; l < 16; l++) sum += lanes[l];
    return sum;
}

/* The window along a row; `in` has zeros on both sides. */
static void filter_row(float *restrict out, const float *restrict in, int n)
{
    static const float w[SPLAT_SSIM_TAPS] = SPLAT_SSIM_WINDOW;
    for (int x = 0; x < n; x++)
        out[x] = w[0] * (in[x - 5] + in[x + 5]) + w[1] * (in[x - 4] + in[x + 4]) + w[2] * (in[x - 3] + in[x + 3]) +
                 w[3] * (in[x - 2] + in[x + 2]) + w[4] * (in[x - 1] + in[x + 1]) + w[5] * in[x];
}

/* The window across the rows y - 5 .. y + 5 of a ring that begins at row `ring` of the workspace. */
static void filter_column(const band *b, float *restrict out, int ring, int y)
{
    static const float w[SPLAT_SSIM_TAPS] = SPLAT_SSIM_WINDOW;
    const float *r[SPLAT_SSIM_TAPS];
    for (int k = 0; k < SPLAT_SSIM_TAPS; k++) r[k] = band_row(b, ring + ring_slot(y + k - SPLAT_SSIM_RADIUS));
    const float *r0 = r[0], *r1 = r[1], *r2 = r[2], *r3 = r[3], *r4 = r[4], *r5 = r[5], *r6 = r[6], *r7 = r[7],
                *r8 = r[8], *r9 = r[9], *r10 = r[10];
    int n = b->job->width;
    for (int x = 0; x < n; x++)
        out[x] = w[0] * (r0[x] + r10[x]) + w[1] * (r1[x] + r9[x]) + w[2] * (r2[x] + r8[x]) + w[3] * (r3[x] + r7[x]) +
                 w[4] * (r4[x] + r6[x]) + w[5] * r5[x];
}

/* Filters the rows `source` of the workspace into slot y of their rings; rows outside the picture are zero. */
static void fill_rings(const band *b, int ring, int y, const int *source, int n_fields)
{
    bool inside = y >= 0 && y < b->job->height;
    for (int f = 0; f < n_fields; f++) {
        float *out = band_row(b, ring + f * SPLAT_SSIM_TAPS + ring_slot(y));
        if (inside)
            filter_row(out, band_row(b, source[f]), b->job->width);
        else
            memset(out, 0, (size_t)b->job->width * sizeof *out);
    }
}

static float sign_of(float d)
{
    return (float)(d > 0.0f) - (float)(d < 0.0f);
}

static void decode_bytes(const uint8_t *restrict bytes, int n, float *restrict out)
{
    for (int x = 0; x < n; x++) out[x] = splat_loss_from_byte(bytes[3 * (size_t)x]);
}

/* The first row where the mask keeps the pixel, else the second; NULL: 0. */
static void choose_row(const uint8_t *restrict mask, int n, const float *kept, const float *other, float *out)
{
    for (int x = 0; x < n; x++) {
        float instead = other ? other[x] : 0.0f;
        out[x] = mask[x] >= SPLAT_LOSS_KEPT ? kept[x] : instead;
    }
}

static const uint8_t *mask_row(const band *b, int y)
{
    return b->job->mask + (size_t)y * (size_t)b->job->width;
}

static void difference_row(const float *restrict image, const float *restrict photo, int n, float *restrict copy,
                           float *restrict power, float *restrict error, float *restrict distance)
{
    for (int x = 0; x < n; x++) {
        float d = image[x] - photo[x];
        copy[x] = image[x];
        power[x] = image[x] * image[x] + photo[x] * photo[x];
        error[x] = d * d;
        distance[x] = fabsf(d);
    }
}

static void l1_gradient_row(const float *restrict image, const float *restrict photo, int n, float scale,
                            float *restrict grad)
{
    for (int x = 0; x < n; x++) grad[x] = scale * sign_of(image[x] - photo[x]);
}

/* Row y enters: its pixels, the sums of their differences, and its moments into the ring. */
static void input_row(const band *b, int y)
{
    const splat_loss_job *job = b->job;
    const int photo_row = SPLAT_LOSS_PHOTO + ring_slot(y);
    const int fields[N_MOMENTS] = {SPLAT_LOSS_IMAGE, photo_row, SPLAT_LOSS_POWER, SPLAT_LOSS_ERROR};
    int n = job->width;
    if (y >= 0 && y < job->height) {
        const float *image = job->image + plane_row(b, y);
        float *photo = band_row(b, photo_row), *distance = band_row(b, SPLAT_LOSS_VALUES);
        if (job->photo_u8)
            decode_bytes(job->photo_u8 + (size_t)y * (size_t)n * 3 + b->channel, n, photo);
        else
            memcpy(photo, job->photo_f32 + plane_row(b, y), (size_t)n * sizeof *photo);
        if (job->mask) {
            float *blended = band_row(b, SPLAT_LOSS_BLENDED);
            choose_row(mask_row(b, y), n, image, photo, blended);
            image = blended;
        }
        difference_row(image, photo, n, band_row(b, SPLAT_LOSS_IMAGE), band_row(b, SPLAT_LOSS_POWER),
                       band_row(b, SPLAT_LOSS_ERROR), distance);
        if (y >= b->first && y < b->end) {
            row_sums(b, y)->l1 = row_sum(distance, n);
            row_sums(b, y)->squared = row_sum(band_row(b, SPLAT_LOSS_ERROR), n);
            if (job->grad_image && job->ssim_scale == 0.0f)
                l1_gradient_row(image, photo, n, job->l1_scale, job->grad_image + plane_row(b, y));
        }
    }
    fill_rings(b, SPLAT_LOSS_MOMENTS, y, fields, N_MOMENTS);
}

/* moments: four rows that are `stride` apart. */
static void ssim_row(const float *restrict moments, size_t stride, int n, float *restrict ssim, float *restrict by_mean,
                     float *restrict by_power, float *restrict by_error)
{
    const float *mean1 = moments, *mean2 = moments + stride, *power = moments + 2 * stride,
                *error = moments + 3 * stride;
    for (int x = 0; x < n; x++) {
        float d = mean1[x] - mean2[x], squares = mean1[x] * mean1[x] + mean2[x] * mean2[x];
        float inverse1 = 1.0f / (squares + SPLAT_SSIM_C1), inverse2 = 1.0f / (power[x] - squares + SPLAT_SSIM_C2);
        float u = d * d * inverse1, v = (error[x] - d * d) * inverse2;
        float q = 1.0f - u, c = 1.0f - v;
        ssim[x] = q * c;
        by_mean[x] = 2.0f * (c * inverse1 * (mean1[x] * u - d) + q * inverse2 * (d - mean1[x] * v));
        by_power[x] = q * v * inverse2;
        by_error[x] = -(q * inverse2);
    }
}

/* SSIM and its derivatives at row y, from the ring of moments. */
static void map_row(const band *b, int y)
{
    for (int f = 0; f < N_MOMENTS; f++)
        filter_column(b, band_row(b, SPLAT_LOSS_FILTERED + f), SPLAT_LOSS_MOMENTS + f * SPLAT_SSIM_TAPS, y);
    ssim_row(band_row(b, SPLAT_LOSS_FILTERED), b->stride, b->job->width, band_row(b, SPLAT_LOSS_VALUES),
             band_row(b, SPLAT_LOSS_DERIVATIVES), band_row(b, SPLAT_LOSS_DERIVATIVES + 1),
             band_row(b, SPLAT_LOSS_DERIVATIVES + 2));
    if (!b->job->mask) return;
    static const int weighed[] = {SPLAT_LOSS_VALUES, SPLAT_LOSS_DERIVATIVES, SPLAT_LOSS_DERIVATIVES + 1,
                                  SPLAT_LOSS_DERIVATIVES + 2};
    for (size_t f = 0; f < sizeof weighed / sizeof *weighed; f++) {
        float *row = band_row(b, weighed[f]);
        choose_row(mask_row(b, y), b->job->width, row, NULL, row);
    }
}

static void combine_row(const float *restrict filtered, size_t stride, const float *restrict image,
                        const float *restrict photo, int n, float ssim_scale, float l1_scale, float *restrict grad)
{
    const float *by_mean = filtered, *by_power = filtered + stride, *by_error = filtered + 2 * stride;
    for (int x = 0; x < n; x++) {
        float d = image[x] - photo[x];
        float ssim = by_mean[x] + 2.0f * (image[x] * by_power[x] + d * by_error[x]);
        grad[x] = ssim_scale * ssim + l1_scale * sign_of(d);
    }
}

/* The gradient of row y, from the ring of derivatives. */
static void gradient_row(const band *b, int y)
{
    const splat_loss_job *job = b->job;
    for (int f = 0; f < N_DERIVATIVES; f++)
        filter_column(b, band_row(b, SPLAT_LOSS_FILTERED + f), SPLAT_LOSS_BACKWARD + f * SPLAT_SSIM_TAPS, y);
    combine_row(band_row(b, SPLAT_LOSS_FILTERED), b->stride, job->image + plane_row(b, y),
                band_row(b, SPLAT_LOSS_PHOTO + ring_slot(y)), job->width, job->ssim_scale, job->l1_scale,
                job->grad_image + plane_row(b, y));
    if (job->mask) {
        float *row = job->grad_image + plane_row(b, y);
        choose_row(mask_row(b, y), job->width, row, NULL, row);
    }
}

void SIMD(splat_loss_band)(const splat_loss_job *job, int channel, int first, int end, float *workspace)
{
    static const int derivatives[N_DERIVATIVES] = {SPLAT_LOSS_DERIVATIVES, SPLAT_LOSS_DERIVATIVES + 1,
                                                   SPLAT_LOSS_DERIVATIVES + 2};
    const band b = {job, channel, first, end, workspace, splat_loss_stride(job->width)};
    bool backward = job->grad_image && job->ssim_scale != 0.0f;
    /* The gradient of a row needs the map of the radius around it, which needs the pixels of twice the radius. */
    int halo = backward ? SPLAT_SSIM_RADIUS : 0;
    memset(workspace, 0, SPLAT_LOSS_PADDED * b.stride * sizeof *workspace);
    for (int y = first - halo - SPLAT_SSIM_RADIUS; y < end + halo + SPLAT_SSIM_RADIUS; y++) {
        input_row(&b, y);
        int center = y - SPLAT_SSIM_RADIUS;
        if (center < first - halo) continue;
        if (center >= 0 && center < job->height) map_row(&b, center);
        if (center >= first && center < end)
            row_sums(&b, center)->ssim = row_sum(band_row(&b, SPLAT_LOSS_VALUES), job->width);
        if (!backward) continue;
        fill_rings(&b, SPLAT_LOSS_BACKWARD, center, derivatives, N_DERIVATIVES);
        if (center - SPLAT_SSIM_RADIUS >= first) gradient_row(&b, center - SPLAT_SSIM_RADIUS);
    }
}
