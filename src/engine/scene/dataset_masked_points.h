/* Points on what masks cover, removed. */
#ifndef SPLAT_SCENE_DATASET_MASKED_POINTS_H
#define SPLAT_SCENE_DATASET_MASKED_POINTS_H

#include "scene/dataset_parts.h"

/* Takes those of the dataset's points away of which more than half of the photos in their tracks have a black mask
 * where the point is seen; a notice says how many. tracks: of all its points. Errors: those of reading masks, MEMORY.
 * */
splat_status splat_dataset_drop_masked_points(splat_dataset *dataset, const splat_source *source,
                                              const splat_colmap_tracks *tracks, const splat_dataset_log *log,
                                              splat_error *error);

#endif
