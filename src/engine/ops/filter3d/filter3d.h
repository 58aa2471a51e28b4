/* filter3d: the standard deviation of each Gaussian's 3D smoothing filter (Mip-Splatting eq. 7; docs/method.md 4). */
#ifndef SPLAT_OPS_FILTER3D_H
#define SPLAT_OPS_FILTER3D_H

#include "ops/types.h"

/* f = sqrt(0.2) / max over the cameras that see the mean of (fx / z). Sees: z > 0.2 and
 * -0.15 W <= fx x/z + cx <= 1.15 W, the same vertically. A Gaussian seen by none gets the largest f of the seen;
 * when none is seen at all, every f is 0. A mean that is not finite is seen by none.
 * Where these are some of a model's Gaussians: `least` is what those seen by none get at least, and *largest (host
 * memory, for which it waits; NULL: not asked for) receives the largest f of the seen here. */
struct splat_filter3d_args {
    uint32_t n;
    const float *means;          /* [n][3] */
    const splat_camera *cameras; /* [n_cameras], host memory */
    uint32_t n_cameras;
    float *filter_3d;            /* [n] */
    float least, *largest;
};

#endif
