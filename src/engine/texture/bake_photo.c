/* Prepares a photo: sharpness, gradients, smaller levels, levelled values and the low band. */
#include "texture/bake_photo.h"

#include "math/color.h"
#include "texture/bake_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOW_STEP 1.05f /* in depth, of one surface */
#define MAX_RADIUS 16 /* of the blur, pixels of its level */

void splat_bake_luma(const uint8_t *rgb, size_t n, int threads, float *luma)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) luma[i] = splat_luma(rgb + 3 * i);
}

/* Sums of the Laplacian and of its square over rows first .. last - 1. */
static void sum_laplacians(const float *luma, int width, int first, int last, double sums[2])
{
    const size_t w = (size_t)width;
    for (int y = first; y < last; y++)
        for (int x = 1; x < width - 1; x++) {
            const float *p = luma + (size_t)y * w + (size_t)x;
            const double value = (double)(p[1] + p[-1] + p[w] + *(p - w) - 4 * p[0]);
            sums[0] += value;
            sums[1] += value * value;
        }
}

double splat_bake_sharpness(const float *luma, int width, int height, int threads)
{
    enum { N_PARTS = 64 }; /* whatever the threads: the sums are the same */
    const int n_rows = height - 2;
    double sums[N_PARTS][2] = {{0}}, sum = 0, squares = 0;
    if (width < 3 || height < 3) return 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int i = 0; i < N_PARTS; i++)
        sum_laplacians(luma, width, 1 + n_rows * i / N_PARTS, 1 + n_rows * (i + 1) / N_PARTS, sums[i]);
    for (int i = 0; i < N_PARTS; i++) {
        sum += sums[i][0];
        squares += sums[i][1];
    }
    const double n = (double)n_rows * (double)(width - 2);
    return fmax(squares / n - sum / n * (sum / n), 0);
}

float splat_bake_gradient(const float *luma, int width, int height, int x, int y)
{
    if (width < 3 || height < 3) return 0;
    x = x < 1 ? 1 : x > width - 2 ? width - 2 : x;
    y = y < 1 ? 1 : y > height - 2 ? height - 2 : y;
    size_t w = (size_t)width;
    const float *b = luma + (size_t)y * w + (size_t)x, *a = b - w, *c = b + w;
    float right = a[1] + 2 * b[1] + c[1] - a[-1] - 2 * b[-1] - c[-1];
    float down = c[-1] + 2 * c[0] + c[1] - a[-1] - 2 * a[0] - a[1];
    return 0.25f * sqrtf(right * right + down * down);
}

int splat_bake_pyramid(uint8_t *photo, int width, int height, int threads)
{
    int n_levels = 1;
    for (; n_levels < SPLAT_TEXTURE_LEVELS && (width > 1 || height > 1); n_levels++) {
        uint8_t *next = photo + 3 * (size_t)width * (size_t)height;
        int w = width > 1 ? width / 2 : 1, h = height > 1 ? height / 2 : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (w * h > 4096)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                size_t x0 = (size_t)(width > 1 ? 2 * x : 0), y0 = (size_t)(height > 1 ? 2 * y : 0);
                size_t x1 = width > 1 ? x0 + 1 : x0, y1 = height > 1 ? y0 + 1 : y0, row = (size_t)width;
                for (size_t c = 0; c < 3; c++) {
                    int sum = photo[3 * (y0 * row + x0) + c] + photo[3 * (y0 * row + x1) + c] +
                              photo[3 * (y1 * row + x0) + c] + photo[3 * (y1 * row + x1) + c];
                    next[3 * ((size_t)y * (size_t)w + (size_t)x) + c] = (uint8_t)((sum + 2) / 4);
                }
            }
        photo = next;
        width = w;
        height = h;
    }
    return n_levels;
}

void splat_bake_table(const splat_bake_view *view, float table[3 * 256])
{
    for (int c = 0; c < 3; c++)
        for (int byte = 0; byte < 256; byte++) {
            float linear = view->gain[c] * (float)splat_srgb_decode(byte / 255.0);
            table[256 * c + byte] = (float)splat_srgb_encode((double)fminf(fmaxf(linear, 0), 1));
        }
}

/* ---------------------------------------------------------------- the low band */

typedef struct low_level {
    const uint8_t *rgb;
    const float *table, *depth;
    int width, height, full_width, full_height;
    int radius;
    float taps[2 * MAX_RADIUS + 1];
} low_level;

static float depth_at(const low_level *l, int x, int y)
{
    int px = (2 * x + 1) * l->full_width / (2 * l->width), py = (2 * y + 1) * l->full_height / (2 * l->height);
    return l->depth[(size_t)py * (size_t)l->full_width + (size_t)px];
}

/* A pixel from those around that show the same surface: no nearer and no farther than by a step. Without any, itself:
 * what lies behind a silhouette would be taken off the details there, and shine. */
static void blur_pixel(const low_level *l, int x, int y, float rgb[3])
{
    float depth = depth_at(l, x, y), sum[4] = {0, 0, 0, 0};
    for (int j = -l->radius; j <= l->radius; j++)
        for (int i = -l->radius; i <= l->radius; i++) {
            int at_x = x + i, at_y = y + j;
            if (at_x < 0 || at_x >= l->width || at_y < 0 || at_y >= l->height) continue;
            float other = depth_at(l, at_x, at_y), near = fminf(depth, other);
            if (!(near > 0 && fmaxf(depth, other) <= LOW_STEP * near)) continue;
            const uint8_t *p = l->rgb + 3 * ((size_t)at_y * (size_t)l->width + (size_t)at_x);
            float tap = l->taps[i + l->radius] * l->taps[j + l->radius];
            for (int c = 0; c < 3; c++) sum[c] += tap * l->table[256 * c + p[c]];
            sum[3] += tap;
        }
    const uint8_t *own = l->rgb + 3 * ((size_t)y * (size_t)l->width + (size_t)x);
    for (int c = 0; c < 3; c++) rgb[c] = sum[3] > 0 ? sum[c] / sum[3] : l->table[256 * c + own[c]];
}

void splat_bake_low(const uint8_t *pyramid, const float *table, const float *depth, int width, int height,
                    float sigma, int threads, float *low)
{
    low_level l = {.rgb = pyramid, .table = table, .depth = depth, .width = width, .height = height,
                   .full_width = width, .full_height = height};
    for (int k = 0; k < SPLAT_TEXTURE_LOW_LEVEL; k++) {
        l.rgb += 3 * (size_t)l.width * (size_t)l.height;
        l.width = l.width > 1 ? l.width / 2 : 1;
        l.height = l.height > 1 ? l.height / 2 : 1;
    }
    sigma /= (float)(1 << SPLAT_TEXTURE_LOW_LEVEL);
    l.radius = (int)fminf(ceilf(3 * sigma), MAX_RADIUS);
    for (int k = -l.radius; k <= l.radius; k++)
        l.taps[k + l.radius] = expf(-0.5f * (float)(k * k) / (sigma * sigma));
    size_t plane = (size_t)l.width * (size_t)l.height;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int y = 0; y < l.height; y++)
        for (int x = 0; x < l.width; x++) {
            float rgb[3];
            blur_pixel(&l, x, y, rgb);
            for (size_t c = 0; c < 3; c++) low[c * plane + (size_t)y * (size_t)l.width + (size_t)x] = rgb[c];
        }
}
