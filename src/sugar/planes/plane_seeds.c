/* Places on the rims of plain segments. There the photo has an edge, so several views agree where it is; inside they
 * agree on anything. */
#include "sugar/planes/plane_parts.h"

#include "math/camera.h"

#include <stdlib.h>

#define REACH 7        /* pixels from the segment to its edge, at most */
#define WINDOW 3       /* around a pixel, to tell where outside is */
#define LEAST_STEP 0.02f /* of the depth: what is nearer across the edge stands in front */

typedef struct seeder {
    const splat_view_map *map;
    const plane_work *work;
    plane_view *view;
    int width, height;
    uint16_t edge;
    float step;
} seeder;

static bool is_rim(const seeder *s, int x, int y)
{
    const uint16_t *p = s->view->labels + (size_t)y * (size_t)s->width + (size_t)x;
    return (x > 0 && p[-1] != p[0]) || (x + 1 < s->width && p[1] != p[0]) || (y > 0 && *(p - s->width) != p[0]) ||
           (y + 1 < s->height && p[s->width] != p[0]);
}

/* The direction out of the segment: towards the middle of the other pixels around. */
static bool outwards(const seeder *s, int x, int y, float direction[2])
{
    uint16_t own = s->view->labels[(size_t)y * (size_t)s->width + (size_t)x];
    int sum[2] = {0, 0};
    for (int j = -WINDOW; j <= WINDOW; j++)
        for (int i = -WINDOW; i <= WINDOW; i++) {
            if (x + i < 0 || y + j < 0 || x + i >= s->width || y + j >= s->height) continue;
            if (s->view->labels[(size_t)(y + j) * (size_t)s->width + (size_t)(x + i)] == own) continue;
            sum[0] += i;
            sum[1] += j;
        }
    float length = sqrtf((float)(sum[0] * sum[0] + sum[1] * sum[1]));
    if (!(length > 0)) return false;
    direction[0] = (float)sum[0] / length;
    direction[1] = (float)sum[1] / length;
    return true;
}

/* The pixel t steps along, or -1. */
static long step_to(const seeder *s, int x, int y, const float direction[2], int t)
{
    int at_x = x + (int)lrintf(direction[0] * (float)t), at_y = y + (int)lrintf(direction[1] * (float)t);
    if (at_x < 0 || at_y < 0 || at_x >= s->width || at_y >= s->height) return -1;
    return (long)at_y * s->width + at_x;
}

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
    float x = (float)(pixel % s->width) + 0.5f, y = (float)(pixel / s->width) + 0.5f;
    *seed = (plane_seed){.depth = depth, .pixel = (uint32_t)own, .segment = s->view->labels[own] - 1u};
    splat_camera_unproject(&s->map->camera, x, y, depth, seed->position);
}

/* Where the rim's edge is, beside pixel (x, y) of the segment. */
static void look(const seeder *s, int x, int y)
{
    size_t own = (size_t)y * (size_t)s->width + (size_t)x;
    float direction[2];
    uint16_t most = 0;
    int at = 0;
    if (!outwards(s, x, y, direction)) return;
    for (int t = 0; t <= REACH; t++) {
        long p = step_to(s, x, y, direction, t);
        if (p < 0) break;
        if (s->work->gradient[p] > most) {
            most = s->work->gradient[p];
            at = t;
        }
    }
    if (most < s->edge) return;
    long middle = step_to(s, x, y, direction, at), inner = step_to(s, x, y, direction, at - 2);
    float in = depth_at(s, inner), out = depth_at(s, step_to(s, x, y, direction, at + 2));
    if (!(in > 0)) return;
    s->view->segments[s->view->labels[own] - 1].n_rim++;
    if (out > 0 && out < in * (1 - s->step)) return; /* something stands in front: the rim is its own */
    if (!(out > 0) || out > in * (1 + s->step)) {    /* the segment ends here */
        add(s, own, inner, in);
        return;
    }
    float depth = median3(depth_at(s, step_to(s, x, y, direction, at - 1)), depth_at(s, middle),
                          depth_at(s, step_to(s, x, y, direction, at + 1)));
    if (depth > 0) add(s, own, middle, depth);
}

static int by_segment(const void *a, const void *b)
{
    const plane_seed *p = a, *q = b;
    if (p->segment != q->segment) return p->segment < q->segment ? -1 : 1;
    return p->pixel < q->pixel ? -1 : p->pixel > q->pixel;
}

splat_status plane_seeds_make(const splat_view_map *map, plane_work *work, uint16_t edge, plane_view *view,
                              splat_error *error)
{
    const splat_camera *c = &map->camera;
    seeder s = {map, work, view, c->width, c->height, edge, 0};
    s.step = LEAST_STEP + 4 / (0.25f * c->fx); /* four pixels of a surface seen at 14 degrees are no step */
    uint32_t n = view->n_segments, *rims = calloc(2 * (size_t)n + 1, sizeof *rims), *seen = rims + n, most = 0;
    if (!rims) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %u plain segments", n);
    for (int y = 0; y < s.height; y++)
        for (int x = 0; x < s.width; x++) {
            uint16_t label = view->labels[(size_t)y * (size_t)s.width + (size_t)x];
            if (label && is_rim(&s, x, y)) rims[label - 1]++;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t stride = (rims[i] + PLANE_SEGMENT_SEEDS - 1) / PLANE_SEGMENT_SEEDS;
        rims[i] = stride ? stride : 1;
        most += PLANE_SEGMENT_SEEDS;
    }
    view->seeds = malloc(((size_t)most + 1) * sizeof *view->seeds);
    if (!view->seeds) {
        free(rims);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %u plain segments", n);
    }
    for (int y = 0; y < s.height; y++)
        for (int x = 0; x < s.width; x++) {
            uint16_t label = view->labels[(size_t)y * (size_t)s.width + (size_t)x];
            if (label && is_rim(&s, x, y) && seen[label - 1]++ % rims[label - 1] == 0) look(&s, x, y);
        }
    free(rims);
    qsort(view->seeds, view->n_seeds, sizeof *view->seeds, by_segment);
    for (uint32_t i = 0; i < view->n_seeds; i++) view->segments[view->seeds[i].segment].n_seeds++;
    for (uint32_t i = 1; i < n; i++)
        view->segments[i].first_seed = view->segments[i - 1].first_seed + view->segments[i - 1].n_seeds;
    plane_seed *less = realloc(view->seeds, ((size_t)view->n_seeds + 1) * sizeof *less);
    if (less) view->seeds = less;
    return SPLAT_OK;
}
