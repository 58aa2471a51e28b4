/* Seeds have the splat's depth, which is poor next to plain regions. The edge between two surfaces lies on both, so the
 * plane that is known tells where the edge is. A weak edge between two plain segments has no seed, and is as exact. */
#include "surface/planes/plane_settle_seeds.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seeds.h"
#include "surface/planes/plane_seen.h"
#include "surface/planes/plane_square.h"

#include "math/camera.h"

#include <stdlib.h>

#define NEAR 0.04f     /* of the depth: farther off the splat shows something else */
#define LEAST_KEPT 0.5 /* of the pixels that a plane had: so many show it once photos have chosen */

/* Adds the pixels of a view that show each plane. */
static void count_shown(const plane_shade *shade, uint32_t number, uint64_t *counts)
{
    const plane_view *view = &shade->views[number];
    for (size_t p = 0; p < splat_camera_pixels(&shade->maps->views[number].camera); p += PLANE_PIXELS_STRIDE) {
        plane_slant slant;
        const int plane = view->labels[p] & PLANE_LABEL_SEGMENT ? plane_shown(shade, number, p, &slant) : -1;
        if (plane >= 0) counts[plane] += PLANE_PIXELS_STRIDE;
    }
}

void plane_kept_mark(const plane_shade *shade, size_t n_planes, int threads, bool *are_kept)
{
    uint64_t had[PLANE_MAX_PLANES], shown[PLANE_MAX_PLANES] = {0};
    plane_pixels_count(shade->maps, shade->views, n_planes, had);
#pragma omp parallel num_threads(threads)
    {
        uint64_t own[PLANE_MAX_PLANES] = {0};
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < shade->maps->n; v++) count_shown(shade, (uint32_t)v, own);
#pragma omp critical(splat_plane_kept)
        for (size_t i = 0; i < n_planes; i++) shown[i] += own[i];
    }
    for (size_t i = 0; i < n_planes; i++) are_kept[i] = (double)shown[i] >= LEAST_KEPT * (double)had[i];
}

/* Finds the depth of an edge by the plane across it. False: there is none that is kept, or the splat shows something
 * else. */
static bool find_place(const plane_shade *shade, const plane_global *planes, const bool *are_kept, uint32_t number,
                       const plane_edge *edge, float depth, float *z)
{
    plane_slant slant;
    const int plane = plane_shown(shade, number, edge->other, &slant);
    if (plane < 0 || !are_kept[plane]) return false;
    *z = plane_depth_at(&shade->maps->views[number].camera, &planes[plane].fit, (double)edge->x, (double)edge->y);
    return fabsf(*z - depth) < NEAR * *z;
}

splat_status plane_settle_seeds(const plane_shade *shade, plane_view *view, const plane_global *planes,
                               const bool *are_kept, size_t number, splat_error *error)
{
    const splat_view_map *map = &shade->maps->views[number];
    const splat_camera *c = &map->camera;
    const size_t n = splat_camera_pixels(c);
    const uint32_t n_before = view->n_seeds;
    uint32_t *seed_at = calloc(n, sizeof *seed_at); /* number + 1 */
    plane_seed *seeds = realloc(view->seeds, ((size_t)n_before + view->n_edges + 1) * sizeof *seeds);
    if (seeds) view->seeds = seeds;
    if (!seed_at || !seeds) {
        free(seed_at);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the seeds of %zu pixels", n);
    }
    for (uint32_t i = 0; i < n_before; i++) seed_at[seeds[i].pixel] = i + 1;
    for (uint32_t i = 0; i < view->n_edges; i++) {
        const plane_edge *edge = &view->edges[i];
        const uint32_t at = seed_at[edge->own];
        const float depth = at ? seeds[at - 1].depth : map->depth[edge->own];
        plane_slant slant;
        float z;
        if (!find_place(shade, planes, are_kept, (uint32_t)number, edge, depth, &z)) continue;
        const bool is_settled = plane_shown(shade, (uint32_t)number, edge->own, &slant) < 0;
        if (!at && !is_settled) continue;
        plane_seed *seed = &seeds[at ? at - 1 : view->n_seeds++];
        if (!at) *seed = (plane_seed){.pixel = edge->own,
                                      .segment = (uint16_t)((view->labels[edge->own] & PLANE_LABEL_SEGMENT) - 1)};
        seed->is_settled = is_settled;
        plane_seed_put(seed, c, edge->x, edge->y, z);
    }
    free(seed_at);
    plane_seeds_sort(view);
    return SPLAT_OK;
}
