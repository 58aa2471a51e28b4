/* Facts that decide the memory of an op. Each op states its bytes in its folder, in functions of this, and takes its
 * memory by them; a plan (src/engine/train/memory/plan.c) adds them up.
 *
 * An op's scratch lives until the next op resets it; its memory of the frame lives as long as the view. The figures
 * of a device are upper bounds where CUB's sorts and scans have working memory of their own. */
#ifndef SPLAT_OPS_WORK_H
#define SPLAT_OPS_WORK_H

#include "ops/frame.h"

typedef struct splat_work {
    bool on_device;      /* false: on the CPU */
    bool deterministic;  /* --deterministic on a device */
    size_t threads;      /* CPU threads */
    size_t n;            /* Gaussians */
    size_t n_instances;  /* (Gaussian, tile) pairs that there is room for at a time */
    bool bands;          /* a view with more instances is processed in bands */
    size_t width, height;
} splat_work;

static inline size_t splat_work_pixels(const splat_work *w)
{
    return w->width * w->height;
}

static inline size_t splat_work_tiles(const splat_work *w)
{
    return splat_tiles_along(w->width) * splat_tiles_along(w->height);
}

static inline size_t splat_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
