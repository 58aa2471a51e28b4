/* COLMAP sparse models: cameras, images, points3D, binary and text; read with suspicion, written for samples. */
#ifndef SPLAT_IO_COLMAP_H
#define SPLAT_IO_COLMAP_H

#include "base/error.h"
#include "math/lens.h"

typedef struct splat_colmap_camera {
    uint32_t id;
    int model_id;               /* a splat_lens_model: COLMAP's number */
    uint64_t width, height;
    double fx, fy, cx, cy;      /* EQUIRECTANGULAR: 0 */
    double coefficients[SPLAT_LENS_COEFFICIENTS]; /* distortion, in the model's order */
} splat_colmap_camera;

typedef struct splat_colmap_image {
    uint32_t id, camera_id;
    double rotation[4];         /* world to camera, (w, x, y, z) */
    double translation[3];
    char *name;                 /* relative path as COLMAP stores it; stays inside the images folder */
} splat_colmap_image;

typedef struct splat_point {
    float position[3];
    uint8_t color[3];
} splat_point;

/* Which images see the points of a model, in their order. */
typedef struct splat_colmap_tracks {
    float *errors;       /* [n_points] mean error of reprojection, pixels; 0: the file does not tell */
    size_t *ends;        /* [n_points] of each point's images in image_ids, which begin at the end of the one before */
    uint32_t *image_ids; /* ids as in the file: an image may be absent, or be there twice */
    float *places;       /* [2] of each image id: pixels in it, to be written; NULL when read */
    size_t n, capacity_points, capacity_ids; /* points so far; room */
} splat_colmap_tracks;

typedef struct splat_colmap_model {
    splat_colmap_camera *cameras; size_t n_cameras;
    splat_colmap_image *images;   size_t n_images;
    splat_point *points;          size_t n_points;
    splat_colmap_tracks *tracks;  /* the caller's tracks to fill; NULL: skip tracks */
} splat_colmap_model;

#endif
