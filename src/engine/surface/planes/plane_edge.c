/* Two walls in the same light are darkest where they meet: levels fall and rise again, and the largest gradients are on
 * both sides of the corner. The corner is where the lines through the levels of both sides meet.
 *
 * Light changes towards a corner, and moves the largest gradient of a blurred photo: if levels rise by a pixel before
 * an edge, by b behind it and jump by J at it, by v (b - a) / J for a blur of variance v. A blur keeps areas, though,
 * but for the v (b - a) / 2 that it carries over the end. So lines go through the levels on both sides, and the edge is
 * where a jump from line to line has the area of the levels. */
#include "surface/planes/plane_edge.h"

#include "math/camera.h"

#include <float.h>
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
#define TURN_REACH 8     /* pixels from the gradient's place to a corner without a jump */
#define TURN_SPREAD 1    /* pixels on both sides of it that the blur rounds */
#define LEAST_RAMP 0.2f  /* of the steeper side: how steep the other one is */
#define STEEP 4.5f       /* pixels in which the steeper side changes by more than bent sides seem to jump */
#define SHARP 2.25f      /* times the steeper side's change by a pixel: that of a jump in its middle */
#define RAMP_OFF 0.25f   /* of a side's change by a pixel: how far its levels are off their line */

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
    if (!most) return false;
    if (!(sum > 0)) { /* it is as large all along */
        const long p = plane_rim_step(c, x, y, direction, top);
        sum = 1;
        at[0] = (float)(p % width) + 0.5f;
        at[1] = (float)(p / width) + 0.5f;
    }
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

/* Levels of a channel a pixel apart, up to `reach` on both sides of a place. False: outside. */
static bool sample(const splat_camera *c, const uint16_t *channel, const float place[2], const float direction[2],
                   int reach, float *levels)
{
    for (int t = -reach; t <= reach; t++)
        if (!level_at(c, channel, place[0] + direction[0] * (float)t, place[1] + direction[1] * (float)t,
                      &levels[t + reach]))
            return false;
    return true;
}

/* The levels of the channel that differs most across the edge. False: outside. */
static bool take_levels(const splat_camera *c, const uint16_t *smooth, const float at[2], const float direction[2],
                        float levels[LEVELS])
{
    const size_t n = splat_camera_pixels(c);
    float most = -1, own[LEVELS];
    for (size_t channel = 0; channel < 3; channel++) {
        if (!sample(c, smooth + channel * n, at, direction, SIDE, own)) return false;
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

/* The place of an edge, pixels from the gradient's: of a jump of so many levels, or where two lines meet, and how much
 * the steeper one changes by a pixel. sharp: the largest change by a pixel at a jump, times its steeper side's. */
typedef struct finding {
    float at, height, sharp;
} finding;

/* The largest change of the levels by a pixel in the middle, times the larger slope of both sides. */
static float sharpness(const float levels[LEVELS], const ramp *before, const ramp *behind)
{
    float most = 0;
    for (int t = -SPREAD; t < SPREAD; t++) most = fmaxf(most, fabsf(levels[t + SIDE + 1] - levels[t + SIDE]));
    return most / (fmaxf(fabsf(before->slope), fabsf(behind->slope)) + FLT_MIN);
}

/* Finds the jump between both lines that has the area of the levels. False: they are no lines with a jump. */
static bool find_jump(const float levels[LEVELS], finding *found)
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
    *found = (finding){s, fabsf(jump + turn * s), sharpness(levels, &before, &behind)};
    return fmaxf(before.off, behind.off) < STRAIGHT * found->height;
}

/* ---------------------------------------------------------------- a corner without a jump */

enum { FAR = TURN_REACH + SIDE, PROFILE = 2 * FAR + 1 };

/* The darkest or the lightest place of a profile within two pixels around `middle`, by the lines of both sides. */
static bool is_turn(const float *levels, int middle, finding *found)
{
    const float here = levels[middle], left = levels[middle - SPREAD], right = levels[middle + SPREAD];
    if (!((here < left && here < right) || (here > left && here > right))) return false;
    const ramp before = fit(levels + middle - TURN_SPREAD - RAMP, -TURN_SPREAD - RAMP);
    const ramp behind = fit(levels + middle + TURN_SPREAD + 1, TURN_SPREAD + 1);
    const float least = fminf(fabsf(before.slope), fabsf(behind.slope));
    const float most = fmaxf(fabsf(before.slope), fabsf(behind.slope));
    if (!(before.slope * behind.slope < 0) || (before.slope < 0) != (here < left)) return false;
    if (!(least > LEAST_RAMP * most) || !(fmaxf(before.off, behind.off) < RAMP_OFF * least)) return false;
    const float at = (before.level - behind.level) / (behind.slope - before.slope);
    *found = (finding){.at = at, .height = most};
    return fabsf(found->at) < MOST_MOVE;
}

/* The one nearest to the gradient's place. */
static bool find_turn(const splat_camera *c, const uint16_t *smooth, const float place[2], const float direction[2],
                      finding *found)
{
    const size_t n = splat_camera_pixels(c);
    float levels[PROFILE] = {0}, own[PROFILE];
    for (size_t channel = 0; channel < 3; channel++) {
        if (!sample(c, smooth + channel * n, place, direction, FAR, own)) return false;
        for (size_t i = 0; i < PROFILE; i++) levels[i] += own[i] / 3;
    }
    for (int k = 0; k <= 2 * TURN_REACH; k++) {
        const int t = k % 2 ? (k + 1) / 2 : -k / 2;
        if (!is_turn(levels, FAR + t, found)) continue;
        found->at += (float)t;
        return true;
    }
    return false;
}

bool plane_edge_place(const splat_camera *camera, const plane_work *work, int x, int y, const float direction[2],
                      int end, float found[2])
{
    float levels[LEVELS];
    finding jump = {0}, turn = {0};
    if (!place_gradient(camera, work->gradient, x, y, direction, end, found)) return false;
    const bool jumps = take_levels(camera, work->smooth, found, direction, levels) && find_jump(levels, &jump);
    const bool turns = find_turn(camera, work->smooth, found, direction, &turn);
    /* sides that become steeper towards a corner seem to jump on the way to it */
    const bool is_bent = turns && jump.height < STEEP * turn.height && jump.sharp < SHARP;
    const float by = jumps && !is_bent ? jump.at : turns ? turn.at : 0;
    for (int k = 0; k < 2; k++) found[k] += by * direction[k];
    return true;
}
