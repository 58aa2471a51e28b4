/* Seeds have the splat's depth, which is poor next to plain regions. The edge between two surfaces lies on both, so the
 * plane that is known tells where the edge is. A weak edge between two plain segments has no seed, and is as exact. */
#include "surface/planes/plane_settle_seeds.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seeds.h"
#include "surface/planes/plane_seen.h"

#include "math/camera.h"

#include <stdlib.h>

#define NEAR 0.04f   /* of the depth: farther off the splat shows something else */
#define STRIDE 11    /* of pixels that are counted */
#define LEAST_KEPT 0.5 /* of the pixels that a plane had: so many show it once photos have chosen */

/* Pixels that a plane had, and those that show it. */
typedef struct pixel_counts {
    uint64_t had[PLANE_MAX_PLANES], shown[PLANE_MAX_PLANES];
} pixel_counts;

static void count_pixels(const plane_shade *shade, uint32_t number, pixel_counts *counts)
{
    const plane_view *view = &shade->views[number];
    for (size_t p = 0; p < splat_camera_pixels(&shade->maps->views[number].camera); p += STRIDE) {
        plane_slant slant;
        if (!(view->labels[p] & PLANE_LABEL_SEGMENT)) continue;
        const int had = plane_of_label(view, view->labels[p]), shown = plane_shown(shade, number, p, &slant);
        if (had >= 0) counts->had[had]++;
        if (shown >= 0) counts->shown[shown]++;
    }
}

splat_status plane_kept_mark(const plane_shade *shade, size_t n_planes, int threads, bool *are_kept, splat_error *error)
{
    pixel_counts *sum = calloc(1, sizeof *sum);
    bool ok = sum;
#pragma omp parallel num_threads(threads) reduction(&& : ok)
    {
        pixel_counts *own = calloc(1, sizeof *own);
        ok = own;
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < shade->maps->n; v++)
            if (own) count_pixels(shade, (uint32_t)v, own);
#pragma omp critical(splat_plane_kept)
        for (size_t i = 0; own && sum && i < n_planes; i++) {
            sum->had[i] += own->had[i];
            sum->shown[i] += own->shown[i];
        }
        free(own);
    }
    for (size_t i = 0; ok && i < n_planes; i++)
        are_kept[i] = (double)sum->shown[i] >= LEAST_KEPT * (double)sum->had[i];
    free(sum);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to count pixels of %zu planes", n_planes);
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
