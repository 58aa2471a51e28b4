/* Depths of all views, and the views that look at a place or through it. */
#include "surface/planes/plane_seen.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_places.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE 4        /* pixels */
#define MOST_VIEWS 96u  /* that are asked */
#define AT 0.02f        /* of the depth: a view looks at the place */
#define THROUGH 1.05f   /* times the depth: a view looks through it */
#define PRIOR 0.05f     /* of the views: so many look through any place */

static size_t columns_of(const splat_camera *c)
{
    return ((size_t)c->width + STRIDE - 1) / STRIDE;
}

int plane_shown(const plane_shade *shade, uint32_t v, size_t pixel, plane_slant *slant)
{
    const splat_view_map *map = &shade->maps->views[v];
    const plane_view *view = &shade->views[v];
    const uint32_t label = view->labels[pixel];
    uint16_t plane = 0;
    if (plane_round_slant_now(shade, v, pixel, slant)) return -1;
    const int choice = plane_choice_at(&map->camera, view, pixel, slant, &plane);
    if (choice < PLANE_CHOICE_KEEP) return plane;
    slant->q = 0;
    if (choice > PLANE_CHOICE_KEEP) return -1;
    if (plane_segment_has_planes(&view->segments[(label & PLANE_LABEL_SEGMENT) - 1]) && label >> PLANE_LABEL_SHIFT)
        return plane_of_label(view, label);
    if (!plane_shade_slant_of_map(map, pixel, slant)) slant->q = 0;
    return -1;
}

/* The depth of a pixel; 0: none. */
static float depth_of(const plane_shade *shade, const plane_global *planes, uint32_t v, size_t pixel)
{
    const splat_view_map *map = &shade->maps->views[v];
    plane_slant slant;
    if (!shade->views[v].labels[pixel]) return map->depth[pixel];
    const int plane = plane_shown(shade, v, pixel, &slant);
    if (plane < 0) return slant.q > 0 ? 1 / slant.q : 0;
    const float z = plane_depth(&map->camera, &planes[plane].fit, pixel);
    return z < INFINITY ? z : 0;
}

splat_status plane_seen_take(const plane_shade *shade, const plane_global *planes, int threads, plane_seen *seen,
                             splat_error *error)
{
    const splat_view_maps *maps = shade->maps;
    *seen = (plane_seen){maps, calloc(maps->n + 1, sizeof *seen->depths)};
    bool ok = seen->depths != NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(&& : ok)
    for (size_t v = 0; v < maps->n; v++) {
        const splat_camera *c = &maps->views[v].camera;
        const size_t rows = ((size_t)c->height + STRIDE - 1) / STRIDE;
        float *depths = seen->depths ? malloc(rows * columns_of(c) * sizeof *depths) : NULL;
        ok = ok && depths;
        if (!depths) continue;
        seen->depths[v] = depths;
        for (size_t y = 0; y < rows; y++)
            for (size_t x = 0; x < columns_of(c); x++)
                depths[y * columns_of(c) + x] =
                    depth_of(shade, planes, (uint32_t)v, y * STRIDE * (size_t)c->width + x * STRIDE);
    }
    if (ok) return SPLAT_OK;
    plane_seen_free(seen);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the depths of %zu views", maps->n);
}

void plane_seen_free(plane_seen *seen)
{
    for (size_t v = 0; seen->depths && v < seen->maps->n; v++) free(seen->depths[v]);
    free(seen->depths);
    memset(seen, 0, sizeof *seen);
}

float plane_seen_against(const plane_seen *seen, uint32_t own, const float position[3])
{
    const size_t n = seen->maps->n, step = n / MOST_VIEWS + 1;
    const float prior = PRIOR * (float)(n / step);
    uint32_t n_at = 0, n_through = 0;
    for (size_t v = own % step; v < n; v += step) {
        const splat_camera *c = &seen->maps->views[v].camera;
        float image[3];
        if (v == own || !splat_camera_project(c, position, image)) continue;
        const float depth = seen->depths[v][(size_t)image[1] / STRIDE * columns_of(c) + (size_t)image[0] / STRIDE];
        n_at += fabsf(depth - image[2]) < AT * image[2];
        n_through += depth > THROUGH * image[2];
    }
    return ((float)n_through + prior) / ((float)(n_at + n_through) + prior);
}
