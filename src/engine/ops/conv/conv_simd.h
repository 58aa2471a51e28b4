/* The kernel of conv at each SIMD level. */
#ifndef SPLAT_OPS_CONV_SIMD_H
#define SPLAT_OPS_CONV_SIMD_H

#include "ops/conv/conv.h"

#define SPLAT_CONV_PANEL 32    /* pixels of a panel: the columns that a kernel computes at once */
#define SPLAT_CONV_PANELS 8    /* panels of a task: how often a block of weights is used from the cache */
#define SPLAT_CONV_DEPTH 256   /* products of a block: a panel of 32 KB stays in the first cache */
#define SPLAT_CONV_TASK (SPLAT_CONV_PANEL * SPLAT_CONV_PANELS)
#define SPLAT_CONV_SCRATCH (SPLAT_CONV_TASK * SPLAT_CONV_DEPTH + 8 * SPLAT_CONV_PANEL) /* floats of a thread */

/* Pixels [first, end) of the output's rows taken as one line, all channels of one image. */
#define SPLAT_CONV_KERNEL(name)                                                                                        \
    void name(const struct splat_conv_args *args, int32_t image, size_t first, size_t end, float *scratch)

SPLAT_CONV_KERNEL(splat_conv_c);
SPLAT_CONV_KERNEL(splat_conv_avx2);
SPLAT_CONV_KERNEL(splat_conv_avx512);

#endif
