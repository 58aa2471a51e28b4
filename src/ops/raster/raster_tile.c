/* A tile and its instances, as the kernels of every SIMD level take them. */
#include "ops/raster/raster_kernel.h"

#include "ops/types.h"
#include "ops/raster/reach.h"

splat_raster_tile splat_raster_tile_of(const splat_frame *frame, uint32_t tile)
{
    int32_t x = (int32_t)(tile % frame->tiles_x) * SPLAT_TILE, y = (int32_t)(tile / frame->tiles_x) * SPLAT_TILE;
    int32_t columns = frame->camera.width - x, rows = frame->camera.height - y;
    return (splat_raster_tile){x, y, columns < SPLAT_TILE ? columns : SPLAT_TILE, rows < SPLAT_TILE ? rows : SPLAT_TILE,
                               frame->tile_begin[tile], frame->tile_begin[tile + 1]};
}

static int32_t row_clamp(float row, int32_t rows)
{
    float most = (float)rows;
    row = row < most ? row : most; /* in this order GCC makes no branches of it */
    row = row > 0 ? row : 0;
    return (int32_t)row;
}

/* Rows of the tile with |v - y| <= the ellipse's half height, half a pixel wider with jitter. The slack covers the
 * rounding here; a row too many costs one test. */
static void find_rows(const splat_raster_tile *tile, const splat_reach *reach, float slack,
                      splat_raster_entry *entry)
{
    float half = sqrtf((float)(reach->form * (double)entry->a * reach->inverse));
    half += slack + 1e-6f * fabsf(entry->v);
    float row = entry->v - (float)tile->y;
    entry->row_begin = row_clamp(row - half + 1.0f, tile->rows); /* the row at row - half itself is in the slack */
    entry->row_end = row_clamp(row + half + 1.0f, tile->rows);
    if (reach->form < 0) entry->row_end = 0;
    if (reach->form == INFINITY) {
        entry->row_begin = 0;
        entry->row_end = tile->rows;
    }
}

#define AHEAD 8 /* instances whose rows are fetched while others are worked on */

void splat_raster_load(const splat_frame *frame, const float *features, const splat_raster_tile *tile, uint32_t first,
                       uint32_t n, splat_raster_entry *entries)
{
    float slack = (frame->jitter ? 0.5f : 0.0f) + 1e-2f;
    for (uint32_t i = 0; i < n; i++) {
        size_t v = frame->instances[first + i], ahead = frame->instances[first + (i + AHEAD < n ? i + AHEAD : i)];
        __builtin_prefetch(frame->conic + 4 * ahead);
        __builtin_prefetch(frame->mean2d + 2 * ahead);
        __builtin_prefetch(features ? features + SPLAT_GEOMETRY_CHANNELS * ahead : frame->rgb + 3 * ahead);
        const float *mean = frame->mean2d + 2 * v, *conic = frame->conic + 4 * v;
        const float *rgb = features ? features + SPLAT_GEOMETRY_CHANNELS * v : frame->rgb + 3 * v;
        splat_reach reach = splat_reach_of(conic);
        entries[i] = (splat_raster_entry){.u = mean[0], .v = mean[1], .a = conic[0], .b = conic[1], .c = conic[2],
                                          .alpha0 = conic[3], .red = rgb[0], .green = rgb[1], .blue = rgb[2],
                                          .power_min = reach.power_min};
        if (features) entries[i].fourth = rgb[3];
        find_rows(tile, &reach, slack, &entries[i]);
    }
}
