/* The frame follows COLMAP's image_undistorter. Crops are cut out of photos that one pinhole camera cannot show: which
 * way they look, how large they are, and what of them the lens shows. */
#include "math/lens_views.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---------------------------------------------------------------- the frame of a photo */

#define MIN_SCALE 0.2
#define MAX_SCALE 2.0

/* The extent of a photo's side in the pinhole camera with the lens's own focal lengths: the least and the largest x of
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

/* ---------------------------------------------------------------- crops: which way they look */

#define PANORAMA_FIELD 94.0 /* degrees: the faces of a cube, and two degrees more at each side */
#define TILT 55.0           /* degrees, of the four views around the axis */
#define ACROSS 1.35         /* tan of half their field across the tilt: what lies between two of them, to 95 degrees */
#define ONE SPLAT_LENS_PINHOLE_TANGENT
#define SAMPLES 64          /* a side of the grid of places that are asked for */
#define LEAST_NEW 41        /* of the grid's places, 1 %: a view that shows fewer new ones is left out */

typedef struct field { double low[2], high[2]; } field; /* tangents: x or y over z in the crop */

static void rotate(const double m[9], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = m[3 * r] * v[0] + m[3 * r + 1] * v[1] + m[3 * r + 2] * v[2];
}

static void rotate_back(const double m[9], const double v[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = m[r] * v[0] + m[3 + r] * v[1] + m[6 + r] * v[2];
}

/* Looks `right` and `down` radians away from the axis; one of them is zero. */
static void set_turn(double right, double down, double turn[9])
{
    const double s = sin(right), c = cos(right), t = sin(down), d = cos(down);
    const double aside[9] = {c, 0, -s, 0, 1, 0, s, 0, c}, below[9] = {1, 0, 0, 0, d, -t, 0, t, d};
    memcpy(turn, right != 0 ? aside : below, sizeof aside);
}

/* ---------------------------------------------------------------- what a lens shows */

static bool is_in_photo(const splat_lens *lens, const double pixel[2])
{
    return pixel[0] >= 0 && pixel[1] >= 0 && pixel[0] <= lens->width && pixel[1] <= lens->height;
}

static bool sees(const splat_lens *lens, const double turn[9], const double at[3])
{
    double ray[3], pixel[2];
    rotate_back(turn, at, ray);
    return splat_lens_project(lens, ray, pixel) && is_in_photo(lens, pixel);
}

/* ---------------------------------------------------------------- a crop */

static double place(const field *f, int axis, int i)
{
    return f->low[axis] + (f->high[axis] - f->low[axis]) * i / (SAMPLES - 1);
}

static bool is_seen_by(const splat_lens_crop *crop, const double ray[3])
{
    double at[3];
    rotate(crop->turn, ray, at);
    if (!(at[2] > 0)) return false;
    double x = crop->frame.fx * at[0] / at[2] + crop->frame.cx, y = crop->frame.fy * at[1] / at[2] + crop->frame.cy;
    return x >= 0 && y >= 0 && x <= crop->frame.width && y <= crop->frame.height;
}

/* The field becomes what of it the lens shows, and a step of the grid around that. Returns how many of the places that
 * it shows are in none of the earlier crops. */
static int trim(const splat_lens *lens, const splat_lens_crop *earlier, int n_earlier, const double turn[9], field *f)
{
    int low[2] = {SAMPLES, SAMPLES}, high[2] = {-1, -1}, n_new = 0;
    for (int j = 0; j < SAMPLES; j++)
        for (int i = 0; i < SAMPLES; i++) {
            const double at[3] = {place(f, 0, i), place(f, 1, j), 1};
            if (!sees(lens, turn, at)) continue;
            const int index[2] = {i, j};
            for (int axis = 0; axis < 2; axis++) {
                if (index[axis] < low[axis]) low[axis] = index[axis];
                if (index[axis] > high[axis]) high[axis] = index[axis];
            }
            double ray[3];
            rotate_back(turn, at, ray);
            bool is_new = true;
            for (int k = 0; k < n_earlier && is_new; k++) is_new = !is_seen_by(&earlier[k], ray);
            n_new += is_new;
        }
    if (high[0] < 0) return 0;
    field trimmed;
    for (int axis = 0; axis < 2; axis++) {
        trimmed.low[axis] = place(f, axis, low[axis] > 0 ? low[axis] - 1 : 0);
        trimmed.high[axis] = place(f, axis, high[axis] < SAMPLES - 1 ? high[axis] + 1 : SAMPLES - 1);
    }
    *f = trimmed;
    return n_new;
}

/* As large as rounding makes it: the principal point moves by less than half a pixel with it. */
static int side_of(const field *f, int axis, double focal, double *c)
{
    double side = fmax(1, rint(focal * (f->high[axis] - f->low[axis])));
    *c = 0.5 * side - 0.5 * focal * (f->low[axis] + f->high[axis]);
    return (int)side;
}

static bool has_blank(const splat_lens *lens, const splat_lens_crop *crop)
{
    const splat_lens_frame *f = &crop->frame;
    for (int k = 0; k < 2 * (f->width + f->height); k++) {
        int along = k < 2 * f->width ? k / 2 : (k - 2 * f->width) / 2;
        double x = k < 2 * f->width ? along + 0.5 : k % 2 ? f->width - 0.5 : 0.5;
        double y = k >= 2 * f->width ? along + 0.5 : k % 2 ? f->height - 0.5 : 0.5;
        if (!sees(lens, crop->turn, (const double[3]){(x - f->cx) / f->fx, (y - f->cy) / f->fy, 1})) return true;
    }
    return false;
}

/* Adds a crop unless it shows nothing new. */
static int add(const splat_lens *lens, double focal, field f, splat_lens_crop *crops, int n)
{
    splat_lens_crop *crop = &crops[n];
    int n_new = trim(lens, crops, n, crop->turn, &f);
    if (n_new == 0 || (n > 0 && n_new < LEAST_NEW)) return n;
    crop->frame.fx = crop->frame.fy = focal;
    crop->frame.width = side_of(&f, 0, focal, &crop->frame.cx);
    crop->frame.height = side_of(&f, 1, focal, &crop->frame.cy);
    crop->leaves_blank = has_blank(lens, crop);
    return n + 1;
}

/* True if the photo shows anything so far from the axis. */
static bool sees_beyond(const splat_lens *lens, double degrees)
{
    static const double none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (double angle = degrees * PI / 180; angle < PI; angle += 5 * PI / 180)
        for (int i = 0; i < SAMPLES; i++) {
            double around = 2 * PI * i / SAMPLES;
            const double ray[3] = {sin(angle) * cos(around), sin(angle) * sin(around), cos(angle)};
            if (sees(lens, none, ray)) return true;
        }
    return false;
}

int splat_lens_make_crops(const splat_lens *lens, splat_lens_crop crops[SPLAT_LENS_CROPS])
{
    bool is_panorama = lens->model == SPLAT_LENS_EQUIRECTANGULAR;
    double most = is_panorama ? tan(0.5 * PANORAMA_FIELD * PI / 180) : 1, tilt = is_panorama ? PI / 2 : TILT * PI / 180;
    double across = is_panorama ? most : ACROSS;
    /* a pixel in the middle of a crop is not finer than the photo; focal lengths beyond the photo's side do not belong
     * to lenses that see so much */
    double focal = is_panorama ? lens->fx : fmin(fmin(lens->fx, lens->fy), fmax(lens->width, lens->height));
    const field front = {{-most, -most}, {most, most}}, beside = {{-most, -across}, {most, across}},
                above = {{-across, -most}, {across, most}}, only = {{-ONE, -ONE}, {ONE, ONE}};
    int n = 0;
    if (!(focal > 0) || !isfinite(focal)) return 0;
    set_turn(0, 0, crops[n].turn);
    if (!is_panorama && !sees_beyond(lens, SPLAT_LENS_PINHOLE_DEGREES)) return add(lens, focal, only, crops, n);
    n = add(lens, focal, front, crops, n);
    for (int side = 1; n > 0 && side >= -1; side -= 2) {
        set_turn(side * tilt, 0, crops[n].turn);
        n = add(lens, focal, beside, crops, n);
    }
    for (int side = 1; n > 0 && side >= -1; side -= 2) {
        set_turn(0, side * tilt, crops[n].turn);
        n = add(lens, focal, above, crops, n);
    }
    if (is_panorama && n > 0) {
        set_turn(PI, 0, crops[n].turn);
        n = add(lens, focal, front, crops, n);
    }
    return n;
}
