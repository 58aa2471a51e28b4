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
    double coefficients[SPLAT_LENS_COEFFICIENTS]; /* of distortion, in the model's order */
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
    uint32_t *image_ids; /* as the file has them: an image may be absent, or come twice */
    float *places;       /* [2] of each image id: pixels in it, to be written; NULL when read */
    size_t n, capacity_points, capacity_ids; /* points so far; room */
} splat_colmap_tracks;

typedef struct splat_colmap_model {
    splat_colmap_camera *cameras; size_t n_cameras;
    splat_colmap_image *images;   size_t n_images;
    splat_point *points;          size_t n_points;
    splat_colmap_tracks *tracks;  /* to be read with the points, the caller's; NULL: skipped */
} splat_colmap_model;

/* Reads cameras (sorted by id) and images (in the file's order) of a folder, .bin before .txt. Every
 * camera model of COLMAP up to 4.1 is read; others fail with UNSUPPORTED. Unknown files (rigs.bin, frames.bin) are
 * ignored. Points are read separately. */
splat_status splat_colmap_read(const char *folder, splat_colmap_model *model, splat_error *error);
/* How many images a model's folder claims to hold, without reading them; 0 when that cannot be told. */
uint64_t splat_colmap_count_images(const char *folder);
/* points3D.bin, then .txt; neither present gives n_points = 0. Coordinates must be finite. Tracks are read when
 * model->tracks is set (zeros at first; splat_colmap_tracks_free, also after an error). */
splat_status splat_colmap_read_points(const char *folder, splat_colmap_model *model, splat_error *error);
void splat_colmap_tracks_free(splat_colmap_tracks *tracks);
/* The camera of an id, or NULL. The model's cameras must be sorted by id, as splat_colmap_read leaves them. */
const splat_colmap_camera *splat_colmap_find_camera(const splat_colmap_model *model, uint32_t id);
void splat_colmap_free(splat_colmap_model *model);
/* Writes cameras, images and points3D, as .bin and as .txt, atomically each, with the tracks that the model has: their
 * images must be the model's, with ids that count from 1. The cameras' models must be COLMAP's. */
splat_status splat_colmap_write(const char *folder, const splat_colmap_model *model, splat_error *error);

#endif
