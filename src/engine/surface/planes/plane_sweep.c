/* A cost of each depth at each cell, paths over the cells in four directions, and the depth of the least sum. */
#include "surface/planes/plane_sweep.h"

#include "surface/planes/plane_levels.h"
#include "surface/planes/plane_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.03f        /* of the depth, between those asked */
#define MOST_COST 5.0f    /* ln(1 + residual / noise) */
#define UNKNOWN_COST 2.5f /* where too few views see the place */
#define RIM_COST 0.5f     /* of a depth far from a seed */
#define RIM_WIDTH 0.06f   /* of the depth: that is far */
#define BEND_COST 0.25f   /* of a step between neighbours */
#define JUMP_COST 2.0f    /* of any */
#define DECISIVE 1.0f     /* the cost of the best other depth, farther than: */
#define APART 4           /* steps */
#define FOUND_SIGMA 0.015f
#define GUESSED_SIGMA 0.06f

typedef struct sweeper {
    plane_sweep_cell *cells;
    size_t columns, rows, n_labels;
    float *costs, *sums; /* [rows][columns][n_labels] */
} sweeper;

static float q_of(float most, size_t label)
{
    return most * expf(-STEP * (float)label);
}

static void ask(const plane_shade *shade, uint32_t view, const sweeper *s, size_t i, float most, float noise)
{
    const plane_sweep_cell *cell = &s->cells[i];
    float *costs = s->costs + i * s->n_labels, q[PLANE_LEVELS_PLACES], residuals[PLANE_LEVELS_PLACES];
    for (size_t k = 0; k < s->n_labels; k++) q[k] = q_of(most, k);
    plane_shade_residuals_along(shade, view, cell->x, cell->y, q, (uint32_t)s->n_labels, residuals);
    for (size_t k = 0; k < s->n_labels; k++) {
        float r = residuals[k];
        costs[k] = r < INFINITY ? fminf(logf(1 + r / noise), MOST_COST) : UNKNOWN_COST;
        if (cell->rim > 0) costs[k] += RIM_COST * fminf(fabsf(logf(q[k] / cell->rim)) / RIM_WIDTH, 1);
    }
}

/* path = the costs of a cell, after those of the one before it on the path (NULL: it begins). */
static void go(const sweeper *s, const float *before, const float *costs, float *path)
{
    size_t n = s->n_labels;
    if (!before) {
        memcpy(path, costs, n * sizeof *path);
        return;
    }
    float least = INFINITY;
    for (size_t k = 0; k < n; k++) least = fminf(least, before[k]);
    for (size_t k = 0; k < n; k++) path[k] = fminf(before[k] - least, JUMP_COST);
    for (size_t k = 1; k < n; k++) path[k] = fminf(path[k], path[k - 1] + BEND_COST);
    for (size_t k = n - 1; k-- > 0;) path[k] = fminf(path[k], path[k + 1] + BEND_COST);
    for (size_t k = 0; k < n; k++) path[k] += costs[k];
}

/* One direction along a line of cells. two: [2][n_labels], work. */
static void walk(const sweeper *s, size_t first, size_t step, size_t count, bool back, float *two)
{
    const float *before = NULL;
    for (size_t k = 0; k < count; k++) {
        size_t i = first + step * (back ? count - 1 - k : k);
        float *path = two + (k % 2) * s->n_labels;
        if (!s->cells[i].is_in) {
            before = NULL;
            continue;
        }
        go(s, before, s->costs + i * s->n_labels, path);
        for (size_t l = 0; l < s->n_labels; l++) s->sums[i * s->n_labels + l] += path[l];
        before = path;
    }
}

static void decide(const sweeper *s, size_t i, float most)
{
    const float *sums = s->sums + i * s->n_labels, *costs = s->costs + i * s->n_labels;
    size_t best = 0, n = s->n_labels;
    float other = INFINITY, shift = 0;
    for (size_t k = 1; k < n; k++)
        if (sums[k] < sums[best]) best = k;
    for (size_t k = 0; k < n; k++)
        if ((k > best ? k - best : best - k) > APART) other = fminf(other, sums[k]);
    if (best > 0 && best + 1 < n) {
        float before = sums[best - 1] - sums[best], after = sums[best + 1] - sums[best];
        if (before + after > 0) shift = 0.5f * (before - after) / (before + after);
    }
    s->cells[i].q = most * expf(-STEP * ((float)best + shift));
    s->cells[i].sigma = other - sums[best] > DECISIVE && costs[best] < 0.7f * MOST_COST ? FOUND_SIGMA : GUESSED_SIGMA;
}

splat_status plane_sweep(const plane_shade *shade, uint32_t view, plane_sweep_cell *cells, size_t columns, size_t rows,
                         float least, float most, float noise, splat_error *error)
{
    size_t n = columns * rows, n_labels = (size_t)(logf(most / least) / STEP) + 1;
    if (n_labels > PLANE_LEVELS_PLACES) n_labels = PLANE_LEVELS_PLACES;
    sweeper s = {cells, columns, rows, n_labels, calloc(n * n_labels + 1, sizeof(float)),
                 calloc(n * n_labels + 1, sizeof(float))};
    float *two = malloc(2 * n_labels * sizeof *two);
    bool ok = s.costs && s.sums && two;
    for (size_t i = 0; i < n && ok; i++)
        if (cells[i].is_in) ask(shade, view, &s, i, most, noise);
    for (int back = 0; back < 2 && ok; back++) {
        for (size_t y = 0; y < rows; y++) walk(&s, y * columns, 1, columns, back, two);
        for (size_t x = 0; x < columns; x++) walk(&s, x, columns, rows, back, two);
    }
    for (size_t i = 0; i < n && ok; i++)
        if (cells[i].is_in) decide(&s, i, most);
    free(s.costs);
    free(s.sums);
    free(two);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu depths of %zu cells", n_labels, n);
}
