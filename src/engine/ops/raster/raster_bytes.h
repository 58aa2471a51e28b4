/* The memory of raster_backward and geometry_backward. */
#ifndef SPLAT_OPS_RASTER_BYTES_H
#define SPLAT_OPS_RASTER_BYTES_H

#include "ops/raster/raster_kernel.h"
#include "ops/work.h"

/* A deterministic device's sums in fixed point, 8 bytes where the gradients have 4, and their bounds. */
static inline size_t splat_raster_fixed_bytes(size_t n)
{
    return 8 * sizeof(uint32_t) + n * sizeof(splat_grad2d) * 2;
}

/* Scratch, with the gradients on the screen where they lie there: on the CPU a slot of moments an instance; on a
 * deterministic device sums in fixed point. */
static inline size_t splat_raster_backward_scratch_bytes(const splat_work *w)
{
    size_t gradients = w->bands ? 0 : w->n * sizeof(splat_grad2d);
    if (!w->on_device) return gradients + splat_raster_slots_bytes(w->n_instances);
    return gradients + (w->deterministic ? splat_raster_fixed_bytes(w->n) : 0);
}

/* With depths that much more: on the CPU a slot an instance, on a deterministic device a sum a Gaussian. */
static inline size_t splat_raster_fixed_depth_bytes(size_t n)
{
    return n * sizeof(uint64_t);
}

static inline size_t splat_raster_backward_depth_bytes(const splat_work *w)
{
    if (!w->on_device) return splat_raster_depth_slots_bytes(w->n_instances);
    return w->deterministic ? splat_raster_fixed_depth_bytes(w->n) : 0;
}

#endif
