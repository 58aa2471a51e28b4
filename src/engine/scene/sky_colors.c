/* The colour of the sky in every direction: means where photos show sky, elsewhere those of the sky around. */
#include "scene/sky_colors.h"

#include "math/camera.h"
#include "math/dome.h"
#include "math/photo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COARSE 4 /* nodes along a side of the squares whose means fill the rest */
#define N_COARSE (SPLAT_DOME_NODES / COARSE / COARSE)
#define SOFTENING 0.01f /* squared distance of directions below which nearer ones weigh no more */

/* Values of a channel, divided by the gain of their photo. A saturated value is only a lower bound. */
typedef struct channel_sum {
    double values, squares, n, least, n_least;
} channel_sum;

typedef struct color_sum {
    channel_sum channels[3];
} color_sum;

static void add_photo(const sky_photo *photo, const splat_sky_mask *mask, const splat_dome *ball, bool has_gains,
                      color_sum *sums)
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
            for (int k = 0; k < 3; k++) {
                channel_sum *channel = &sum->channels[k];
                const double value = rgb[k] / (255.0 * (has_gains ? (double)photo->gain[k] : 1));
                if (rgb[k] >= SPLAT_PHOTO_SATURATED) {
                    channel->least += value;
                    channel->n_least++;
                    continue;
                }
                channel->values += value;
                channel->squares += value * value;
                channel->n++;
            }
        }
}

static void add_sum(const color_sum *from, color_sum *to)
{
    for (int k = 0; k < 3; k++) {
        const channel_sum *a = &from->channels[k];
        channel_sum *b = &to->channels[k];
        b->values += a->values;
        b->squares += a->squares;
        b->n += a->n;
        b->least += a->least;
        b->n_least += a->n_least;
    }
}

static bool has_values(const color_sum *sum)
{
    return sum->channels[0].n > 0 && sum->channels[1].n > 0 && sum->channels[2].n > 0;
}

static bool has_any(const color_sum *sum)
{
    return sum->channels[0].n + sum->channels[0].n_least > 0;
}

/* The mean, or `other` without one. Saturated values join a mean that is darker. */
static float value_of(const channel_sum *sum, float other)
{
    const double value = sum->n > 0 ? sum->values / sum->n : (double)other;
    if (!(sum->n_least > 0) || sum->least / sum->n_least <= value) return (float)value;
    return (float)((sum->values + sum->least) / (sum->n + sum->n_least));
}

/* The square of nodes that a node lies in. */
static size_t square_of(size_t node)
{
    const size_t side = SPLAT_DOME_SIDE / COARSE, line = node / SPLAT_DOME_SIDE; /* of all faces */
    return line / COARSE * side + node % SPLAT_DOME_SIDE / COARSE;
}

/* Adds all photos; returns how much the colours of one square differ, as the variance's part of the mean square. */
static double add_photos(const sky_finder *f, const splat_sky_mask *masks, bool has_gains, color_sum *sums,
                         color_sum *squares)
{
    splat_dome ball = {.radius = (float)f->radius};
    double all = 0, between = 0;
    for (int k = 0; k < 3; k++) ball.center[k] = (float)f->center[k];
    memset(sums, 0, SPLAT_DOME_NODES * sizeof *sums);
    memset(squares, 0, N_COARSE * sizeof *squares);
    for (size_t v = 0; v < f->n; v++) add_photo(&f->photos[v], &masks[v], &ball, has_gains, sums);
    for (size_t i = 0; i < SPLAT_DOME_NODES; i++) add_sum(&sums[i], &squares[square_of(i)]);
    for (size_t i = 0; i < N_COARSE; i++)
        for (int k = 0; k < 3; k++) {
            const channel_sum *sum = &squares[i].channels[k];
            all += sum->squares;
            between += sum->n > 0 ? sum->values * sum->values / sum->n : 0;
        }
    return all > 0 ? (all - between) / all : 0;
}

/* With gains, if photos differ less with them: gains that no fit has confirmed can be wrong by a factor of two. */
static void add_by_best_gains(const sky_finder *f, const splat_sky_mask *masks, color_sum *sums, color_sum *squares)
{
    const double with = add_photos(f, masks, true, sums, squares);
    if (!(f->fit > 0) && add_photos(f, masks, false, sums, squares) > with) add_photos(f, masks, true, sums, squares);
}

/* The colours of squares of nodes that have any, and the unit directions of their middles. Squares of which a channel
 * is saturated everywhere count only if all are such. */
static size_t gather(const color_sum *squares, float (*colors)[3], float (*directions)[3])
{
    const size_t side = SPLAT_DOME_SIDE / COARSE;
    size_t n = 0;
    bool is_any = true;
    for (size_t i = 0; i < N_COARSE; i++) is_any = is_any && !has_values(&squares[i]);
    for (size_t i = 0; i < N_COARSE; i++) {
        double d[3] = {0};
        if (!(is_any ? has_any(&squares[i]) : has_values(&squares[i]))) continue;
        for (size_t k = 0; k < COARSE * COARSE; k++) {
            const size_t line = i / side * COARSE + k / COARSE, column = i % side * COARSE + k % COARSE;
            float own[3];
            splat_dome_node_direction(line * SPLAT_DOME_SIDE + column, own);
            for (int c = 0; c < 3; c++) d[c] += (double)own[c];
        }
        const double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        for (int c = 0; c < 3; c++) {
            colors[n][c] = value_of(&squares[i].channels[c], 0);
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
        float *color = colors + 3 * node;
        interpolate(node, n, known, directions, color);
        for (int k = 0; k < 3; k++) color[k] = value_of(&sums[node].channels[k], color[k]);
    }
}

splat_status sky_colors_find(const sky_finder *f, const splat_sky_mask *masks, float *colors, bool *is_found,
                             splat_error *error)
{
    color_sum *sums = malloc((SPLAT_DOME_NODES + N_COARSE) * sizeof *sums);
    float (*known)[3] = malloc(N_COARSE * sizeof *known), (*directions)[3] = malloc(N_COARSE * sizeof *directions);
    splat_status status = sums && known && directions
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of the sky");
    if (status == SPLAT_OK) {
        color_sum *squares = sums + SPLAT_DOME_NODES;
        add_by_best_gains(f, masks, sums, squares);
        const size_t n = gather(squares, known, directions);
        *is_found = n > 0;
        if (n) fill(f, sums, n, known, directions, colors);
    }
    free(sums);
    free(known);
    free(directions);
    return status;
}
