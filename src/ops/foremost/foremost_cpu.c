/* foremost on the CPU: tiles in parallel. Plain C at every SIMD level: it runs once in a training. */
#include "backend/backend.h"
#include "ops/foremost/foremost.h"
#include "ops/raster/raster_kernel.h"

#include <math.h>
#include <stdatomic.h>

/* Pixels of a tile on their way from the front. */
typedef struct tile_light {
    float left[SPLAT_TILE * SPLAT_TILE]; /* transmittance */
    uint32_t n_open;                     /* pixels with more than SPLAT_FOREMOST_LIGHT */
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

/* Whether the entry stands in front in a pixel of the tile. */
static bool blend(const splat_frame *frame, const splat_raster_tile *tile, const splat_raster_entry *entry,
                  tile_light *light)
{
    bool stands = false;
    for (int32_t row = entry->row_begin; row < entry->row_end; row++)
        for (int32_t column = 0; column < tile->columns; column++) {
            float *left = &light->left[row * SPLAT_TILE + column];
            if (!(*left > SPLAT_FOREMOST_LIGHT)) continue;
            float alpha = alpha_at(entry, frame, tile->x + column, tile->y + row);
            if (!(alpha > 0)) continue;
            stands = true;
            *left *= 1 - alpha;
            light->n_open -= !(*left > SPLAT_FOREMOST_LIGHT);
        }
    return stands;
}

static void do_tile(const struct splat_foremost_args *args, uint32_t number)
{
    const splat_frame *frame = args->frame;
    splat_raster_tile tile = splat_raster_tile_of(frame, number);
    splat_raster_entry entries[SPLAT_RASTER_BATCH];
    tile_light light = {.n_open = (uint32_t)(tile.columns * tile.rows)};
    for (int i = 0; i < SPLAT_TILE * SPLAT_TILE; i++) light.left[i] = 1;
    for (uint32_t first = tile.begin; first < tile.end && light.n_open; first += SPLAT_RASTER_BATCH) {
        uint32_t n = tile.end - first < SPLAT_RASTER_BATCH ? tile.end - first : SPLAT_RASTER_BATCH;
        splat_raster_load(frame, NULL, &tile, first, n, entries);
        for (uint32_t i = 0; i < n && light.n_open; i++) {
            if (!blend(frame, &tile, &entries[i], &light)) continue;
            uint32_t id = frame->ids[frame->instances[first + i]];
            _Atomic uint32_t *stamp = (_Atomic uint32_t *)&args->stamps[id];
            if (atomic_exchange_explicit(stamp, args->stamp, memory_order_relaxed) != args->stamp)
                args->counts[id]++; /* this tile alone saw the older stamp */
        }
    }
}

splat_status splat_foremost_cpu(splat_backend *backend, const struct splat_foremost_args *args, splat_error *error)
{
    const splat_frame *frame = args->frame;
    uint32_t end = frame->tiles_x * frame->row_end;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = frame->tiles_x * frame->row_begin; tile < end; tile++) do_tile(args, tile);
    return SPLAT_OK;
}
