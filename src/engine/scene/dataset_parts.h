/* The steps of opening a dataset, one file each: source (what the scene's files say), size (photo and camera), split,
 * points. */
#ifndef SPLAT_SCENE_DATASET_PARTS_H
#define SPLAT_SCENE_DATASET_PARTS_H

#include "scene/dataset.h"

/* One photo with its camera as the scene's files give it. */
typedef struct splat_source_view {
    char *path;               /* path of the photo; of a photo in memory its name */
    const splat_scene_photo *in_memory; /* the photo in memory, or NULL */
    char *mask;               /* the mask that the scene's files name, or NULL */
    uint32_t image_id;        /* COLMAP's */
    const char *relative;     /* the part of path below the folder of the photos (COLMAP) or of the scene */
    double rotation[9], translation[3]; /* world to camera */
    double fx, fy, cx, cy;    /* at width x height. cx, cy 0: centred. fx 0: from fov_x, fov_y (0: square pixels) */
    double fov_x, fov_y;
    splat_lens_model model;
    double coefficients[SPLAT_LENS_COEFFICIENTS]; /* distortion */
    int width, height;        /* 0: as the photo */
    splat_error *absent;      /* reason why the photo is absent, if the reader knows it; malloc'd */
    bool is_test, is_lower_scale;
    int rim;                  /* width of a border to cut off, pixels */
    int crop, n_crops;        /* crop of a wide photo (dataset_crops.c); n_crops 0: the whole photo */
    splat_lens_crop cut;      /* the crop, whose pose the view then has */
} splat_source_view;

typedef struct splat_source {
    const char *format;
    splat_source_view *views; size_t n_views;
    bool has_split;           /* is_test means something */
    bool is_blender;          /* pictures and random points follow the NeRF-synthetic loaders */
    char *scene_folder;
    char *photo_folder;       /* COLMAP: of the photos; else the scene's */
    char *model_folder;       /* sparse/0, sparse/1, ... or sparse of a COLMAP scene, else NULL */
    size_t n_models;          /* models in sub-folders of sparse/; model_folder is the largest */
    char *point_cloud;        /* a PLY, or NULL */
    char *reconstruction;     /* the file that holds OpenSfM's points, or NULL */
    size_t n_reconstructions; /* reconstructions in the file; the largest is used */
    size_t n_left_out;        /* cameras without a pose, or switched off */
    char *left_out;           /* name of the first camera left out, or NULL */
    char **lost; size_t n_lost; /* photos that are absent or cannot be read: paths below the folder, not in views */
    const splat_scene_arrays *in_memory; /* photos and points in memory; scene_folder and photo_folder are NULL then */
    double origin[3];         /* subtracted from the poses; also subtract it from the points of these files */
} splat_source;

/* Receiver of notices; function may be NULL. */
typedef struct splat_dataset_log { splat_log_function function; void *user; } splat_dataset_log;

void splat_dataset_say(const splat_dataset_log *log, splat_log_level level, const char *format, ...) SPLAT_PRINTF(3, 4);

#endif
