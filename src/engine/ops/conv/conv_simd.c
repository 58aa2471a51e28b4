/* A convolution as a matrix product without the matrix of patches: a task packs the patches of its 256 pixels, 256
 * products deep at a time, and multiplies them by every block of 8 output channels. Partial sums wait in the output.
 * The products of an output are added one after another, at any level and for any blocking. */
#include "ops/conv/conv_simd.h"
#include "ops/simd.h"

enum {
    PANEL = SPLAT_CONV_PANEL,
    LANES = SPLAT_NATIVE_LANES,
    COLUMNS = 2,                       /* vectors of pixels held in registers, */
    CHANNELS = LANES == 16 ? 8 : 4     /* times output channels: as many sums as there are registers for */
};

/* A run of a panel's pixels in one row of the output. */
typedef struct segment { int32_t first, n, x, y; } segment;

/* Cuts pixels [first, first + n) of the output into rows. */
static int cut_rows(const splat_maps *output, size_t first, int32_t n, segment *segments)
{
    int n_segments = 0;
    int32_t x = (int32_t)(first % (size_t)output->width), y = (int32_t)(first / (size_t)output->width);
    for (int32_t i = 0; i < n;) {
        int32_t here = output->width - x < n - i ? output->width - x : n - i;
        segments[n_segments++] = (segment){i, here, x, y + output->row_begin};
        i += here;
        x = 0;
        y++;
    }
    return n_segments;
}

/* The values of a segment under tap (ky, kx): `n` values from `from` on, `stride` apart, to place `first`; zeros
 * elsewhere. */
typedef struct reach { int32_t first, n; ptrdiff_t from; } reach;

static reach tap_reach(const struct splat_conv_args *a, const segment *s, int32_t ky, int32_t kx)
{
    int32_t y = s->y * a->stride - a->pad + ky, x = s->x * a->stride - a->pad + kx, skipped = 0, n = s->n;
    if (y < 0 || y >= a->input_height) return (reach){s->first, 0, 0};
    if (x < 0) skipped = (-x + a->stride - 1) / a->stride;
    if (skipped > n) skipped = n;
    x += skipped * a->stride;
    n -= skipped;
    int32_t room = x < a->input.width ? (a->input.width - 1 - x) / a->stride + 1 : 0;
    if (n > room) n = room;
    return (reach){s->first + skipped, n, (ptrdiff_t)(y - a->input.row_begin) * a->input.width + x};
}

/* Rows k0 to k1 of a panel's matrix of patches; row k is tap k / channels of channel k % channels. */
static void pack_panel(const struct splat_conv_args *a, const float *input, const segment *segments, int n_segments,
                       int32_t k0, int32_t k1, float *panel)
{
    int32_t n_channels = a->input.channels;
    for (int32_t k = k0; k < k1;) {
        int32_t tap = k / n_channels, c = k % n_channels, c_end = n_channels - c < k1 - k ? n_channels : c + k1 - k;
        reach reaches[PANEL];
        for (int s = 0; s < n_segments; s++) reaches[s] = tap_reach(a, &segments[s], tap / a->kernel, tap % a->kernel);
        bool whole = n_segments == 1 && reaches[0].n == PANEL && a->stride == 1;
        for (; c < c_end; c++, k++, panel += PANEL) {
            const float *plane = input + (size_t)c * a->input.channel_stride;
            if (whole) { /* nearly always, in wide maps */
                memcpy(panel, plane + reaches[0].from, PANEL * sizeof *panel);
                continue;
            }
            memset(panel, 0, PANEL * sizeof *panel);
            for (int s = 0; s < n_segments; s++)
                for (int32_t i = 0; i < reaches[s].n; i++)
                    panel[reaches[s].first + i] = plane[reaches[s].from + (ptrdiff_t)i * a->stride];
        }
    }
}

/* CHANNELS x COLUMNS vectors of the output: += weights[depth][8] times panel[depth][PANEL]. */
SPLAT_FORCE_INLINE void multiply(const float *weights, const float *panel, int32_t depth, float *output, size_t stride)
{
    splat_vf sums[CHANNELS][COLUMNS];
    for (int m = 0; m < CHANNELS; m++)
        for (int v = 0; v < COLUMNS; v++)
            memcpy(&sums[m][v], output + (size_t)m * stride + v * LANES, sizeof(splat_vf));
    for (int32_t k = 0; k < depth; k++) {
        splat_vf pixels[COLUMNS];
        for (int v = 0; v < COLUMNS; v++) memcpy(&pixels[v], panel + k * PANEL + v * LANES, sizeof(splat_vf));
        for (int m = 0; m < CHANNELS; m++)
            for (int v = 0; v < COLUMNS; v++) sums[m][v] += pixels[v] * weights[8 * k + m];
    }
    for (int m = 0; m < CHANNELS; m++)
        for (int v = 0; v < COLUMNS; v++)
            memcpy(output + (size_t)m * stride + v * LANES, &sums[m][v], sizeof(splat_vf));
}

/* Eight channels of a whole panel. */
static void multiply_panel(const float *weights, const float *panel, int32_t depth, float *output, size_t stride)
{
    for (int m = 0; m < 8; m += CHANNELS)
        for (int column = 0; column < PANEL; column += COLUMNS * LANES)
            multiply(weights + m, panel + column, depth, output + (size_t)m * stride + column, stride);
}

/* The last panel of a map may be narrower: through a buffer. */
static void multiply_part(const float *weights, const float *panel, int32_t depth, float *output, size_t stride,
                          int32_t n, float *buffer)
{
    memset(buffer, 0, 8 * PANEL * sizeof *buffer);
    for (int m = 0; m < 8; m++) memcpy(buffer + m * PANEL, output + (size_t)m * stride, (size_t)n * sizeof *buffer);
    multiply_panel(weights, panel, depth, buffer, PANEL);
    for (int m = 0; m < 8; m++) memcpy(output + (size_t)m * stride, buffer + m * PANEL, (size_t)n * sizeof *buffer);
}

static void fill(float *values, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) values[i] = value;
}

static void rectify(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) values[i] = values[i] < 0.0f ? 0.0f : values[i]; /* NaN stays */
}

SPLAT_CONV_KERNEL(SIMD(splat_conv))
{
    const float *input = args->input.data + (size_t)image * args->input.image_stride;
    float *output = args->output.data + (size_t)image * args->output.image_stride;
    float *buffer = scratch + SPLAT_CONV_TASK * SPLAT_CONV_DEPTH;
    size_t stride = args->output.channel_stride, n_channels = (size_t)args->output.channels;
    int32_t n_products = args->kernel * args->kernel * args->input.channels;
    int32_t n_panels = (int32_t)((end - first + PANEL - 1) / PANEL);
    for (size_t m = 0; m < n_channels; m++) fill(output + m * stride + first, end - first, args->bias[m]);

    for (int32_t k = 0; k < n_products; k += SPLAT_CONV_DEPTH) {
        int32_t depth = n_products - k < SPLAT_CONV_DEPTH ? n_products - k : SPLAT_CONV_DEPTH;
        for (int32_t p = 0; p < n_panels; p++) {
            segment segments[PANEL];
            size_t from = first + (size_t)p * PANEL;
            int32_t n = end - from < PANEL ? (int32_t)(end - from) : PANEL;
            int n_segments = cut_rows(&args->output, from, n, segments);
            pack_panel(args, input, segments, n_segments, k, k + depth, scratch + (size_t)p * PANEL * SPLAT_CONV_DEPTH);
        }
        for (size_t m = 0; m < n_channels; m += 8) {
            const float *weights = args->weights + m * (size_t)n_products + 8 * (size_t)k;
            for (int32_t p = 0; p < n_panels; p++) {
                const float *panel = scratch + (size_t)p * PANEL * SPLAT_CONV_DEPTH;
                size_t from = first + (size_t)p * PANEL;
                float *target = output + m * stride + from;
                if (end - from >= PANEL)
                    multiply_panel(weights, panel, depth, target, stride);
                else
                    multiply_part(weights, panel, depth, target, stride, (int32_t)(end - from), buffer);
            }
        }
    }
    for (size_t m = 0; m < n_channels; m++) rectify(output + m * stride + first, end - first);
}
