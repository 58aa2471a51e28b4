/* A camera as clear_space uses it, and its test of a mean, on every backend. */
#ifndef SPLAT_OPS_CLEAR_SPACE_MATH_H
#define SPLAT_OPS_CLEAR_SPACE_MATH_H

#include "math/projection.h"

/* x_camera = rows[0] x_world + shift[0], ...; inside means low z <= x <= high z on both axes. */
#define SPLAT_CLEAR_MARGIN 0.15 /* of the picture, on each side: as far as the 3D filter looks */

typedef struct splat_clear_camera {
    float rows[3][3], shift[3];
    float low[2], high[2];
    float near_depth;
} splat_clear_camera;

static inline splat_clear_camera splat_clear_camera_of(const splat_camera *camera, float near_depth)
{
    splat_clear_camera prepared = {.near_depth = near_depth};
    const double focal[2] = {camera->fx, camera->fy}, center[2] = {camera->cx, camera->cy};
    const double size[2] = {(double)camera->width, (double)camera->height};
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 3; j++) prepared.rows[k][j] = camera->rotation[3 * k + j];
        prepared.shift[k] = camera->translation[k];
    }
    for (int k = 0; k < 2; k++) {
        prepared.low[k] = (float)((-SPLAT_CLEAR_MARGIN * size[k] - center[k]) / focal[k]);
        prepared.high[k] = (float)(((1 + SPLAT_CLEAR_MARGIN) * size[k] - center[k]) / focal[k]);
    }
    return prepared;
}

/* True if a mean lies before the scene as the camera sees it; a mean that is not finite does not. */
SPLAT_MATH_INLINE bool splat_clear_is_before(const splat_clear_camera *k, const float *mean)
{
    const float x = mean[0], y = mean[1], z = mean[2];
    const float cz = k->rows[2][0] * x + k->rows[2][1] * y + k->rows[2][2] * z + k->shift[2];
    if (!(cz > 0.0f) || !(cz < k->near_depth)) return false; /* of most Gaussians */
    const float cx = k->rows[0][0] * x + k->rows[0][1] * y + k->rows[0][2] * z + k->shift[0];
    const float cy = k->rows[1][0] * x + k->rows[1][1] * y + k->rows[1][2] * z + k->shift[1];
    return (cx >= k->low[0] * cz) & (cx <= k->high[0] * cz) & (cy >= k->low[1] * cz) & (cy <= k->high[1] * cz);
}

#endif
