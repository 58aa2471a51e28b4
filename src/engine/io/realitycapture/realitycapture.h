/* Registrations of RealityCapture and RealityScan: the CSV "Internal/External camera parameters". */
#ifndef SPLAT_IO_REALITYCAPTURE_H
#define SPLAT_IO_REALITYCAPTURE_H

#include "io/transforms.h"

/* The first .csv of the folder, by name, whose header begins with "#name,"; NULL: there is none. malloc'd. */
char *splat_realitycapture_find(const char *scene_folder);

/* Reads the CSV at `path`, of the scene's folder. Photos are looked for as in splat_poses_find_photo, and
 * their headers read: the file has no sizes. point_cloud is the folder's PLY, if there is one; origin is to be
 * subtracted from its points. FORMAT errors carry the line. Free with splat_transforms_free. */
splat_status splat_realitycapture_read(const char *scene_folder, const char *images, const char *path,
                                       splat_transforms *transforms, splat_error *error);

#endif
