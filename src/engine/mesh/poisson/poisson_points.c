/* The points of the Poisson reconstruction: checks, the cube, Morton order, and how dense they lie. */
#include "mesh/poisson/poisson_points.h"

#include "mesh/poisson/poisson_octree.h"

#include <math.h>
#include <string.h>

/* Checks a point. Errors: NUMERIC, ARGUMENT. */
static splat_status check_point(const poisson_job *job, size_t i, splat_error *error)
{
    const splat_poisson_points *points = job->input;
    const float *p = points->positions + 3 * i, *n = points->normals + 3 * i;
    for (int a = 0; a < 3; a++)
        if (!isfinite(p[a]) || !isfinite(n[a]))
            return splat_fail(error, SPLAT_ERROR_NUMERIC, "point %zu of %zu has a position or normal that is not "
                              "finite; remove it before the reconstruction", i, points->n);
    if (points->weights && !(points->weights[i] >= 1e-6f && points->weights[i] <= 1e6f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %zu of %zu has the weight %g; weights are from 1e-6 to "
                          "1e6", i, points->n, (double)points->weights[i]);
    if (n[0] == 0 && n[1] == 0 && n[2] == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %zu of %zu has a normal of length zero; remove it before "
                          "the reconstruction", i, points->n);
    return SPLAT_OK;
}

static splat_status check_points(poisson_job *job, float low[3], float high[3])
{
    const splat_poisson_points *points = job->input;
    size_t first_bad = SIZE_MAX;
    if (points->n < SPLAT_POISSON_MIN_POINTS || points->n > INT32_MAX)
        return splat_fail(job->error, SPLAT_ERROR_ARGUMENT, "a Poisson reconstruction needs %d to 2^31 - 1 points, "
                          "here are %zu", SPLAT_POISSON_MIN_POINTS, points->n);
    if (!points->positions || !points->normals)
        return splat_fail(job->error, SPLAT_ERROR_ARGUMENT, "a Poisson reconstruction needs positions and normals");
    for (int a = 0; a < 3; a++) low[a] = high[a] = points->positions[a];
#pragma omp parallel for num_threads(job->options->threads) schedule(static)                                           \
    reduction(min : first_bad, low[:3]) reduction(max : high[:3])
    for (size_t i = 0; i < points->n; i++) {
        if (check_point(job, i, NULL) != SPLAT_OK && i < first_bad) first_bad = i;
        for (int a = 0; a < 3; a++) {
            float x = points->positions[3 * i + (size_t)a];
            low[a] = x < low[a] ? x : low[a];
            high[a] = x > high[a] ? x : high[a];
        }
    }
    return first_bad == SIZE_MAX ? SPLAT_OK : check_point(job, first_bad, job->error);
}

static splat_status place_cube(poisson_job *job)
{
    float low[3], high[3];
    SPLAT_TRY(check_points(job, low, high));
    double side = 0, reach = 0;
    for (int a = 0; a < 3; a++) {
        side = fmax(side, (double)high[a] - low[a]);
        reach = fmax(reach, fmax(fabs((double)low[a]), fabs((double)high[a])));
    }
    side *= job->options->scale;
    /* below this, float has a few steps from one end of the points to the other */
    if (side < reach * 1e-6 || side < 1e-30 || side > 1e30)
        return splat_fail(job->error, SPLAT_ERROR_ARGUMENT, "the points lie within %g units of each other, at most %g "
                          "from the origin: no surface can be found from that", side / job->options->scale, reach);
    job->side = (float)side;
    for (int a = 0; a < 3; a++) job->origin[a] = (float)(0.5 * ((double)low[a] + high[a]) - 0.5 * side);
    return SPLAT_OK;
}

static void to_cube(const poisson_job *job, const float *point, float out[3])
{
    for (int a = 0; a < 3; a++) {
        float t = (point[a] - job->origin[a]) / job->side;
        out[a] = t < 0 ? 0 : t > 0.99999994f ? 0.99999994f : t; /* the largest float below 1 */
    }
}

/* A bit a level and axis, interleaved. */
static uint64_t morton_code(const float position[3])
{
    uint64_t code = 0;
    for (int a = 0; a < 3; a++) {
        uint64_t x = (uint64_t)(position[a] * (float)(1 << SPLAT_POISSON_MAX_DEPTH));
        for (int bit = 0; bit < SPLAT_POISSON_MAX_DEPTH; bit++) code |= (x >> bit & 1) << (3 * bit + a);
    }
    return code;
}

typedef struct sort_item { uint64_t code; uint32_t index; } sort_item;

/* A third of a code is a digit. */
enum { DIGIT_BITS = SPLAT_POISSON_MAX_DEPTH, DIGITS = 1 << DIGIT_BITS, SORT_BLOCKS = 32 };

static uint32_t digit_of(const sort_item *item, int shift)
{
    return (uint32_t)(item->code >> shift) & (DIGITS - 1);
}

/* A stable pass by the digit from bit `shift` on; blocks count their items of each digit, and then put them behind
 * those of the blocks before. */
static void sort_pass(const sort_item *items, sort_item *out, size_t n, int shift, int threads,
                      uint32_t (*counts)[DIGITS])
{
    size_t length = (n + SORT_BLOCKS - 1) / SORT_BLOCKS;
    uint32_t sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t b = 0; b < SORT_BLOCKS; b++) {
        memset(counts[b], 0, sizeof counts[b]);
        for (size_t i = b * length; i < n && i < (b + 1) * length; i++) counts[b][digit_of(&items[i], shift)]++;
    }
    for (int k = 0; k < DIGITS; k++)
        for (int b = 0; b < SORT_BLOCKS; b++) {
            uint32_t count = counts[b][k];
            counts[b][k] = sum;
            sum += count;
        }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t b = 0; b < SORT_BLOCKS; b++)
        for (size_t i = b * length; i < n && i < (b + 1) * length; i++)
            out[counts[b][digit_of(&items[i], shift)]++] = items[i];
}

static splat_status order_samples(poisson_job *job, poisson_samples *samples)
{
    sort_item *items = NULL, *other = NULL;
    uint32_t (*counts)[DIGITS] = NULL;
    int threads = job->options->threads;
    splat_status status;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &items, samples->n, sizeof *items));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &other, samples->n, sizeof *other));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &counts, SORT_BLOCKS, sizeof *counts));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < samples->n; i++) {
        float position[3];
        to_cube(job, job->input->positions + 3 * i, position);
        items[i] = (sort_item){morton_code(position), (uint32_t)i};
    }
    sort_pass(items, other, samples->n, 0, threads, counts); /* equal codes stay in the order of the input */
    sort_pass(other, items, samples->n, DIGIT_BITS, threads, counts);
    sort_pass(items, other, samples->n, 2 * DIGIT_BITS, threads, counts);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < samples->n; i++) {
        samples->order[i] = other[i].index;
        to_cube(job, job->input->positions + 3 * (size_t)other[i].index, samples->position[i]);
    }
end:
    poisson_free(job, counts);
    poisson_free(job, items);
    poisson_free(job, other);
    return status;
}

splat_status poisson_samples_make(poisson_job *job, poisson_samples *samples)
{
    memset(samples, 0, sizeof *samples);
    SPLAT_TRY(place_cube(job));
    samples->n = job->input->n;
    SPLAT_TRY(poisson_alloc(job, &samples->position, samples->n, sizeof *samples->position));
    SPLAT_TRY(poisson_alloc(job, &samples->area, samples->n, sizeof *samples->area));
    SPLAT_TRY(poisson_alloc(job, &samples->depth, samples->n, sizeof *samples->depth));
    SPLAT_TRY(poisson_alloc(job, &samples->order, samples->n, sizeof *samples->order));
    return order_samples(job, samples);
}

void poisson_samples_free(poisson_job *job, poisson_samples *samples)
{
    poisson_free(job, samples->position);
    poisson_free(job, samples->area);
    poisson_free(job, samples->depth);
    poisson_free(job, samples->order);
}

/* ---------------------------------------------------------------- density */

/* Samples and their weights, spread over the corners of their cells of one level. */
typedef struct counting {
    const poisson_job *job;
    const poisson_samples *samples;
    const poisson_level *level;
    int d;
    float *count, *weight; /* [n_corners]; weight may be NULL */
} counting;

/* sums: 8 counts, 8 weights. */
static void count_samples(const void *user, const poisson_run *run, double *sums)
{
    const counting *c = user;
    for (uint32_t i = run->begin; i < run->end; i++) {
        float weights[8], own = poisson_sample_weight(c->job, c->samples->order[i]);
        poisson_weights(c->level, c->d, run->cell, c->samples->position[i], weights);
        for (int k = 0; k < 8; k++) {
            sums[k] += weights[k];
            sums[8 + k] += (double)own * weights[k];
        }
    }
}

static void put_counts(const void *user, const poisson_run *run, size_t number, const double *sums)
{
    const counting *c = user;
    (void)number;
    for (int k = 0; k < 8; k++) {
        uint32_t corner = poisson_corner(c->level, run->cell, k);
        c->count[corner] += (float)sums[k];
        if (c->weight) c->weight[corner] += (float)sums[8 + k];
    }
}

static splat_status count_level(poisson_job *job, poisson_density *density, const poisson_samples *samples, int d,
                                const uint32_t *cell_of_sample)
{
    counting c = {job, samples, &density->tree.level[d], d, density->count[d], density->weight[d]};
    poisson_summing summing = {16, count_samples, put_counts, &c};
    poisson_runs runs;
    SPLAT_TRY(poisson_runs_make(job, &runs, cell_of_sample, samples->n));
    splat_status status = poisson_sum_runs(job, c.level, &runs, &summing);
    poisson_free(job, runs.run);
    return status;
}

/* Samples a cell of a surface of the density that is counted at the corners. Spreading and interpolating weigh a sample
 * with a cubic B-spline of the distance, on average, of which a plane through the middle sees 2/3 (along an axis) to
 * 0.69 (along a diagonal). */
static double samples_in_cell(const poisson_density *density, int d, uint32_t cell, const float position[3])
{
    float weights[8];
    poisson_weights(&density->tree.level[d], d, cell, position, weights);
    return 1.47 * poisson_interpolate(&density->tree.level[d], cell, weights, density->count[d]);
}

/* Samples in a cell of level *level: the deepest that holds enough to tell, or the top. Where a level below holds less,
 * this one's surplus lies farther away: four times enough is all that counts, or else a place far from a dense surface
 * would seem as dense. */
static double measure(const poisson_density *density, double samples_per_node, const float position[3], int *level)
{
    uint32_t cells[POISSON_MAX_LEVELS];
    int d = poisson_descend(&density->tree, position, cells);
    double n = samples_in_cell(density, d, cells[d], position);
    while (n < samples_per_node && d > 0) {
        d--;
        n = samples_in_cell(density, d, cells[d], position);
    }
    *level = d;
    if (d + 1 < density->tree.n_levels && n > 4 * samples_per_node) return 4 * samples_per_node;
    return n > 1e-6 ? n : 1e-6; /* at the top, at a corner of the cube without a sample near */
}

/* Points on a surface: a cell half as wide holds a quarter. */
static double depth_of(int level, double n, double samples_per_node)
{
    return level + 0.5 * log2(n / samples_per_node);
}

float poisson_density_depth(const poisson_density *density, double samples_per_node, const float position[3])
{
    int level;
    double n = measure(density, samples_per_node, position, &level);
    return (float)depth_of(level, n, samples_per_node);
}

/* The mean weight of the samples around a position; far samples count as little as in the density. */
static double mean_weight(const poisson_density *density, int d, const float position[3])
{
    uint32_t cells[POISSON_MAX_LEVELS];
    float weights[8];
    poisson_descend(&density->tree, position, cells);
    poisson_weights(&density->tree.level[d], d, cells[d], position, weights);
    return (double)poisson_interpolate(&density->tree.level[d], cells[d], weights, density->weight[d]) /
           (double)poisson_interpolate(&density->tree.level[d], cells[d], weights, density->count[d]);
}

static void measure_samples(poisson_job *job, const poisson_density *density, poisson_samples *samples)
{
    double wanted = job->options->samples_per_node;
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < samples->n; i++) {
        int level;
        double n = measure(density, wanted, samples->position[i], &level), depth = depth_of(level, n, wanted);
        double share = 1;
        if (job->input->weights)
            share = (double)job->input->weights[samples->order[i]] /
                    mean_weight(density, level, samples->position[i]);
        samples->area[i] = (float)(share * ldexp(1, -2 * level) / n);
        samples->depth[i] = (float)fmin(fmax(depth, POISSON_FULL_DEPTH), job->options->depth);
    }
}

splat_status poisson_density_make(poisson_job *job, poisson_density *density, poisson_samples *samples)
{
    uint32_t *cell_of_sample = NULL;
    splat_status status;
    memset(density, 0, sizeof *density);
    /* two levels up a cell holds 16 times as many samples, so that the count is no accident */
    SPLAT_TRY_GOTO(status, end,
                   poisson_octree_build(job, &density->tree, samples, NULL, job->options->depth - 2, 0, false));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_sample, samples->n, sizeof *cell_of_sample));
    for (int d = 0; d < density->tree.n_levels; d++) {
        SPLAT_TRY_GOTO(status, end, poisson_progress(job, "density", 0.05 + 0.05 * d / density->tree.n_levels));
        SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &density->count[d], density->tree.level[d].n_corners, 4));
        if (job->input->weights)
            SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &density->weight[d], density->tree.level[d].n_corners, 4));
        SPLAT_TRY_GOTO(status, end, count_level(job, density, samples, d, cell_of_sample));
        if (d + 1 == density->tree.n_levels) break;
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t i = 0; i < samples->n; i++) /* every sample is in a cell of every level of this tree */
            cell_of_sample[i] = poisson_step_down(&density->tree, d, cell_of_sample[i], samples->position[i]);
    }
    measure_samples(job, density, samples);
end:
    poisson_free(job, cell_of_sample);
    return status;
}

void poisson_density_free(poisson_job *job, poisson_density *density)
{
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) {
        poisson_free(job, density->count[d]);
        poisson_free(job, density->weight[d]);
    }
    poisson_octree_free(job, &density->tree);
}
