/* geometry_features, geometry, geometry_backward, geometry_features_backward: the planes of the Gaussians, blended over
 * the tile lists of raster, and their gradients (docs/method.md, "Depth and normals"; plane_depth.h makes depth of
 * them). */
#ifndef SPLAT_OPS_GEOMETRY_H
#define SPLAT_OPS_GEOMETRY_H

#include "ops/frame.h"

#define SPLAT_GEOMETRY_CHANNELS 4 /* the camera's distance from the plane, then the normal's x, y, z */
#define SPLAT_GEOMETRY_SPAN 3.0f   /* reach of a Gaussian along the camera's axis, standard deviations */

/* geometry_features: what each visible Gaussian is blended with. After project.
 * The normal is the axis of the smallest scale (of equal ones the first), of the side that faces the camera: n . (c -
 * mean) >= 0, which is the distance. world: the normal in world space, else in camera space (x right, y down, z
 * forward). centers: z of the centre in the place of the distance, which makes maps[0] a blend of depths.
 * spans: z - 3 sigma and z + 3 sigma of the centre, sigma^2 the variance along the camera's z. */
struct splat_geometry_features_args {
    const splat_gaussians *gaussians;
    const splat_frame *frame;
    bool world, centers;
    float *features; /* [n_visible][4], entries as in the frame; on a device those not visible are undefined */
    float *spans;    /* [n_visible][2], the same; NULL: not computed */
};

/* geometry: after bin, for the rows of the band, as raster; needs no raster before it. With w = alpha T:
 * maps = (sum w d, sum w n); median = depth of the Gaussian at which T passes below 1/2, where the pixel's ray meets
 * its plane, within its span (splat_plane_median); 0 where it never does. Writes the frame's transmittance and last as
 * raster does (on the CPU the same bits), so alpha = 1 - T.
 * normalize: in the place of the distance the plane depth, 0 where there is none; and the normal brought to length 1, 0
 * where nothing is blended. */
struct splat_geometry_args {
    splat_frame *frame;
    const float *features;
    bool normalize;
    float *maps;   /* [4][height][width] */
    float *median; /* [height][width], or NULL */
    const float *spans; /* output of geometry_features; only with a median */
    bool world;    /* the features' normals: for the median, and to normalize */
};

/* geometry_backward: adds the band's part to the gradients of every visible Gaussian (the caller zeroes them before the
 * first band), from dL/dmaps of maps that are not normalized, and dL/dalpha. Reads the frame's transmittance and last.
 * The median has no gradient. Order of sums and scratch as raster_backward. */
struct splat_geometry_backward_args {
    splat_frame *frame;
    const float *features;
    const float *grad_maps;             /* [4][height][width] */
    const float *grad_alpha;            /* [height][width], or NULL: zero */
    splat_grad2d *gradients;            /* [n_visible] */
};

/* geometry_features_backward: adds, for every visible Gaussian, the screen's part of the gradients to frame->grad2d
 * (which must be there, before project_backward; mean_abs stays: it steers densification, which follows the colours),
 * and the features' part to tensors->means and tensors->rotations ([n] rows of the model; the other tensors are not
 * touched). The choice of the axis and its side are constants. Not checked: whether gradients are finite. */
struct splat_geometry_features_backward_args {
    const splat_gaussians *gaussians;
    splat_frame *frame;
    bool world, centers;
    const splat_grad2d *gradients;
    const splat_tensors *tensors;
};

#endif
