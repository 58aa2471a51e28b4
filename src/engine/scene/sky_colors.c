/* The colour of the sky in every direction: means where photos show sky, elsewhere those of the sky around. */
#include "scene/sky_colors.h"

#include "math/camera.h"
#include "math/dome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COARSE 4 /* nodes along a side of the squares whose means fill the rest */
#define N_COARSE (SPLAT_DOME_NODES / COARSE / COARSE)
#define SOFTENING 0.01f /* squared distance of directions below which nearer ones weigh no more */

/* A sum of colours and their number. */
typedef struct color_sum {
    double rgb[3], n;
} color_sum;

static void add_photo(const sky_photo *photo, const splat_sky_mask *mask, const splat_dome *ball, color_sum *sums)
{
    const splat_camera *c = &photo->camera;
    for (size_t y = 0; y < (size_t)c->height && mask->pixels; y++)
        for (size_t x = 0; x < (size_t)c->width; x++) {
            if (!splat_sky_mask_at(mask, (size_t)c->width, (size_t)c->height, x, y)) continue;
            float d[3];
            splat_dome_direction(c, ball, (float)x, (float)y, d);
            const splat_dome_place place = splat_dome_place_of(d);
            const int nearest = 2 * (place.down > 0.5f) + (place.right > 0.5f);
            color_sum *sum = &sums[splat_dome_node(place.first, nearest)];
            const uint8_t *rgb = photo->rgb + 3 * (y * (size_t)c->width + x);
            for (int k = 0; k < 3; k++) sum->rgb[k] += rgb[k] / (255.0 * (double)photo->gain[k]);
            sum->n++;
        }
}

/* Means of squares of nodes that have any, and the unit directions of their middles. */
static size_t gather(const color_sum *sums, float (*colors)[3], float (*directions)[3])
{
    size_t n = 0;
    for (size_t square = 0; square < N_COARSE; square++) {
        const size_t side = SPLAT_DOME_SIDE / COARSE, face = square / side / side;
        const size_t row = square / side % side * COARSE, column = square % side * COARSE;
        double rgb[3] = {0}, d[3] = {0}, count = 0;
        for (size_t k = 0; k < COARSE * COARSE; k++) {
            const size_t node = (face * SPLAT_DOME_SIDE + row + k / COARSE) * SPLAT_DOME_SIDE + column + k % COARSE;
            float own[3];
            splat_dome_node_direction(node, own);
            for (int c = 0; c < 3; c++) {
                rgb[c] += sums[node].rgb[c];
                d[c] += sums[node].n * (double)own[c];
            }
            count += sums[node].n;
        }
        if (!(count > 0)) continue;
        const double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int c = 0; c < 3; c++) {
            colors[n][c] = (float)(rgb[c] / count);
            directions[n][c] = (float)(d[c] / length);
        }
        n++;
    }
    return n;
}

/* The mean of n colours, each with the inverse fourth power of its distance from node `node`. */
static void interpolate(size_t node, size_t n, float (*const known)[3], float (*const directions)[3], float *color)
{
    float d[3], sum[3] = {0, 0, 0}, weights = 0;
    splat_dome_node_direction(node, d);
    const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (size_t i = 0; i < n; i++) {
        float square = SOFTENING * SOFTENING;
        for (int k = 0; k < 3; k++) square += (d[k] / length - directions[i][k]) * (d[k] / length - directions[i][k]);
        const float weight = 1 / (square * square);
        for (int k = 0; k < 3; k++) sum[k] += weight * known[i][k];
        weights += weight;
    }
    for (int k = 0; k < 3; k++) color[k] = sum[k] / weights;
}

static void fill(const sky_finder *f, const color_sum *sums, size_t n, float (*const known)[3],
                 float (*const directions)[3], float *colors)
{
#pragma omp parallel for num_threads(f->threads) schedule(static)
    for (size_t node = 0; node < SPLAT_DOME_NODES; node++) {
        interpolate(node, n, known, directions, colors + 3 * node);
        for (int k = 0; k < 3 && sums[node].n > 0; k++)
            colors[3 * node + (size_t)k] = (float)(sums[node].rgb[k] / sums[node].n);
    }
}

splat_status sky_colors_find(const sky_finder *f, const splat_sky_mask *masks, float *colors, bool *is_found,
                             splat_error *error)
{
    splat_dome ball = {.radius = (float)f->radius};
    color_sum *sums = calloc(SPLAT_DOME_NODES, sizeof *sums);
    float (*known)[3] = malloc(N_COARSE * sizeof *known), (*directions)[3] = malloc(N_COARSE * sizeof *directions);
    splat_status status = sums && known && directions
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of the sky");
    for (int k = 0; k < 3; k++) ball.center[k] = (float)f->center[k];
    if (status == SPLAT_OK) {
        for (size_t v = 0; v < f->n; v++) add_photo(&f->photos[v], &masks[v], &ball, sums);
        const size_t n = gather(sums, known, directions);
        *is_found = n > 0;
        if (n) fill(f, sums, n, known, directions, colors);
    }
    free(sums);
    free(known);
    free(directions);
    return status;
}
