/* Raw exports of Polycam (its developer mode): keyframes/ with a JSON of the camera for each photo. */
#ifndef SPLAT_IO_POLYCAM_H
#define SPLAT_IO_POLYCAM_H

#include "io/transforms.h"

/* True if the scene's folder has keyframes/corrected_cameras (with keyframes/corrected_images if `images` is "images")
 * or keyframes/cameras. */
bool splat_polycam_found(const char *scene_folder, const char *images);

/* Reads the corrected cameras with their corrected photos, whose rim of 15 pixels undistortion has left black; where
 * either is absent the cameras and photos of ARKit. `images`: a folder of other photos of these cameras (relative to
 * the scene, or absolute), with which the corrected photos may be absent; "images": Polycam's own. Errors: FORMAT.
 * Free with splat_transforms_free. */
splat_status splat_polycam_read(const char *scene_folder, const char *images, splat_transforms *transforms,
                                splat_error *error);

#endif
