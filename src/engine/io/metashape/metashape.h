/* Cameras of Agisoft Metashape: the file of File > Export > Export Cameras, Agisoft XML. */
#ifndef SPLAT_IO_METASHAPE_H
#define SPLAT_IO_METASHAPE_H

#include "io/transforms.h"

/* The first .xml of the folder, by name, that begins with Metashape's elements; NULL: there is none. malloc'd. */
char *splat_metashape_find(const char *scene_folder);

/* Reads the file at `path`, of the scene's folder. Photos are looked for by the cameras' labels as in
 * splat_poses_find_photo; cameras without a pose, and those that are switched off, are in left_out. point_cloud is the
 * folder's PLY, if there is one; origin is to be subtracted from its points. Errors: FORMAT, with the line where it is
 * known; UNSUPPORTED for sensors that no lens here is like, and in builds without expat. Free with
 * splat_transforms_free. */
splat_status splat_metashape_read(const char *scene_folder, const char *images, const char *path,
                                  splat_transforms *transforms, splat_error *error);

#endif
