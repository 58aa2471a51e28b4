/* A pixel's place, judged by what the neighbours of its view see there: op agree on the views' maps. */
#include "surface/extract/view_agreement.h"

#include "math/camera.h"
#include "surface/extract/agree_views.h"

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
