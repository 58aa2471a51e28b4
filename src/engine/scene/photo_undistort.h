/* Photos of lenses as pictures of pinhole cameras. */
#ifndef SPLAT_SCENE_PHOTO_UNDISTORT_H
#define SPLAT_SCENE_PHOTO_UNDISTORT_H

#include "io/picture/exif.h"
#include "io/picture/image.h"
#include "scene/dataset.h"

/* A photo of a lens becomes the picture of a pinhole camera: `frame`, shown in width x height pixels, and turned
 * against the lens (splat_lens_crop; NULL: not). Bilinear, or with `sharp` the colours of RGB
 * photos by Catmull and Rom's cubic; rounded; pixels that no pixel of the photo fits are black
 * (within a pixel of its border, as the border). *result is the caller's, splat_image_free. */
splat_status splat_photo_undistort(const splat_lens *lens, const splat_lens_frame *frame, const double turn[9],
                                   int width, int height, bool sharp, const splat_image *photo, splat_image *result,
                                   splat_error *error);
/* True if the undistortion leaves a pixel of the frame black for photos of this size: then one at its border is
 * black. */
bool splat_photo_leaves_blank(const splat_lens *lens, const splat_lens_frame *frame, int file_width, int file_height);

#endif
