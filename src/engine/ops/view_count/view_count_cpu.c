/* view_count on the CPU: tiles in parallel. Plain C at every SIMD level: it runs a few times in a training. */
#include "backend/backend.h"
#include "ops/view_count/view_count.h"
#include "ops/raster/raster_kernel.h"

#include <math.h>
#include <stdatomic.h>

/* Pixels of a tile on their way from the front. */
typedef struct tile_light {
    float left[SPLAT_TILE * SPLAT_TILE]; /* transmittance */
    uint32_t n_open;                     /* pixels with more than args->light */
} tile_light;

static float alpha_at(const splat_raster_entry *e, const splat_frame *frame, int32_t x, int32_t y)
{
    float dx = e->u - (float)x, dy = e->v - (float)y;
    if (frame->jitter) {
        size_t width = (size_t)frame->camera.width, at = (size_t)y * width + (size_t)x;
        dx -= frame->jitter[at];
        dy -= frame->jitter[width * (size_t)frame->camera.height + at];
    }
    float power = -0.5f * (e->a * dx * dx + e->c * dy * dy) - e->b * dx * dy;
    float alpha = e->alpha0 * expf(power);
    if (power > 0 || !(alpha >= SPLAT_ALPHA_MIN)) return 0;
    return alpha < SPLAT_ALPHA_MAX ? alpha : SPLAT_ALPHA_MAX;
}

enum { KEPT = 1, MASKED = 2 };

static int kind_of(const struct splat_view_count_args *args, const splat_raster_tile *tile, int32_t row, int32_t column)
{
    size_t at = (size_t)(tile->y + row) * (size_t)args->frame->camera.width + (size_t)(tile->x + column);
    return !args->mask || args->mask[at] >= SPLAT_LOSS_KEPT ? KEPT : MASKED;
}

/* In which kinds of pixels of the tile the entry stands in front. */
static int blend(const struct splat_view_count_args *args, const splat_raster_tile *tile,
                 const splat_raster_entry *entry, tile_light *light)
{
    int kinds = 0;
    for (int32_t row = entry->row_begin; row < entry->row_end; row++)
        for (int32_t column = 0; column < tile->columns; column++) {
            float *left = &light->left[row * SPLAT_TILE + column];
            if (!(*left > args->light)) continue;
            float alpha = alpha_at(entry, args->frame, tile->x + column, tile->y + row);
            if (!(alpha > 0)) continue;
            if (alpha * *left >= args->weight) kinds |= kind_of(args, tile, row, column);
            *left *= 1 - alpha;
            light->n_open -= !(*left > args->light);
        }
    return kinds;
}

/* Pixels that count let all light in, others none. */
static tile_light open_pixels(const struct splat_view_count_args *args, const splat_raster_tile *tile)
{
    tile_light light = {.n_open = 0};
    for (int32_t row = 0; row < tile->rows; row++)
        for (int32_t column = 0; column < tile->columns; column++) {
            bool counts = args->masked_counts || kind_of(args, tile, row, column) == KEPT;
            light.left[row * SPLAT_TILE + column] = counts ? 1 : 0;
            light.n_open += counts;
        }
    return light;
}

/* The tile that sees an older stamp counts. */
static void count(uint32_t id, uint32_t stamp, uint32_t *stamps, uint32_t *counts)
{
    _Atomic uint32_t *of = (_Atomic uint32_t *)&stamps[id];
    if (atomic_exchange_explicit(of, stamp, memory_order_relaxed) != stamp) counts[id]++;
}

static void do_tile(const struct splat_view_count_args *args, uint32_t number)
{
    const splat_frame *frame = args->frame;
    splat_raster_tile tile = splat_raster_tile_of(frame, number);
    splat_raster_entry entries[SPLAT_RASTER_BATCH];
    tile_light light = open_pixels(args, &tile);
    for (uint32_t first = tile.begin; first < tile.end && light.n_open; first += SPLAT_RASTER_BATCH) {
        uint32_t n = tile.end - first < SPLAT_RASTER_BATCH ? tile.end - first : SPLAT_RASTER_BATCH;
        splat_raster_load(frame, NULL, &tile, first, n, entries);
        for (uint32_t i = 0; i < n && light.n_open; i++) {
            int kinds = blend(args, &tile, &entries[i], &light);
            uint32_t id = frame->ids[frame->instances[first + i]];
            if (kinds & KEPT) count(id, args->stamp, args->stamps, args->counts);
            if (kinds & MASKED) count(id, args->stamp, args->masked_stamps, args->masked_counts);
        }
    }
}

splat_status splat_view_count_cpu(splat_backend *backend, const struct splat_view_count_args *args, splat_error *error)
{
    const splat_frame *frame = args->frame;
    uint32_t end = frame->tiles_x * frame->row_end;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = frame->tiles_x * frame->row_begin; tile < end; tile++) do_tile(args, tile);
    return SPLAT_OK;
}
