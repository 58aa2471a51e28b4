/* The points of an extraction, from the source that its options name. */
#ifndef SPLAT_SURFACE_SURFACE_COLLECT_H
#define SPLAT_SURFACE_SURFACE_COLLECT_H

#include "surface/extract/free_space.h"
#include "surface/extract/surface_points.h"

/* Fills points[splat_mesh_extract_count(options)] from the source that the options name. *n_opaque: Gaussians that
 * LEVEL and CENTERS look at. VIEWS also gives *space, which the caller frees; else that is empty. On failure there is
 * nothing to free. */
splat_status splat_surface_points_collect(splat_scene *scene, splat_model *model,
                                          const splat_mesh_extract_options *options, splat_surface_points *points,
                                          splat_free_space *space, size_t *n_opaque, splat_error *error);
/* The most points that are held at a time, for each mesh. */
size_t splat_surface_points_capacity(const splat_scene *scene, const splat_model *model,
                                     const splat_mesh_extract_options *options);

#endif
