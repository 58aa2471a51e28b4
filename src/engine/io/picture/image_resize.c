/* Changing pictures: Pillow's antialiased bicubic resize, and compositing of alpha.
 *
 * The resize is a separable convolution with a sampled kernel whose support widens with the reduction, in 22-bit fixed
 * point and with 8-bit rows between the passes, so that photos are, byte for byte, what the trainers of the field load.
 */
#include "io/picture/image_resize.h"

#include "io/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* 32 bits less 8 of the sample less 2 for weights beyond [0, 1] and their sum. */
#define WEIGHT_BITS (32 - 8 - 2)
#define HALF (1 << (WEIGHT_BITS - 1))

/* Keys' cubic convolution kernel with a = -1/2 (Keys 1981, equation 15). */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

void splat_resize_axis_free(splat_resize_axis *axis)
{
    free(axis->first);
    free(axis->n);
    free(axis->weight);
    free(axis->pairs);
}

static int n_pairs_of(int n_taps)
{
    return (n_taps + 1) / 2;
}

/* A weight is 2^HALF_BITS high + low; both fit 16 bits. */
#define HALF_BITS (WEIGHT_BITS / 2)

static int32_t pair_of(int32_t first, int32_t second)
{
    return (int32_t)((uint32_t)(uint16_t)first | (uint32_t)(uint16_t)second << 16);
}

static void axis_fill_pairs(splat_resize_axis *axis, int sample)
{
    const int32_t *weight = axis->weight + (size_t)sample * (size_t)axis->n_taps;
    int32_t *pairs = axis->pairs + (size_t)sample * (size_t)n_pairs_of(axis->n_taps) * 2;
    for (int k = 0; k < axis->n[sample]; k += 2, pairs += 2) {
        const int32_t low = (1 << HALF_BITS) - 1, a = weight[k], b = k + 1 < axis->n[sample] ? weight[k + 1] : 0;
        pairs[0] = pair_of(a >> HALF_BITS, b >> HALF_BITS);
        pairs[1] = pair_of(a & low, b & low);
    }
}

/* Weights of one output sample: the kernel at the pixel centres, normalised, then rounded to fixed point. */
static void axis_fill_sample(splat_resize_axis *axis, int sample, int in, double scale, double *values)
{
    double stretch = scale > 1.0 ? scale : 1.0, support = 2.0 * stretch, center = (sample + 0.5) * scale;
    double inverse = 1.0 / stretch, sum = 0.0;
    int first = (int)(center - support + 0.5), end = (int)(center + support + 0.5);
    if (first < 0) first = 0;
    if (end > in) end = in;
    for (int k = 0; k < end - first; k++) {
        values[k] = cubic((k + first - center + 0.5) * inverse);
        sum += values[k];
    }
    int32_t *weight = axis->weight + (size_t)sample * (size_t)axis->n_taps;
    for (int k = 0; k < end - first; k++) {
        double value = (sum != 0.0 ? values[k] / sum : values[k]) * (1 << WEIGHT_BITS);
        weight[k] = (int32_t)(value < 0.0 ? value - 0.5 : value + 0.5);
    }
    axis->first[sample] = first;
    axis->n[sample] = end - first;
    axis_fill_pairs(axis, sample);
}

bool splat_resize_axis_make(splat_resize_axis *axis, int in, int out)
{
    double scale = (double)in / out, stretch = scale > 1.0 ? scale : 1.0;
    axis->in = in;
    axis->n_taps = (int)ceil(2.0 * stretch) * 2 + 1; /* sides are at most 65500: the products below fit easily */
    axis->first = malloc((size_t)out * sizeof *axis->first);
    axis->n = malloc((size_t)out * sizeof *axis->n);
    axis->weight = malloc((size_t)out * (size_t)axis->n_taps * sizeof *axis->weight);
    axis->pairs = malloc((size_t)out * (size_t)n_pairs_of(axis->n_taps) * 2 * sizeof *axis->pairs);
    double *values = malloc((size_t)axis->n_taps * sizeof *values);
    bool good = axis->first && axis->n && axis->weight && axis->pairs && values;
    for (int sample = 0; good && sample < out; sample++) axis_fill_sample(axis, sample, in, scale, values);
    free(values);
    return good;
}

static inline uint8_t to_u8(int32_t sum)
{
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

#if defined(__SSE2__)
/* Sums over pairs of taps, in two parts as the weights are. */
typedef struct pair_sums {
    __m128i high, low;
} pair_sums;

/* values: of the two taps side by side, 16 bits each. */
static inline void add_pair(pair_sums *sums, __m128i values, const int32_t *pair)
{
    sums->high = _mm_add_epi32(sums->high, _mm_madd_epi16(values, _mm_set1_epi32(pair[0])));
    sums->low = _mm_add_epi32(sums->low, _mm_madd_epi16(values, _mm_set1_epi32(pair[1])));
}

/* Four sums, to be made bytes. */
static inline __m128i whole_of(pair_sums sums)
{
    __m128i sum = _mm_add_epi32(_mm_slli_epi32(sums.high, HALF_BITS), _mm_add_epi32(sums.low, _mm_set1_epi32(HALF)));
    return _mm_srai_epi32(sum, WEIGHT_BITS);
}

static inline __m128i four_bytes(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm_cvtsi32_si128(four);
}

/* The first samples of a row, as long as nothing beyond it is read; returns how many. */
static inline int resize_row_by_pairs(const splat_resize_axis *axis, int out_width, int channels, const uint8_t *in,
                                      uint8_t *out)
{
    const __m128i zero = _mm_setzero_si128();
    int x = 0;
    for (; x < out_width; x++) {
        const int n_pairs = n_pairs_of(axis->n[x]);
        const int32_t *pair = axis->pairs + (size_t)x * (size_t)n_pairs_of(axis->n_taps) * 2;
        const uint8_t *p = in + (size_t)axis->first[x] * (size_t)channels;
        if (axis->first[x] + 2 * n_pairs + 1 > axis->in) return x;
        pair_sums sums = {zero, zero};
        for (int k = 0; k < n_pairs; k++, p += 2 * channels, pair += 2) {
            __m128i bytes = _mm_unpacklo_epi8(four_bytes(p), four_bytes(p + channels));
            add_pair(&sums, _mm_unpacklo_epi8(bytes, zero), pair);
        }
        __m128i words = _mm_packs_epi32(whole_of(sums), zero);
        int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(words, zero));
        memcpy(out + x * channels, &four, (size_t)channels);
    }
    return x;
}

/* Eight bytes of a row from rows that are row_bytes apart. */
static inline void resize_eight_down(const uint8_t *in, size_t row_bytes, const int32_t *pair, int n, uint8_t *out)
{
    const __m128i zero = _mm_setzero_si128();
    pair_sums first = {zero, zero}, second = {zero, zero};
    for (int k = 0; k < n; k += 2, pair += 2) {
        const uint8_t *p = in + (size_t)k * row_bytes;
        __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)p), b = zero;
        if (k + 1 < n) b = _mm_loadl_epi64((const __m128i *)(const void *)(p + row_bytes));
        __m128i bytes = _mm_unpacklo_epi8(a, b);
        add_pair(&first, _mm_unpacklo_epi8(bytes, zero), pair);
        add_pair(&second, _mm_unpackhi_epi8(bytes, zero), pair);
    }
    __m128i words = _mm_packs_epi32(whole_of(first), whole_of(second));
    _mm_storel_epi64((__m128i *)(void *)out, _mm_packus_epi16(words, zero));
}
#endif

/* One row, channels known at compile time. */
static inline void resize_row(const splat_resize_axis *axis, int out_width, int channels, const uint8_t *in,
                              uint8_t *out)
{
    int x = 0;
#if defined(__SSE2__)
    x = resize_row_by_pairs(axis, out_width, channels, in, out);
#endif
    for (; x < out_width; x++) {
        const int32_t *weight = axis->weight + (size_t)x * (size_t)axis->n_taps;
        const uint8_t *p = in + (size_t)axis->first[x] * (size_t)channels;
        int32_t sum[4] = {HALF, HALF, HALF, HALF};
        for (int k = 0; k < axis->n[x]; k++, p += channels)
            for (int c = 0; c < channels; c++) sum[c] += p[c] * weight[k];
        for (int c = 0; c < channels; c++) out[x * channels + c] = to_u8(sum[c]);
    }
}

void splat_resize_axis_row(const splat_resize_axis *axis, int out_width, const uint8_t *rgb, uint8_t *out)
{
    resize_row(axis, out_width, 3, rgb, out);
}

static void resize_horizontally(const splat_image *image, const splat_resize_axis *axis, int out_width, uint8_t *out)
{
    size_t channels = (size_t)image->channels;
    size_t in_bytes = (size_t)image->width * channels, out_bytes = (size_t)out_width * channels;
    for (size_t y = 0; y < (size_t)image->height; y++) {
        if (channels == 3)
            resize_row(axis, out_width, 3, image->pixels + y * in_bytes, out + y * out_bytes);
        else
            resize_row(axis, out_width, 4, image->pixels + y * in_bytes, out + y * out_bytes);
    }
}

static void resize_vertically(const uint8_t *in, size_t row_bytes, const splat_resize_axis *axis, int out_height,
                              uint8_t *out)
{
    for (int y = 0; y < out_height; y++, out += row_bytes) {
        const int32_t *weight = axis->weight + (size_t)y * (size_t)axis->n_taps;
        const uint8_t *rows = in + (size_t)axis->first[y] * row_bytes;
        size_t i = 0;
#if defined(__SSE2__)
        const int32_t *pairs = axis->pairs + (size_t)y * (size_t)n_pairs_of(axis->n_taps) * 2;
        for (; i + 8 <= row_bytes; i += 8) resize_eight_down(rows + i, row_bytes, pairs, axis->n[y], out + i);
#endif
        for (; i < row_bytes; i++) {
            int32_t sum = HALF;
            for (int k = 0; k < axis->n[y]; k++) sum += rows[(size_t)k * row_bytes + i] * weight[k];
            out[i] = to_u8(sum);
        }
    }
}

/* x / 255 rounded, for x <= 255 * 255. */
static inline uint8_t divide_by_255(unsigned x)
{
    x += 128;
    return (uint8_t)((x + (x >> 8)) >> 8);
}

static void premultiply(uint8_t *rgba, size_t n)
{
    for (uint8_t *p = rgba; n > 0; n--, p += 4)
        for (int c = 0; c < 3; c++) p[c] = divide_by_255((unsigned)p[c] * p[3]);
}

static void unpremultiply(uint8_t *rgba, size_t n)
{
    for (uint8_t *p = rgba; n > 0; n--, p += 4) {
        if (p[3] == 0 || p[3] == 255) continue;
        for (int c = 0; c < 3; c++) {
            unsigned value = 255u * p[c] / p[3];
            p[c] = (uint8_t)(value > 255 ? 255 : value);
        }
    }
}

/* Replaces the pixels by a resized copy along one axis (horizontal or vertical). */
static bool resize_along(splat_image *image, bool horizontal, int out_side)
{
    size_t channels = (size_t)image->channels;
    size_t out_width = (size_t)(horizontal ? out_side : image->width);
    size_t out_height = (size_t)(horizontal ? image->height : out_side);
    splat_resize_axis axis = {0};
    uint8_t *out = malloc(out_width * out_height * channels);
    bool good = out && splat_resize_axis_make(&axis, horizontal ? image->width : image->height, out_side);
    if (good) {
        if (horizontal)
            resize_horizontally(image, &axis, out_side, out);
        else
            resize_vertically(image->pixels, out_width * channels, &axis, out_side, out);
        free(image->pixels);
        image->pixels = out;
        image->width = (int)out_width;
        image->height = (int)out_height;
    } else {
        free(out);
    }
    splat_resize_axis_free(&axis);
    return good;
}

splat_status splat_image_resize(splat_image *image, int width, int height, splat_error *error)
{
    if (width < 1 || height < 1 || width > SPLAT_IMAGE_MAX_SIDE || height > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a picture cannot be resized to %d x %d pixels: sides are 1 to %d", width, height,
                          SPLAT_IMAGE_MAX_SIDE);
    if (image->width == width && image->height == height) return SPLAT_OK;
    bool good = true;
    if (image->channels == 4) premultiply(image->pixels, (size_t)image->width * (size_t)image->height);
    if (image->width != width) good = resize_along(image, true, width);
    if (good && image->height != height) good = resize_along(image, false, height);
    if (!good)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to resize a picture to %d x %d pixels", width, height);
    if (image->channels == 4) unpremultiply(image->pixels, (size_t)width * (size_t)height);
    return SPLAT_OK;
}

/* As the NeRF-synthetic loaders compute it, in doubles and step by step: their truncation turns the last bit of the
 * sum into a whole level. */
static uint8_t blend_truncated(uint8_t color, uint8_t alpha, double background)
{
    double a = alpha / 255.0;
    return (uint8_t)((color / 255.0 * a + background * (1.0 - a)) * 255.0);
}

static uint8_t blend_rounded(uint8_t color, uint8_t alpha, uint8_t background)
{
    return divide_by_255((unsigned)color * alpha + (unsigned)background * (255u - alpha));
}

void splat_image_composite_row(const uint8_t *rgba, size_t n, uint8_t background, bool truncate, uint8_t *rgb)
{
    for (; n > 0; n--, rgba += 4, rgb += 3) {
        uint8_t p[4];
        memcpy(p, rgba, sizeof p);
        for (size_t c = 0; c < 3; c++)
            rgb[c] = truncate ? blend_truncated(p[c], p[3], background / 255.0) : blend_rounded(p[c], p[3], background);
    }
}

splat_status splat_image_composite(splat_image *image, uint8_t background, bool truncate, splat_error *error)
{
    if (image->channels != 4) return SPLAT_OK;
    size_t n = (size_t)image->width * (size_t)image->height;
    uint8_t *rgb = malloc(3 * n);
    if (!rgb)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d pixels", image->width,
                          image->height);
    splat_image_composite_row(image->pixels, n, background, truncate, rgb);
    free(image->pixels);
    image->pixels = rgb;
    image->channels = 3;
    return SPLAT_OK;
}
