/* Photos as training sees them: decoded, undistorted, at the loaded resolution. */
#ifndef SPLAT_SCENE_PHOTO_H
#define SPLAT_SCENE_PHOTO_H

#include "io/picture/image.h"
#include "scene/dataset.h"

/* Decode, composite, undistort, resize. rgb: uint8_t[height][width][3] of the view's camera, malloc'd. */
splat_status splat_photo_load(const splat_dataset *dataset, size_t view, uint8_t **rgb, splat_error *error);
/* A picture of the size of the view's photo file becomes one of its camera: undistorted, resized. Replaces
 * image->pixels. */
splat_status splat_photo_fit(const splat_dataset_view *view, splat_image *image, splat_error *error);

/* The size that the photo file would have undistorted, at its own resolution. */
void splat_photo_undistorted_size(const splat_dataset_view *view, int *width, int *height);
/* A photo of a lens becomes the picture of a pinhole camera: `frame`, shown in width x height pixels. Bilinear,
 * rounded; pixels that no pixel of the photo fits are black (within a pixel of its border, as the border). Replaces
 * image->pixels. */
splat_status splat_photo_undistort(const splat_lens *lens, const splat_lens_frame *frame, int width, int height,
                                   splat_image *image, splat_error *error);

#endif
