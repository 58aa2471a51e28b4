/* Which rows of tiles make a band: one rule for all backends. */
#ifndef SPLAT_OPS_BAND_H
#define SPLAT_OPS_BAND_H

#include "ops/frame.h"

/* Sets frame->row_end from the instances of each row ([tiles_y], read from row_begin on) and frame->max_instances;
 * *n_instances: of the band. Errors: MEMORY when the first row alone has too many; the frame is unchanged then. */
static inline splat_status splat_band_choose(splat_frame *frame, const uint64_t *rows, uint64_t *n_instances,
                                             splat_error *error)
{
    uint64_t sum = 0, most = frame->max_instances;
    uint32_t row = frame->row_begin;
    while (row < frame->tiles_y && (most == 0 || rows[row] <= most - sum)) sum += rows[row++];
    if (row == frame->row_begin && row < frame->tiles_y)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "one row of tiles (row %u of %u, in a picture of %d x %d) has %llu (Gaussian, tile) pairs, "
                          "and the memory limit leaves room for %llu: raise `vram_limit`, or use fewer Gaussians or a "
                          "smaller picture",
                          row + 1, frame->tiles_y, frame->camera.width, frame->camera.height,
                          (unsigned long long)rows[row], (unsigned long long)most);
    frame->row_end = row;
    *n_instances = sum;
    return SPLAT_OK;
}

/* True if the band is the whole view. */
static inline bool splat_band_is_view(const splat_frame *frame)
{
    return frame->row_begin == 0 && frame->row_end == frame->tiles_y;
}

#endif
