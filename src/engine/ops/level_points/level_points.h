/* level_points: where the density of a splat passes given levels along the rays of pixels (SuGaR, sec. 4.2;
 * docs/method.md, "Meshes from splats"). */
#ifndef SPLAT_OPS_LEVEL_POINTS_H
#define SPLAT_OPS_LEVEL_POINTS_H

#include "math/density.h"
#include "ops/types.h"
#include "splatsmith/mesh.h"

#define SPLAT_LEVEL_SAMPLES 21
#define SPLAT_LEVEL_DEVIATIONS 3.0f /* reach of samples on both sides of the hit, standard deviations */

/* For pixel number i of the list: p0 is the point of its ray (through the pixel's centre) at depth[pixel], g =
 * ids[pixel] - 1 the Gaussian that op visibility_buffer found there, sigma = |s * R^T c| its standard deviation along
 * the unit vector c from its mean to the camera. The density (math/density.h, of g and its SPLAT_NEIGHBORS neighbours,
 * at most 1) is sampled at p0 + t v, v the ray's direction, t = 21 values from -3 sigma to 3 sigma, evenly.
 *
 * For each level the first sample above it, j, gives a point, by linear interpolation between samples j - 1 and j,
 * when j > 0 and sample 0 is below the level. Its normal is the unit vector against the density's gradient there, out
 * of what is dense; where it does not face the camera (normal . (camera - point) < 0), or has no length, there is no
 * point. The filter_3d is not read: the caller fuses it.
 *
 * Contents where valid is 0 are undefined. */
struct splat_level_points_args {
    const splat_gaussians *gaussians;
    const uint32_t *neighbors; /* [gaussians.n][SPLAT_NEIGHBORS] of op knn */
    const splat_camera *camera;
    const uint32_t *ids;       /* [height][width] of op visibility_buffer */
    const float *depth;        /* [height][width] of op visibility_buffer */
    uint32_t n;
    const uint32_t *pixels;    /* [n] y width + x; with ids that are not 0 */
    int n_levels;              /* 1 .. SPLAT_MESH_LEVELS (ARGUMENT otherwise) */
    float levels[SPLAT_MESH_LEVELS]; /* between 0 and 1 */
    float *points;             /* [n_levels][n][3] world */
    float *normals;            /* [n_levels][n][3] */
    uint8_t *valid;            /* [n_levels][n] */
};

#endif
