/* A plane through places: the two largest axes of their covariance. */
#include "surface/planes/plane_fit.h"

#include "base/rng.h"
#include "math/symmetric3.h"
#include "math/vec3.h"
#include "surface/planes/plane_parts.h"

#include <stdlib.h>
#include <string.h>

void plane_moments_add(plane_moments *m, const float position[3], double weight)
{
    double x = (double)position[0], y = (double)position[1], z = (double)position[2];
    m->weight += weight;
    m->sum[0] += weight * x;
    m->sum[1] += weight * y;
    m->sum[2] += weight * z;
    m->square[0] += weight * x * x;
    m->square[1] += weight * x * y;
    m->square[2] += weight * x * z;
    m->square[3] += weight * y * y;
    m->square[4] += weight * y * z;
    m->square[5] += weight * z * z;
}

bool plane_fit_make(const plane_moments *m, plane_fit *fit)
{
    static const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    double a[3][3], values[3], axes[3][3], *c = fit->centroid;
    memset(fit, 0, sizeof *fit);
    if (!(m->weight > 2.5)) return false;
    for (int k = 0; k < 3; k++) c[k] = m->sum[k] / m->weight;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = m->square[at[i][j]] / m->weight - c[i] * c[j];
    splat_symmetric3_axes((const double (*)[3])a, values, axes);
    for (int i = 0; i < 3; i++) {
        fit->sigma[i] = values[i] > 0 ? sqrt(values[i]) : 0;
        memcpy(i < 2 ? fit->axes[i] : fit->normal, axes[i], sizeof axes[i]);
    }
    fit->offset = 0;
    for (int k = 0; k < 3; k++) fit->offset += fit->normal[k] * c[k];
    return isfinite(fit->offset);
}

static void normalize(double a[3])
{
    double inverse = 1 / sqrt(splat_dot3(a, a));
    for (int k = 0; k < 3; k++) a[k] *= inverse;
}

void plane_fit_move(plane_fit *fit, const double x[3])
{
    double *n = fit->normal, *u = fit->axes[0], *v = fit->axes[1], along;
    for (int k = 0; k < 3; k++) n[k] += x[0] * u[k] + x[1] * v[k];
    normalize(n);
    for (int k = 0; k < 3; k++) fit->centroid[k] += x[2] * n[k];
    fit->offset = splat_dot3(n, fit->centroid);
    along = splat_dot3(u, n);
    for (int k = 0; k < 3; k++) u[k] -= along * n[k];
    normalize(u);
    const double cross[3] = {n[1] * u[2] - n[2] * u[1], n[2] * u[0] - n[0] * u[2], n[0] * u[1] - n[1] * u[0]};
    along = splat_dot3(cross, v) < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) v[k] = along * cross[k];
}

/* ---------------------------------------------------------------- planes of a segment
 * The planes of one segment's seeds: sequential RANSAC (Fischler and Bolles, CACM 1981), then least squares. */

#define TRIALS 160
#define JUDGES 192      /* seeds that judge a trial */
#define TOLERANCE 0.008 /* of the reach */
#define LEAST_SEEDS 20
#define LEAST_PART 0.12 /* of the segment's seeds */
#define LEAST_SPREAD 0.1
#define MOST_BEND 0.06  /* residual to the smaller spread: what is rounder is no plane */

/* How far a seed is from a plane, in tolerances. */
static double error_of(const plane_ransac *r, const double normal[3], double offset, uint32_t seed)
{
    const plane_seed *s = &r->seeds[seed];
    const float *center = r->maps->views[r->from ? r->from[seed] : r->view].camera.center;
    double d = normal[0] * (double)s->position[0] + normal[1] * (double)s->position[1] +
               normal[2] * (double)s->position[2] - offset;
    return d / (TOLERANCE * plane_seed_reach(normal, s, center));
}

/* Squared distances within the tolerance (MSAC): the larger the better. It ends where the best can't be reached. */
static double judge(const plane_ransac *r, const double normal[3], double offset, double best)
{
    uint32_t step = (r->n_left + JUDGES - 1) / JUDGES;
    double score = (r->n_left + step - 1) / step;
    for (uint32_t i = 0; i < r->n_left && score > best; i += step) {
        double q = error_of(r, normal, offset, r->left[i]);
        score -= q * q < 1 ? q * q : 1;
    }
    return score;
}

/* The plane through three of the seeds that are left; false when they lie nearly on a line. */
static bool draw(const plane_ransac *r, uint32_t round, uint32_t trial, double normal[3], double *offset)
{
    splat_random4 random = splat_random(r->seed, SPLAT_STREAM_PLANES, 256 * trial + round,
                                        (uint64_t)r->view << 32 | r->segment);
    const plane_seed *p[3];
    double a[3], b[3], length = 0, sides = 0;
    for (int k = 0; k < 3; k++) p[k] = &r->seeds[r->left[(uint32_t)(((uint64_t)random.x[k] * r->n_left) >> 32)]];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)p[1]->position[k] - (double)p[0]->position[k];
        b[k] = (double)p[2]->position[k] - (double)p[0]->position[k];
        sides += a[k] * a[k] + b[k] * b[k];
    }
    for (int k = 0; k < 3; k++) {
        normal[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        length += normal[k] * normal[k];
    }
    length = sqrt(length);
    if (!(length > 0.05 * sides)) return false;
    *offset = 0;
    for (int k = 0; k < 3; k++) {
        normal[k] /= length;
        *offset += normal[k] * (double)p[0]->position[k];
    }
    return true;
}

/* Least squares over the seeds within the tolerance, three times; how many they are. */
static uint32_t refine(const plane_ransac *r, plane_fit *fit, double *depth)
{
    uint32_t n = 0;
    for (int pass = 0; pass < 3; pass++) {
        plane_moments m = {0};
        n = 0;
        *depth = 0;
        for (uint32_t i = 0; i < r->n_left; i++) {
            const plane_seed *s = &r->seeds[r->left[i]];
            if (!(fabs(error_of(r, fit->normal, fit->offset, r->left[i])) < 1)) continue;
            plane_moments_add(&m, s->position, 1);
            *depth += (double)s->depth;
            n++;
        }
        if (n < LEAST_SEEDS || !plane_fit_make(&m, fit)) return 0;
        *depth /= n;
    }
    return n;
}

bool plane_ransac_next(plane_ransac *r, uint32_t round, uint32_t n_all, plane_hypothesis *h)
{
    double best = 0, normal[3], offset;
    memset(h, 0, sizeof *h);
    for (uint32_t trial = 0; trial < r->trials; trial++) {
        if (!draw(r, round, trial, normal, &offset)) continue;
        double score = judge(r, normal, offset, best);
        if (!(score > best)) continue;
        best = score;
        memcpy(h->fit.normal, normal, sizeof normal);
        h->fit.offset = offset;
    }
    if (!(best > 0)) return false;
    h->n_seeds = refine(r, &h->fit, &h->depth);
    if (h->n_seeds < LEAST_SEEDS || h->n_seeds < LEAST_PART * n_all) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_left; i++) {
        if (fabs(error_of(r, h->fit.normal, h->fit.offset, r->left[i])) < 1.5) continue;
        r->left[n++] = r->left[i];
    }
    r->n_left = n;
    return true;
}

bool plane_hypothesis_spreads(const plane_hypothesis *h)
{
    const double *sigma = h->fit.sigma;
    return sigma[1] > LEAST_SPREAD * sigma[0] && sigma[1] > 0.015 * h->depth && sigma[2] < MOST_BEND * sigma[1];
}

splat_status plane_hypotheses_make(const splat_view_maps *maps, plane_view *view, uint32_t number, uint64_t seed,
                                   splat_error *error)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < view->n_segments; i++)
        if (view->segments[i].n_seeds > most) most = view->segments[i].n_seeds;
    uint32_t *left = malloc(((size_t)most + 1) * sizeof *left);
    view->hypotheses = malloc((PLANE_SLOTS * (size_t)view->n_segments + 1) * sizeof *view->hypotheses);
    if (!left || !view->hypotheses) {
        free(left);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the planes of %u plain segments", view->n_segments);
    }
    for (uint32_t i = 0; i < view->n_segments; i++) {
        const plane_segment *segment = &view->segments[i];
        plane_ransac r = {.maps = maps, .seeds = view->seeds + segment->first_seed, .left = left, .seed = seed,
                          .n_left = segment->n_seeds, .view = number, .segment = i, .trials = TRIALS};
        for (uint32_t k = 0; k < r.n_left; k++) left[k] = k;
        for (uint32_t round = 0; round < PLANE_SLOTS && r.n_left >= LEAST_SEEDS; round++) {
            plane_hypothesis *h = &view->hypotheses[view->n_hypotheses];
            if (!plane_ransac_next(&r, round, segment->n_seeds, h)) break;
            h->view = number;
            h->segment = i;
            h->plane = -1;
            if (!plane_faces(&maps->views[number].camera, &h->fit)) plane_turn(&h->fit);
            if (plane_hypothesis_spreads(h)) view->n_hypotheses++;
        }
    }
    free(left);
    plane_hypothesis *less = realloc(view->hypotheses, ((size_t)view->n_hypotheses + 1) * sizeof *less);
    if (less) view->hypotheses = less;
    return SPLAT_OK;
}
