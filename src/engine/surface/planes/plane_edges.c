/* Edges of a photo between plain segments, where the gradient across them is largest. */
#include "surface/planes/plane_parts.h"

#define REACH 14 /* pixels from a segment to the next, at most */
#define AROUND 2 /* pixels around the largest gradient that place the edge */
#define INTO 3   /* pixels into the next segment */

static uint32_t segment_at(const plane_view *view, long pixel)
{
    return pixel < 0 ? 0 : view->labels[pixel] & PLANE_LABEL_SEGMENT;
}

/* The centroid of the gradient around its largest value, above what is plain at the farther end. */
static bool place(const splat_camera *c, const uint16_t *gradient, int x, int y, const float direction[2], int end,
                  plane_edge *edge)
{
    const int width = c->width;
    int top = 0;
    float least = INFINITY, sum = 0, at[2] = {0, 0};
    uint16_t most = 0;
    for (int t = 0; t <= end; t++) {
        uint16_t own = gradient[plane_rim_step(c, x, y, direction, t)];
        if (own <= most) continue;
        most = own;
        top = t;
    }
    for (int t = top - AROUND; t <= top + AROUND; t++) {
        long p = plane_rim_step(c, x, y, direction, t);
        if (p < 0) return false;
        least = fminf(least, gradient[p]);
    }
    for (int t = top - AROUND; t <= top + AROUND; t++) {
        long p = plane_rim_step(c, x, y, direction, t);
        float weight = (float)gradient[p] - least;
        sum += weight;
        at[0] += weight * ((float)(p % width) + 0.5f);
        at[1] += weight * ((float)(p / width) + 0.5f);
    }
    if (!(sum > 0)) return false;
    edge->x = at[0] / sum;
    edge->y = at[1] / sum;
    return true;
}

void plane_edges_add(const splat_camera *c, const plane_work *work, plane_view *view, int x, int y,
                     const float direction[2])
{
    long own = (long)y * c->width + x, next = -1;
    uint32_t label = segment_at(view, own), other = 0;
    int t = 0;
    while (t < REACH && (!other || other == label)) {
        next = plane_rim_step(c, x, y, direction, ++t);
        other = segment_at(view, next);
    }
    if (!other || other == label) return;
    plane_edge *edge = &view->edges[view->n_edges];
    if (!place(c, work->gradient, x, y, direction, t, edge)) return;
    for (int k = 1; k <= INTO; k++) {
        long deeper = plane_rim_step(c, x, y, direction, t + k);
        if (segment_at(view, deeper) != other) break;
        next = deeper;
    }
    edge->own = (uint32_t)own;
    edge->other = (uint32_t)next;
    view->n_edges++;
}
