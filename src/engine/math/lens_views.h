/* Pinhole cameras for photos of a lens: one frame for the whole photo, or several crops of a wide one. */
#ifndef SPLAT_MATH_LENS_VIEWS_H
#define SPLAT_MATH_LENS_VIEWS_H

#include "math/lens.h"

/* A pinhole camera for photos of a lens. */
typedef struct splat_lens_frame {
    int width, height;
    double fx, fy, cx, cy;
} splat_lens_frame;

/* The frame that COLMAP's image_undistorter chooses for the lens (min_scale 0.2, max_scale 2, no ROI): the largest
 * without blank pixels at blank_pixels = 0, the smallest that holds every pixel at 1. False when the border of the
 * photo cannot be seen by a pinhole camera: rays beyond max_degrees from the axis (at most 89). *degrees, if not
 * NULL: the largest angle of the border's pixels. */
bool splat_lens_undistorted_frame(const splat_lens *lens, double blank_pixels, double max_degrees,
                                  splat_lens_frame *frame, double *degrees);

/* Limits of one pinhole camera: the angle from the axis, because it stretches by 1/cos²; the largest tangent of a view
 * that replaces a lens, which is 61 degrees; and the default field of a fisheye's image circle. */
#define SPLAT_LENS_PINHOLE_DEGREES 70.0
#define SPLAT_LENS_PINHOLE_TANGENT 1.8
#define SPLAT_LENS_FISHEYE_DEGREES 190

/* A view that is cut out of a wide photo: a pinhole camera that is turned against the lens. */
typedef struct splat_lens_crop {
    double turn[9];         /* row-major, a rotation: X_crop = turn X_lens */
    splat_lens_frame frame; /* frame at the resolution of the lens */
    bool leaves_blank;      /* some of its pixels are no pixels of the photo */
} splat_lens_crop;

#define SPLAT_LENS_CROPS 6 /* most crops of a photo */

/* The views that together show what one pinhole camera cannot (docs/method.md 2.7): of an EQUIRECTANGULAR photo six,
 * the faces of a cube with 94 degrees a side; of others one of 90 degrees along the axis and up to four around it,
 * without those that show nothing new; of what sees no farther than 70 degrees (the rim of its image circle is inside
 * of the photo) one of up to 61. Each is cut to what the lens shows. Returns how many; 0: the lens shows nothing. */
int splat_lens_make_crops(const splat_lens *lens, splat_lens_crop crops[SPLAT_LENS_CROPS]);

#endif
