/* One pixel of edge_weight; the same on every backend. */
#ifndef SPLAT_OPS_EDGE_WEIGHT_MATH_H
#define SPLAT_OPS_EDGE_WEIGHT_MATH_H

#include "base/error.h"
#include "math/inline.h"
#include "ops/edge_weight/edge_weight.h"

static inline splat_status splat_edge_weight_check(const struct splat_edge_weight_args *args, splat_error *error)
{
    if (args->width > 0 && args->height > 0 && args->photo_width >= args->width && args->photo_height >= args->height)
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "edge weights of %d x %d pixels cannot be made of a photo of %d x %d", args->width,
                      args->height, args->photo_width, args->photo_height);
}

/* First pixel of the photo that belongs to pixel x. */
SPLAT_MATH_INLINE int splat_edge_first(int x, int photo_size, int size)
{
    return (int)((int64_t)x * photo_size / size);
}

/* The photo at pixel (x, y) of the weights, 0 .. 1. */
SPLAT_MATH_INLINE void splat_edge_color(const struct splat_edge_weight_args *args, int x, int y, float color[3])
{
    int left = splat_edge_first(x, args->photo_width, args->width);
    int right = splat_edge_first(x + 1, args->photo_width, args->width);
    int top = splat_edge_first(y, args->photo_height, args->height);
    int bottom = splat_edge_first(y + 1, args->photo_height, args->height);
    uint32_t sum[3] = {0, 0, 0};
    for (int row = top; row < bottom; row++)
        for (int column = left; column < right; column++) {
            const uint8_t *rgb = args->photo + 3 * ((size_t)row * (size_t)args->photo_width + (size_t)column);
            for (int c = 0; c < 3; c++) sum[c] += rgb[c];
        }
    float per_sum = 1.0f / (255.0f * ((float)(right - left) * (float)(bottom - top)));
    for (int c = 0; c < 3; c++) color[c] = (float)sum[c] * per_sum;
}

SPLAT_MATH_INLINE float splat_edge_difference(const float a[3], const float b[3])
{
    return (fabsf(a[0] - b[0]) + fabsf(a[1] - b[1]) + fabsf(a[2] - b[2])) * (1.0f / 3.0f);
}

SPLAT_MATH_INLINE int splat_edge_is_border(const struct splat_edge_weight_args *args, int x, int y)
{
    return x < 1 || y < 1 || x >= args->width - 1 || y >= args->height - 1;
}

/* s of a pixel that is not at the border. */
SPLAT_MATH_INLINE float splat_edge_strength(const struct splat_edge_weight_args *args, int x, int y)
{
    float left[3], right[3], above[3], below[3];
    splat_edge_color(args, x - 1, y, left);
    splat_edge_color(args, x + 1, y, right);
    splat_edge_color(args, x, y - 1, above);
    splat_edge_color(args, x, y + 1, below);
    float across = splat_edge_difference(left, right), down = splat_edge_difference(above, below);
    return across > down ? across : down;
}

SPLAT_MATH_INLINE float splat_edge_weight_of(float strength, float least, float largest)
{
    float plain = largest > least ? (largest - strength) / (largest - least) : 1.0f;
    return plain * plain;
}

#endif
