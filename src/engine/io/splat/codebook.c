/* Few values for many. */
#include "io/splat/codebook.h"

#include "base/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = SPLAT_CODEBOOK_SIZE, N_ROUNDS = 40, MAX_WIDTH = 64, N_POWER_STEPS = 3 };

/* ---------------------------------------------------------------- numbers */

/* How many of sorted values are below a bound. */
static size_t count_below(const float *sorted, size_t n, double bound)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((double)sorted[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* sums[i]: of the first i values. */
static void move_to_means(const float *sorted, const double *sums, size_t n, float codebook[N])
{
    size_t first = 0;
    for (int k = 0; k < N; k++) {
        double bound = k + 1 < N ? 0.5 * ((double)codebook[k] + (double)codebook[k + 1]) : HUGE_VAL;
        size_t end = count_below(sorted, n, bound);
        if (end > first) codebook[k] = (float)((sums[end] - sums[first]) / (double)(end - first));
        first = end > first ? end : first;
    }
}

splat_status splat_codebook_make(const float *values, size_t n, float codebook[N], splat_error *error)
{
    float *sorted = malloc((n + 1) * sizeof *sorted);
    double *sums = malloc((n + 1) * sizeof *sums);
    memset(codebook, 0, N * sizeof *codebook);
    splat_status status = SPLAT_OK;
    if (!sorted || !sums) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a codebook of %zu numbers", n);
    } else if (n > 0) {
        memcpy(sorted, values, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, splat_compare_floats);
        sums[0] = 0;
        for (size_t i = 0; i < n; i++) sums[i + 1] = sums[i] + (double)sorted[i];
        double low = (double)sorted[0], size = (double)sorted[n - 1] - low;
        for (int k = 0; k < N; k += 2) { /* where the many are, and where the few are */
            codebook[k] = sorted[(size_t)((k / 2 + 0.5) / (N / 2) * (double)n)];
            codebook[k + 1] = (float)(low + size * (k / 2) / (N / 2 - 1));
        }
        qsort(codebook, N, sizeof *codebook, splat_compare_floats);
        for (int round = 0; round < N_ROUNDS; round++) move_to_means(sorted, sums, n, codebook);
        qsort(codebook, N, sizeof *codebook, splat_compare_floats); /* empty cells stay behind */
    }
    free(sorted);
    free(sums);
    return status;
}

uint8_t splat_codebook_find(const float codebook[N], float value)
{
    size_t above = count_below(codebook, N, (double)value);
    if (above == 0) return 0;
    if (above == N) return N - 1;
    return (uint8_t)(value - codebook[above - 1] <= codebook[above] - value ? above - 1 : above);
}

/* ---------------------------------------------------------------- rows */

typedef struct set {
    size_t first, n; /* in the order of rows */
    double error;    /* sum of squares about the mean; 0: not to be cut */
} set;

typedef struct cutter {
    const float *rows;
    size_t width;
    uint32_t *order;
    float mean[MAX_WIDTH], axis[MAX_WIDTH];
} cutter;

static void find_mean(cutter *c, const set *s)
{
    double sum[MAX_WIDTH] = {0};
    for (size_t i = s->first; i < s->first + s->n; i++)
        for (size_t k = 0; k < c->width; k++) sum[k] += (double)c->rows[c->order[i] * c->width + k];
    for (size_t k = 0; k < c->width; k++) c->mean[k] = (float)(sum[k] / (double)s->n);
}

/* The sum of squares about the mean. */
static double find_error(cutter *c, const set *s)
{
    double sum[MAX_WIDTH] = {0}, total = 0;
    find_mean(c, s);
    for (size_t i = s->first; i < s->first + s->n; i++)
        for (size_t k = 0; k < c->width; k++) {
            double d = (double)(c->rows[c->order[i] * c->width + k] - c->mean[k]);
            sum[k] += d * d;
        }
    for (size_t k = 0; k < c->width; k++) total += sum[k];
    return total;
}

static float project(const cutter *c, const float *row)
{
    float dot = 0;
    for (size_t k = 0; k < c->width; k++) dot += (row[k] - c->mean[k]) * c->axis[k];
    return dot;
}

/* Steps of the power method, from the row farthest from the mean. */
static void find_axis(cutter *c, const set *s)
{
    float farthest = -1;
    for (size_t i = s->first; i < s->first + s->n; i++) {
        const float *row = c->rows + c->order[i] * c->width;
        float square = 0;
        for (size_t k = 0; k < c->width; k++) square += (row[k] - c->mean[k]) * (row[k] - c->mean[k]);
        if (square <= farthest) continue;
        farthest = square;
        for (size_t k = 0; k < c->width; k++) c->axis[k] = row[k] - c->mean[k];
    }
    for (int step = 0; step < N_POWER_STEPS; step++) {
        double sum[MAX_WIDTH] = {0}, norm = 0;
        for (size_t i = s->first; i < s->first + s->n; i++) {
            const float *row = c->rows + c->order[i] * c->width;
            float dot = project(c, row);
            for (size_t k = 0; k < c->width; k++) sum[k] += (double)(dot * (row[k] - c->mean[k]));
        }
        for (size_t k = 0; k < c->width; k++) norm += sum[k] * sum[k];
        if (!(norm > 0)) return;
        for (size_t k = 0; k < c->width; k++) c->axis[k] = (float)(sum[k] / sqrt(norm));
    }
}

/* Rows below the mean along the axis first; returns how many they are. */
static size_t cut(cutter *c, const set *s)
{
    size_t low = s->first, high = s->first + s->n;
    find_mean(c, s);
    find_axis(c, s);
    while (low < high) {
        uint32_t row = c->order[low];
        if (project(c, c->rows + row * c->width) < 0) {
            low++;
        } else {
            c->order[low] = c->order[--high];
            c->order[high] = row;
        }
    }
    return low - s->first;
}

/* A heap with the largest error on top. */
static void sift_down(set *sets, size_t n, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && sets[child + 1].error > sets[child].error) child++;
        if (sets[at].error >= sets[child].error) return;
        set kept = sets[at];
        sets[at] = sets[child];
        sets[child] = kept;
    }
}

static void sift_up(set *sets, size_t at)
{
    for (size_t parent; at > 0 && sets[parent = (at - 1) / 2].error < sets[at].error; at = parent) {
        set kept = sets[at];
        sets[at] = sets[parent];
        sets[parent] = kept;
    }
}

static size_t cut_sets(cutter *c, set *sets, size_t n, size_t n_wanted)
{
    size_t n_sets = 1;
    sets[0] = (set){0, n, 0};
    sets[0].error = find_error(c, &sets[0]);
    while (n_sets < n_wanted && sets[0].error > 0) {
        set whole = sets[0];
        size_t n_low = cut(c, &whole);
        if (n_low == 0 || n_low == whole.n) { /* rounding: nothing is left to cut */
            sets[0].error = 0;
            sift_down(sets, n_sets, 0);
            continue;
        }
        set low = {whole.first, n_low, 0}, high = {whole.first + n_low, whole.n - n_low, 0};
        low.error = low.n > 1 ? find_error(c, &low) : 0;
        high.error = high.n > 1 ? find_error(c, &high) : 0;
        sets[0] = low;
        sift_down(sets, n_sets, 0);
        sets[n_sets] = high;
        sift_up(sets, n_sets++);
    }
    return n_sets;
}

splat_status splat_palette_make(const float *rows, size_t n, size_t width, size_t n_colors, float *colors,
                                size_t *n_made, uint32_t *labels, splat_error *error)
{
    cutter c = {.rows = rows, .width = width};
    set *sets = malloc(n_colors * sizeof *sets);
    c.order = malloc(n * sizeof *c.order);
    splat_status status = SPLAT_OK;
    *n_made = 0;
    if (!sets || !c.order) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a palette of %zu rows", n);
    } else {
        for (size_t i = 0; i < n; i++) c.order[i] = (uint32_t)i;
        *n_made = cut_sets(&c, sets, n, n_colors);
        for (size_t s = 0; s < *n_made; s++) {
            find_mean(&c, &sets[s]);
            memcpy(colors + s * width, c.mean, width * sizeof *colors);
            for (size_t i = sets[s].first; i < sets[s].first + sets[s].n; i++) labels[c.order[i]] = (uint32_t)s;
        }
    }
    free(sets);
    free(c.order);
    return status;
}
