/* Places on the rims of plain segments. There the photo has an edge, so several views agree where it is; inside they
 * agree on anything. */
#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <stdlib.h>

#define REACH 7        /* pixels from the segment to its edge, at most */
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

static void add(const seeder *s, size_t own, long pixel, float depth)
{
    plane_seed *seed = &s->view->seeds[s->view->n_seeds++];
    *seed = (plane_seed){.depth = depth, .pixel = (uint32_t)own, .segment = (uint16_t)(s->view->labels[own] - 1)};
    splat_camera_unproject(&s->map->camera, (float)(pixel % s->map->camera.width) + 0.5f,
                           (float)(pixel / s->map->camera.width) + 0.5f, depth, seed->position);
}

/* Where the rim's edge is, beside pixel (x, y) of the segment. */
static void look(void *user, int x, int y, const float direction[2])
{
    const seeder *s = user;
    const splat_camera *c = &s->map->camera;
    size_t own = (size_t)y * (size_t)c->width + (size_t)x;
    uint16_t most = 0;
    int at = 0;
    plane_edges_add(c, s->work, s->view, x, y, direction);
    for (int t = 0; t <= REACH; t++) {
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
    if (p->pixel != q->pixel) return p->pixel < q->pixel ? -1 : 1;
    return p->line < q->line ? -1 : p->line > q->line;
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
    if (!view->seeds || !view->edges)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %u plain segments", view->n_segments);
    SPLAT_TRY(plane_rims_visit(&map->camera, view, look, &s, error));
    plane_seeds_sort(view);
    plane_seed *less = realloc(view->seeds, ((size_t)view->n_seeds + 1) * sizeof *less);
    if (less) view->seeds = less;
    plane_edge *fewer = realloc(view->edges, ((size_t)view->n_edges + 1) * sizeof *fewer);
    if (fewer) view->edges = fewer;
    return SPLAT_OK;
}
