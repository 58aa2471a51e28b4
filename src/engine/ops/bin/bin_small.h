/* The tiles of a Gaussian that has few, as most have: walked sixteen Gaussians at a time, on the CPU. */
#ifndef SPLAT_OPS_BIN_SMALL_H
#define SPLAT_OPS_BIN_SMALL_H

#include "ops/frame.h"

/* Its rows of tiles, a byte each from its first row in the band on: four bits of x0 - rect x0, four of the number of
 * tiles. */
#define SPLAT_SMALL_ROWS 8
#define SPLAT_SMALL_COLUMNS 15
#define SPLAT_NOT_SMALL UINT64_MAX /* no row looks like 0xff: x0 - rect x0 <= 14 */

/* Rows of the visible [begin, end), by raster_rows, and the number of their tiles, from the band's first row to the
 * last of the view; of others SPLAT_NOT_SMALL and anything. Both by visible index. */
#define SPLAT_BIN_SMALL(name)                                                                                          \
    void name(const splat_frame *frame, uint32_t begin, uint32_t end, uint64_t *rows, uint32_t *counts)
SPLAT_BIN_SMALL(splat_bin_small_c);
SPLAT_BIN_SMALL(splat_bin_small_avx2);
SPLAT_BIN_SMALL(splat_bin_small_avx512);

#endif
