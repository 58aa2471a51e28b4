/* Planes of segments that their own seeds say too little of: the seeds of all views that fall into the segment,
 * fitted together. Two lines of seeds say all of a plane; one says nothing of its slope. */
#include "surface/planes/plane_pool.h"

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"

#include "base/rng.h"
#include "math/camera.h"
#include "math/frustum.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SEEDS 3072u    /* of a pool */
#define TRIALS 400
#define LEAST_SEEDS 24u
#define LEAST_VIEWS 3u
#define LEAST_RIM 0.1       /* of the rim in the view in work, which also shows what stands in front */
#define AROUND 3            /* pixels: a seed next to a segment falls into it */
#define LIKE 0.25f          /* of the depth, the segment's own: so far a seed may lie */
#define TOLERANCE 0.008     /* of the reach, to the plane */
#define LINE_TRIALS 96u
#define LINE_TOLERANCE 0.015 /* of the depth, across the line */
#define LEAST_BESIDE 0.12   /* of a plane's seeds: so many lie on no one line */
#define LEAST_EXTENT 0.1    /* of the plane's: their own */

typedef struct pooled {
    plane_seed seed;        /* its segment: that of the view in work */
    uint32_t view;
} pooled;

typedef struct pool {
    const splat_view_maps *maps;
    const plane_view *views;
    size_t number;
    uint64_t seed;
    pooled *all;            /* [capacity] as they were found */
    size_t n, capacity;
    uint32_t *order;        /* [n] into them, segment by segment */
    size_t *first;          /* [segments + 1] among those */
    plane_seed *seeds;      /* [MOST_SEEDS] of one segment */
    uint32_t *from, *left;  /* views of the seeds; plane_ransac's */
    uint32_t n_seeds;
} pool;

/* ---------------------------------------------------------------- seeds */

/* The open segment of the view in work that a place falls into, + 1; 0: none. */
static uint32_t segment_of(const pool *p, const float position[3])
{
    const splat_view_map *map = &p->maps->views[p->number];
    const plane_view *view = &p->views[p->number];
    const splat_camera *c = &map->camera;
    float image[3];
    if (!splat_camera_project(c, position, image)) return 0;
    for (int k = 0; k < 9; k++) {
        static const int order[9] = {4, 1, 3, 5, 7, 0, 2, 6, 8};
        int x = (int)image[0] + AROUND * (order[k] % 3 - 1), y = (int)image[1] + AROUND * (order[k] / 3 - 1);
        if (x < 0 || y < 0 || x >= c->width || y >= c->height) continue;
        size_t at = (size_t)y * (size_t)c->width + (size_t)x;
        uint32_t label = view->labels[at];
        if (!label || label >> PLANE_LABEL_SHIFT || !plane_segment_is_open(&view->segments[label - 1])) continue;
        float own = map->depth[at];
        return own > 0 && !(fabsf(own - image[2]) < LIKE * own) ? 0 : label;
    }
    return 0;
}

static bool push(pool *p, const plane_seed *seed, uint32_t view, uint32_t segment)
{
    if (p->n == PLANE_POOL_SEEDS) return true; /* more than enough */
    if (p->n == p->capacity) {
        size_t more = 2 * p->capacity + 4096;
        if (more > PLANE_POOL_SEEDS) more = PLANE_POOL_SEEDS;
        pooled *all = realloc(p->all, more * sizeof *all);
        if (!all) return false;
        p->all = all;
        p->capacity = more;
    }
    p->all[p->n] = (pooled){*seed, view};
    p->all[p->n++].seed.segment = (uint16_t)segment;
    return true;
}

splat_status plane_pool_bound(plane_view *view, splat_error *error)
{
    size_t n_balls = (view->n_seeds + PLANE_BOUND - 1) / PLANE_BOUND;
    float(*balls)[4] = realloc(view->balls, (n_balls + 1) * sizeof *balls);
    if (!balls) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu balls around seeds", n_balls);
    view->balls = balls;
    for (size_t b = 0; b < n_balls; b++) {
        uint32_t first = (uint32_t)b * PLANE_BOUND, end = first + PLANE_BOUND;
        float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
        if (end > view->n_seeds) end = view->n_seeds;
        for (uint32_t i = first; i < end; i++)
            for (int k = 0; k < 3; k++) {
                low[k] = fminf(low[k], view->seeds[i].position[k]);
                high[k] = fmaxf(high[k], view->seeds[i].position[k]);
            }
        splat_ball_around(low, high, balls[b]);
    }
    return SPLAT_OK;
}

/* Seeds of open segments of all views that fall into open segments of this one. */
static bool collect(pool *p)
{
    const splat_frustum f = splat_frustum_of(&p->maps->views[p->number].camera);
    for (size_t v = 0; v < p->maps->n; v++) {
        const plane_view *view = &p->views[v];
        for (uint32_t i = 0; i < view->n_seeds; i++) {
            const plane_seed *seed = &view->seeds[i];
            if (i % PLANE_BOUND == 0 && v != p->number && !splat_frustum_may_see(&f, view->balls[i / PLANE_BOUND])) {
                i += PLANE_BOUND - 1;
                continue;
            }
            if (!plane_segment_is_open(&view->segments[seed->segment])) continue;
            uint32_t label = v == p->number ? seed->segment + 1u : segment_of(p, seed->position);
            if (label && !push(p, seed, (uint32_t)v, label - 1)) return false;
        }
    }
    return true;
}

/* Each segment's together, as they were found. */
static bool sort(pool *p, uint32_t n_segments)
{
    p->order = malloc((p->n + 1) * sizeof *p->order);
    p->first = calloc((size_t)n_segments + 2, sizeof *p->first);
    if (!p->order || !p->first) return false;
    for (size_t i = 0; i < p->n; i++) p->first[p->all[i].seed.segment + 2u]++;
    for (uint32_t i = 1; i < n_segments; i++) p->first[i + 1] += p->first[i];
    for (size_t i = 0; i < p->n; i++) p->order[p->first[p->all[i].seed.segment + 1u]++] = (uint32_t)i;
    return true;
}

/* Those of one segment, every second, third ... of too many. */
static void take(pool *p, uint32_t segment, plane_ransac *r)
{
    size_t begin = p->first[segment], n = p->first[segment + 1] - begin, stride = (n + MOST_SEEDS - 1) / MOST_SEEDS;
    p->n_seeds = 0;
    for (size_t i = 0; i < n; i += stride) {
        const pooled *one = &p->all[p->order[begin + i]];
        p->left[p->n_seeds] = p->n_seeds;
        p->from[p->n_seeds] = one->view;
        p->seeds[p->n_seeds++] = one->seed;
    }
    r->n_left = p->n_seeds;
}

/* ---------------------------------------------------------------- planes */

static bool is_near_line(const plane_seed *s, const float a[3], const double along[3])
{
    const double tolerance = LINE_TOLERANCE * (double)s->depth;
    return plane_off_line(s->position, a, along) < tolerance * tolerance;
}

/* True if the seeds determine the slope of the plane: several views have seeds, and away from the line with the most
 * seeds there are many, spread over more than a spot (any spot next to a line is on a plane with it). */
static bool is_defined(const pool *p, plane_hypothesis *h, uint32_t round, uint32_t *on)
{
    uint32_t n = 0, n_views = 0, best = 0, n_own = 0, last = UINT32_MAX;
    uint32_t n_rim = p->views[p->number].segments[h->segment].n_rim;
    float from[3] = {0};
    double along[3] = {0};
    for (uint32_t i = 0; i < p->n_seeds; i++) {
        const plane_seed *seed = &p->seeds[i];
        const double reach = plane_seed_reach(h->fit.normal, seed, p->maps->views[p->from[i]].camera.center);
        if (!(fabs(plane_distance(&h->fit, seed->position)) < TOLERANCE * reach)) continue;
        on[n++] = i;
        n_own += p->from[i] == p->number;
        n_views += p->from[i] != last; /* in the order of views */
        last = p->from[i];
    }
    h->n_seeds = n_own;
    if (n < LEAST_SEEDS || n_views < LEAST_VIEWS || n_own < LEAST_SEEDS / 2 || n_own < LEAST_RIM * n_rim) return false;
    for (uint32_t trial = 0; trial < LINE_TRIALS; trial++) {
        splat_random4 random = splat_random(p->seed, SPLAT_STREAM_PLANES, 256 * (TRIALS + trial) + round,
                                            (uint64_t)h->view << 32 | h->segment);
        const float *a = p->seeds[on[((uint64_t)random.x[0] * n) >> 32]].position;
        const float *b = p->seeds[on[((uint64_t)random.x[1] * n) >> 32]].position;
        double d[3], length = 0;
        uint32_t n_near = 0;
        for (int k = 0; k < 3; k++) {
            d[k] = (double)b[k] - (double)a[k];
            length += d[k] * d[k];
        }
        if (!(length > 0)) continue;
        for (int k = 0; k < 3; k++) d[k] /= sqrt(length);
        for (uint32_t i = 0; i < n; i++) n_near += is_near_line(&p->seeds[on[i]], a, d);
        if (n_near <= best) continue;
        best = n_near;
        memcpy(from, a, sizeof from);
        memcpy(along, d, sizeof along);
    }
    plane_moments beside = {0};
    plane_fit fit;
    for (uint32_t i = 0; i < n; i++)
        if (!is_near_line(&p->seeds[on[i]], from, along)) plane_moments_add(&beside, p->seeds[on[i]].position, 1);
    return beside.weight >= LEAST_SEEDS / 2 && beside.weight >= LEAST_BESIDE * n && plane_fit_make(&beside, &fit) &&
           fit.sigma[0] > LEAST_EXTENT * h->fit.sigma[0];
}

static void find(pool *p, plane_view *view, uint32_t segment)
{
    plane_ransac r = {.maps = p->maps, .seeds = p->seeds, .from = p->from, .left = p->left, .seed = p->seed,
                      .view = (uint32_t)p->number, .segment = segment, .trials = TRIALS};
    take(p, segment, &r);
    for (uint32_t round = 0; round < PLANE_SLOTS && r.n_left >= LEAST_SEEDS; round++) {
        plane_hypothesis *h = &view->hypotheses[view->n_hypotheses];
        if (!plane_ransac_next(&r, PLANE_SLOTS + round, p->n_seeds, h)) break;
        h->view = (uint32_t)p->number;
        h->segment = segment;
        h->plane = -1;
        if (!plane_faces(&p->maps->views[p->number].camera, &h->fit)) plane_turn(&h->fit);
        if (plane_hypothesis_spreads(h) && is_defined(p, h, round, p->left + MOST_SEEDS)) view->n_hypotheses++;
    }
}

/* Drops the hypotheses of open segments. */
static void drop_open(plane_view *view)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < view->n_hypotheses; i++)
        if (!plane_segment_is_open(&view->segments[view->hypotheses[i].segment]))
            view->hypotheses[n++] = view->hypotheses[i];
    view->n_hypotheses = n;
}

splat_status plane_pool_make(const splat_view_maps *maps, plane_view *views, size_t number, uint64_t seed,
                             splat_error *error)
{
    plane_view *view = &views[number];
    pool p = {.maps = maps, .views = views, .number = number, .seed = seed};
    size_t most = (size_t)view->n_hypotheses + PLANE_SLOTS * (size_t)view->n_segments + 1;
    plane_hypothesis *more = realloc(view->hypotheses, most * sizeof *more);
    if (more) view->hypotheses = more;
    p.seeds = malloc(MOST_SEEDS * sizeof *p.seeds);
    p.from = malloc(MOST_SEEDS * sizeof *p.from);
    p.left = malloc(2 * MOST_SEEDS * sizeof *p.left);
    if (maps->n >= PLANE_FEW_VIEWS) drop_open(view);
    bool is_made = more && p.seeds && p.from && p.left && collect(&p) && sort(&p, view->n_segments);
    for (uint32_t i = 0; is_made && i < view->n_segments; i++)
        if (plane_segment_is_open(&view->segments[i])) find(&p, view, i);
    free(p.all);
    free(p.order);
    free(p.first);
    free(p.seeds);
    free(p.from);
    free(p.left);
    if (is_made) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the planes of %u plain segments", view->n_segments);
}
