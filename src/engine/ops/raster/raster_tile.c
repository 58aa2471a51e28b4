/* A tile and its entries, as the kernels of every SIMD level take them. */
#include "ops/raster/raster_kernel.h"

#include <stddef.h>
#include <string.h>

#define AHEAD 16 /* instances whose rows are fetched while others are worked on */

splat_raster_tile splat_raster_tile_of(const splat_frame *frame, uint32_t tile)
{
    int32_t x = (int32_t)(tile % frame->tiles_x) * SPLAT_TILE, y = (int32_t)(tile / frame->tiles_x) * SPLAT_TILE;
    int32_t columns = frame->camera.width - x, rows = frame->camera.height - y;
    return (splat_raster_tile){x, y, columns < SPLAT_TILE ? columns : SPLAT_TILE, rows < SPLAT_TILE ? rows : SPLAT_TILE,
                               frame->tile_begin[tile], frame->tile_begin[tile + 1]};
}

/* Common fields of rows and entries have the same offset in both. */
#define COMMON_BYTES offsetof(splat_raster_row, first_row)
_Static_assert(COMMON_BYTES == offsetof(splat_raster_entry, row_begin), "entries begin as rows do");
#define FEATURE_BYTES (SPLAT_GEOMETRY_CHANNELS * sizeof(float)) /* in the place of rgb and depth */

void splat_raster_load(const splat_frame *frame, const float *features, const splat_raster_tile *tile, uint32_t first,
                       uint32_t n, splat_raster_entry *entries)
{
    const uint32_t *instances = frame->instances + first;
    for (uint32_t i = 0; i < n; i++) {
        const splat_raster_row *row = frame->raster_rows + instances[i];
        __builtin_prefetch(frame->raster_rows + instances[first + i + AHEAD < tile->end ? i + AHEAD : i]);
        memcpy(&entries[i], row, COMMON_BYTES);
        if (features) memcpy(&entries[i].red, features + SPLAT_GEOMETRY_CHANNELS * (size_t)instances[i], FEATURE_BYTES);
        int32_t begin = row->first_row - tile->y, end = row->last_row + 1 - tile->y;
        entries[i].row_begin = begin > 0 ? begin : 0;
        entries[i].row_end = end < tile->rows ? end : tile->rows;
    }
}
