/* dome, dome_backward, dome_step: the sky as a colour of each direction behind the Gaussians; its gradients, and its
 * own step. docs/method.md 8.6. */
#ifndef SPLAT_OPS_DOME_H
#define SPLAT_OPS_DOME_H

#include "ops/frame.h"

#define SPLAT_DOME_SUMS_BYTES (SPLAT_DOME_NODES * 3 * sizeof(int64_t))

/* dome: image += T (S(d) - background) at every pixel of frame->image, which raster has written with T and the frame's
 * background. S: frame->dome; d: the direction of the pixel's sampling position (with the frame's jitter), or with a
 * radius that of the place where its ray meets the ball, seen from the ball's centre. Errors: ARGUMENT (the frame has
 * no dome). */
struct splat_dome_args {
    splat_frame *frame;
};

/* A pixel with less light than this asks nothing of the colours. */
#define SPLAT_DOME_LEAST_LIGHT (1.0f / 255.0f)
#define SPLAT_DOME_UNIT 1048576.0f   /* gradients add up in whole numbers of 1 / UNIT, so that their order is free */
#define SPLAT_DOME_LARGEST 8192.0f   /* a pixel's share of a gradient is cut off there */

/* dome_backward: with g = dL/dimage and N = width height
 *
 *     grad_alpha += -sum_c (S_c - background_c) g_c + weight/N where the sky is
 *     sums       += UNIT 3N T g of each pixel, shared among its four nodes; not finite: nothing
 *
 * so weight is that of the loss 1/N sum of the opacity over the sky's pixels (docs/method.md 8.3). After a view that
 * overflowed or was not finite a device adds nothing to the sums. */
struct splat_dome_backward_args {
    const splat_frame *frame;
    const float *grad_image;   /* [3][height][width] */
    float *grad_alpha;         /* [height][width] dL/d(1 - T), added to */
    int64_t *sums;             /* device, [NODES][3], added to */
    const uint32_t *sky;       /* device, bit i % 32 of word i / 32 is pixel i of [sky_height][sky_width]: 1 where the
                                  photo shows sky; NULL: nowhere */
    int32_t sky_width, sky_height;
    float weight;
};

/* dome_step: Adam's step of all colours by sums / (UNIT 3 n_pixels), with an epsilon of STEP_LIGHT / (3 n_pixels). A
 * device changes nothing after a step that overflowed or was not finite. */
struct splat_dome_step_args {
    float *colors, *m, *v;              /* device, [NODES][3] each */
    const int64_t *sums;
    size_t n_pixels;                    /* N of the view of the sums */
    float lr, correction1, correction2; /* Adam's: 1 - beta^t */
    const splat_frame *frame;           /* the view that the sums belong to; NULL: none */
};

/* Pixels of light whose gradient of 1 makes half of a step. Without it Adam makes a whole step for any gradient, and
 * directions that only gaps between Gaussians show take any colour. */
#define SPLAT_DOME_STEP_LIGHT 8.0f

static inline splat_status splat_dome_check(const splat_frame *frame, splat_error *error)
{
    if (frame->dome.colors) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "op dome needs a frame with a dome");
}

#endif
