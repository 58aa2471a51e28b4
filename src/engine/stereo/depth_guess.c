/* Inverse depth of points, pulled up to coarser levels and pushed down into the gaps. */
#include "stereo/depth_guess.h"

#include "math/camera.h"
#include "math/sight.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LEVELS 24

/* Values times weights, and weights, up to 1. */
typedef struct level {
    int width, height;
    float *sums, *weights;
} level;

static bool make_level(level *l, int width, int height)
{
    const size_t n = (size_t)width * (size_t)height;
    *l = (level){width, height, calloc(n, sizeof *l->sums), calloc(n, sizeof *l->weights)};
    return l->sums && l->weights;
}

static void free_levels(level *levels, int n)
{
    for (int i = 0; i < n; i++) {
        free(levels[i].sums);
        free(levels[i].weights);
    }
}

static void draw_points(const splat_camera *camera, const float (*positions)[3], size_t n_points, level *l)
{
    for (size_t i = 0; i < n_points; i++) {
        float image[3];
        if (!splat_camera_project(camera, positions[i], image)) continue;
        const size_t at = (size_t)image[1] * (size_t)l->width + (size_t)image[0];
        if (1 / image[2] > l->sums[at]) l->sums[at] = 1 / image[2];
        l->weights[at] = 1;
    }
}

static void pull(const level *fine, level *coarse)
{
    for (int y = 0; y < fine->height; y++)
        for (int x = 0; x < fine->width; x++) {
            const size_t from = (size_t)y * (size_t)fine->width + (size_t)x,
                         to = (size_t)(y / 2) * (size_t)coarse->width + (size_t)(x / 2);
            coarse->sums[to] += fine->sums[from];
            coarse->weights[to] += fine->weights[from];
        }
    for (size_t i = 0; i < (size_t)coarse->width * (size_t)coarse->height; i++) {
        if (!(coarse->weights[i] > 1)) continue;
        coarse->sums[i] /= coarse->weights[i];
        coarse->weights[i] = 1;
    }
}

/* The coarse level between its pixels at a pixel of the fine one. */
static float look_up(const level *coarse, int x, int y)
{
    const float u = ((float)x + 0.5f) / 2 - 0.5f, v = ((float)y + 0.5f) / 2 - 0.5f;
    const int left = (int)floorf(u), top = (int)floorf(v);
    float sum = 0, weights = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            int a = left + i, b = top + j;
            a = a < 0 ? 0 : a < coarse->width ? a : coarse->width - 1;
            b = b < 0 ? 0 : b < coarse->height ? b : coarse->height - 1;
            const size_t at = (size_t)b * (size_t)coarse->width + (size_t)a;
            const float part = (i ? u - (float)left : 1 - (u - (float)left)) *
                               (j ? v - (float)top : 1 - (v - (float)top));
            sum += part * coarse->sums[at];
            weights += part * coarse->weights[at];
        }
    return weights > 0 ? sum / weights : 0;
}

static void push(const level *coarse, level *fine)
{
    for (int y = 0; y < fine->height; y++)
        for (int x = 0; x < fine->width; x++) {
            const size_t at = (size_t)y * (size_t)fine->width + (size_t)x;
            const float rest = 1 - fine->weights[at], value = rest > 0 ? look_up(coarse, x, y) : 0;
            if (!(value > 0)) continue;
            fine->sums[at] += rest * value;
            fine->weights[at] = 1;
        }
}

splat_status splat_depth_guess(const splat_camera *camera, const float (*positions)[3], size_t n_points, float *depth,
                               splat_error *error)
{
    level levels[MOST_LEVELS];
    int n = 1;
    bool ok = make_level(&levels[0], camera->width, camera->height);
    if (ok) draw_points(camera, positions, n_points, &levels[0]);
    for (; ok && n < MOST_LEVELS && (levels[n - 1].width > 1 || levels[n - 1].height > 1); n++) {
        ok = make_level(&levels[n], (levels[n - 1].width + 1) / 2, (levels[n - 1].height + 1) / 2);
        if (ok) pull(&levels[n - 1], &levels[n]);
    }
    for (int i = n - 2; ok && i >= 0; i--) push(&levels[i + 1], &levels[i]);
    for (size_t i = 0; ok && i < splat_camera_pixels(camera); i++)
        depth[i] = levels[0].weights[i] > 0 ? levels[0].weights[i] / levels[0].sums[i] : 0;
    free_levels(levels, n);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the depth of a view");
}
