/* multi_view: how well the surface of a view agrees with a neighbouring view: its depth with the neighbour's depth, and
 * the photos with each other across the planes of its pixels; losses and gradients (docs/method.md, "Agreement of
 * views"; the losses of PGSR, Chen et al., TVCG 2024). */
#ifndef SPLAT_OPS_MULTI_VIEW_H
#define SPLAT_OPS_MULTI_VIEW_H

#include "ops/types.h"
#include "ops/work.h"

#define SPLAT_MULTI_VIEW_ALPHA 0.5f    /* pixels with more alpha count, in both views */
#define SPLAT_MULTI_VIEW_FACING 0.02f  /* -N.r must be more than this times alpha */
#define SPLAT_MULTI_VIEW_RADIUS 3      /* half side of a patch, pixels of the photo */
#define SPLAT_MULTI_VIEW_SIDE (2 * SPLAT_MULTI_VIEW_RADIUS + 1)
#define SPLAT_MULTI_VIEW_PATCH (SPLAT_MULTI_VIEW_SIDE * SPLAT_MULTI_VIEW_SIDE)
#define SPLAT_MULTI_VIEW_WORST 0.9f    /* patches with larger errors do not count: they show different things */
#define SPLAT_MULTI_VIEW_EPSILON 1e-8f
/* Least standard deviation of a patch, of greys in 0 .. 1: where a wall is plain, its patches show the photo's noise
 * and rounding, and agree or not by chance. */
#define SPLAT_MULTI_VIEW_TEXTURE (1.5f / 255.0f)
#define SPLAT_MULTI_VIEW_RESULTS 4

/* A view: its maps of op geometry (in camera space, not normalized: the sums of w d and w n), and its photo. */
typedef struct splat_multi_view_side {
    const splat_camera *camera;       /* camera at the size of the maps */
    const splat_camera *photo_camera; /* the same view at the size of the photo */
    const float *maps;                /* [4][height][width]: Dist, N */
    const float *transmittance;       /* [height][width] */
    const uint8_t *photo;             /* [height][width][3], of photo_camera; not read when n_patches is 0 */
} splat_multi_view_side;

/* With r(x, y) = ((x + 1/2 - cx) / fx, (y + 1/2 - cy) / fy, 1) a pixel of the reference view has the depth
 * D = Dist / -N.r, where A = 1 - T > 1/2 and -N.r > 0.02 A.
 *
 * Geometric: X = D r; q = where the neighbour sees X; D_n = the neighbour's depth there, from Dist, N and A bilinear
 * between four pixels with A > 1/2, which is exact on a plane; X2 = the point of depth D_n on the ray through q; phi =
 * the distance between the pixel and where the reference view sees X2, in pixels of its photo. The pixel counts iff
 * phi < 1; its weight w = exp(-phi) is a constant of the gradients, and so are the neighbour's maps.
 *     result[0] = mean of w phi over the result[1] pixels that count.
 *
 * Photometric: of at most n_patches pixels that count geometrically, the 7 x 7 pixels a_o of the photo around the
 * pixel, and what the neighbour's photo shows, bilinear, where their rays meet the plane N.X + Dist = 0: b_o. Photos
 * are grey, 0 .. 1. With cov, va, vb the sums of products of the deviations from the means, the error is
 *     e = 1 - sign(cov) cov^2 / (va vb + 1e-8),
 * and the patch counts iff e < 0.9, all of it lies in both photos, and both have texture (SPLAT_MULTI_VIEW_TEXTURE).
 *     result[2] = mean of w e over the result[3] patches that count.
 * Which pixels: the view's pixels, row by row, are cut into S = min(n_patches, pixels) runs; of each, the first pixel
 * that counts, beginning at a random one (splat_random(seed, SPLAT_STREAM_MULTI_VIEW, step, run)) and going around.
 *
 * Adds geometric_weight times the gradient of result[0] and photometric_weight times that of result[2] to grad_maps.
 * Numbers that are not finite count nowhere. Working memory is scratch, which it resets. */
struct splat_multi_view_args {
    splat_multi_view_side reference, neighbor;
    float geometric_weight, photometric_weight; /* weights of the gradients; the reported losses have none */
    uint32_t n_patches;         /* 0: no photometric loss */
    uint64_t seed;
    uint32_t step;
    float *grad_maps;           /* [4][height][width] of the reference view's maps; added to */
    double *result;             /* device memory, SPLAT_MULTI_VIEW_RESULTS */
};

/* A patch's choice and gradient. */
typedef struct splat_multi_view_gradient {
    uint32_t pixel; /* UINT32_MAX: none */
    float g[4];     /* dL/d(Dist, N), before the mean */
} splat_multi_view_gradient;

/* Scratch: greys of both photos, weight and slope of every pixel, gradients of the patches, sums. */
static inline size_t splat_multi_view_grey_bytes(size_t photo_pixels)
{
    return photo_pixels * sizeof(float);
}

static inline size_t splat_multi_view_field_bytes(size_t n_pixels)
{
    return 2 * n_pixels * sizeof(float);
}

static inline size_t splat_multi_view_gradients_bytes(size_t n_patches)
{
    return n_patches * sizeof(splat_multi_view_gradient);
}

#define SPLAT_MULTI_VIEW_BLOCK_X 32 /* pixels of a device's block */
#define SPLAT_MULTI_VIEW_BLOCK_Y 8
#define SPLAT_MULTI_VIEW_RUNS 8     /* patches summed together */

/* Two sums: on the CPU of a row, on a device of a block; and of so many patches. */
static inline size_t splat_multi_view_sums(bool on_device, size_t width, size_t height)
{
    const size_t x = SPLAT_MULTI_VIEW_BLOCK_X, y = SPLAT_MULTI_VIEW_BLOCK_Y;
    return on_device ? ((width + x - 1) / x) * ((height + y - 1) / y) : height;
}

static inline size_t splat_multi_view_patch_sums(size_t n_patches)
{
    return (n_patches + SPLAT_MULTI_VIEW_RUNS - 1) / SPLAT_MULTI_VIEW_RUNS;
}

static inline size_t splat_multi_view_sums_bytes(size_t n)
{
    return 2 * n * sizeof(double);
}

/* The most that maps of width x height and two photos of photo_pixels take. */
static inline size_t splat_multi_view_scratch_bytes(bool on_device, size_t width, size_t height, size_t photo_pixels,
                                                    size_t n_patches)
{
    size_t n_pixels = width * height, n = n_patches < n_pixels ? n_patches : n_pixels;
    size_t n_sums = splat_multi_view_sums(on_device, width, height) + splat_multi_view_patch_sums(n);
    return (n_patches ? 2 * splat_multi_view_grey_bytes(photo_pixels) : 0) + splat_multi_view_field_bytes(n_pixels) +
           splat_multi_view_gradients_bytes(n) + splat_multi_view_sums_bytes(n_sums);
}

#endif
