/* Gains of photos by alternating medians, and the noise that is left. */
#include "surface/planes/plane_gains.h"

#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 8            /* pixels of the small photo between places */
#define MOST 512          /* places of a view */
#define LEAST 16          /* of them, for a gain */
#define KEPT 0.5          /* of the places: those where the views agree best */
#define ROUNDS 40
#define EQUAL 0.01f       /* gains that deviate by less are 1 */
#define LEAST_NOISE 0.03f /* levels */

/* A place, and its levels in the views that see it. */
typedef struct sample {
    uint32_t n, views[PLANE_SHADE_VIEWS];
    float levels[PLANE_SHADE_VIEWS], residual; /* residual: INFINITY where there is no plane */
} sample;

/* The surface at a pixel: its plane, or the splat's depth where the photo has texture. */
static bool slant_at(const plane_shade *shade, const plane_global *planes, const plane_site *site, size_t pixel,
                     bool *is_plane, plane_slant *slant)
{
    const splat_view_map *map = &shade->maps->views[site->view];
    const plane_view *view = &shade->views[site->view];
    uint32_t label = view->labels[pixel];
    *is_plane = label >> PLANE_LABEL_SHIFT;
    if (!label) return plane_shade_slant_of_map(map, pixel, slant);
    if (!*is_plane) return false;
    const plane_segment *segment = &view->segments[(label & PLANE_LABEL_SEGMENT) - 1];
    uint16_t plane = segment->planes[(label >> PLANE_LABEL_SHIFT) - 1];
    return plane_shade_slant(&map->camera, &planes[plane].fit, site->x, site->y, slant);
}

/* Places of one view; returns how many. */
static uint32_t take(const plane_shade *shade, const plane_global *planes, uint32_t v, size_t channel, sample *samples)
{
    const splat_camera *c = &shade->maps->views[v].camera;
    int step = STEP * shade->views[v].shade_side;
    uint32_t n = 0;
    for (int y = step / 2; y < c->height; y += step)
        for (int x = step / 2; x < c->width && n < MOST; x += step) {
            plane_site site = {.view = v, .x = (float)x + 0.5f, .y = (float)y + 0.5f};
            plane_slant slant;
            bool is_plane;
            if (!slant_at(shade, planes, &site, (size_t)y * (size_t)c->width + (size_t)x, &is_plane, &slant)) continue;
            plane_shade_look(shade, &slant, &site);
            sample *s = &samples[n];
            s->residual = is_plane ? plane_shade_residual(shade, &site, &slant) : INFINITY;
            s->n = plane_shade_levels(shade, &site, &slant, channel, s->views, s->levels);
            n += s->n >= PLANE_SHADE_LEAST;
        }
    return n;
}

typedef struct samples {
    sample *all;       /* [n_views][MOST] */
    uint32_t *counts;  /* [n_views] */
    size_t n_views;
    size_t *first;     /* [n_views + 1] of the levels of a view: */
    uint32_t *entries; /* sample * PLANE_SHADE_VIEWS + number in it */
    float *values;     /* [first[n_views]] work */
    float *medians;    /* [n_views * MOST] of samples, with gains */
    float *spreads;    /* [n_views * MOST] their middle halves, of the medians */
} samples;

static void samples_free(samples *s)
{
    free(s->all);
    free(s->counts);
    free(s->first);
    free(s->entries);
    free(s->values);
    free(s->medians);
    free(s->spreads);
}

static splat_status fail(samples *s, splat_error *error)
{
    size_t n = s->n_views;
    samples_free(s);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the light of %zu photos", n);
}

/* Lists the levels of each view. */
static bool sort_by_view(samples *s)
{
    s->first = calloc(s->n_views + 2, sizeof *s->first);
    if (!s->first) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < s->n_views * MOST; i++)
            for (uint32_t k = 0; i % MOST < s->counts[i / MOST] && k < s->all[i].n; k++) {
                size_t *at = &s->first[s->all[i].views[k] + 1];
                if (pass) s->entries[*at] = (uint32_t)(i * PLANE_SHADE_VIEWS + k);
                ++*at;
            }
        if (pass) break;
        /* first[v + 1] counts view v; it becomes where the view begins, and the second pass moves it to its end */
        size_t sum = 0;
        for (size_t v = 0; v < s->n_views; v++) {
            size_t count = s->first[v + 1];
            s->first[v + 1] = sum;
            sum += count;
        }
        s->entries = malloc((sum + 1) * sizeof *s->entries);
        s->values = malloc((sum + 1) * sizeof *s->values);
        s->medians = malloc((s->n_views * MOST + 1) * sizeof *s->medians);
        s->spreads = malloc(2 * (s->n_views * MOST + 1) * sizeof *s->spreads);
        if (!s->entries || !s->values || !s->medians || !s->spreads) return false;
    }
    return true;
}

static splat_status samples_take(const plane_shade *shade, const plane_global *planes, size_t channel, int threads,
                                 samples *s, splat_error *error)
{
    size_t n = shade->maps->n;
    *s = (samples){.all = malloc((n * MOST + 1) * sizeof *s->all), .counts = calloc(n + 1, sizeof *s->counts),
                   .n_views = n};
    if (!s->all || !s->counts) return fail(s, error);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < n; v++) s->counts[v] = take(shade, planes, (uint32_t)v, channel, s->all + v * MOST);
    return sort_by_view(s) ? SPLAT_OK : fail(s, error);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float part_of(float *values, size_t n, double part)
{
    qsort(values, n, sizeof *values, by_value);
    return values[(size_t)(part * (double)(n - 1))];
}

/* The logarithm by which view v is darker than what others see at the places that it sees; 0: it sees too few. */
static float darkness(const samples *s, const float *gains, size_t v, float limit)
{
    size_t first = s->first[v], n = 0;
    for (size_t i = first; i < s->first[v + 1]; i++) {
        uint32_t at = s->entries[i] / PLANE_SHADE_VIEWS, k = s->entries[i] % PLANE_SHADE_VIEWS;
        if (s->spreads[at] <= limit) s->values[first + n++] = logf(s->medians[at] / (gains[v] * s->all[at].levels[k]));
    }
    return n < LEAST ? 0 : part_of(s->values + first, n, 0.5);
}

static void improve(const samples *s, double kept, int threads, float *gains, float *steps)
{
    double mean = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < s->n_views * MOST; i++) {
            float lit[PLANE_SHADE_VIEWS];
            const sample *one = &s->all[i];
            if (i % MOST >= s->counts[i / MOST]) continue;
            for (uint32_t k = 0; k < one->n; k++) lit[k] = gains[one->views[k]] * one->levels[k];
            s->medians[i] = part_of(lit, one->n, 0.5);
            s->spreads[i] = (lit[(3 * one->n) / 4] - lit[one->n / 4]) / s->medians[i];
        }
    float *sorted = s->spreads + s->n_views * MOST + 1;
    size_t n = 0;
    for (size_t i = 0; i < s->n_views * MOST; i++)
        if (i % MOST < s->counts[i / MOST]) sorted[n++] = s->spreads[i];
    float limit = n ? part_of(sorted, n, kept) : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < s->n_views; v++) steps[v] = darkness(s, gains, v, limit);
    for (size_t v = 0; v < s->n_views; v++) mean += log((double)gains[v]) + (double)steps[v];
    mean /= (double)s->n_views;
    for (size_t v = 0; v < s->n_views; v++) gains[v] *= expf(steps[v] - (float)mean);
}

/* Gains of a channel; returns the sum of their logarithms' squares. */
static splat_status find_channel(const plane_shade *shade, const plane_global *planes, size_t channel, int threads,
                                 float *gains, double *square, splat_error *error)
{
    samples s;
    size_t n = shade->maps->n;
    SPLAT_TRY(samples_take(shade, planes, channel, threads, &s, error));
    float *steps = malloc((n + 1) * sizeof *steps);
    if (!steps) return fail(&s, error);
    for (size_t v = 0; v < n; v++) gains[v] = 1;
    for (int round = 0; round < ROUNDS; round++) improve(&s, round < ROUNDS / 2 ? 1 : KEPT, threads, gains, steps);
    for (size_t v = 0; v < n; v++) *square += log((double)gains[v]) * log((double)gains[v]);
    samples_free(&s);
    free(steps);
    return SPLAT_OK;
}

splat_status plane_gains_apply(const plane_shade *shade, const plane_global *planes, int threads, plane_view *views,
                               splat_error *error)
{
    size_t n = shade->maps->n;
    double square = 0;
    float *gains = malloc((3 * n + 1) * sizeof *gains);
    if (!gains) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the gains of %zu photos", n);
    splat_status status = SPLAT_OK;
    for (size_t k = 0; k < 3 && status == SPLAT_OK; k++)
        status = find_channel(shade, planes, k, threads, gains + k * n, &square, error);
    bool are_equal = square < 3 * (double)(EQUAL * EQUAL) * (double)n;
    for (size_t v = 0; v < n && status == SPLAT_OK; v++)
        plane_shade_even(&views[v], are_equal ? (const float[3]){1, 1, 1}
                                              : (const float[3]){gains[v], gains[n + v], gains[2 * n + v]});
    free(gains);
    return status;
}

splat_status plane_gains_noise(const plane_shade *shade, const plane_global *planes, int threads, float *noise,
                               splat_error *error)
{
    samples s;
    size_t n = 0;
    SPLAT_TRY(samples_take(shade, planes, 0, threads, &s, error));
    for (size_t v = 0; v < s.n_views; v++)
        for (uint32_t i = 0; i < s.counts[v]; i++)
            if (s.all[v * MOST + i].residual < INFINITY) s.medians[n++] = s.all[v * MOST + i].residual;
    *noise = n ? fmaxf(part_of(s.medians, n, 0.05), LEAST_NOISE) : LEAST_NOISE;
    samples_free(&s);
    return SPLAT_OK;
}
