/* Tracks of a COLMAP model: how many training photos see each point. */
#ifndef SPLAT_SCENE_DATASET_TRACKS_H
#define SPLAT_SCENE_DATASET_TRACKS_H

#include "scene/dataset_parts.h"

#define SPLAT_LEAST_TRACKED_POINTS 2000 /* with fewer points in three photos, points in two count */

/* Fills point_photos. tracks: of all points of the dataset, in their order; others change
 * nothing. Errors: MEMORY. */
splat_status splat_dataset_use_tracks(splat_dataset *dataset, const splat_source *source,
                                      const splat_colmap_tracks *tracks, splat_error *error);

/* Training photos that must see a point, so that a training begins from it: 3, or 2 where fewer than
 * SPLAT_LEAST_TRACKED_POINTS points are seen by 3. 0: the scene has no tracks, and every point counts. */
uint8_t splat_dataset_least_photos(const splat_dataset *dataset);
/* The points that so many training photos see. */
size_t splat_dataset_count_points(const splat_dataset *dataset, uint8_t least_photos);
/* The least cap on the number of Gaussians: as many as the points that splat_dataset_least_photos photos see, and at
 * most twice `by_pixels`, which the pixels of the training photos allow. So a subset of the photos, with the points of
 * all, has no more Gaussians than its photos can tell of. */
uint64_t splat_dataset_floor(const splat_dataset *dataset, uint64_t by_pixels);

#endif
