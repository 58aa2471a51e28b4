/* alpha_mask: what masks ask of the opacity of a picture, and photos over another background. docs/method.md 8.3. */
#ifndef SPLAT_OPS_ALPHA_MASK_H
#define SPLAT_OPS_ALPHA_MASK_H

#include "ops/frame.h"
#include "ops/loss/loss.h"

/* A = 1 - transmittance is the opacity of a pixel, m its mask: byte / 255 when is_soft, else 1 from SPLAT_LOSS_KEPT on
 * and 0 below. With N = width height:
 *
 *     not is_soft: weight/N sum (1 - m) A      nothing shall be where the mask is black
 *     is_soft:     weight/N sum |A - m|        the mask is the opacity
 *
 * grad_alpha becomes the derivative by A, for raster_backward.
 *
 * photo_f32 (NULL allowed): a photo of opacity m that was composited over the gray `composited` becomes one over
 * `background`: + (background_c - composited)(1 - byte / 255). It is made of photo_u8, or changed in place where that
 * is NULL.
 *
 * maps (NULL allowed): [n_channels][maps_height][maps_width], of a view at another size, become maps_value where the
 * pixel of the mask under their middle, or one of the square of pixels of the mask up to `margin` around it, is not
 * kept. Errors: ARGUMENT (a picture without pixels). */
struct splat_alpha_mask_args {
    int32_t width, height;
    const uint8_t *mask;        /* [height][width] */
    bool is_soft;
    float weight;
    const float *transmittance; /* [height][width], with grad_alpha */
    float *grad_alpha;          /* [height][width], or NULL: not wanted */
    const uint8_t *photo_u8;    /* [height][width][3], or NULL */
    float *photo_f32;           /* [3][height][width], or NULL: not wanted */
    float background[3], composited;
    float *maps;
    int32_t maps_width, maps_height, n_channels, margin;
    float maps_value;
};

#ifdef __CUDACC__
#define SPLAT_ALPHA_MASK_INLINE __host__ __device__ static inline
#else
#define SPLAT_ALPHA_MASK_INLINE static inline
#endif

/* dL/dA of a pixel; scale: weight/N. */
SPLAT_ALPHA_MASK_INLINE float splat_alpha_mask_gradient(uint8_t mask, bool is_soft, float transmittance, float scale)
{
    if (!is_soft) return mask >= SPLAT_LOSS_KEPT ? 0.0f : scale;
    float d = (1.0f - transmittance) - (float)mask / 255.0f;
    return scale * ((float)(d > 0.0f) - (float)(d < 0.0f));
}

/* The change of a photo's channel with another background; shift: background - composited. */
SPLAT_ALPHA_MASK_INLINE float splat_alpha_mask_shift(uint8_t mask, float shift)
{
    return shift * (1.0f - (float)mask / 255.0f);
}

/* True if the mask hides pixel i of the maps. */
SPLAT_ALPHA_MASK_INLINE bool splat_alpha_mask_hides(const struct splat_alpha_mask_args *args, size_t i)
{
    const int64_t width = args->width, height = args->height, m = args->margin;
    int64_t x = (int64_t)(i % (size_t)args->maps_width), y = (int64_t)(i / (size_t)args->maps_width);
    x = (2 * x + 1) * width / (2 * args->maps_width);
    y = (2 * y + 1) * height / (2 * args->maps_height);
    const int64_t left = x > m ? x - m : 0, right = x + m < width ? x + m : width - 1;
    const int64_t top = y > m ? y - m : 0, bottom = y + m < height ? y + m : height - 1;
    for (int64_t row = top; row <= bottom; row++)
        for (int64_t column = left; column <= right; column++)
            if (args->mask[row * width + column] < SPLAT_LOSS_KEPT) return true;
    return false;
}

static inline float splat_alpha_mask_scale(const struct splat_alpha_mask_args *args)
{
    return args->weight / ((float)args->width * (float)args->height);
}

static inline splat_status splat_alpha_mask_check(const struct splat_alpha_mask_args *args, splat_error *error)
{
    if (args->width >= 1 && args->height >= 1 && (!args->maps || (args->maps_width >= 1 && args->maps_height >= 1)))
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mask needs a picture of at least one pixel, not %dx%d",
                      args->width, args->height);
}

#endif
