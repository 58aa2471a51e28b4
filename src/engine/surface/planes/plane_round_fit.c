/* Costs of a round surface, and the way to the least. */
#include "surface/planes/plane_round_fit.h"

#include "surface/planes/plane_parts.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

#define RIM_RIGHT 0.006   /* of the depth */
#define LEAST_RIMS 40u    /* fewer tell no part */
#define PLACES_WEIGHT 0.1 /* against rims */
#define SHADE_NOISES 3.0f /* noises: residuals that are larger count less and less */
#define SHADE_WEIGHT 1.0  /* against rims */
#define PLACES 1000u      /* every so many-th place counts, so that these do */
#define DRAWS 256u        /* of rims that a surface passes through */
#define MOST_THREADS 4
#define SMALLEST 1e-4     /* of the depth, and radians: a smaller simplex ends the descent */
#define FIT_ERROR 0.03    /* of the depth, of a place */

/* The loops below are short and many: more threads would wait for each other. */
static int few_threads(const plane_round_fitter *f)
{
    return f->s->threads < MOST_THREADS ? f->s->threads : MOST_THREADS;
}

double plane_round_cost_of_places(const plane_round_fitter *f, const plane_round *round)
{
    const uint32_t stride = f->n / PLACES + 1;
    double sum = 0, n = 0;
    for (uint32_t i = 0; i < f->n; i += stride) {
        const plane_round_place *p = &f->s->places[f->inliers[i]];
        const double d = plane_round_distance(round, p->position) / (FIT_ERROR * (double)p->depth);
        sum += d * d / (1 + d * d);
        n++;
    }
    return sum / fmax(n, 1);
}

double plane_round_cost_of_rims(const plane_round_fitter *f, const plane_round *round)
{
    double sum = 0;
    for (uint32_t i = 0; i < f->n_rims; i++) {
        const plane_seed *seed = f->seeds[i];
        const double d = plane_round_distance(round, seed->position) / (f->error * (double)seed->depth);
        sum += d * d / (1 + d * d);
    }
    return sum / (double)(f->n_rims ? f->n_rims : 1);
}

double plane_round_cost_of_shape(const plane_round_fitter *f, const plane_round *round)
{
    return plane_round_cost_of_rims(f, round) + PLACES_WEIGHT * plane_round_cost_of_places(f, round);
}

double plane_round_cost_of_shading(const plane_round_fitter *f, const plane_round *round)
{
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(few_threads(f))
    for (uint32_t i = 0; i < f->n_sites; i++) {
        const plane_site *site = &f->sites[i];
        plane_slant slant;
        f->residuals[i] = 5;
        if (plane_round_slant(&f->s->shade->maps->views[site->view].camera, round, site->x, site->y, f->is_far[i],
                              &slant))
            f->residuals[i] = fminf(plane_shade_residual(f->s->shade, site, &slant), 5);
    }
    for (uint32_t i = 0; i < f->n_sites; i++) {
        const double r = (double)(f->residuals[i] / (SHADE_NOISES * f->s->noise));
        sum += r * r / (1 + r * r);
    }
    return SHADE_WEIGHT * sum / (double)f->n_sites + plane_round_cost_of_rims(f, round);
}

void plane_round_vote(plane_round_fitter *f)
{
    if (f->n_rims < LEAST_RIMS) return;
    plane_round best = f->round, drawn[DRAWS];
    double least = plane_round_cost_of_shape(f, &best), costs[DRAWS];
#pragma omp parallel for schedule(dynamic, 8) num_threads(few_threads(f))
    for (uint32_t i = 0; i < DRAWS; i++) {
        const splat_random4 r = splat_random(f->s->seed, SPLAT_STREAM_PLANES, 0x20000u, i);
        const float *places[4];
        for (int k = 0; k < 4; k++) places[k] = f->seeds[(uint64_t)r.x[k] * f->n_rims >> 32]->position;
        drawn[i] = f->round;
        costs[i] = plane_round_through(places, &drawn[i]) ? plane_round_cost_of_shape(f, &drawn[i]) : INFINITY;
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        if (!(costs[i] < least)) continue;
        least = costs[i];
        best = drawn[i];
    }
    f->round = best;
}

bool plane_round_has_rim(const plane_round_fitter *f, uint32_t number)
{
    const plane_seed *seed = f->seeds[number];
    return fabs(plane_round_distance(&f->round, seed->position)) < RIM_RIGHT * (double)seed->depth;
}

double plane_round_rims(const plane_round_fitter *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_rims; i++) n += plane_round_has_rim(f, i);
    return f->n_rims < LEAST_RIMS ? 0 : (double)n / (double)f->n_rims;
}

/* The largest distance of a corner of a simplex from its best one, along an unknown. */
static double size_of(double (*u)[PLANE_ROUND_UNKNOWNS], int best, int n)
{
    double most = 0;
    for (int i = 0; i <= n; i++)
        for (int k = 0; k < n; k++) most = fmax(most, fabs(u[i][k] - u[best][k]));
    return most;
}

double plane_round_descend(plane_round_fitter *f, plane_round_cost cost, double first_step, int steps)
{
    enum { MOST = PLANE_ROUND_UNKNOWNS + 1 };
    const int n = plane_round_unknowns(&f->round);
    double u[MOST][PLANE_ROUND_UNKNOWNS] = {{0}}, costs[MOST];
    for (int i = 0; i <= n; i++) {
        if (i > 0) u[i][i - 1] = first_step;
        const plane_round at = plane_round_moved(&f->round, u[i], f->length);
        costs[i] = cost(f, &at);
    }
    for (int step = 0; step < steps; step++) {
        int best = 0, worst = 0, second = 0;
        for (int i = 1; i <= n; i++) best = costs[i] < costs[best] ? i : best;
        if (size_of(u, best, n) < SMALLEST) break;
        for (int i = 1; i <= n; i++) worst = costs[i] > costs[worst] ? i : worst;
        second = best;
        for (int i = 0; i <= n; i++) second = i != worst && costs[i] > costs[second] ? i : second;
        double middle[PLANE_ROUND_UNKNOWNS] = {0}, to[PLANE_ROUND_UNKNOWNS];
        for (int i = 0; i <= n; i++)
            for (int k = 0; k < n && i != worst; k++) middle[k] += u[i][k] / n;
        static const double ways[3] = {1, 2, -0.5}; /* reflected, then farther, or nearer */
        double least = INFINITY;
        for (int way = 0; way < 3; way++) {
            if (way == 1 && !(least < costs[best])) continue;
            if (way == 2 && least < costs[second]) continue;
            double v[PLANE_ROUND_UNKNOWNS] = {0};
            for (int k = 0; k < n; k++) v[k] = middle[k] + ways[way] * (middle[k] - u[worst][k]);
            const plane_round at = plane_round_moved(&f->round, v, f->length);
            const double c = cost(f, &at);
            if (!(c < least)) continue;
            least = c;
            memcpy(to, v, sizeof to);
        }
        if (least < costs[worst]) {
            costs[worst] = least;
            memcpy(u[worst], to, sizeof to);
            continue;
        }
        for (int i = 0; i <= n; i++) {
            if (i == best) continue;
            for (int k = 0; k < n; k++) u[i][k] = 0.5 * (u[i][k] + u[best][k]);
            const plane_round at = plane_round_moved(&f->round, u[i], f->length);
            costs[i] = cost(f, &at);
        }
    }
    int best = 0;
    for (int i = 1; i <= n; i++) best = costs[i] < costs[best] ? i : best;
    f->round = plane_round_moved(&f->round, u[best], f->length);
    return costs[best];
}
