/* Points where the density of a splat passes levels along the rays of its training views. */
#ifndef SPLAT_SURFACE_SURFACE_LEVELS_H
#define SPLAT_SURFACE_SURFACE_LEVELS_H

#include "surface/extract/surface_gaussians.h"
#include "surface/extract/surface_points.h"

/* ids[i] = 0 where the mask of a view hides pixel i of a camera of any size: nobody stands there. Errors: those of
 * reading the photo. */
splat_status splat_surface_hide_masked(splat_scene *scene, uint32_t view, const splat_camera *camera, uint32_t *ids,
                                       splat_error *error);
/* The points of LEVEL, appended. */
splat_status splat_surface_levels(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                  const splat_mesh_extract_options *options, splat_surface_points *points,
                                  splat_error *error);

#endif
