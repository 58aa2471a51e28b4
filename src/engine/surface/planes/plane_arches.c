/* The edge between a vault and its end wall lies on the vault, which is known. So do edges of all photos, and those of
 * a plane across the axis of the vault have one place along it. A point is the sharper the steeper its ray meets the
 * round surface, so distances are measured in pixels of its photo. */
#include "surface/planes/plane_arches.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_touch.h"
#include "surface/planes/plane_votes.h"

#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL 0.005          /* of the radius: places along an axis that points vote for */
#define MOST_CELLS 65536.0
#define SHARP 0.05          /* of the radius: points that a pixel moves less vote */
#define PIXELS 2.0          /* points of a plane are so near */
#define PASSES 5
#define OWN_ERROR 0.001     /* of the depth: of the round surface */
#define LEAST_POINTS 48u    /* of a plane, */
#define LEAST_VIEWS 3u      /* from so many views with LEAST_SUPPORT each, */
#define LEAST_SUPPORT 12u
#define LEAST_TURN 0.985    /* cosine: two of them 10 degrees apart, */
#define LARGEST_MEAN 0.95   /* and of their directions from the axis: the points are no spot */
#define MOST_BEHIND 0.05    /* of the sharp points */
#define APART 0.1           /* of the radius, at least, from plane to plane */
#define SAME_COSINE 0.9962  /* 5 degrees */
#define SAME_DISTANCE 0.05  /* of the longer spread of the edges */
#define REACH 0.5           /* of the longer side of a plane */

/* A place of an edge on a round surface, and how it moves on it by a pixel to the right and down. */
typedef struct arch_point {
    float position[3];
    double right[3], down[3], depth;
    uint32_t view;
    const plane_round *round;
    bool is_out; /* near a plane that was looked at */
} arch_point;

typedef struct arch_points {
    arch_point *all; /* [n] */
    uint32_t n;
} arch_points;

/* ---------------------------------------------------------------- points */

static bool put(const splat_camera *c, const plane_round *round, bool is_far, float x, float y, float position[3],
                double *depth)
{
    plane_slant slant;
    if (!plane_round_slant(c, round, x, y, is_far, &slant) || !(slant.q > 0)) return false;
    *depth = 1 / (double)slant.q;
    splat_camera_unproject(c, x, y, 1 / slant.q, position);
    return true;
}

/* The point of an edge on the round surface that pixel `shows` shows; pixel `own` belongs to the other segment. False:
 * there is none. */
static bool make_point(const splat_camera *c, const plane_view *view, const plane_edge *e, uint32_t shows, uint32_t own,
                       arch_point *point)
{
    bool is_far, is_own_far;
    float right[3], down[3];
    double depth;
    const plane_round *round = plane_round_at(c, view, shows, &is_far);
    if (!round || plane_round_at(c, view, own, &is_own_far) == round) return false;
    if (!put(c, round, is_far, e->x + 0.5f, e->y, right, &depth) ||
        !put(c, round, is_far, e->x, e->y + 0.5f, down, &depth) ||
        !put(c, round, is_far, e->x, e->y, point->position, &point->depth))
        return false;
    for (int k = 0; k < 3; k++) {
        point->right[k] = 2 * (double)(right[k] - point->position[k]);
        point->down[k] = 2 * (double)(down[k] - point->position[k]);
    }
    point->round = round;
    point->is_out = false;
    return true;
}

/* The points of a view. */
static bool take_view(const splat_view_maps *maps, const plane_view *view, uint32_t number, arch_points *points)
{
    const splat_camera *c = &maps->views[number].camera;
    points->all = malloc((2 * (size_t)view->n_edges + 1) * sizeof *points->all);
    for (uint32_t i = 0; points->all && i < view->n_edges; i++) {
        const plane_edge *e = &view->edges[i];
        points->n += make_point(c, view, e, e->own, e->other, &points->all[points->n]);
        points->n += make_point(c, view, e, e->other, e->own, &points->all[points->n]);
    }
    for (uint32_t i = 0; i < points->n; i++) points->all[i].view = number;
    return points->all != NULL;
}

/* ---------------------------------------------------------------- planes */

/* A plane across the axis of a round surface, in the direction of the axis. */
typedef struct cut {
    const plane_round *round;
    double at, votes; /* place along the axis; how many points, in deviations of what other places have */
} cut;

static double along(const plane_round *round, const arch_point *p)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += round->axis[k] * (double)p->position[k];
    return sum;
}

/* By how much a pixel moves a point along the axis, together with the error of the round surface. */
static double error_of(const plane_round *round, const arch_point *p)
{
    const double right = splat_dot3(round->axis, p->right), down = splat_dot3(round->axis, p->down);
    const double own = OWN_ERROR * p->depth;
    return sqrt(right * right + down * down + own * own);
}

static bool is_on(const cut *c, const arch_point *p)
{
    return p->round == c->round && !p->is_out && fabs(along(c->round, p) - c->at) < PIXELS * error_of(c->round, p);
}

/* Votes of the sharp points of a round surface for places along its axis, as far as they are not left out. Returns the
 * best place; votes 0: there is none. */
static cut find_cut(const arch_points *points, const plane_round *round)
{
    cut best = {.round = round};
    double low = INFINITY, high = -INFINITY, mean = 0, sum = 0;
    const double cell = CELL * round->radius;
    for (uint32_t i = 0; i < points->n; i++) {
        if (points->all[i].round != round || points->all[i].is_out) continue;
        low = fmin(low, along(round, &points->all[i]));
        high = fmax(high, along(round, &points->all[i]));
    }
    if (!(high > low) || !((high - low) / cell < MOST_CELLS)) return best;
    const size_t n = (size_t)((high - low) / cell) + 1;
    float *votes = calloc(n + 1, sizeof *votes); /* changes from cell to cell */
    for (uint32_t i = 0; votes && i < points->n; i++) {
        const arch_point *p = &points->all[i];
        const double error = error_of(round, p), at = (along(round, p) - low) / cell;
        if (p->round != round || p->is_out || !(error < SHARP * round->radius)) continue;
        votes[(size_t)fmax(at - error / cell, 0)]++;
        votes[(size_t)fmin(at + error / cell + 1, (double)n)]--;
        mean += (2 * error / cell + 1) / (double)n;
    }
    for (size_t i = 0; votes && i < n; i++) {
        sum += (double)votes[i];
        const double sure = (sum - mean) / sqrt(fmax(mean, 1));
        if (!(sure > best.votes)) continue;
        best.votes = sure;
        best.at = low + ((double)i + 0.5) * cell;
    }
    free(votes);
    return best;
}

/* The mean place of the points on a cut, with Tukey's weights. */
static void refine(const arch_points *points, cut *c)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        const arch_point *p = &points->all[i];
        const double error = error_of(c->round, p), d = (along(c->round, p) - c->at) / (2 * PIXELS * error);
        if (p->round != c->round || p->is_out || !(fabs(d) < 1)) continue;
        const double own = (1 - d * d) * (1 - d * d) / (error * error);
        sum += own * along(c->round, p);
        weight += own;
    }
    if (weight > 0) c->at = sum / weight;
}

/* Moves and tilts a plane onto another; its axes and centroid stay as near as they can. */
static void tilt(plane_fit *fit, const plane_fit *to)
{
    const float at[3] = {(float)fit->centroid[0], (float)fit->centroid[1], (float)fit->centroid[2]};
    const double off = plane_distance(to, at), lean = splat_dot3(fit->axes[0], to->normal);
    const double side[3] = {fit->axes[1][0], fit->axes[1][1], fit->axes[1][2]};
    for (int k = 0; k < 3; k++) {
        fit->centroid[k] -= off * to->normal[k];
        fit->axes[0][k] = (fit->axes[0][k] - lean * to->normal[k]) / sqrt(fmax(1 - lean * lean, 1e-9));
        fit->normal[k] = to->normal[k];
    }
    fit->offset = to->offset;
    splat_cross3(fit->normal, fit->axes[0], fit->axes[1]);
    if (splat_dot3(side, fit->axes[1]) > 0) return;
    for (int k = 0; k < 3; k++) fit->axes[1][k] = -fit->axes[1][k];
}

/* The plane of a cut, with the rectangle of its points. */
static void make_plane(const arch_points *points, const cut *c, plane_global *plane)
{
    plane_moments moments = {0};
    plane_fit *fit = &plane->fit;
    *plane = (plane_global){.residual = 0};
    plane_rectangle_clear(plane);
    for (uint32_t i = 0; i < points->n; i++)
        if (is_on(c, &points->all[i])) plane_moments_add(&moments, points->all[i].position, 1);
    if (!plane_fit_make(&moments, fit)) return;
    plane_fit across = {.offset = c->at};
    memcpy(across.normal, c->round->axis, sizeof across.normal);
    tilt(fit, &across);
    double n = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        const arch_point *p = &points->all[i];
        if (!is_on(c, p)) continue;
        plane->residual += fabs(along(c->round, p) - c->at);
        n++;
        plane_rectangle_add(plane, p->position);
    }
    plane->residual /= fmax(n, 1);
}

/* True if views from different directions show the arch, and it is no spot. The plane turns to them. */
static bool is_supported(const splat_view_maps *maps, const arch_points *points, const cut *c, plane_global *plane)
{
    uint32_t n_own = 0, n = 0;
    double turn = 1, front = 0, first[3] = {0}, sum[3] = {0};
    for (uint32_t i = 0; i < points->n; i++) {
        const arch_point *p = &points->all[i];
        double outward[3], way[3];
        if (i && points->all[i - 1].view != p->view) n_own = 0;
        if (!is_on(c, p)) continue;
        plane_round_outward(c->round, p->position, outward);
        for (int k = 0; k < 3; k++) sum[k] += outward[k];
        n++;
        if (++n_own != LEAST_SUPPORT) continue;
        const splat_camera *camera = &maps->views[p->view].camera;
        for (int k = 0; k < 3; k++) way[k] = (double)camera->center[k] - plane->fit.centroid[k];
        const double length = sqrt(splat_dot3(way, way));
        for (int k = 0; k < 3; k++) way[k] /= fmax(length, 1e-12);
        if (!plane->n_views++) memcpy(first, way, sizeof first);
        turn = fmin(turn, splat_dot3(first, way));
        front += plane_faces(camera, &plane->fit) ? 1 : -1;
    }
    if (front < 0) plane_turn(&plane->fit);
    return plane->n_views >= LEAST_VIEWS && turn < LEAST_TURN && n >= LEAST_POINTS &&
           sqrt(splat_dot3(sum, sum)) < LARGEST_MEAN * n;
}

/* True if the surface ends there: hardly a point lies behind the plane. */
static bool is_end(const arch_points *points, const cut *c, const plane_fit *fit)
{
    const double front = splat_dot3(fit->normal, c->round->axis) > 0 ? 1 : -1;
    uint32_t n = 0, n_behind = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        const arch_point *p = &points->all[i];
        const double error = error_of(c->round, p);
        if (p->round != c->round || !(error < SHARP * c->round->radius)) continue;
        n++;
        n_behind += front * (along(c->round, p) - c->at) < -2 * PIXELS * error;
    }
    return n_behind < MOST_BEHIND * n;
}

/* Points within a tenth of the radius of a cut vote for no other. */
static void leave_out(arch_points *points, const cut *c)
{
    for (uint32_t i = 0; i < points->n; i++) {
        arch_point *p = &points->all[i];
        p->is_out |= p->round == c->round && fabs(along(c->round, p) - c->at) <= APART * c->round->radius;
    }
}

/* ---------------------------------------------------------------- planes of the scene */

/* The plane that a new one is like, or n. */
static size_t find_like(const plane_global *planes, size_t n, const plane_global *found)
{
    const double *c = found->fit.centroid;
    const float at[3] = {(float)c[0], (float)c[1], (float)c[2]};
    for (size_t i = 0; i < n; i++)
        if (splat_dot3(planes[i].fit.normal, found->fit.normal) > SAME_COSINE &&
            fabs(plane_distance(&planes[i].fit, at)) < SAME_DISTANCE * found->fit.sigma[0])
            return i;
    return n;
}

static double longer_side(const plane_global *p)
{
    return fmax(p->high[0] - p->low[0], p->high[1] - p->low[1]);
}

/* Returns whether a plane changed or was added. */
static bool add(const plane_global *found, plane_global *planes, size_t *n)
{
    const size_t like = find_like(planes, *n, found);
    if (like == *n && *n == PLANE_MAX_PLANES) return false;
    if (like == *n) {
        planes[*n] = *found;
        plane_lay_cells(&planes[(*n)++], 0);
        return true;
    }
    if (planes[like].is_tied || planes[like].n_views >= found->n_views ||
        longer_side(found) < REACH * longer_side(&planes[like]))
        return false;
    tilt(&planes[like].fit, &found->fit);
    planes[like].residual = found->residual;
    return true;
}

/* The cuts of a cylinder, the surest first, until one is not sure. */
static size_t find_cuts(const splat_view_maps *maps, arch_points *points, const plane_round *round,
                        plane_global *planes, size_t *n)
{
    size_t n_found = 0;
    for (;;) {
        cut c = find_cut(points, round);
        plane_global plane;
        if (!(c.votes > PLANE_ROUND_SURE)) return n_found;
        for (int pass = 0; pass < PASSES; pass++) refine(points, &c);
        make_plane(points, &c, &plane);
        n_found += is_supported(maps, points, &c, &plane) && is_end(points, &c, &plane.fit) && add(&plane, planes, n);
        leave_out(points, &c);
    }
}

splat_status plane_arches_find(const splat_view_maps *maps, const plane_view *views, const plane_rounds *rounds,
                               int threads, plane_global *planes, size_t *n_planes, size_t *n_found, splat_error *error)
{
    arch_points *of = calloc(maps->n + 1, sizeof *of), points = {.n = 0};
    size_t n = 0;
    bool ok = of != NULL;
    *n_found = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(&& : ok)
    for (size_t v = 0; v < (of ? maps->n : 0); v++) ok = take_view(maps, &views[v], (uint32_t)v, &of[v]) && ok;
    for (size_t v = 0; of && v < maps->n; v++) n += of[v].n;
    points.all = malloc((n + 1) * sizeof *points.all);
    ok = ok && points.all;
    for (size_t v = 0; ok && v < maps->n; v++) {
        memcpy(points.all + points.n, of[v].all, of[v].n * sizeof *points.all);
        points.n += of[v].n;
    }
    for (size_t i = 0; ok && i < rounds->n; i++)
        if (!plane_round_is_ball(&rounds->all[i]))
            *n_found += find_cuts(maps, &points, &rounds->all[i], planes, n_planes);
    for (size_t v = 0; of && v < maps->n; v++) free(of[v].all);
    free(of);
    free(points.all);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the arches of %zu views", maps->n);
}
