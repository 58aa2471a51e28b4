/* The rims of plain segments: pixels beside something else, and which way out is. */
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

long plane_rim_step(const splat_camera *camera, int x, int y, const float direction[2], int t)
{
    int at_x = x + (int)lrintf(direction[0] * (float)t), at_y = y + (int)lrintf(direction[1] * (float)t);
    if (at_x < 0 || at_y < 0 || at_x >= camera->width || at_y >= camera->height) return -1;
    return (long)at_y * camera->width + at_x;
}
