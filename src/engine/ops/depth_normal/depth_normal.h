/* depth_normal: how well the blended normals agree with the normals of the depth map; loss and gradients in one pass
 * (docs/method.md, "Depth and normals"). */
#ifndef SPLAT_OPS_DEPTH_NORMAL_H
#define SPLAT_OPS_DEPTH_NORMAL_H

#include "ops/types.h"

/* maps: of geometry, in camera space and not normalized. With the plane depth D (ops/geometry/plane_depth.h) a pixel
 * (x, y) stands for P = D ((x + 1/2 - cx) / fx, (y + 1/2 - cy) / fy, 1), at the centre of the pixel. m = the unit
 * vector of (P(x, y+1) - P(x, y-1)) x (P(x+1, y) - P(x-1, y)), which faces the camera; n = that of maps[1..3].
 *
 * loss = 1 / (width height) times the sum of e (1 - n . m) over the pixels that count: those with four neighbours, with
 * a depth there and in themselves, and with two vectors that have a length. e = edge_weight: small where the photo has
 * edges, which may be edges of the depth, too.
 *
 * grad_maps is overwritten with weight times the gradient (which pixels count is a constant of it); alpha has none.
 * Working memory is scratch, which it resets. */
struct splat_depth_normal_args {
    const splat_camera *camera;
    const float *maps;          /* [4][height][width] */
    const float *transmittance; /* [height][width] */
    const float *edge_weight;   /* [height][width], or NULL: 1 */
    float weight;               /* weight of the gradients; the reported loss has none */
    float *grad_maps;           /* [4][height][width] */
    double *result;             /* device memory, 2: the loss, and the number of pixels that count */
};

/* Scratch: the slopes of the depth; and on the CPU two sums a row, on a device two a block of a row. */
static inline size_t splat_depth_normal_slopes_bytes(size_t n_pixels)
{
    return 6 * n_pixels * sizeof(float);
}

static inline size_t splat_depth_normal_sums_bytes(size_t n)
{
    return 2 * n * sizeof(double);
}

static inline size_t splat_depth_normal_scratch_bytes(bool on_device, size_t width, size_t height)
{
    const size_t least_block = 32; /* pixels of a device's block, at least */
    size_t n_sums = on_device ? (width / least_block + 1) * height : height;
    return splat_depth_normal_slopes_bytes(width * height) + splat_depth_normal_sums_bytes(n_sums);
}

#endif
