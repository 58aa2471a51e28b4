/* The pinhole camera that takes the place of a lens, as COLMAP's image_undistorter chooses it. */
#include "math/lens.h"

#include <math.h>

#define PI 3.14159265358979323846
#define MIN_SCALE 0.2
#define MAX_SCALE 2.0

/* Where a side of the photo lies in the pinhole camera of the lens's own focal lengths: the least and the largest x of
 * the left and the right column (axis 0), or y of the top and the bottom row (axis 1). */
typedef struct extent { double least, largest; } extent;

/* cos of the widest angle so far goes to *cosine; pixels whose ray is beyond `min_cosine` are left out, and counted. */
static extent side_extent(const splat_lens *lens, int axis, double at, double min_cosine, double *cosine,
                          long *n_beyond)
{
    extent side = {INFINITY, -INFINITY};
    int n = axis == 0 ? lens->height : lens->width;
    for (int i = 0; i < n; i++) {
        const double pixel[2] = {axis == 0 ? at : i + 0.5, axis == 0 ? i + 0.5 : at};
        double ray[3];
        if (!splat_lens_unproject(lens, pixel, ray)) continue; /* no part of the picture: beyond the lens's fold */
        if (ray[2] < *cosine) *cosine = ray[2];
        if (ray[2] < min_cosine) {
            ++*n_beyond;
            continue;
        }
        double x = axis == 0 ? lens->fx * ray[0] / ray[2] + lens->cx : lens->fy * ray[1] / ray[2] + lens->cy;
        if (x < side.least) side.least = x;
        if (x > side.largest) side.largest = x;
    }
    return side;
}

/* The factor of a side's length: between what holds all pixels (blank 1) and what has no blank ones (0). That one
 * side is measured from c and the other from size - 0.5 is as COLMAP has it. */
static double side_scale(double c, int size, extent low, extent high, double blank)
{
    double all = fmin(c / (c - low.least), (size - 0.5 - c) / (high.largest - c));
    double none = fmax(c / (c - low.largest), (size - 0.5 - c) / (high.least - c));
    double scale = 1 / (all * blank + none * (1 - blank));
    return scale < MIN_SCALE ? MIN_SCALE : scale > MAX_SCALE ? MAX_SCALE : scale;
}

bool splat_lens_undistorted_frame(const splat_lens *lens, double blank_pixels, double max_degrees,
                                  splat_lens_frame *frame, double *degrees)
{
    double min_cosine = cos(fmin(max_degrees, 89) * PI / 180), cosine = 1;
    long n_beyond = 0;
    extent left = side_extent(lens, 0, 0.5, min_cosine, &cosine, &n_beyond);
    extent right = side_extent(lens, 0, lens->width - 0.5, min_cosine, &cosine, &n_beyond);
    extent top = side_extent(lens, 1, 0.5, min_cosine, &cosine, &n_beyond);
    extent bottom = side_extent(lens, 1, lens->height - 0.5, min_cosine, &cosine, &n_beyond);
    if (degrees) *degrees = acos(fmax(-1, fmin(1, cosine))) * 180 / PI;
    bool is_seen = left.least <= left.largest && right.least <= right.largest && top.least <= top.largest &&
                   bottom.least <= bottom.largest;
    if (!is_seen || n_beyond > 0) return false;
    double scale_x = side_scale(lens->cx, lens->width, left, right, blank_pixels);
    double scale_y = side_scale(lens->cy, lens->height, top, bottom, blank_pixels);
    if (!isfinite(scale_x) || !isfinite(scale_y)) return false;
    frame->width = (int)fmax(1, scale_x * lens->width);
    frame->height = (int)fmax(1, scale_y * lens->height);
    frame->fx = lens->fx;
    frame->fy = lens->fy;
    frame->cx = lens->cx * frame->width / lens->width;
    frame->cy = lens->cy * frame->height / lens->height;
    return true;
}
