/* A source of photos in memory. */
#ifndef SPLAT_SCENE_DATASET_MEMORY_H
#define SPLAT_SCENE_DATASET_MEMORY_H

#include "scene/dataset_parts.h"

/* The same of photos in memory, which are checked; `photos` receives copies of them without names, and is the caller's
 * (free). */
splat_status splat_source_from_memory(const splat_scene_arrays *arrays, const splat_scene_options *options,
                                      splat_scene_photo **photos, splat_source *source, splat_error *error);
/* The points that were given. Errors: ARGUMENT (not finite), MEMORY. */
splat_status splat_source_memory_points(const splat_scene_arrays *arrays, splat_point **points, size_t *n,
                                        splat_error *error);

#endif
