/* The memory of the loss. */
#ifndef SPLAT_OPS_LOSS_BYTES_H
#define SPLAT_OPS_LOSS_BYTES_H

#include "ops/loss/loss_cpu.h"
#include "ops/work.h"

/* Scratch. A device: three derivatives of the SSIM map by channel, and sums of the tiles. */
static inline size_t splat_loss_scratch_bytes(const splat_work *w)
{
    int32_t width = (int32_t)w->width, height = (int32_t)w->height;
    if (!w->on_device)
        return w->threads * splat_loss_workspace_floats(width) * sizeof(float) + splat_loss_rows_bytes(height);
    const size_t tile = 32, derivatives = 3;
    size_t n_tiles = (w->width / tile + 1) * (w->height / tile + 1);
    return 3 * (derivatives * splat_work_pixels(w) * sizeof(float) + (n_tiles + 1) * sizeof(splat_loss_sums)) + 512;
}

#endif
