/* Declarations shared by the SIMD levels of filter3d. */
#ifndef SPLAT_OPS_FILTER3D_SIMD_H
#define SPLAT_OPS_FILTER3D_SIMD_H

#include "ops/filter3d/filter3d_camera.h"

/* distances[i] = min over the cameras that see mean i of z / fx, or infinity when none does. */
#define SPLAT_FILTER3D_KERNEL(name)                                                                                    \
    void name(const splat_filter3d_camera *cameras, uint32_t n_cameras, const float *means, uint32_t n,                \
              float *distances)

SPLAT_FILTER3D_KERNEL(splat_filter3d_c);
SPLAT_FILTER3D_KERNEL(splat_filter3d_avx2);
SPLAT_FILTER3D_KERNEL(splat_filter3d_avx512);

#endif
