/* Photos as training sees them: decoded, undistorted, at the loaded resolution. */
#ifndef SPLAT_SCENE_PHOTO_H
#define SPLAT_SCENE_PHOTO_H

#include "io/picture/exif.h"
#include "io/picture/image.h"
#include "scene/dataset.h"

/* Width, height and channels of a view's photo file, or of its photo in memory. */
splat_status splat_photo_probe(const splat_dataset_view *view, int *width, int *height, int *channels,
                               splat_error *error);
/* Reads the EXIF of a view's photo file; a photo in memory has none. */
splat_exif splat_photo_read_exif(const splat_dataset_view *view);

/* Decode, composite, undistort, resize. rgb: uint8_t[height][width][3] of the view's camera, malloc'd, and where the
 * view has a mask uint8_t[height][width] of it (splat_view_mask): 255 or 0, kept or not, and in mode alpha what lies
 * between, too; then its map of inverse depths, where it has one (splat_view_depth). In the other modes the colours of
 * pixels that are not kept are made of those around that are, but for test views: nothing that a mask covers is in a
 * photo that is trained on. */
splat_status splat_photo_load(const splat_dataset *dataset, size_t view, uint8_t **rgb, splat_error *error);
/* The same of crops of one photo (dataset.h), which is decoded once: rgb[n], each malloc'd; all NULL after an error. */
splat_status splat_photo_load_crops(const splat_dataset *dataset, const uint32_t *views, int n, uint8_t **rgb,
                                    splat_error *error);
/* A picture of the size of the view's photo file becomes one of its camera: undistorted, resized. Replaces
 * image->pixels. */
splat_status splat_photo_fit(const splat_dataset_view *view, splat_image *image, splat_error *error);

/* The same for the view's mask: mask has one channel and the size of the photo file; NULL pixels: all of it is kept.
 * Pixels that the undistorted photo lacks are masked. */
splat_status splat_photo_fit_mask(const splat_dataset_view *view, splat_image *mask, splat_error *error);
/* The mask of a view at the size of its photo file: one channel, not yet 0 or 255 alone; NULL pixels: none but for
 * what undistortion leaves blank. photo: RGBA where the mask is its alpha; may be NULL elsewhere. */
splat_status splat_photo_read_mask(const splat_dataset *dataset, const splat_dataset_view *view,
                                   const splat_image *photo, splat_image *mask, splat_error *error);
/* The size that the photo file would have undistorted, at its own resolution. */
void splat_photo_undistorted_size(const splat_dataset_view *view, int *width, int *height);

#endif
