/* What the SIMD levels of filter3d share. */
#ifndef SPLAT_OPS_FILTER3D_SIMD_H
#define SPLAT_OPS_FILTER3D_SIMD_H

#include <stdint.h>

/* A camera, prepared: x_camera = rows[0] x_world + shift[0], ...; inside means low z <= x <= high z on both axes, which
 * is the contract's -0.15 W <= fx x/z + cx <= 1.15 W without a division (z > 0). */
typedef struct splat_filter3d_camera {
    float rows[3][3], shift[3];
    float low[2], high[2];
    float inverse_fx;
} splat_filter3d_camera;

/* distances[i] = min over the cameras that see mean i of z / fx, or infinity when none does. */
#define SPLAT_FILTER3D_KERNEL(name)                                                                                    \
    void name(const splat_filter3d_camera *cameras, uint32_t n_cameras, const float *means, uint32_t n,                \
              float *distances)

SPLAT_FILTER3D_KERNEL(splat_filter3d_c);
SPLAT_FILTER3D_KERNEL(splat_filter3d_avx2);
SPLAT_FILTER3D_KERNEL(splat_filter3d_avx512);

#endif
