/* clear_space: Gaussians in front of the scene become invisible (docs/method.md 10.2). */
#ifndef SPLAT_OPS_CLEAR_SPACE_H
#define SPLAT_OPS_CLEAR_SPACE_H

#include "ops/types.h"

/* A Gaussian is in front of the scene if its mean lies at a depth 0 < Z < near_depths[k] of a camera k, with -0.15 W <=
 * fx X/Z + cx <= 1.15 W, the same vertically. Its logit becomes SPLAT_CLEARED_LOGIT, unless it is lower. A mean that is
 * not finite is in front of nothing, and nothing is in front of a camera with a near depth of 0. */
#define SPLAT_CLEARED_LOGIT -15.0f /* opacity 3e-7: density control removes or reuses such Gaussians */

struct splat_clear_space_args {
    const splat_gaussians *gaussians; /* means and opacities */
    const splat_camera *cameras;      /* [n_cameras], host memory */
    const float *near_depths;         /* [n_cameras], host memory */
    uint32_t n_cameras;
};

#endif
