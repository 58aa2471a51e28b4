/* A pixel's place, judged by what the neighbours of its view see there: op agree on the views' maps. */
#include "surface/extract/view_agreement.h"

#include "math/camera.h"
#include "surface/extract/agree_views.h"

#include <math.h>

#define REACH 3          /* steps to both sides around a pixel */
#define STEPS 120        /* along the longer side of a picture */
#define SAME_DEPTH 0.1f  /* of the depth: the same surface */
#define LEAST_SURE 0.6f  /* of the pixels around, with depth */

void splat_view_agreements(const splat_view_maps *maps, size_t v, size_t first, size_t step, size_t n,
                           splat_agreement *agreements, uint8_t *verdicts)
{
    const splat_view_map *map = &maps->views[v];
    const splat_agree_view view = splat_agree_view_of(map);
    splat_agree_view neighbors[SPLAT_VIEW_NEIGHBORS];
    for (uint32_t k = 0; k < map->n_neighbors; k++) neighbors[k] = splat_agree_view_of(&maps->views[map->neighbors[k]]);
    splat_agree_batch(&view, neighbors, map->n_neighbors, first, step, n, agreements, verdicts);
}

/* A pixel is marked by what agrees on it, unless more than that is known. */
static void mark(uint8_t *state, uint8_t verdict)
{
    if (*state != SPLAT_PIXEL_SILENT && *state != SPLAT_PIXEL_AGREED) return;
    *state = verdict == SPLAT_AGREE_HOLDS ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT;
}

void splat_view_map_mark(splat_view_map *map, size_t first, size_t n, const uint8_t *verdicts, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) mark(&map->state[first + i], verdicts[i]);
}

void splat_view_maps_mark_agreed(splat_view_maps *maps, int threads)
{
    for (size_t v = 0; v < maps->n; v++) {
        splat_view_map *map = &maps->views[v];
        size_t n = splat_camera_pixels(&map->camera);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t first = 0; first < n; first += SPLAT_AGREEMENT_BATCH) {
            splat_agreement a[SPLAT_AGREEMENT_BATCH];
            uint8_t verdicts[SPLAT_AGREEMENT_BATCH];
            size_t n_asked = n - first < SPLAT_AGREEMENT_BATCH ? n - first : SPLAT_AGREEMENT_BATCH;
            splat_view_agreements(maps, v, first, 1, n_asked, a, verdicts);
            for (size_t i = 0; i < n_asked; i++) mark(&map->state[first + i], verdicts[i]);
        }
    }
}

/* True if too few pixels around an AGREED one agree. */
static bool is_spot(const splat_view_map *map, int x, int y)
{
    const int width = map->camera.width, height = map->camera.height;
    const int longer = width > height ? width : height, step = longer > STEPS ? longer / STEPS : 1;
    const float z = map->depth[(size_t)y * (size_t)width + (size_t)x];
    int n = 0, n_sure = 0;
    for (int v = y - REACH * step; v <= y + REACH * step; v += step)
        for (int u = x - REACH * step; u <= x + REACH * step; u += step) {
            if (u < 0 || v < 0 || u >= width || v >= height) continue;
            const size_t pixel = (size_t)v * (size_t)width + (size_t)u;
            if (!(map->depth[pixel] > 0) || fabsf(map->depth[pixel] - z) > SAME_DEPTH * z) continue;
            n++;
            n_sure += map->state[pixel] >= SPLAT_PIXEL_AGREED;
        }
    return (float)n_sure < LEAST_SURE * (float)n;
}

/* The state of a spot until all pixels of the view are judged: above AGREED, as the pixel counts for others. */
#define DROPPED (SPLAT_PIXEL_AGREED + 128)

static void drop_spots(splat_view_map *map)
{
    const int width = map->camera.width;
    const size_t n = splat_camera_pixels(&map->camera);
    for (size_t i = 0; i < n; i++)
        if (map->state[i] == SPLAT_PIXEL_AGREED && is_spot(map, (int)(i % (size_t)width), (int)(i / (size_t)width)))
            map->state[i] = DROPPED;
    for (size_t i = 0; i < n; i++) {
        if (map->state[i] != DROPPED) continue;
        map->state[i] = SPLAT_PIXEL_SILENT;
        map->depth[i] = 0;
        map->alpha[i] = 255; /* other views do not look through the pixel */
    }
}

void splat_view_maps_drop_spots(splat_view_maps *maps, int threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < maps->n; v++) drop_spots(&maps->views[v]);
}
