/* Reconstructions of OpenSfM and OpenDroneMap: reconstruction.json. */
#ifndef SPLAT_IO_OPENSFM_H
#define SPLAT_IO_OPENSFM_H

#include "io/colmap/colmap.h"
#include "io/transforms.h"

/* reconstruction.json of the folder, or of its sub-folder opensfm/, where OpenDroneMap has it; NULL: neither is there.
 * malloc'd. */
char *splat_opensfm_find(const char *scene_folder);

/* Reads the reconstruction with the most shots of the file at `path`, the first of equal ones; transforms->n_parts
 * is how many there are. Photos are looked for as in splat_poses_find_photo. Free with splat_transforms_free. */
splat_status splat_opensfm_read(const char *scene_folder, const char *images, const char *path,
                                splat_transforms *transforms, splat_error *error);
/* Its points, less `origin`. malloc'd; n = 0: it has none. */
splat_status splat_opensfm_read_points(const char *path, const double origin[3], splat_point **points, size_t *n,
                                       splat_error *error);

#endif
