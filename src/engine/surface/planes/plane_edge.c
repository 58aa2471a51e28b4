/* Light changes towards a corner, and moves the largest gradient of a blurred photo: if levels rise by a pixel before
 * an edge, by b behind it and jump by J at it, by v (b - a) / J for a blur of variance v. A blur keeps areas, though,
 * but for the v (b - a) / 2 that it carries over the end. So lines go through the levels on both sides, and the edge is
 * where a jump from line to line has the area of the levels. */
#include "surface/planes/plane_edge.h"

#include "math/camera.h"

#include <math.h>
#include <string.h>

#define AROUND 2 /* pixels around the largest gradient that place the edge at first */
#define SPREAD 2 /* pixels on both sides that the edge blurs; a corner is darkest next to these */
#define RAMP 3   /* pixels behind these that tell a line */
#define BLUR 1.1f /* pixels squared: variance of the blur of a smoothed photo */
#define STRAIGHT 0.05f /* of the jump: how far levels are off their lines, at most */
#define LEAST_JUMP 0.3f /* of the jump between the lines in the middle: it may hardly change on the way */
#define MOST_MOVE 2.0f /* pixels from the gradient's place */
#define STEPS 5 /* of Newton's method */

enum { SIDE = SPREAD + RAMP, LEVELS = 2 * SIDE + 1 };

long plane_rim_step(const splat_camera *camera, int x, int y, const float direction[2], int t)
{
    int at_x = x + (int)lrintf(direction[0] * (float)t), at_y = y + (int)lrintf(direction[1] * (float)t);
    if (at_x < 0 || at_y < 0 || at_x >= camera->width || at_y >= camera->height) return -1;
    return (long)at_y * camera->width + at_x;
}

/* The centroid of the gradient around its largest value, above what is plain at the farther end. */
static bool place_gradient(const splat_camera *c, const uint16_t *gradient, int x, int y, const float direction[2],
                           int end, float found[2])
{
    const int width = c->width;
    int top = 0;
    float least = INFINITY, sum = 0, at[2] = {0, 0};
    uint16_t most = 0;
    for (int t = 0; t <= end; t++) {
        const long p = plane_rim_step(c, x, y, direction, t);
        if (p < 0) break;
        if (gradient[p] <= most) continue;
        most = gradient[p];
        top = t;
    }
    for (int t = top - AROUND; t <= top + AROUND; t++) {
        long p = plane_rim_step(c, x, y, direction, t);
        if (p < 0) return false;
        least = fminf(least, gradient[p]);
    }
    for (int t = top - AROUND; t <= top + AROUND; t++) {
        long p = plane_rim_step(c, x, y, direction, t);
        float weight = (float)gradient[p] - least;
        sum += weight;
        at[0] += weight * ((float)(p % width) + 0.5f);
        at[1] += weight * ((float)(p / width) + 0.5f);
    }
    if (!(sum > 0)) return false;
    found[0] = at[0] / sum;
    found[1] = at[1] / sum;
    return true;
}

/* ---------------------------------------------------------------- levels across an edge */

/* The level at a place of the picture, pixels. False: outside. */
static bool level_at(const splat_camera *c, const uint16_t *levels, float x, float y, float *level)
{
    const float u = x - 0.5f, v = y - 0.5f;
    if (!(u >= 0 && v >= 0 && u < (float)(c->width - 1) && v < (float)(c->height - 1))) return false;
    const int i = (int)u, j = (int)v;
    const uint16_t *above = levels + (size_t)j * (size_t)c->width + (size_t)i, *below = above + c->width;
    const float right = u - (float)i, down = v - (float)j;
    *level = (1 - down) * ((1 - right) * (float)above[0] + right * (float)above[1]) +
             down * ((1 - right) * (float)below[0] + right * (float)below[1]);
    return true;
}

/* The levels of the channel that differs most across the edge, a pixel apart. False: outside. */
static bool take_levels(const splat_camera *c, const uint16_t *smooth, const float at[2], const float direction[2],
                        float levels[LEVELS])
{
    const size_t n = splat_camera_pixels(c);
    float most = -1, own[LEVELS];
    for (size_t channel = 0; channel < 3; channel++) {
        for (int t = -SIDE; t <= SIDE; t++)
            if (!level_at(c, smooth + channel * n, at[0] + direction[0] * (float)t, at[1] + direction[1] * (float)t,
                          &own[t + SIDE]))
                return false;
        const float step = fabsf(own[LEVELS - RAMP] - own[RAMP - 1]);
        if (step > most) memcpy(levels, own, sizeof own);
        most = fmaxf(most, step);
    }
    return true;
}

/* level + slope t. */
typedef struct ramp {
    float level, slope, off; /* off: the largest distance of a level from it */
} ramp;

/* The line through RAMP levels, of places from `first` on: least squares. */
static ramp fit(const float *levels, int first)
{
    const float middle = (float)first + 0.5f * (float)(RAMP - 1);
    float mean = 0, sum = 0, square = 0;
    ramp line = {.off = 0};
    for (int k = 0; k < RAMP; k++) mean += levels[k] / RAMP;
    for (int k = 0; k < RAMP; k++) {
        const float t = (float)(first + k) - middle;
        sum += t * levels[k];
        square += t * t;
    }
    line.slope = sum / square;
    line.level = mean - line.slope * middle;
    for (int k = 0; k < RAMP; k++)
        line.off = fmaxf(line.off, fabsf(levels[k] - line.level - line.slope * (float)(first + k)));
    return line;
}

/* Finds the jump between both lines that has the area of the levels. False: they are no lines with a jump. */
static bool find_jump(const float levels[LEVELS], float *at)
{
    const ramp before = fit(levels, -SIDE), behind = fit(levels + LEVELS - RAMP, SPREAD + 1);
    const float jump = behind.level - before.level, turn = behind.slope - before.slope, end = (float)SPREAD + 0.5f;
    float area = 0, s = 0;
    for (int t = -SPREAD; t <= SPREAD; t++) area += levels[t + SIDE] - before.level - before.slope * (float)t;
    area -= 0.5f * BLUR * turn;
    for (int step = 0; step < STEPS; step++) {
        const float here = jump + turn * s, sum = jump * (end - s) + 0.5f * turn * (end * end - s * s);
        if (!(fabsf(here) > LEAST_JUMP * fabsf(jump))) return false;
        s += (sum - area) / here;
        if (!(fabsf(s) < MOST_MOVE)) return false;
    }
    *at = s;
    return fmaxf(before.off, behind.off) < STRAIGHT * fabsf(jump + turn * s);
}

bool plane_edge_place(const splat_camera *camera, const plane_work *work, int x, int y, const float direction[2],
                      int end, float found[2])
{
    float levels[LEVELS], more;
    if (!place_gradient(camera, work->gradient, x, y, direction, end, found)) return false;
    if (!take_levels(camera, work->smooth, found, direction, levels) || !find_jump(levels, &more)) return true;
    for (int k = 0; k < 2; k++) found[k] += more * direction[k];
    return true;
}
