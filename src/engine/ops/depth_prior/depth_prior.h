/* depth_map, depth_points: what is known of the depth of a photo, from another program or from structure from motion,
 * as losses on the depth of a view (docs/method.md, "Depth that is known"). Before them raster blends depth, after them
 * raster_backward takes their gradients (splat_raster_depth). */
#ifndef SPLAT_OPS_DEPTH_PRIOR_H
#define SPLAT_OPS_DEPTH_PRIOR_H

#include "math/depth_point.h"
#include "ops/raster/patches.h"

#define SPLAT_DEPTH_HUBER 0.01f       /* share of a depth: smaller errors pull less */
#define SPLAT_DEPTH_LEAST_ALPHA 0.1f  /* pixels with less alpha have no expected depth */
#define SPLAT_DEPTH_UNIT 65536.0f     /* 16-bit inverse depths are divided by it */
#define SPLAT_DEPTH_SUMS 256          /* partial sums of a loss, cut by the backend; their sum in order is the loss */

/* depth_map: a map of inverse depths, L = n_parts/N sum m |Q - q| over the pixels of the drawn patches
 * (splat_patches_drawn; `marked` is not read), N = width height, q = max(0, scale v/65536 + offset), m = 1 where the
 * mask keeps the pixel (SPLAT_LOSS_KEPT), else 0 (Kerbl et al., hierarchical 3DGS, 2024). Its mean over all lots is the
 * loss over all pixels. Overwrites `gradient` with weight dL/dQ at those pixels and touches nothing else. Sums in
 * double. Errors: ARGUMENT (no pixel, another n_parts than 1, 2 and 4). */
struct splat_depth_map_args {
    int32_t width, height;
    splat_patches patches;
    const float *inverse;    /* [height][width], Q */
    const uint16_t *target;  /* [height][width], v */
    float scale, offset;     /* finite */
    const uint8_t *mask;     /* [height][width], or NULL: all count */
    float weight;
    float *gradient;         /* [height][width] */
    double *result;          /* device memory, [SPLAT_DEPTH_SUMS]: L, without the weight */
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
    double *result;             /* device memory, [SPLAT_DEPTH_SUMS][2]: L without the weight; points that count */
};

static inline splat_status splat_depth_prior_check(int32_t width, int32_t height, splat_error *error)
{
    if (width >= 1 && height >= 1) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a depth needs a picture of at least one pixel, not %dx%d", width,
                      height);
}

static inline splat_status splat_depth_points_check(const struct splat_depth_points_args *args, splat_error *error)
{
    return splat_depth_prior_check(args->width, args->height, error);
}

static inline splat_status splat_depth_map_check(const struct splat_depth_map_args *args, splat_error *error)
{
    const uint32_t n = args->patches.n_parts;
    SPLAT_TRY(splat_depth_prior_check(args->width, args->height, error));
    if (n == 1 || n == 2 || n == 4) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a map of depth takes 1, 2 or 4 parts of a tile's patches, not %u",
                      n);
}

#endif
