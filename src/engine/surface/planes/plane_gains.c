/* Gains of photos by robust least squares of logarithms of levels, and the noise that is left. */
#include "surface/planes/plane_gains.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 12         /* of weights */
#define STEPS 40          /* of conjugate gradients in a round */
#define ENOUGH 1e-6       /* of the first residual, squared */
#define LEAST_SIGMA 0.004 /* of a level: noise, and what a photo's file rounds */
#define FAR 4.685         /* sigmas: levels that far off say nothing (Tukey) */
#define GUESSED 0.005     /* weight of a place that may be wrong: it tells what no other does */
#define HOLD 1e-3         /* weight of a gain of 1, against a level's of LEAST_SIGMA */
#define EQUAL 0.01        /* gains that deviate by less are 1: with few textures an estimate is not more exact */
#define LEAST_NOISE 0.03f /* levels */

/* For every level (log + gain of its view - mean of its place)^2 weight is least. */
typedef struct solver {
    const plane_places *places;
    float *weights;                     /* [n][PLANE_SHADE_VIEWS] */
    float *listed;                      /* the same in the order of places->entries */
    double *means;                      /* [n] work */
    double *gains, *b, *r, *p, *a, *diagonal; /* [n_views] logarithms of gains; the others: conjugate gradients */
    size_t channel;
    int threads;
} solver;

static void solver_free(solver *s)
{
    free(s->weights);
    free(s->listed);
    free(s->means);
    free(s->gains);
}

static bool solver_make(solver *s)
{
    size_t n = s->places->n, n_views = s->places->n_views;
    s->weights = malloc((n + 1) * PLANE_SHADE_VIEWS * sizeof *s->weights);
    s->listed = malloc((s->places->first[n_views] + 1) * sizeof *s->listed);
    s->means = malloc((n + 1) * sizeof *s->means);
    s->gains = calloc(6 * n_views + 1, sizeof *s->gains);
    if (!s->weights || !s->listed || !s->means || !s->gains) return false;
    double **arrays[5] = {&s->b, &s->r, &s->p, &s->a, &s->diagonal};
    for (size_t i = 0; i < 5; i++) *arrays[i] = s->gains + (i + 1) * n_views;
    return true;
}

/* Weights of the levels of a place: by the spread of all, and by how far each is off. */
static void weigh(const solver *s, size_t i)
{
    const plane_place *place = &s->places->all[i];
    float lit[PLANE_SHADE_VIEWS], sorted[PLANE_SHADE_VIEWS], *weights = s->weights + i * PLANE_SHADE_VIEWS;
    for (uint32_t k = 0; k < place->n; k++)
        sorted[k] = lit[k] = place->logs[s->channel][k] + (float)s->gains[place->views[k]];
    float median = plane_shade_median(sorted, place->n);
    for (uint32_t k = 0; k < place->n; k++) sorted[k] = fabsf(lit[k] - median);
    double spread = 1.4826 * (double)plane_shade_median(sorted, place->n);
    double variance = spread * spread + LEAST_SIGMA * LEAST_SIGMA;
    double even = LEAST_SIGMA * LEAST_SIGMA / variance, whole = place->is_guessed ? GUESSED * even : even;
    for (uint32_t k = 0; k < place->n; k++) {
        double off = (double)(lit[k] - median), t = 1 - off * off / (FAR * FAR * variance);
        weights[k] = t > 0 ? (float)(whole * t * t) : 0;
    }
}

/* out = the matrix times x, or with is_logs minus the matrix times the logarithms of levels: what gains make up for. */
static void apply(const solver *s, const double *x, bool is_logs, double *out)
{
    const plane_places *p = s->places;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < p->n; i++) {
        const plane_place *place = &p->all[i];
        const float *w = s->weights + i * PLANE_SHADE_VIEWS;
        double sum = 0, weight = 0;
        for (uint32_t k = 0; k < place->n; k++) {
            sum += (double)w[k] * (is_logs ? (double)place->logs[s->channel][k] : x[place->views[k]]);
            weight += (double)w[k];
        }
        s->means[i] = weight > 0 ? sum / weight : 0;
    }
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
    for (size_t v = 0; v < p->n_views; v++) {
        double sum = 0, weight = 0;
        for (size_t e = p->first[v]; e < p->first[v + 1]; e++) {
            uint32_t i = p->entries[e] / PLANE_SHADE_VIEWS, k = p->entries[e] % PLANE_SHADE_VIEWS;
            double w = (double)s->listed[e];
            sum += w * ((is_logs ? (double)p->all[i].logs[s->channel][k] : x[v]) - s->means[i]);
            weight += w;
        }
        out[v] = is_logs ? -sum : sum + HOLD * x[v];
        s->diagonal[v] = weight + HOLD;
    }
}

static void descend(solver *s)
{
    const size_t n = s->places->n_views;
    double rz = 0, first;
    apply(s, s->gains, true, s->b);
    apply(s, s->gains, false, s->a);
    for (size_t v = 0; v < n; v++) {
        s->r[v] = s->b[v] - s->a[v];
        s->p[v] = s->r[v] / s->diagonal[v];
        rz += s->r[v] * s->p[v];
    }
    first = rz;
    for (int step = 0; step < STEPS && rz > ENOUGH * first && rz > 1e-30; step++) {
        double pa = 0, next = 0;
        apply(s, s->p, false, s->a);
        for (size_t v = 0; v < n; v++) pa += s->p[v] * s->a[v];
        if (!(pa > 0)) return;
        double alpha = rz / pa;
        for (size_t v = 0; v < n; v++) {
            s->gains[v] += alpha * s->p[v];
            s->r[v] -= alpha * s->a[v];
            next += s->r[v] * s->r[v] / s->diagonal[v];
        }
        for (size_t v = 0; v < n; v++) s->p[v] = s->r[v] / s->diagonal[v] + next / rz * s->p[v];
        rz = next;
    }
}

/* Logarithms of the gains of a channel, whose mean is 0. */
static void find_channel(solver *s)
{
    const size_t n = s->places->n_views;
    double mean = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (size_t i = 0; i < s->places->n; i++) weigh(s, i);
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (size_t e = 0; e < s->places->first[n]; e++) s->listed[e] = s->weights[s->places->entries[e]];
        descend(s);
    }
    for (size_t v = 0; v < n; v++) mean += s->gains[v] / (double)n;
    for (size_t v = 0; v < n; v++) s->gains[v] -= mean;
}

splat_status plane_gains_apply(const plane_shade *shade, const plane_global *planes, int threads, plane_view *views,
                               bool *are_equal, splat_error *error)
{
    const size_t n = shade->maps->n;
    plane_places places;
    double square = 0;
    SPLAT_TRY(plane_places_take(shade, planes, threads, &places, error));
    solver s = {.places = &places, .threads = threads};
    float *found = malloc((3 * n + 1) * sizeof *found);
    bool ok = solver_make(&s) && found;
    for (s.channel = 0; s.channel < 3 && ok; s.channel++) {
        for (size_t v = 0; v < n; v++) s.gains[v] = 0;
        find_channel(&s);
        for (size_t v = 0; v < n; v++) {
            found[3 * v + s.channel] = (float)exp(s.gains[v]);
            square += s.gains[v] * s.gains[v];
        }
    }
    *are_equal = square < 3 * EQUAL * EQUAL * (double)n;
    for (size_t v = 0; v < n && ok; v++)
        plane_shade_even(&views[v], *are_equal ? (const float[3]){1, 1, 1} : found + 3 * v);
    solver_free(&s);
    free(found);
    plane_places_free(&places);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the gains of %zu photos", n);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

splat_status plane_gains_noise(const plane_shade *shade, const plane_global *planes, int threads, float *noise,
                               splat_error *error)
{
    const size_t n_views = shade->maps->n;
    size_t n = 0;
    float *values = malloc((n_views * PLANE_VIEW_PLACES + 1) * sizeof *values);
    uint32_t *counts = calloc(n_views + 1, sizeof *counts);
    bool ok = values && counts;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < (ok ? n_views : 0); v++)
        counts[v] = plane_places_residuals(shade, planes, (uint32_t)v, values + v * PLANE_VIEW_PLACES);
    for (size_t v = 0; v < n_views && ok; v++)
        for (uint32_t i = 0; i < counts[v]; i++) values[n++] = values[v * PLANE_VIEW_PLACES + i];
    if (ok) qsort(values, n, sizeof *values, by_value);
    *noise = n ? fmaxf(values[(size_t)(0.05 * (double)(n - 1))], LEAST_NOISE) : LEAST_NOISE;
    free(values);
    free(counts);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the noise of %zu photos", n_views);
}
