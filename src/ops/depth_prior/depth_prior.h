/* depth_features, depth_features_backward, depth_map, depth_points: what is known of the depth of a photo, from another
 * program or from structure from motion, as losses on the depth of a view (docs/method.md, "Depth that is known").
 * Between them stand geometry and geometry_backward, which blend the features as they blend planes. */
#ifndef SPLAT_OPS_DEPTH_PRIOR_H
#define SPLAT_OPS_DEPTH_PRIOR_H

#include "math/depth_point.h"
#include "ops/frame.h"

/* Planes of the maps: with w = alpha T and z the depth of a centre along the camera's axis, */
#define SPLAT_DEPTH_INVERSE 0 /* Q = sum w / z, not divided by the opacity */
#define SPLAT_DEPTH_ALONG 1   /* S = sum w z; the expected depth is S / A */

#define SPLAT_DEPTH_HUBER 0.01f       /* of a depth: a point that is nearer to it than that pulls less */
#define SPLAT_DEPTH_LEAST_ALPHA 0.1f  /* a pixel with less has no expected depth */
#define SPLAT_DEPTH_UNIT 65536.0f     /* 16-bit inverse depths are divided by it */

/* depth_features: what geometry blends, for every visible Gaussian: (1/z, z, 0, 0). After project. */
struct splat_depth_features_args {
    const splat_frame *frame;
    float *features; /* [n_visible][4], entries as in the frame; on a device those not visible are undefined */
};

/* depth_features_backward: adds, for every visible Gaussian, the screen's part of geometry_backward's gradients to
 * frame->grad2d (which must be there, before project_backward; mean_abs stays), and the features' part to grad_means:
 * the third row of the camera's rotation times dL/dS - dL/dQ / z². Not checked: whether gradients are finite. */
struct splat_depth_features_backward_args {
    splat_frame *frame;
    const splat_grad2d *gradients; /* [n_visible] */
    float *grad_means;             /* [n][3], rows of the model */
};

/* depth_map: a map of inverse depths, L = 1/N sum m |Q - q| over the N = width height pixels, q = max(0, scale v/65536
 * + offset), m = 1 where the mask keeps the pixel (SPLAT_LOSS_KEPT), else 0 (Kerbl et al., hierarchical 3DGS, 2024).
 * Overwrites `gradient` with weight dL/dQ. Sums in double in a fixed order; working memory is scratch, which it resets.
 */
struct splat_depth_map_args {
    int32_t width, height;
    const float *inverse;    /* [height][width], Q */
    const uint16_t *target;  /* [height][width], v */
    float scale, offset;     /* finite */
    const uint8_t *mask;     /* [height][width], or NULL: all count */
    float weight;
    float *gradient;         /* [height][width] */
    double *result;          /* device memory: L, without the weight */
};

/* depth_points: with S and A = 1 - transmittance between the four pixels around a point (bilinear), D = S/A:
 * L = sum weight h(Z'/D - 1), Z' = 1/inverse, h(e) = |e| - d/2 beyond d = SPLAT_DEPTH_HUBER and e²/(2d) below. A point
 * with A <= SPLAT_DEPTH_LEAST_ALPHA, or on a pixel that the mask does not keep, has no part.
 * Adds weight dL/dS and weight dL/dA at those pixels, floor(x) and the next by floor(y) and the next: no two points may
 * share one of their four, so that the order of the points does not matter. Touches nothing else. */
struct splat_depth_points_args {
    int32_t width, height;
    const float *along;         /* [height][width], S */
    const float *transmittance; /* [height][width] */
    const uint8_t *mask;        /* [height][width], or NULL: all count */
    const splat_depth_point *points; /* device, [n] */
    uint32_t n;
    float weight;
    float *grad_along, *grad_alpha; /* [height][width] */
    double *result;             /* device memory, 2: L without the weight; how many points had a part */
};

/* depth_map's scratch: a sum a row on the CPU, a block on a device. */
static inline size_t splat_depth_map_scratch_bytes(bool on_device, size_t width, size_t height)
{
    const size_t block = 256; /* pixels */
    return (on_device ? width * height / block + 1 : height) * sizeof(double);
}

static inline splat_status splat_depth_prior_check(int32_t width, int32_t height, splat_error *error)
{
    if (width >= 1 && height >= 1) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a depth needs a picture of at least one pixel, not %dx%d", width,
                      height);
}

#endif
