/* A camera as filter3d uses it, on every backend. */
#ifndef SPLAT_OPS_FILTER3D_CAMERA_H
#define SPLAT_OPS_FILTER3D_CAMERA_H

#include "splatsmith/core.h"

/* A camera, prepared: x_camera = rows[0] x_world + shift[0], ...; inside means low z <= x <= high z on both axes, which
 * is the contract's -0.15 W <= fx x/z + cx <= 1.15 W without a division (z > 0). */
typedef struct splat_filter3d_camera {
    float rows[3][3], shift[3];
    float low[2], high[2];
    float inverse_fx;
} splat_filter3d_camera;

static inline splat_filter3d_camera splat_filter3d_camera_of(const splat_camera *camera)
{
    splat_filter3d_camera prepared;
    double focal[2] = {camera->fx, camera->fy}, center[2] = {camera->cx, camera->cy};
    double size[2] = {(double)camera->width, (double)camera->height};
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 3; j++) prepared.rows[k][j] = camera->rotation[3 * k + j];
        prepared.shift[k] = camera->translation[k];
    }
    for (int k = 0; k < 2; k++) {
        prepared.low[k] = (float)((-0.15 * size[k] - center[k]) / focal[k]);
        prepared.high[k] = (float)((1.15 * size[k] - center[k]) / focal[k]);
    }
    prepared.inverse_fx = (float)(1.0 / focal[0]);
    return prepared;
}

#endif
