/* Gains of photos from the ratios of pairs, channel by channel. */
#include "scene/sky_gains.h"

#include "base/select.h"
#include "math/photo.h"
#include "scene/sky_bins.h"

#include <math.h>
#include <stdlib.h>

#define MOST_POINTS 4000
#define DARKEST 10.0f    /* levels: darker ones are noise */
#define SLOTS 512        /* of a histogram of ratios, from -RANGE to RANGE */
#define RANGE 2.0f       /* stops */
#define WIDTH 4          /* slots of a mode, 0.03 stops */
#define LEAST_COMMON 12u /* things that have the ratio of a pair */
#define MOST_SECOND 0.75f /* of them may have another ratio */
#define MOST_WEIGHT 12.0f /* of a pair: a wall where another photo has the sky shows one wrong ratio at many things */
#define ROUNDS 5         /* of weights */
#define SWEEPS 200       /* of Gauss and Seidel in a round, at most */
#define STILL 1e-6f      /* stops: a sweep in which no gain moves farther is the last one */
#define SIGMA 0.02f      /* stops: ratios that are farther off count less */

/* Things that photos see are directions and points. */
typedef struct ratios {
    size_t n, n_things, stride; /* stride: of the points */
    float *logs;          /* [n][n_things] log2 of levels; NAN: not seen */
    float *between;       /* [n][n] log2 of the ratio of a pair */
    float *weights;       /* [n][n] 0: unknown */
    float *logs_of_gains; /* [n] */
    float *things;        /* [3][n_things] log2 of the brightness; NAN: unknown */
} ratios;

static float log_of(float level)
{
    return level >= DARKEST && level < SPLAT_PHOTO_SATURATED ? log2f(level) : NAN;
}

static void look(const sky_finder *f, const ratios *r, const sky_photo *photo, const sky_vote *votes, size_t channel,
                 float *logs)
{
    const size_t n_points = r->n_things - SKY_BINS;
    for (size_t b = 0; b < SKY_BINS; b++) logs[b] = votes[b].n ? log_of(votes[b].rgb[channel]) : NAN;
    for (size_t p = 0; p < n_points; p++) {
        const size_t pixel = sky_pixel_of_point(photo, f->scene->dataset.points[p * r->stride].position);
        logs[SKY_BINS + p] = pixel == SIZE_MAX ? NAN : log_of(photo->smooth[3 * pixel + channel]);
    }
}

/* The slots of a histogram that hold most, without those near `not`; their sum. */
static size_t mode_of(const uint32_t *counts, size_t not, uint32_t *most)
{
    size_t best = 0;
    *most = 0;
    for (size_t i = 0; i + WIDTH <= SLOTS; i++) {
        uint32_t sum = 0;
        if (i + 2 * WIDTH > not && i < not + 2 * WIDTH) continue;
        for (size_t k = 0; k < WIDTH; k++) sum += counts[i + k];
        if (sum > *most) {
            *most = sum;
            best = i;
        }
    }
    return best;
}

/* The weight of the ratio that most of what both see has, 0: unknown. Writes its log2. */
static float compare(size_t n, const float *x, const float *y, float *ratio)
{
    uint32_t counts[SLOTS] = {0}, most, second;
    float sums[SLOTS] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++) {
        const float d = x[i] - y[i];
        if (!(fabsf(d) < RANGE)) continue;
        size_t slot = (size_t)((d + RANGE) * (SLOTS / (2 * RANGE)));
        slot = slot < SLOTS ? slot : SLOTS - 1;
        counts[slot]++;
        sums[slot] += d;
    }
    const size_t at = mode_of(counts, 2 * SLOTS, &most);
    mode_of(counts, at, &second);
    for (size_t k = 0; k < WIDTH; k++) sum += sums[at + k];
    const bool is_known = most >= LEAST_COMMON && (float)second <= MOST_SECOND * (float)most;
    *ratio = is_known ? sum / (float)most : 0;
    return is_known ? fminf((float)(most - second), MOST_WEIGHT) : 0;
}

static void compare_all(ratios *r, int threads)
{
    const size_t n = r->n;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            float ratio;
            const float weight =
                compare(r->n_things, r->logs + a * r->n_things, r->logs + b * r->n_things, &ratio);
            r->between[a * n + b] = ratio;
            r->between[b * n + a] = -ratio;
            r->weights[a * n + b] = r->weights[b * n + a] = weight;
        }
}

/* Gives photo a the gain that its pairs ask for. Returns how far it moved. */
static float settle(ratios *r, size_t a, bool has_gains)
{
    float *g = r->logs_of_gains, sum = 0, weight = 0;
    for (size_t b = 0; b < r->n; b++) {
        const float w = r->weights[a * r->n + b], between = r->between[a * r->n + b];
        if (!(w > 0)) continue;
        const float off = has_gains ? (g[a] - g[b] - between) / SIGMA : 0, part = w / (1 + off * off);
        sum += part * (g[b] + between);
        weight += part;
    }
    if (!(weight > 0)) return 0;
    const float moved = fabsf(sum / weight - g[a]);
    g[a] = sum / weight;
    return moved;
}

/* Gains whose ratios are those of the pairs; ratios far from those of the gains before count less. */
static void solve(ratios *r)
{
    const size_t n = r->n;
    float *g = r->logs_of_gains, mean = 0;
    for (size_t a = 0; a < n; a++) g[a] = 0;
    for (int round = 0; round < ROUNDS; round++) {
        float moved = INFINITY;
        for (int sweep = 0; sweep < SWEEPS && moved > STILL; sweep++) {
            moved = 0;
            for (size_t a = 0; a < n; a++) moved = fmaxf(moved, settle(r, a, round > 0));
        }
    }
    for (size_t a = 0; a < n; a++) mean += g[a] / (float)n;
    for (size_t a = 0; a < n; a++) g[a] -= mean;
}

/* The brightness of things, as medians of the photos, each divided by its gain. */
static void find_things(ratios *r, float *things, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < r->n_things; i++) {
        float values[SKY_VOTERS];
        size_t n = 0;
        for (size_t a = 0; a < r->n; a++) {
            const float value = r->logs[a * r->n_things + i] - r->logs_of_gains[a];
            if (!isnan(value)) values[n++] = value;
        }
        things[i] = n ? splat_select_float(values, n, n / 2) : NAN;
    }
}

static bool make(ratios *r, size_t n, size_t n_things)
{
    *r = (ratios){.n = n, .n_things = n_things};
    r->logs = malloc(n * n_things * sizeof *r->logs);
    r->between = calloc(n * n, sizeof *r->between);
    r->weights = calloc(n * n, sizeof *r->weights);
    r->logs_of_gains = malloc(n * sizeof *r->logs_of_gains);
    r->things = malloc(3 * n_things * sizeof *r->things);
    return r->logs && r->between && r->weights && r->logs_of_gains && r->things;
}

static void drop(ratios *r)
{
    free(r->logs);
    free(r->between);
    free(r->weights);
    free(r->logs_of_gains);
    free(r->things);
}

static void find_channel(sky_finder *f, ratios *r, const sky_vote *votes, size_t step, size_t channel)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (size_t a = 0; a < r->n; a++)
        look(f, r, &f->photos[a * step], votes + a * SKY_BINS, channel, r->logs + a * r->n_things);
    compare_all(r, f->threads);
    solve(r);
    find_things(r, r->things + channel * r->n_things, f->threads);
    for (size_t a = 0; a < r->n; a++) {
        float weight = 0;
        for (size_t b = 0; b < r->n; b++) weight += r->weights[a * r->n + b];
        f->photos[a * step].gain[channel] = weight > 0 ? exp2f(r->logs_of_gains[a]) : 0;
    }
}

/* A channel without a ratio, as one at the end of its range, has the gain of the others. */
static void complete(sky_photo *photo)
{
    float sum = 0;
    int n = 0;
    for (int k = 0; k < 3; k++) {
        sum += photo->gain[k];
        n += photo->gain[k] > 0;
    }
    for (int k = 0; k < 3; k++)
        if (!(photo->gain[k] > 0)) photo->gain[k] = n ? sum / (float)n : 1;
}

/* The gain of a photo without a vote, by the things. votes: [SKY_BINS], logs: [n_things]. */
static void follow(const sky_finder *f, const ratios *r, sky_photo *photo, sky_vote *votes, float *logs)
{
    sky_bins_vote(f, photo, 0, votes);
    for (size_t k = 0; k < 3; k++) {
        float ratio;
        look(f, r, photo, votes, k, logs);
        photo->gain[k] = compare(r->n_things, logs, r->things + k * r->n_things, &ratio) > 0 ? exp2f(ratio) : 0;
    }
}

splat_status sky_gains_find(sky_finder *f, sky_vote *votes, size_t step, size_t n, splat_error *error)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const size_t n_all = dataset->random_points ? 0 : dataset->n_points, stride = n_all / MOST_POINTS + 1;
    ratios r;
    if (!make(&r, n, SKY_BINS + n_all / stride)) {
        drop(&r);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the gains of %zu photos", n);
    }
    r.stride = stride;
    for (size_t k = 0; k < 3; k++) find_channel(f, &r, votes, step, k);
    for (size_t v = 0; v < f->n; v++)
        if (v % step) follow(f, &r, &f->photos[v], votes, r.logs);
    for (size_t v = 0; v < f->n; v++) complete(&f->photos[v]);
    drop(&r);
    return SPLAT_OK;
}
