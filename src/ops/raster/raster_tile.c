/* A tile, as the kernels of every SIMD level take it. */
#include "ops/raster/raster_kernel.h"

splat_raster_tile splat_raster_tile_of(const splat_frame *frame, uint32_t tile)
{
    int32_t x = (int32_t)(tile % frame->tiles_x) * SPLAT_TILE, y = (int32_t)(tile / frame->tiles_x) * SPLAT_TILE;
    int32_t columns = frame->camera.width - x, rows = frame->camera.height - y;
    return (splat_raster_tile){x, y, columns < SPLAT_TILE ? columns : SPLAT_TILE, rows < SPLAT_TILE ? rows : SPLAT_TILE,
                               frame->tile_begin[tile], frame->tile_begin[tile + 1]};
}
