/* A beam hangs under a sloping ceiling. Where a picture shows the ceiling only up to the beam, the plane through the
 * foot of the ceiling and the edge of the beam is as good as the ceiling, and views that agree on it keep it. Both
 * planes cross and have edges with the same others. The ceiling also meets the gable where that plane does not, and
 * where it misses an edge that fits the other, something stands in front of it: the beam. */
#include "surface/planes/plane_twins.h"

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_rename.h"
#include "surface/planes/plane_shared_edges.h"

#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_COSINE 0.98 /* 11 degrees between twins */
#define MOST_COSINE 0.966 /* 15 degrees: planes closer than that have no line in common that edges tell */
#define LEAST_EDGES 20u   /* of two planes */
#define LEAST_GAIN 0.3    /* sum of the mean weights of edges with the others */
#define IN_FRONT 0.995f   /* of the depth: something that stands there */
#define STRIDE 37         /* of pixels that are looked at */
#define NEAR 0.01f        /* of the depth: where twins cross, */
#define LEAST_NEAR 0.1    /* of the pixels of a twin */

typedef struct twins {
    const splat_view_maps *maps;
    const plane_view *views;
    const plane_global *planes;
    size_t n_all;
    plane_shared_edge *edges;
    size_t n_edges;
    const plane_shared_edge **own; /* [n_own] of the plane that is asked */
    size_t n_own;
} twins;

/* Edges of a plane with another: how many, and the sums of their weights on the plane and on its twin. */
typedef struct meeting {
    size_t n;
    double own, other;
} meeting;

/* The weight of an edge of plane a if a were plane b. Where c stands in front of b, the edge is an outline of c, and
 * says nothing against b. */
static double weight_on(const twins *t, const plane_shared_edge *edge, size_t b, size_t c, double own)
{
    const plane_fit *fit = &t->planes[b].fit, *partner = &t->planes[c].fit;
    const double x = (double)edge->x, y = (double)edge->y;
    const double weight = plane_tukey(plane_shared_edge_line(edge, fit, partner).residual / PLANE_EDGE_CUT);
    if (!(weight < own)) return weight;
    const float z = plane_depth_at(edge->camera, fit, x, y), w = plane_depth_at(edge->camera, partner, x, y);
    return w < IN_FRONT * z ? own : weight;
}

/* meetings: [n_all] of plane a with others. */
static void measure(const twins *t, size_t a, size_t b, meeting *meetings)
{
    for (size_t c = 0; c < t->n_all; c++) meetings[c] = (meeting){0};
    for (size_t i = 0; i < t->n_own; i++) {
        const plane_shared_edge *edge = t->own[i];
        const size_t c = edge->a == a ? edge->b : edge->a;
        const plane_fit *fit = &t->planes[a].fit, *partner = &t->planes[c].fit;
        if (c == b || fabs(splat_dot3(partner->normal, t->planes[b].fit.normal)) > MOST_COSINE) continue;
        const double own = plane_tukey(plane_shared_edge_line(edge, fit, partner).residual / PLANE_EDGE_CUT);
        meetings[c].n++;
        meetings[c].own += own;
        meetings[c].other += weight_on(t, edge, b, c, own);
    }
}

/* How much better the edges of plane a are on plane b; 0: a meets another there where b does not, or no other is met
 * that a does not meet. */
static double gain_of(const twins *t, size_t a, size_t b, meeting *meetings)
{
    double gain = 0;
    bool is_met = false;
    measure(t, a, b, meetings);
    for (size_t c = 0; c < t->n_all; c++) {
        const meeting *m = &meetings[c];
        const double least = PLANE_SURE_EDGES * (double)m->n;
        if (m->n < LEAST_EDGES) continue;
        if (m->own >= least && m->other < least) return 0;
        is_met = is_met || (m->own < least && m->other >= least);
        gain += (m->other - m->own) / (double)m->n;
    }
    return is_met ? gain : 0;
}

/* True if plane b crosses plane a where views see a. */
static bool is_near(const twins *t, size_t a, size_t b)
{
    size_t n = 0, n_near = 0;
    for (size_t v = 0; v < t->maps->n; v++) {
        const splat_camera *c = &t->maps->views[v].camera;
        const plane_view *view = &t->views[v];
        for (size_t p = 0; p < splat_camera_pixels(c); p += STRIDE) {
            if (plane_of_label(view, view->labels[p]) != (int)a) continue;
            const float z = plane_depth(c, &t->planes[a].fit, p);
            n++;
            n_near += fabsf(plane_depth(c, &t->planes[b].fit, p) - z) < NEAR * z;
        }
    }
    return (double)n_near >= LEAST_NEAR * (double)n;
}

/* The plane that a is a twin of, or a. */
static size_t twin_of(twins *t, size_t a, size_t n, meeting *meetings)
{
    double most = LEAST_GAIN;
    size_t found = a;
    t->n_own = 0;
    for (size_t i = 0; i < t->n_edges; i++)
        if (t->edges[i].a == a || t->edges[i].b == a) t->own[t->n_own++] = &t->edges[i];
    for (size_t b = 0; b < n; b++) {
        if (b == a || splat_dot3(t->planes[a].fit.normal, t->planes[b].fit.normal) < LEAST_COSINE) continue;
        const double gain = gain_of(t, a, b, meetings);
        if (!(gain > most) || !is_near(t, a, b)) continue;
        most = gain;
        found = b;
    }
    return found;
}

/* The rectangle of a plane with that of its twin. */
static void extend(plane_global *plane, const plane_global *twin)
{
    for (int corner = 0; corner < 4; corner++) {
        float place[3];
        const double u = corner & 1 ? twin->high[0] : twin->low[0], v = corner & 2 ? twin->high[1] : twin->low[1];
        for (int k = 0; k < 3; k++)
            place[k] = (float)(twin->fit.centroid[k] + u * twin->fit.axes[0][k] + v * twin->fit.axes[1][k]);
        plane_rectangle_add(plane, place);
    }
}

splat_status plane_twins_join(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t n_all,
                              size_t *n, splat_error *error)
{
    twins t = {.maps = maps, .views = views, .planes = planes, .n_all = n_all};
    uint16_t becomes[PLANE_MAX_PLANES];
    meeting *meetings = malloc((n_all + 1) * sizeof *meetings);
    bool ok = plane_shared_edges_find(maps, views, planes, n_all, &t.edges, &t.n_edges) && meetings;
    t.own = malloc((t.n_edges + 1) * sizeof *t.own);
    ok = ok && t.own;
    for (size_t i = 0; i < *n; i++) becomes[i] = (uint16_t)i;
    for (size_t a = 0; ok && a < *n; a++) {
        size_t b = twin_of(&t, a, *n, meetings);
        while (becomes[b] != b) b = becomes[b];
        if (a == b) continue;
        becomes[a] = (uint16_t)b;
        extend(&planes[b], &planes[a]);
    }
    ok = ok && plane_rename(maps, views, planes, n, becomes);
    free(meetings);
    free(t.own);
    free(t.edges);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for twins of %zu planes", *n);
}
