/* Code shared by readers of other programs' poses: photos by name, poses, and coordinates far from their origin. */
#ifndef SPLAT_IO_FOREIGN_POSES_H
#define SPLAT_IO_FOREIGN_POSES_H

#include "io/transforms.h"

/* The photo that a camera names: below `images` (relative to the scene, or absolute) or in the scene's folder, with the
 * sub-folders of its name or without, the name as it is or with .jpg, .jpeg or .png after it. frame->path is malloc'd,
 * relative to the scene's folder unless `images` is absolute; frame->absent says that the photo is not there. `path` is
 * the file that names the photo. */
splat_status splat_poses_find_photo(const char *scene, const char *images, const char *name, const char *path,
                                    splat_transforms_frame *frame, splat_error *error);

/* The first file of the scene's folder whose name ends like `ending`, in small or capital letters, and whose beginning,
 * NUL-terminated and at most 4 KiB, is_one knows (it may change it); malloc'd, NULL: there is none. */
char *splat_poses_find_file(const char *scene, const char *ending, bool (*is_one)(char *start));

/* Sets point_cloud: the PLY of the name that the file at `path` has, of the scene's folder, else the only PLY of the
 * folder, else none. FORMAT: there are several. */
splat_status splat_poses_find_points(const char *scene, const char *path, splat_transforms *transforms,
                                     splat_error *error);

/* Adds a name to transforms->left_out. */
splat_status splat_poses_leave_out(splat_transforms *transforms, const char *name, splat_error *error);

/* Sets world_to_camera from the camera's axes in the world, columns x right, y down, z forward, and its centre. */
void splat_poses_set(splat_transforms_frame *frame, const double axes[9], const double center[3]);

/* Coordinates far from the origin (UTM: millions of metres) lose their decimals as floats. When the mean of the centres
 * is more than 1000 units away along an axis, it is subtracted from the poses, in whole units, and set as
 * transforms->origin; else that is zero. Points are the caller's to move. */
void splat_poses_recenter(splat_transforms *transforms);

/* UNSUPPORTED unless a panorama is twice as wide as high, or a pixel off: what a cut one shows, readers do not know. */
splat_status splat_poses_check_panorama(int width, int height, const char *path, splat_error *error);

/* A number that is finite as the float it becomes. */
bool splat_poses_is_sound(double value);

#endif
