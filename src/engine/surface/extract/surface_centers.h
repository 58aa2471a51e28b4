/* The centres of a splat's opaque Gaussians as points: SuGaR's comparison without level sets. */
#ifndef SPLAT_SURFACE_EXTRACT_SURFACE_CENTERS_H
#define SPLAT_SURFACE_EXTRACT_SURFACE_CENTERS_H

#include "surface/extract/surface_gaussians.h"
#include "surface/extract/surface_points.h"

/* The points of CENTERS, appended. */
splat_status splat_surface_centers(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                   const splat_mesh_extract_options *options, splat_surface_points *points,
                                   splat_error *error);

#endif
