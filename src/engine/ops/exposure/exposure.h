/* exposure: what a photo's exposure and white balance make of the picture before the loss sees it, and the gradients of
 * both; the gains' own step. After the per-image gains of Kerbl et al. 2024 and the vignetting of PPISP (NVIDIA 2025),
 * with fewer freedoms: docs/method.md, "Exposure". */
#ifndef SPLAT_OPS_EXPOSURE_H
#define SPLAT_OPS_EXPOSURE_H

#include "ops/frame.h"

/* Rows of three floats, one a photo and then one a camera:
 *
 *     photo: e, a, b      log2 gains: of all channels, and white balance; gain_r = 2^(e + a), gain_g = 2^(e - a - b),
 *                         gain_b = 2^(e + b)
 *     camera: a1, a2, a3  vignetting, v = clamp(1 + a1 r^2 + a2 r^4 + a3 r^6, 0, 1), r^2 the squared distance of the
 *                         pixel's centre from (cx, cy) over that of the longer side
 *
 *     z_c = gain_c v/m x_c  m = max(1 + a1 R1 + a2 R2 + a3 R3, 1/16), R_j the mean of r^(2j) over the picture's pixels
 *
 * For the picture the photo counts with the weight 2^-e, which is held: |z - y| is 2^e times what the picture is wrong
 * by, and a photo of twice the gain shall not count twice as much for it. The gains' own gradients have no weight.
 *
 * By m, the mean of v but for its clamp, vignetting makes no picture darker: how bright the pictures are is e's alone.
 * Where the photo is saturated (math/photo.h) and z > y it cannot say more: there z is y, and no gradient passes. */
#define SPLAT_EXPOSURE_ROW 3
#define SPLAT_EXPOSURE_LEAST_MEAN 0.0625f

/* At most one of photo_u8 and photo_f32 is given; without either nothing is saturated. */
struct splat_exposure_args {
    int32_t width, height;
    float cx, cy;             /* principal point, pixels; the first pixel's centre is (0.5, 0.5) */
    const float *photo_row;   /* device, the rows of the view's photo and camera */
    const float *camera_row;
    const float *image;       /* [3][height][width] x, not clamped */
    const uint8_t *photo_u8;  /* [height][width][3] y, 255 is 1.0 */
    const float *photo_f32;   /* [3][height][width] */
    float *exposed;           /* [3][height][width] z; may be image itself; not needed by the gradients */
};

/* Sums of each row of pixels, in its order, in double: sum of g z of the three channels, then of
 * [0 < 1 + .. <= 1] r^(2j) sum_c g_c gain_c/m x_c - R_j/m sum_c g_c z_c for j = 1, 2, 3, where g is dL/dz times the
 * part of the pixel that is no sky. A sky is as bright as all else together and often saturated, its colours follow
 * slowly, and few photos show the same part of it, so only the world decides the gains
 * (docs/lab/capture.md). At 1, where training begins, a clamped vignetting still has its gradient, or it would never
 * leave it; where m is 1/16 its own is 0. */
#define SPLAT_EXPOSURE_SUMS 6

struct splat_exposure_backward_args {
    struct splat_exposure_args forward;
    float *grad;      /* [3][height][width]: dL/dz, overwritten by 2^-e dL/dx */
    const float *sky; /* [height][width] the part of a pixel that shows sky; NULL: none does */
    double *sums;     /* device, [height][SPLAT_EXPOSURE_SUMS] */
    const splat_frame *frame; /* the view: after one that overflowed or was not finite a device makes the sums 0; NULL:
                                 none */
};

/* The gauge of the gains: a scene twice as bright with photos of half the gain gives the same picture, so the photos
 * alone do not fix them. With rho_b the smooth L1 of width b (t^2 / 2b, then |t| - b/2):
 *
 *     rho_0.1(mean e) + rho_0.02(mean a) + rho_0.02(mean b) + 0.001 mean(a^2 + b^2) + 0.01 sum_cameras,j max(a_j, 0) */
#define SPLAT_EXPOSURE_E_WIDTH 0.1
#define SPLAT_EXPOSURE_BALANCE_WIDTH 0.02
#define SPLAT_EXPOSURE_BALANCE_WEIGHT 0.001
#define SPLAT_EXPOSURE_VIGNETTING_WEIGHT 0.01

#define SPLAT_EXPOSURE_ADAM_EPSILON 1e-15f

/* Adam's step of all rows: those of photos that were not drawn have no gradient of a photo and move on by momentum.
 * After a step that overflowed or was not finite a device changes nothing. */
struct splat_exposure_step_args {
    uint32_t n_photos, n_cameras;
    float *values, *m, *v;           /* device, [n_photos + n_cameras][SPLAT_EXPOSURE_ROW] each */
    uint32_t photo, camera;          /* the photo and the camera of the sums */
    const double *sums;              /* device, [n_rows][SPLAT_EXPOSURE_SUMS] */
    size_t n_rows;
    float lr, correction1, correction2; /* Adam's: 1 - beta^t */
    const splat_frame *frame;        /* the view that the sums belong to; NULL: none */
};

/* The caller's arrays for one view: z, and the sums. */
static inline size_t splat_exposure_picture_bytes(size_t n_pixels)
{
    return 3 * n_pixels * sizeof(float);
}

static inline size_t splat_exposure_sums_bytes(size_t height)
{
    return height * SPLAT_EXPOSURE_SUMS * sizeof(double);
}

/* Arguments that every backend refuses: no pixel, or two photos; a photo or camera without a row. */
static inline splat_status splat_exposure_check(const struct splat_exposure_args *args, splat_error *error)
{
    if (args->width < 1 || args->height < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "exposure needs a picture of at least one pixel, not %dx%d",
                          args->width, args->height);
    if (args->photo_u8 && args->photo_f32)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "exposure takes the photo either in 8 bits or in float, not both");
    return SPLAT_OK;
}

static inline splat_status splat_exposure_step_check(const struct splat_exposure_step_args *args, splat_error *error)
{
    if (args->photo >= args->n_photos || args->camera >= args->n_cameras)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no row of photo %u of %u or camera %u of %u",
                          args->photo, args->n_photos, args->camera, args->n_cameras);
    return SPLAT_OK;
}

#endif
