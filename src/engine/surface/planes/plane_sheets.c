/* The shadow of a gutter on a wall, and the gutter: two edges that all views agree on, so the plane through both is as
 * well supported as a wall. But two lines say nothing of what is between them. Walls with seeds at two lines alone
 * stand square to the scene. A ramp, which does not, has sides. A sloping ceiling ends where two walls end, and nothing
 * is behind it. */
#include "surface/planes/plane_sheets.h"

#include "base/rng.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_rename.h"
#include "surface/planes/plane_square.h"

#include <stdlib.h>
#include <string.h>

#define STRIDE 11        /* of pixels that are looked at */
#define GAP 1.1f         /* times the depth: so far behind is what a sheet hides */
#define LEAST_HIDDEN 0.5 /* of the pixels */
#define ON 0.008         /* of the reach: seeds on a plane */
#define LINE_NEAR 0.0125 /* of the depth */
#define LINE_PART 0.9    /* of the seeds, on two lines */
#define LINE_TRIALS 128u
#define SAME_DEPTH 0.02f /* of the depth: two planes meet at an edge that has both of them there */
#define LEAST_MET 0.1    /* of the edges: where they meet the same plane */
#define LEAST_VIEWS 3u   /* that see them meet */

/* The edges at which a sheet meets another plane. */
typedef struct meeting {
    uint32_t n, n_views, last_view; /* the last: + 1 */
} meeting;

typedef struct sheets {
    const splat_view_maps *maps;
    plane_view *views;
    plane_global *planes;
    size_t n;
    uint64_t seed;
    uint64_t *counts; /* [n] pixels */
    uint64_t *hidden; /* [n][n + 1] pixels of a sheet behind which another plane is; last: any of them */
    uint64_t *edges;  /* [n] of a sheet */
    meeting *meetings; /* [n][n] of a sheet with others */
    bool are_sheets[PLANE_MAX_PLANES];
    size_t n_seeds;
} sheets;

/* Adds the pixels of a view. hidden: [n][n + 1] */
static void look(const sheets *s, size_t number, uint64_t *hidden)
{
    const splat_camera *camera = &s->maps->views[number].camera;
    const plane_view *view = &s->views[number];
    const size_t width = (size_t)camera->width;
    for (size_t p = 0; p < splat_camera_pixels(camera); p += STRIDE) {
        const int plane = plane_of_label(view, view->labels[p]);
        const float z = plane < 0 || !s->are_sheets[plane] ? INFINITY : plane_depth(camera, &s->planes[plane].fit, p);
        if (!(z < INFINITY)) continue;
        const float x = (float)(p % width) + 0.5f, y = (float)(p / width) + 0.5f;
        uint64_t *own = hidden + (size_t)plane * (s->n + 1);
        bool hides = false;
        for (size_t k = 0; k < s->n; k++) {
            const plane_fit *fit = &s->planes[k].fit;
            float place[3];
            if (s->counts[k] <= s->counts[plane]) continue;
            if (plane_is_parallel(fit->normal, s->planes[plane].fit.normal)) continue;
            const float behind = plane_depth(camera, fit, p);
            if (!(behind > z && behind < GAP * z)) continue;
            splat_camera_unproject(camera, x, y, behind, place);
            if (!plane_is_inside(&s->planes[k], place)) continue;
            own[k] += STRIDE;
            hides = true;
        }
        if (hides) own[s->n] += STRIDE;
    }
}

/* False without memory. */
static bool look_all(sheets *s, int threads)
{
    bool ok = true;
#pragma omp parallel num_threads(threads)
    {
        uint64_t *own = calloc(s->n * (s->n + 1) + 1, sizeof *own);
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < s->maps->n; v++)
            if (own) look(s, v, own);
#pragma omp critical(splat_plane_sheets)
        {
            ok = ok && own;
            for (size_t i = 0; own && i < s->n * (s->n + 1); i++) s->hidden[i] += own[i];
        }
        free(own);
    }
    return ok;
}

/* Counts the edges of sheets, and those where they meet another plane. */
static void meet(sheets *s, size_t number, const plane_edge *edge)
{
    const plane_view *view = &s->views[number];
    const splat_camera *camera = &s->maps->views[number].camera;
    const int sides[2] = {plane_of_label(view, view->labels[edge->own]),
                          plane_of_label(view, view->labels[edge->other])};
    for (int k = 0; k < 2; k++) {
        const int sheet = sides[k], other = sides[1 - k];
        if (sheet < 0 || !s->are_sheets[sheet] || other == sheet) continue;
        s->edges[sheet]++;
        if (other < 0 || s->are_sheets[other]) continue;
        const float z = plane_depth_at(camera, &s->planes[sheet].fit, (double)edge->x, (double)edge->y);
        const float w = plane_depth_at(camera, &s->planes[other].fit, (double)edge->x, (double)edge->y);
        if (!(z < INFINITY && fabsf(w - z) < SAME_DEPTH * z)) continue;
        meeting *own = &s->meetings[(size_t)sheet * s->n + (size_t)other];
        own->n++;
        own->n_views += own->last_view != number + 1;
        own->last_view = (uint32_t)number + 1;
    }
}

static void meet_all(sheets *s)
{
    for (size_t v = 0; v < s->maps->n; v++)
        for (uint32_t i = 0; i < s->views[v].n_edges; i++) meet(s, v, &s->views[v].edges[i]);
}

/* True if a sheet ends at two other planes and hides nothing. */
static bool is_between(const sheets *s, size_t sheet)
{
    int n_met = 0;
    for (size_t k = 0; k < s->n; k++) {
        const meeting *m = &s->meetings[sheet * s->n + k];
        n_met += m->n_views >= LEAST_VIEWS && m->n >= LEAST_MET * (double)s->edges[sheet];
    }
    const uint64_t n_hidden = s->hidden[sheet * (s->n + 1) + s->n];
    return n_met >= 2 && (double)n_hidden < LEAST_HIDDEN * (double)s->counts[sheet];
}

/* The seeds of a plane, to `left`. */
static size_t collect(const sheets *s, size_t plane, const plane_seed **left)
{
    const plane_fit *fit = &s->planes[plane].fit;
    size_t n = 0;
    for (size_t v = 0; v < s->maps->n; v++)
        for (uint32_t i = 0; i < s->views[v].n_seeds; i++) {
            const plane_view *view = &s->views[v];
            const plane_seed *seed = &view->seeds[i];
            if (plane_of_label(view, view->labels[seed->pixel]) != (int)plane) continue;
            const double reach = plane_seed_reach(fit->normal, seed, s->maps->views[v].camera.center);
            if (fabs(plane_distance(fit, seed->position)) < ON * reach) left[n++] = seed;
        }
    return n;
}

typedef struct line {
    const float *from;
    double along[3];
} line;

static bool is_on(const line *l, const plane_seed *seed)
{
    const double most = LINE_NEAR * (double)seed->depth;
    return plane_off_line(seed->position, l->from, l->along) < most * most;
}

static bool line_through(const plane_seed *a, const plane_seed *b, line *l)
{
    double length = 0;
    l->from = a->position;
    for (int k = 0; k < 3; k++) {
        l->along[k] = (double)b->position[k] - (double)a->position[k];
        length += l->along[k] * l->along[k];
    }
    for (int k = 0; k < 3; k++) l->along[k] /= sqrt(length) + 1e-300;
    return length > 0;
}

/* Takes the seeds of the line with the most of them from the n that are left; how many remain. */
static size_t take_line(const sheets *s, size_t plane, const plane_seed **left, size_t n)
{
    line best = {0};
    size_t most = 0, n_left = 0;
    for (uint32_t trial = 0; trial < LINE_TRIALS && n; trial++) {
        const splat_random4 random = splat_random(s->seed, SPLAT_STREAM_PLANES, trial, (uint64_t)plane << 32);
        const plane_seed *a = left[((uint64_t)random.x[0] * n) >> 32];
        line l;
        size_t n_on = 0;
        if (!line_through(a, left[((uint64_t)random.x[1] * n) >> 32], &l)) continue;
        for (size_t i = 0; i < n; i++) n_on += is_on(&l, left[i]);
        if (n_on <= most) continue;
        most = n_on;
        best = l;
    }
    for (size_t i = 0; i < n; i++)
        if (!most || !is_on(&best, left[i])) left[n_left++] = left[i];
    return n_left;
}

/* True if nearly all seeds lie on two lines, or there are none. left: [n_seeds], for those that no line has. */
static bool is_sheet(const sheets *s, size_t plane, const plane_seed **left)
{
    const size_t n = collect(s, plane, left), n_first = take_line(s, plane, left, n);
    return (double)take_line(s, plane, left, n_first) <= (1 - LINE_PART) * (double)n;
}

/* Marks the sheets; *any: there are some. False without memory. */
static bool mark(sheets *s, const bool *are_square, int threads, bool *any)
{
    bool ok = true, found = false;
#pragma omp parallel num_threads(threads) reduction(&& : ok) reduction(|| : found)
    {
        const plane_seed **left = malloc((s->n_seeds + 1) * sizeof *left);
        ok = left != NULL;
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < s->n; i++) {
            s->are_sheets[i] = left && !are_square[i] && is_sheet(s, i, left);
            found = found || s->are_sheets[i];
        }
        free(left);
    }
    *any = found;
    return ok;
}

/* The larger plane that each sheet hides or PLANE_NOWHERE, in becomes[n]; of other planes themselves. */
static void find(const sheets *s, uint16_t *becomes)
{
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t *hidden = s->hidden + i * (s->n + 1);
        size_t most = 0;
        becomes[i] = (uint16_t)i;
        if (!s->are_sheets[i] || is_between(s, i)) continue;
        for (size_t k = 0; k < s->n; k++)
            if (hidden[k] > hidden[most]) most = k;
        const bool is_before = hidden[most] && (double)hidden[most] >= LEAST_HIDDEN * (double)s->counts[i];
        becomes[i] = is_before ? (uint16_t)most : PLANE_NOWHERE;
    }
}

splat_status plane_sheets_remove(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                                 uint64_t seed, int threads, splat_error *error)
{
    sheets s = {.maps = maps, .views = views, .planes = planes, .n = *n, .seed = seed};
    uint16_t becomes[PLANE_MAX_PLANES];
    bool are_square[PLANE_MAX_PLANES];
    bool any = false;
    for (size_t v = 0; v < maps->n; v++) s.n_seeds += views[v].n_seeds;
    s.counts = malloc((*n + 1) * sizeof *s.counts);
    s.hidden = calloc(*n * (*n + 1) + 1, sizeof *s.hidden);
    s.edges = calloc(*n + 1, sizeof *s.edges);
    s.meetings = calloc(*n * *n + 1, sizeof *s.meetings);
    bool ok = s.counts && s.hidden && s.edges && s.meetings;
    if (ok) plane_pixels_count(maps, views, *n, s.counts);
    if (ok && plane_square_mark(planes, *n, are_square)) ok = mark(&s, are_square, threads, &any);
    if (ok && any) {
        ok = look_all(&s, threads);
        meet_all(&s);
        if (ok) find(&s, becomes);
        ok = ok && plane_rename(maps, views, planes, n, becomes);
    }
    free(s.counts);
    free(s.hidden);
    free(s.edges);
    free(s.meetings);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for sheets of %zu planes", s.n);
}
