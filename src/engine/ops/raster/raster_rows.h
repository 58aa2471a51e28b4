/* The rows that blending reads of the visible, as bin makes them on the CPU. */
#ifndef SPLAT_OPS_RASTER_ROWS_H
#define SPLAT_OPS_RASTER_ROWS_H

#include "ops/frame.h"

/* Writes frame->raster_rows of the visible [begin, end). */
#define SPLAT_RASTER_MAKE_ROWS(name) void name(splat_frame *frame, uint32_t begin, uint32_t end)
SPLAT_RASTER_MAKE_ROWS(splat_raster_make_rows_c);
SPLAT_RASTER_MAKE_ROWS(splat_raster_make_rows_avx2);
SPLAT_RASTER_MAKE_ROWS(splat_raster_make_rows_avx512);

#endif
