/* A first depth for every pixel of a view. */
#ifndef SPLAT_STEREO_DEPTH_GUESS_H
#define SPLAT_STEREO_DEPTH_GUESS_H

#include "base/error.h"
#include "splatsmith/core.h"

/* depth: [height][width] of the camera, along its axis. A pixel that shows points has the depth of the nearest one;
 * others have what is interpolated from these, over as many levels of half the size as it takes (Gortler et al., The
 * Lumigraph, SIGGRAPH 1996: pull-push). positions: [n_points][3]. All 0 if the picture shows no point. Errors:
 * MEMORY. */
splat_status splat_depth_guess(const splat_camera *camera, const float (*positions)[3], size_t n_points, float *depth,
                               splat_error *error);

#endif
