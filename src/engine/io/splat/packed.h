/* Code shared by the packed formats of splats: their opacities and quaternions, other axes, an order in space. */
#ifndef SPLAT_IO_PACKED_H
#define SPLAT_IO_PACKED_H

#include "io/splat/cloud.h"

#include <math.h>

/* The nearest whole number from 0 to `highest`; 0 for NaN. */
static inline uint32_t splat_packed_round(double value, double highest)
{
    if (!(value > 0)) return 0;
    return (uint32_t)(value < highest ? value + 0.5 : highest);
}

/* Opacity of a logit. */
static inline double splat_packed_opacity(float logit)
{
    return 1.0 / (1.0 + exp(-(double)logit));
}

/* And back, never infinite. */
static inline float splat_packed_logit(double opacity)
{
    const double least = 1e-13, most = 1.0 - 0x1p-25;
    if (opacity < least) opacity = least;
    if (opacity > most) opacity = most;
    return (float)(log(opacity) - log1p(-opacity));
}

/* The logit of an opacity stored as a byte. 0 and 255 stand for half a step, and become its middle. */
static inline float splat_packed_byte_logit(uint8_t byte)
{
    double opacity = byte == 0 ? 0.25 : byte == 255 ? 254.75 : byte;
    return splat_packed_logit(opacity / 255.0);
}

/* The logarithm of a stored scale: of zero below every float, and finite; NaN of a negative one. */
static inline float splat_packed_log_scale(double scale)
{
    return scale == 0 ? -104.0f : (float)log(scale);
}

/* The unit quaternion (w, x, y, z) of a row of rotations; that of no turn for zeros. */
static inline void splat_packed_quaternion(const float rotation[4], double q[4])
{
    double norm = 0;
    for (int k = 0; k < 4; k++) norm += (double)rotation[k] * (double)rotation[k];
    norm = sqrt(norm);
    for (int k = 0; k < 4; k++) q[k] = norm > 0 ? (double)rotation[k] / norm : k == 0;
}

/* Between the axes of splats (x right, y down, z forward) and those of SPZ, glTF and USD (y up, z backward): half a
 * turn about x, which is its own inverse. Position y and z, quaternion y and z, and the harmonics with a -1 here change
 * their sign; the quaternion loses nothing, as a turn of the axes of an ellipsoid by half a turn gives the same one. */
extern const float splat_packed_axis_signs[3];     /* x y z */
extern const float splat_packed_rotation_signs[4]; /* w x y z */
extern const float splat_packed_sh_signs[15];      /* b_1 to b_15 */

/* The numbers of the Gaussians along a Morton curve through the box of their centres, into order[n]: neighbours in
 * space are neighbours there. Errors: MEMORY. */
splat_status splat_packed_order(const splat_cloud *cloud, uint32_t *order, splat_error *error);
/* True if every number of a cloud is finite; opacities may be infinite. Otherwise *row is the first Gaussian with a
 * number that is not, and *tensor, a SPLAT_TENSOR number, its array. */
bool splat_packed_is_finite(const splat_cloud *cloud, size_t *row, int *tensor);

/* True if a file begins as a compressed PLY: a PLY whose header names packed_position. */
bool splat_packed_ply_begins(const uint8_t *head, size_t n);

#endif
