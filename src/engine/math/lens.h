/* Lenses: where in a photo a ray of the camera lands, and back, for every camera model of COLMAP and that of
 * Nerfstudio.
 *
 * Camera frame: x right, y down, z forward; the first pixel's centre is (0.5, 0.5). All in double. The formulas are
 * those of docs/method.md 2.7. Unlike COLMAP, a lens knows where its polynomial folds over: beyond that radius a
 * ray is outside of the photo, where others would show mirrored content. */
#ifndef SPLAT_MATH_LENS_H
#define SPLAT_MATH_LENS_H

#include <stdbool.h>

/* COLMAP's numbers; the last is Nerfstudio's perspective camera: a radial polynomial of four terms and OPENCV's p1,
 * p2. */
typedef enum splat_lens_model {
    SPLAT_LENS_SIMPLE_PINHOLE, SPLAT_LENS_PINHOLE, SPLAT_LENS_SIMPLE_RADIAL, SPLAT_LENS_RADIAL, SPLAT_LENS_OPENCV,
    SPLAT_LENS_OPENCV_FISHEYE, SPLAT_LENS_FULL_OPENCV, SPLAT_LENS_FOV, SPLAT_LENS_SIMPLE_RADIAL_FISHEYE,
    SPLAT_LENS_RADIAL_FISHEYE, SPLAT_LENS_THIN_PRISM_FISHEYE, SPLAT_LENS_RAD_TAN_THIN_PRISM_FISHEYE,
    SPLAT_LENS_SIMPLE_DIVISION, SPLAT_LENS_DIVISION, SPLAT_LENS_SIMPLE_FISHEYE, SPLAT_LENS_FISHEYE, SPLAT_LENS_EUCM,
    SPLAT_LENS_EQUIRECTANGULAR, SPLAT_LENS_NERFSTUDIO, SPLAT_LENS_MODELS
} splat_lens_model;

/* The parameters of a camera model, in their order: focal lengths (0, 1 or 2), the principal point (if there is a focal
 * length), coefficients. EQUIRECTANGULAR has no focal length; its two coefficients repeat the size of the photo. */
typedef struct splat_lens_form {
    const char *name;
    int n_focals, n_coefficients;
    bool is_fisheye; /* a pinhole camera cannot replace it, even with all coefficients zero */
} splat_lens_form;

#define SPLAT_LENS_PARAMETERS 16 /* most parameters of a lens: RAD_TAN_THIN_PRISM_FISHEYE */
#define SPLAT_LENS_COEFFICIENTS 12

typedef struct splat_lens {
    splat_lens_model model;
    int width, height;      /* size of the photo that the parameters belong to */
    double fx, fy, cx, cy;
    double coefficients[SPLAT_LENS_COEFFICIENTS];
    double max_radius;      /* of an undistorted ray, tan of its angle, or its angle for a fisheye: beyond it the lens
                               folds, or leaves the photo. Set by splat_lens_prepare. */
    double max_angle;       /* radians from the axis: what is farther is no part of the photo (the rim of a fisheye's
                               image circle); 0: no bound */
} splat_lens;

/* NULL for a number that COLMAP does not have (yet). */
const splat_lens_form *splat_lens_form_get(int model);
/* The number of a model's name, or -1. */
int splat_lens_find(const char *name);
/* Parameters of a form: focals, 2 for the principal point if there are focals, coefficients. */
int splat_lens_n_parameters(const splat_lens_form *form);
/* Sets model and parameters, in COLMAP's order; width and height must be set. Prepares the lens. */
void splat_lens_set(splat_lens *lens, splat_lens_model model, const double *parameters);
/* Finds max_radius from the other fields. */
void splat_lens_prepare(splat_lens *lens);
/* A pinhole camera, or one whose coefficients are all below 1e-8, as COLMAP's undistorter leaves some. */
bool splat_lens_is_pinhole(const splat_lens *lens);
bool splat_lens_equal(const splat_lens *a, const splat_lens *b);

/* The pixel that a ray (of any length) is seen in; false when the lens does not see it. The pixel may lie outside
 * of the photo. */
bool splat_lens_project(const splat_lens *lens, const double ray[3], double pixel[2]);
/* A ray that is seen in the pixel, of length 1; false when there is none, or it is not found in 100 steps of Newton's
 * method. */
bool splat_lens_unproject(const splat_lens *lens, const double pixel[2], double ray[3]);

#endif
