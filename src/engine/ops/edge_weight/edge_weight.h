/* edge_weight: how much a pixel of a photo counts for losses that want smooth surfaces: much where the photo is plain,
 * little at its edges, which may be edges of the depth, too (PGSR, Chen et al., TVCG 2024, eq. 8). */
#ifndef SPLAT_OPS_EDGE_WEIGHT_H
#define SPLAT_OPS_EDGE_WEIGHT_H

#include "ops/types.h"

/* I = the photo at width x height: each pixel the mean over columns x W / width to (x + 1) W / width of the photo,
 * rounded down, without the last, and the same for rows. With the mean over the three channels
 *
 *     s(x, y) = max(mean |I(x+1, y) - I(x-1, y)|, mean |I(x, y+1) - I(x, y-1)|)
 *
 * and g = s brought to 0 .. 1 by its least and largest value in the picture (0 where these are equal), weights are
 * (1 - g)^2; at the border, which has no s, they are 0. Working memory is scratch, which it resets.
 * Errors: ARGUMENT (a photo smaller than the weights, or without pixels); MEMORY. */
struct splat_edge_weight_args {
    const uint8_t *photo; /* [photo_height][photo_width][3] */
    int photo_width, photo_height;
    int width, height;
    float *weights;       /* [height][width] */
};

/* Scratch: the range of s; on the CPU of every row. */
static inline size_t splat_edge_weight_scratch_bytes(bool on_device, size_t height)
{
    return 2 * sizeof(float) * (on_device ? 1 : height);
}

#endif
