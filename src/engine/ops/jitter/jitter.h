/* jitter: random sampling positions inside the pixels, and the photo resampled there (ray_jitter,
 * resample_gt_image). */
#ifndef SPLAT_OPS_JITTER_H
#define SPLAT_OPS_JITTER_H

#include "ops/types.h"

/* offsets: uniform in [-1/2, 1/2) by splat_random(seed, SPLAT_STREAM_RAY_JITTER, step, pixel index j width + i):
 * x from word 0, y from word 1.
 * photo_f32 (NULL allowed): bilinear value of photo_u8 at (i, j) + offset, pixel centres at integers, coordinates
 * clamped to [0, width-1] x [0, height-1]. */
struct splat_jitter_args {
    int32_t width, height;
    uint64_t seed;
    uint32_t step;
    float *offsets;          /* [2][height][width] */
    const uint8_t *photo_u8; /* [height][width][3], needed with photo_f32 */
    float *photo_f32;        /* [3][height][width] */
};

/* The caller's arrays: offsets, and the photo resampled there. */
static inline size_t splat_jitter_offsets_bytes(size_t n_pixels)
{
    return 2 * n_pixels * sizeof(float);
}

static inline size_t splat_jitter_photo_bytes(size_t n_pixels)
{
    return 3 * n_pixels * sizeof(float);
}

/* Arguments that every backend refuses: no pixel, or resampling without a photo. */
static inline splat_status splat_jitter_check(const struct splat_jitter_args *args, splat_error *error)
{
    if (args->width < 1 || args->height < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "ray jitter needs a picture of at least one pixel, not %dx%d",
                          args->width, args->height);
    if (args->photo_f32 && !args->photo_u8)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "resampling the photo needs its 8-bit pixels, which are missing");
    return SPLAT_OK;
}

#endif
