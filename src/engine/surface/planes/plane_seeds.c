/* The rims of plain segments: which way out is, edges of the photo, and seeds of planes. */
#include "surface/planes/plane_seeds.h"

#include "math/camera.h"
#include "surface/planes/plane_edge.h"
#include "surface/planes/plane_parts.h"

#include <stdlib.h>

#define WINDOW 3 /* around a pixel, to tell where outside is */

typedef struct rim_walk {
    const plane_view *view;
    int width, height;
} rim_walk;

/* The segment's number + 1; 0: not plain. */
static uint32_t segment_at(const rim_walk *w, int x, int y)
{
    return w->view->labels[(size_t)y * (size_t)w->width + (size_t)x] & PLANE_LABEL_SEGMENT;
}

static bool is_rim(const rim_walk *w, int x, int y)
{
    uint32_t own = segment_at(w, x, y);
    return own && ((x > 0 && segment_at(w, x - 1, y) != own) || (x + 1 < w->width && segment_at(w, x + 1, y) != own) ||
                   (y > 0 && segment_at(w, x, y - 1) != own) || (y + 1 < w->height && segment_at(w, x, y + 1) != own));
}

/* The direction out of the segment: towards the middle of the other pixels around. */
static bool outwards(const rim_walk *w, int x, int y, float direction[2])
{
    uint32_t own = segment_at(w, x, y);
    int sum[2] = {0, 0};
    for (int j = -WINDOW; j <= WINDOW; j++)
        for (int i = -WINDOW; i <= WINDOW; i++) {
            if (x + i < 0 || y + j < 0 || x + i >= w->width || y + j >= w->height) continue;
            if (segment_at(w, x + i, y + j) == own) continue;
            sum[0] += i;
            sum[1] += j;
        }
    float length = sqrtf((float)(sum[0] * sum[0] + sum[1] * sum[1]));
    if (!(length > 0)) return false;
    direction[0] = (float)sum[0] / length;
    direction[1] = (float)sum[1] / length;
    return true;
}

splat_status plane_rims_visit(const splat_camera *camera, const plane_view *view, plane_rim_function function,
                              void *user, splat_error *error)
{
    rim_walk w = {view, camera->width, camera->height};
    size_t n = view->n_segments;
    uint32_t *strides = calloc(2 * n + 1, sizeof *strides), *seen = strides ? strides + n : NULL;
    if (!strides) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %zu plain segments", n);
    for (int y = 0; y < w.height; y++)
        for (int x = 0; x < w.width; x++)
            if (is_rim(&w, x, y)) strides[segment_at(&w, x, y) - 1]++;
    for (size_t i = 0; i < n; i++) {
        uint32_t stride = (strides[i] + PLANE_SEGMENT_SEEDS - 1) / PLANE_SEGMENT_SEEDS;
        strides[i] = stride ? stride : 1;
    }
    for (int y = 0; y < w.height; y++)
        for (int x = 0; x < w.width; x++) {
            float direction[2];
            if (!is_rim(&w, x, y)) continue;
            uint32_t segment = segment_at(&w, x, y) - 1;
            if (seen[segment]++ % strides[segment] == 0 && outwards(&w, x, y, direction))
                function(user, x, y, direction);
        }
    free(strides);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- edges between segments
 * Edges of a photo between plain segments, where the gradient across them is largest. */

#define EDGE_REACH 14 /* pixels from a segment to the next, at most */
#define INTO 3        /* pixels into the next segment */

static uint32_t segment_of(const plane_view *view, long pixel)
{
    return pixel < 0 ? 0 : view->labels[pixel] & PLANE_LABEL_SEGMENT;
}

/* Appends the edge between a rim's pixel and another segment, if there is one beyond. */
static void plane_edges_add(const splat_camera *c, const plane_work *work, plane_view *view, int x, int y,
                            const float direction[2])
{
    long own = (long)y * c->width + x, next = -1;
    uint32_t label = segment_of(view, own), other = 0;
    int t = 0;
    while (t < EDGE_REACH && (!other || other == label)) {
        next = plane_rim_step(c, x, y, direction, ++t);
        other = segment_of(view, next);
    }
    if (!other || other == label) return;
    plane_edge *edge = &view->edges[view->n_edges];
    float at[2];
    if (!plane_edge_place(c, work, x, y, direction, t, at)) return;
    for (int k = 1; k <= INTO; k++) {
        long deeper = plane_rim_step(c, x, y, direction, t + k);
        if (segment_of(view, deeper) != other) break;
        next = deeper;
    }
    edge->x = at[0];
    edge->y = at[1];
    edge->own = (uint32_t)own;
    edge->other = (uint32_t)next;
    view->n_edges++;
}

/* ---------------------------------------------------------------- seeds
 * Places on the rims of plain segments. There the photo has an edge, so several views agree where it is; inside they
 * agree on anything. */

#define SEED_REACH 7     /* pixels from the segment to its edge, at most */
#define LEAST_STEP 0.02f /* of the depth: what is nearer across the edge stands in front */

typedef struct seeder {
    const splat_view_map *map;
    const plane_work *work;
    plane_view *view;
    uint16_t edge;
    float step;
} seeder;

static float depth_at(const seeder *s, long pixel)
{
    return pixel < 0 ? 0 : s->map->depth[pixel];
}

static float median3(float a, float b, float c)
{
    return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

static void add_rim(const seeder *s, int x, int y, const float direction[2], int end)
{
    const splat_camera *c = &s->map->camera;
    float at[2];
    if (!plane_edge_place(c, s->work, x, y, direction, end, at)) return;
    s->view->rims[s->view->n_rims++] =
        (plane_rim){at[0], at[1], {direction[0], direction[1]}, (uint32_t)(y * c->width + x)};
}

static void add(const seeder *s, size_t own, long pixel, float depth)
{
    plane_seed *seed = &s->view->seeds[s->view->n_seeds++];
    *seed = (plane_seed){.pixel = (uint32_t)own, .segment = (uint16_t)(s->view->labels[own] - 1)};
    plane_seed_put(seed, &s->map->camera, (float)(pixel % s->map->camera.width) + 0.5f,
                   (float)(pixel / s->map->camera.width) + 0.5f, depth);
}

/* Finds the edge of the rim next to pixel (x, y) of the segment. */
static void look(void *user, int x, int y, const float direction[2])
{
    const seeder *s = user;
    const splat_camera *c = &s->map->camera;
    size_t own = (size_t)y * (size_t)c->width + (size_t)x;
    uint16_t most = 0;
    int at = 0;
    plane_edges_add(c, s->work, s->view, x, y, direction);
    for (int t = 0; t <= SEED_REACH; t++) {
        long p = plane_rim_step(c, x, y, direction, t);
        if (p < 0) break;
        if (s->work->gradient[p] > most) {
            most = s->work->gradient[p];
            at = t;
        }
    }
    if (most < s->edge) return;
    long middle = plane_rim_step(c, x, y, direction, at), inner = plane_rim_step(c, x, y, direction, at - 2);
    float in = depth_at(s, inner), out = depth_at(s, plane_rim_step(c, x, y, direction, at + 2));
    if (!(in > 0)) return;
    s->view->segments[s->view->labels[own] - 1].n_rim++;
    if (out > 0 && out < in * (1 - s->step)) return; /* something stands in front: the rim is its own */
    add_rim(s, x, y, direction, at);
    if (!(out > 0) || out > in * (1 + s->step)) {    /* the segment ends here */
        add(s, own, inner, in);
        return;
    }
    float depth = median3(depth_at(s, plane_rim_step(c, x, y, direction, at - 1)), depth_at(s, middle),
                          depth_at(s, plane_rim_step(c, x, y, direction, at + 1)));
    if (depth > 0) add(s, own, middle, depth);
}

static int by_segment(const void *a, const void *b)
{
    const plane_seed *p = a, *q = b;
    if (p->segment != q->segment) return p->segment < q->segment ? -1 : 1;
    return p->pixel < q->pixel ? -1 : p->pixel > q->pixel;
}

void plane_seeds_sort(plane_view *view)
{
    qsort(view->seeds, view->n_seeds, sizeof *view->seeds, by_segment);
    for (uint32_t i = 0; i < view->n_segments; i++) view->segments[i].n_seeds = 0;
    for (uint32_t i = 0; i < view->n_seeds; i++) view->segments[view->seeds[i].segment].n_seeds++;
    for (uint32_t i = 1; i < view->n_segments; i++)
        view->segments[i].first_seed = view->segments[i - 1].first_seed + view->segments[i - 1].n_seeds;
}

splat_status plane_seeds_make(const splat_view_map *map, plane_work *work, uint16_t edge, plane_view *view,
                              splat_error *error)
{
    seeder s = {map, work, view, edge, 0};
    size_t most = PLANE_SEGMENT_SEEDS * (size_t)view->n_segments;
    s.step = LEAST_STEP + 4 / (0.25f * map->camera.fx); /* four pixels of a surface seen at 14 degrees are no step */
    view->seeds = malloc((most + 1) * sizeof *view->seeds);
    view->edges = malloc((most + 1) * sizeof *view->edges);
    view->rims = malloc((most + 1) * sizeof *view->rims);
    if (!view->seeds || !view->edges || !view->rims)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %u plain segments", view->n_segments);
    SPLAT_TRY(plane_rims_visit(&map->camera, view, look, &s, error));
    plane_seeds_sort(view);
    plane_seed *less = realloc(view->seeds, ((size_t)view->n_seeds + 1) * sizeof *less);
    if (less) view->seeds = less;
    plane_edge *fewer = realloc(view->edges, ((size_t)view->n_edges + 1) * sizeof *fewer);
    if (fewer) view->edges = fewer;
    plane_rim *rims = realloc(view->rims, ((size_t)view->n_rims + 1) * sizeof *rims);
    if (rims) view->rims = rims;
    return SPLAT_OK;
}
