/* Colour maps between a few fixed colours, and the pictures made with them. */
#include "io/picture/colormap.h"

#include <math.h>
#include <string.h>

/* Ten points of matplotlib's magma and viridis (dedicated to the public domain, CC0); between them a straight line. */
#define N_POINTS 10
static const uint32_t points[2][N_POINTS] = {
    {0x000004, 0x180f3e, 0x451077, 0x721f81, 0x9f2f7f, 0xcd4071, 0xf1605d, 0xfd9567, 0xfec98d, 0xfcfdbf},
    {0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6dcd59, 0xb4de2c, 0xfde725},
};

void splat_colormap_color(splat_colormap map, float value, uint8_t rgb[3])
{
    float position = value > 0.0f ? (value < 1.0f ? value : 1.0f) * (N_POINTS - 1) : 0.0f;
    int low = position < N_POINTS - 2 ? (int)position : N_POINTS - 2;
    float weight = position - (float)low;
    for (int c = 0; c < 3; c++) {
        int shift = 16 - 8 * c;
        float a = (float)(points[map][low] >> shift & 255), b = (float)(points[map][low + 1] >> shift & 255);
        rgb[c] = (uint8_t)(a + weight * (b - a) + 0.5f);
    }
}

void splat_error_map(int width, int height, const float *render, const uint8_t *photo, uint8_t *rgb)
{
    size_t n = (size_t)width * (size_t)height;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t c = 0; c < 3; c++) sum += fabsf(render[c * n + i] - (float)photo[3 * i + c] / 255.0f);
        splat_colormap_color(SPLAT_COLORMAP_MAGMA, sum / (3.0f * SPLAT_ERROR_MAP_FULL), rgb + 3 * i);
    }
}

void splat_density_heatmap(int width, int height, const uint32_t *counts, uint8_t *rgb)
{
    size_t n = (size_t)width * (size_t)height;
    for (size_t i = 0; i < n; i++)
        splat_colormap_color(SPLAT_COLORMAP_VIRIDIS, log2f(1.0f + (float)counts[i]) / 10.0f, rgb + 3 * i);
}

void splat_depth_heatmap(size_t n, const float *depth, uint8_t *rgb)
{
    float low = INFINITY, high = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(depth[i] > 0)) continue;
        low = fminf(low, depth[i]);
        high = fmaxf(high, depth[i]);
    }
    const float range = 1 / low - 1 / high;
    for (size_t i = 0; i < n; i++) {
        const float nearness = range > 0 ? (1 / depth[i] - 1 / high) / range : 1;
        if (depth[i] > 0)
            splat_colormap_color(SPLAT_COLORMAP_VIRIDIS, nearness, rgb + 3 * i);
        else
            memset(rgb + 3 * i, 0, 3);
    }
}
