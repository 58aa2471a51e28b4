/* Planes of the scene made to agree with the photos: the edges around a plane's segments fall onto each other in all
 * photos (plane_rims.c), and where two planes meet the line that both have in common falls onto an edge, whatever depth
 * the splat has there. All planes are refined together by Gauss-Newton with Tukey's weights, as a bundle adjustment of
 * planes under known cameras; where edges say nothing of a plane its places in the splat keep it (plane_anchors.c).
 * Some edges mislead: a box that stands before a wall has an outline as straight as the corner of two walls. So each
 * pair of planes, and each plane's right angles, are left out by turns, and stay out where all else then agrees. */
#include "surface/planes/plane_creases.h"
#include "math/vec3.h"
#include "surface/planes/plane_anchors.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_rims.h"
#include "surface/planes/plane_shared_edges.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define EDGE_SIGMA 1.0      /* pixels: of the places of two planes' edges, at most, and before it is measured */
#define LEAST_SIGMA 0.2     /* pixels: at least, as all views may share an error (a shadow next to an edge) */
#define EDGE_CUT 5.0        /* sigmas: where their weight ends once pairs of planes are sure */
#define EDGE_RUN 8.0        /* pixels of an edge that share their error */
#define SURE_PASS 3         /* from which on pairs with less are left out */
#define ANCHOR_SIGMA 0.002  /* of the depth: of a plane's anchors, at least, as those of plain parts agree on a wrong
                               depth */
#define MOST_UNITS 1000.0   /* independent places, at most, that the rims of a plane count for */
#define RIMS_DENY 14.0      /* deviations squared by which rims deny a plane: a chance of 0.3 % with three unknowns */
#define SHIFT_GROUPS 2.0    /* groups of anchors that tell how far off a plane is, as the errors of all have a part in
                               common (window frames stand before a wall); all groups that there are tell its tilts */
#define ANGLE_SIGMA 0.002   /* radians, of a right angle */
#define ANGLE_CUT 0.02      /* radians: other angles are meant */
#define ANGLE_PLACES 100    /* found on planes that have right angles */
#define LEAST_LEFT 0.5      /* of a plane's anchors, by weight: with fewer left on it edges and anchors contradict */
#define GAIN 0.3            /* of agreement, by which it is better to leave something out */
#define MOST_LEFT_OUT 8     /* pairs and planes */
#define DAMPING 1e-4        /* of each unknown: a plane turns about its only edge no more than it must */
#define N_PASSES 8

/* Two planes that meet, the lower number first. */
typedef struct pair {
    double n, weight;            /* edges, and the sum of their weights in the last pass */
    double distance, sigma;      /* the sum of weight times residual, and what the last pass tells; pixels */
    bool is_out, is_barred;      /* out: its edges are measured and do not count; barred: out in all passes */
} pair;

/* Anchors of a plane: sums of weights, and of distances over depth, without and with their signs. */
typedef struct own_anchors {
    double weight, distance, side;
} own_anchors;

typedef struct refiner {
    const splat_view_maps *maps;
    const plane_view *views;
    plane_global *planes;
    int threads;
    size_t n, size;    /* planes; unknowns: of each plane two tilts about its axes, radians, and a shift */
    double *matrix, *vector; /* [size][size], [size] */
    plane_shared_edge *creases; /* [n_creases] */
    size_t n_creases;
    pair *pairs;       /* [n][n] */
    plane_anchors anchors;
    own_anchors *sums; /* [3][n] of anchors: now, in the last pass, in the beginning */
    bool *is_skew;     /* [n] stands at no right angle */
    size_t *n_angles;  /* [n] others at a right angle, or parallel */
    plane_rims *rims;
    plane_rim_sums *rim_sums; /* [n] */
    bool is_short;     /* memory ended */
} refiner;

/* Adds weight * (rows * x + residual)^2; rows: 3 unknowns of each of the planes. */
static void add(refiner *r, const size_t *planes, size_t n_planes, const double *rows, double residual, double weight)
{
    for (size_t i = 0; i < 3 * n_planes; i++) {
        size_t row = 3 * planes[i / 3] + i % 3;
        r->vector[row] -= weight * rows[i] * residual;
        for (size_t k = 0; k < 3 * n_planes; k++)
            r->matrix[row * r->size + 3 * planes[k / 3] + k % 3] += weight * rows[i] * rows[k];
    }
}

/* How n . x - offset changes where x is known. */
static void rows_of_place(const plane_fit *fit, const double place[3], double rows[3])
{
    for (int k = 0; k < 2; k++) rows[k] = splat_dot3(fit->axes[k], place) - splat_dot3(fit->axes[k], fit->centroid);
    rows[2] = -1;
}

/* All edges within `cut` of the line of their planes tell how sure the pair is; those within `sigmas` of its deviation
 * move it. */
static void add_crease(refiner *r, const plane_shared_edge *edge, double cut, double sigmas)
{
    const size_t planes[2] = {edge->a, edge->b};
    const plane_fit *fit[2] = {&r->planes[edge->a].fit, &r->planes[edge->b].fit};
    const plane_shared_line line = plane_shared_edge_line(edge, fit[0], fit[1]);
    pair *own = &r->pairs[edge->a * r->n + edge->b];
    double weight = plane_tukey(line.residual / cut), rows[6];
    own->n++;
    own->weight += weight;
    own->distance += weight * fabs(line.residual);
    if (own->is_out || !(weight > 0)) return;
    weight = plane_tukey(line.residual / fmin(cut, sigmas * own->sigma));
    if (!(weight > 0)) return;
    for (int k = 0; k < 2; k++) {
        double sign = k ? -line.scale : line.scale, of_s[3];
        rows_of_place(fit[k], line.at, of_s);
        for (int j = 0; j < 3; j++) {
            double of_along = j < 2 ? splat_dot3(fit[k]->axes[j], line.ray) : 0;
            rows[3 * k + j] = sign * (line.s[1 - k] * of_along - line.along[1 - k] * of_s[j]);
        }
    }
    add(r, planes, 2, rows, line.residual, weight / (own->sigma * own->sigma * EDGE_RUN));
}

/* An anchor keeps its plane as well as all of them agree on it. before: of the last pass; NULL: only measure. */
static void add_anchor(refiner *r, const plane_anchor *anchor, const own_anchors *before)
{
    const size_t plane = anchor->plane;
    const plane_fit *fit = &r->planes[plane].fit;
    const double place[3] = {(double)anchor->position[0], (double)anchor->position[1], (double)anchor->position[2]};
    const double distance = plane_distance(fit, anchor->position), depth = (double)anchor->depth;
    double weight = plane_tukey(distance / (PLANE_ANCHOR_REACH * depth)), rows[3];
    own_anchors *own = &r->sums[plane];
    if (!(weight > 0)) return;
    own->weight += weight;
    own->distance += weight * fabs(distance) / depth;
    own->side += weight * distance / depth;
    if (!before || !(before[plane].weight > 0)) return;
    const double sigma = fmax(1.25 * before[plane].distance / before[plane].weight, ANCHOR_SIGMA);
    const double mean = before[plane].side / before[plane].weight * depth, shift[3] = {0, 0, -1};
    weight /= before[plane].weight * sigma * sigma * depth * depth;
    rows_of_place(fit, place, rows);
    rows[2] = 0;
    add(r, &plane, 1, rows, distance - mean, weight * r->anchors.groups[plane]);
    add(r, &plane, 1, shift, distance, weight * SHIFT_GROUPS);
}

/* a . b = 0, or the same of an axis of b where both are parallel; axis < 0: none. */
static void add_angle(refiner *r, size_t a, size_t b, int axis, double weight)
{
    const size_t planes[2] = {a, b};
    const plane_fit *p = &r->planes[a].fit, *q = &r->planes[b].fit;
    const double *to = axis < 0 ? q->normal : q->axes[axis];
    double rows[6] = {0}, residual = splat_dot3(p->normal, to);
    for (int k = 0; k < 2; k++) {
        rows[k] = splat_dot3(p->axes[k], to);
        if (axis < 0) rows[3 + k] = splat_dot3(p->normal, q->axes[k]);
        else if (k == axis) rows[3 + k] = -splat_dot3(p->normal, q->normal);
    }
    add(r, planes, 2, rows, residual, weight * plane_tukey(residual / ANGLE_CUT) / (ANGLE_SIGMA * ANGLE_SIGMA));
}

/* True if two planes are nearly at a right angle; *is_parallel: or nearly parallel. */
static bool is_at_angle(const refiner *r, size_t a, size_t b, bool *is_parallel)
{
    if (r->is_skew[a] || r->is_skew[b]) return false;
    if (r->anchors.counts[a] < ANGLE_PLACES || r->anchors.counts[b] < ANGLE_PLACES) return false;
    const double cosine = fabs(splat_dot3(r->planes[a].fit.normal, r->planes[b].fit.normal));
    *is_parallel = cosine > 1 - ANGLE_CUT * ANGLE_CUT / 2;
    return *is_parallel || cosine < ANGLE_CUT;
}

/* Planes at nearly right angles, of which people build much, become so as far as edges and anchors allow. is_once:
 * however many others a plane has, together they say it once. */
static void add_angles(refiner *r, bool is_once)
{
    bool is_parallel;
    for (size_t a = 0; a < r->n; a++) {
        r->n_angles[a] = 0;
        for (size_t b = 0; b < r->n; b++) r->n_angles[a] += a != b && is_at_angle(r, a, b, &is_parallel);
    }
    for (size_t a = 0; a < r->n; a++)
        for (size_t b = 0; b < a; b++) {
            if (!is_at_angle(r, a, b, &is_parallel)) continue;
            const size_t n = r->n_angles[a] > r->n_angles[b] ? r->n_angles[a] : r->n_angles[b];
            const double weight = is_once ? 1 / (double)n : 1;
            if (!is_parallel) add_angle(r, a, b, -1, weight);
            for (int k = 0; k < 2 && is_parallel; k++) add_angle(r, a, b, k, weight);
        }
}

/* Those of one plane add to its own sums and unknowns alone. */
static void add_all_anchors(refiner *r, const own_anchors *before)
{
    memset(r->sums, 0, r->n * sizeof *r->sums);
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->threads)
    for (size_t plane = 0; plane < r->n; plane++)
        for (size_t i = r->anchors.first[plane]; i < r->anchors.first[plane + 1]; i++)
            add_anchor(r, &r->anchors.anchors[i], before);
}

/* Cholesky, in place, damped as by Levenberg and Marquardt; an unknown that nothing is said of stays 0. */
static void solve(refiner *r)
{
    size_t n = r->size;
    double *a = r->matrix, *b = r->vector;
    for (size_t i = 0; i < n; i++) {
        double trust = a[i * n + i] * (1 + DAMPING);
        for (size_t j = 0; j < i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = a[j * n + j] > 0 ? sum / a[j * n + j] : 0;
            trust -= a[i * n + j] * a[i * n + j];
            b[i] -= a[i * n + j] * b[j];
        }
        a[i * n + i] = trust > 0 ? sqrt(trust) : 0;
        b[i] = a[i * n + i] > 0 ? b[i] / a[i * n + i] : 0;
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++) b[i] -= a[j * n + i] * b[j];
        b[i] = a[i * n + i] > 0 ? b[i] / a[i * n + i] : 0;
    }
}

static const double cuts[N_PASSES] = {10, 7, 5, 3.5, PLANE_EDGE_CUT, PLANE_EDGE_CUT, PLANE_EDGE_CUT, PLANE_EDGE_CUT};

/* The deviation of edges, pixels, by their weighted distances: strong edges lie within a tenth of a pixel, weak ones
 * within half. */
static double sigma_of(double distance, double weight)
{
    return weight > 0 ? fmin(fmax(1.25 * distance / weight, LEAST_SIGMA), EDGE_SIGMA) : EDGE_SIGMA;
}

/* has_rims: pairs that are not sure by now never are. */
static void add_all_creases(refiner *r, int pass, bool has_rims)
{
    const bool is_fine = pass >= SURE_PASS, is_sure = is_fine || has_rims;
    for (size_t i = 0; i < r->n * r->n; i++) {
        pair *own = &r->pairs[i];
        own->is_out = own->is_barred || (is_sure && own->weight < PLANE_SURE_EDGES * own->n);
        own->sigma = is_fine ? sigma_of(own->distance, own->weight) : EDGE_SIGMA;
        own->n = own->weight = own->distance = 0;
    }
    for (size_t i = 0; i < r->n_creases; i++)
        add_crease(r, &r->creases[i], cuts[has_rims ? N_PASSES - 1 : pass], is_fine ? EDGE_CUT : INFINITY);
}

static void measure_rims(refiner *r, double cut)
{
    if (!plane_rims_measure(r->rims, r->planes, cut, r->rim_sums)) r->is_short = true;
}

static void add_rims(refiner *r, double cut)
{
    measure_rims(r, cut);
    for (size_t i = 0; i < r->n && !r->is_short; i++) {
        const plane_rim_sums *own = &r->rim_sums[i];
        const double part = own->units > MOST_UNITS ? MOST_UNITS / own->units : 1;
        for (int k = 0; k < 3; k++) {
            size_t row = 3 * i + (size_t)k;
            r->vector[row] += part * own->vector[k];
            for (int j = 0; j < 3; j++) r->matrix[row * r->size + 3 * i + (size_t)j] += part * own->matrix[k][j];
        }
    }
}

/* Removes the unknowns of planes that do not move. */
static void leave_out_tied(refiner *r)
{
    for (size_t i = 0; i < r->size; i++)
        for (size_t k = 0; k < r->size; k++)
            if (r->planes[i / 3].is_tied || r->planes[k / 3].is_tied) r->matrix[i * r->size + k] = 0;
    for (size_t i = 0; i < r->size; i++)
        if (r->planes[i / 3].is_tied) r->vector[i] = 0;
}

/* has_rims: they count, and tied planes stay. */
static void make_passes(refiner *r, bool has_rims)
{
    own_anchors *before = r->sums + r->n;
    for (int pass = 0; pass < N_PASSES; pass++) {
        memcpy(before, r->sums, r->n * sizeof *before);
        memset(r->matrix, 0, r->size * r->size * sizeof *r->matrix);
        memset(r->vector, 0, r->size * sizeof *r->vector);
        add_all_creases(r, pass, has_rims);
        if (has_rims) add_rims(r, cuts[pass]);
        add_all_anchors(r, before);
        add_angles(r, has_rims);
        if (has_rims) leave_out_tied(r);
        solve(r);
        for (size_t i = 0; i < r->n; i++) plane_fit_move(&r->planes[i].fit, r->vector + 3 * i);
    }
    add_all_anchors(r, NULL);
}

/* How many others a plane meets, so that the edges of all agree. */
static uint32_t count_others(const refiner *r, size_t plane)
{
    uint32_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const pair *own = &r->pairs[i < plane ? i * r->n + plane : plane * r->n + i];
        n += i != plane && !own->is_out && own->weight > 0 && own->weight >= PLANE_SURE_EDGES * own->n;
    }
    return n;
}

/* How much of all that is known of the planes agrees: of each plane's anchors the part that still lies on it, of each
 * pair's edges the part that lies where both planes meet. */
static double agreement(const refiner *r)
{
    const own_anchors *first = r->sums + 2 * r->n;
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        if (first[i].weight > 0) sum += fmin(r->sums[i].weight / first[i].weight, 1);
    for (size_t i = 0; i < r->n * r->n; i++)
        if (r->pairs[i].n > 0) sum += r->pairs[i].weight / r->pairs[i].n;
    return sum;
}

/* Makes all passes from where the planes were in the beginning. */
static void begin_again(refiner *r, const plane_fit *fits)
{
    for (size_t i = 0; i < r->n; i++) r->planes[i].fit = fits[i];
    memcpy(r->sums, r->sums + 2 * r->n, r->n * sizeof *r->sums);
    make_passes(r, false);
}

/* True if a plane has left its anchors. */
static bool is_lost(const refiner *r, size_t i)
{
    return r->sums[i].weight < LEAST_LEFT * r->sums[2 * r->n + i].weight;
}

/* Lists what may be left out: pairs of a plane that has left its anchors, and the right angles of every plane. Returns
 * how many. */
static size_t list_doubted(refiner *r, bool **doubted)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n * r->n; i++) {
        pair *own = &r->pairs[i];
        const bool is_doubted = is_lost(r, i / r->n) || is_lost(r, i % r->n);
        if (own->n > 0 && !own->is_out && is_doubted) doubted[n++] = &own->is_barred;
    }
    for (size_t i = 0; i < r->n; i++)
        if (!r->is_skew[i] && r->n_angles[i]) doubted[n++] = &r->is_skew[i];
    return n;
}

/* Leaves out what contradicts the rest most. False where nothing does. */
static bool leave_one_out(refiner *r, const plane_fit *fits, bool **doubted)
{
    const size_t n = list_doubted(r, doubted);
    double best = agreement(r) + GAIN;
    bool *chosen = NULL;
    for (size_t i = 0; i < n; i++) {
        *doubted[i] = true;
        begin_again(r, fits);
        *doubted[i] = false;
        const double now = agreement(r);
        if (!(now > best)) continue;
        best = now;
        chosen = doubted[i];
    }
    if (chosen) *chosen = true;
    if (n) begin_again(r, fits);
    return chosen;
}

/* Squared deviations that a plane's rims would lose if it lay where they say. */
static double denial_of(const plane_rim_sums *sums)
{
    double l[3][3], y[3], sum = 0;
    for (int i = 0; i < 3; i++) { /* Cholesky; y = L^-1 v */
        y[i] = sums->vector[i];
        for (int j = 0; j < i; j++) {
            l[i][j] = sums->matrix[i][j];
            for (int k = 0; k < j; k++) l[i][j] -= l[i][k] * l[j][k];
            l[i][j] /= l[j][j];
            y[i] -= l[i][j] * y[j];
        }
        l[i][i] = sums->matrix[i][i] * (1 + DAMPING);
        for (int k = 0; k < i; k++) l[i][i] -= l[i][k] * l[i][k];
        if (!(l[i][i] > 0)) return sum;
        l[i][i] = sqrt(l[i][i]);
        y[i] /= l[i][i];
        sum += y[i] * y[i];
    }
    return sum;
}

/* Planes that meet fewer than two others, or that their rims deny, begin once more where their seeds are, and rims tell
 * where they belong. */
static void refine_loose(refiner *r, const plane_fit *fits)
{
    bool is_any = false;
    measure_rims(r, cuts[SURE_PASS]);
    for (size_t i = 0; i < r->n && !r->is_short; i++) {
        r->planes[i].is_tied = count_others(r, i) > 1 && denial_of(&r->rim_sums[i]) < RIMS_DENY;
        if (r->planes[i].is_tied) continue;
        is_any = true;
        r->planes[i].fit = fits[i];
    }
    if (!is_any || r->is_short) return;
    add_all_anchors(r, NULL);
    make_passes(r, true);
}

static void refine(refiner *r, plane_fit *fits, bool **doubted)
{
    add_all_anchors(r, NULL);
    memcpy(r->sums + 2 * r->n, r->sums, r->n * sizeof *r->sums);
    for (size_t i = 0; i < r->n; i++) fits[i] = r->planes[i].fit;
    make_passes(r, false);
    for (int i = 0; i < MOST_LEFT_OUT && leave_one_out(r, fits, doubted); i++) {}
    refine_loose(r, fits);
}

splat_status plane_creases_refine(const splat_view_maps *maps, const plane_view *views, plane_global *planes, size_t n,
                                  int threads, splat_error *error)
{
    refiner r = {.maps = maps, .views = views, .planes = planes, .threads = threads, .n = n, .size = 3 * n};
    r.matrix = malloc((r.size * r.size + 1) * sizeof *r.matrix);
    r.vector = malloc((r.size + 1) * sizeof *r.vector);
    r.pairs = calloc(n * n + 1, sizeof *r.pairs);
    r.sums = malloc((3 * n + 1) * sizeof *r.sums);
    r.is_skew = calloc(n + 1, sizeof *r.is_skew);
    bool **doubted = malloc((n * n + n + 1) * sizeof *doubted);
    plane_fit *fits = malloc((n + 1) * sizeof *fits);
    const bool has_creases = plane_shared_edges_find(maps, views, planes, n, &r.creases, &r.n_creases);
    r.rims = plane_rims_make(maps, views, planes, n, threads);
    r.n_angles = malloc((n + 1) * sizeof *r.n_angles);
    r.rim_sums = malloc((n + 1) * sizeof *r.rim_sums);
    bool is_made = r.matrix && r.vector && r.pairs && r.sums && r.is_skew && doubted && fits && has_creases && r.rims &&
                   r.rim_sums && r.n_angles;
    if (is_made) is_made = plane_anchors_make(maps, views, planes, n, threads, &r.anchors, error) == SPLAT_OK;
    if (is_made) refine(&r, fits, doubted);
    plane_anchors_free(&r.anchors);
    plane_rims_free(r.rims);
    free(r.n_angles);
    free(r.rim_sums);
    free(r.matrix);
    free(r.vector);
    free(r.pairs);
    free(r.sums);
    free(r.is_skew);
    free(doubted);
    free(fits);
    free(r.creases);
    if (is_made && !r.is_short) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to refine %zu planes", n);
}
