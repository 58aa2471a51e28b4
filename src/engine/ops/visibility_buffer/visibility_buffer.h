/* visibility_buffer: the nearest Gaussian of each pixel, each taken as a rhombus (docs/method.md, "Meshes from
 * splats"). */
#ifndef SPLAT_OPS_VISIBILITY_BUFFER_H
#define SPLAT_OPS_VISIBILITY_BUFFER_H

#include "ops/types.h"

/* A Gaussian with mean mu and axes e1 (of the smallest scale; of equal ones the first), e2, e3 (the next two, in
 * cyclic order) covers the pixels whose rays meet the rhombus with the vertices mu +- 2 s2 e2, mu +- 2 s3 e3. Its depth
 * there is that of the plane through mu that is perpendicular to the line from the camera to mu, so that a tilted
 * rhombus does not cut its neighbours. Left out: those with camera z <= 0.2, those with a vertex that is not in front
 * of the camera along that line, and those with a mean, scale or rotation that is not finite.
 *
 * ids: index + 1 of the nearest Gaussian at the pixel's centre (of equally near ones the lowest), 0 where there is
 * none; depth: its camera z, 0 where there is none.
 *
 * Opacities and filter_3d are not read: the caller prunes and fuses. It does not read the tile lists of bin: those
 * are of alpha >= 1/255, and the Mip filter's compensation takes the alpha of opaque Gaussians that are thin on the
 * screen below that; and the rhombus in perspective is not inside of the projected ellipse. Nearest wins in any
 * order of drawing, so the result does not depend on the number of threads. Working memory is scratch, which is reset
 * before. */
struct splat_visibility_buffer_args {
    const splat_gaussians *gaussians;
    const splat_camera *camera;
    uint32_t *ids; /* [height][width] */
    float *depth;  /* [height][width] */
};

#endif
