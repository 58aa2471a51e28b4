/* The steps of opening a dataset, one file each: source (what the scene's files say), size (photo and camera), split,
 * points. */
#ifndef SPLAT_SCENE_DATASET_PARTS_H
#define SPLAT_SCENE_DATASET_PARTS_H

#include "scene/dataset.h"

/* One photo with its camera as the scene's files give it. */
typedef struct splat_source_view {
    char *path;               /* of the photo; of one in memory its name */
    const splat_scene_photo *given; /* the photo in memory, or NULL */
    char *mask;               /* the mask that the scene's files name, or NULL */
    uint32_t image_id;        /* COLMAP's */
    const char *relative;     /* the part of path below the folder of the photos (COLMAP) or of the scene */
    double rotation[9], translation[3]; /* world to camera */
    double fx, fy, cx, cy;    /* at width x height. cx, cy 0: centred. fx 0: from fov_x, fov_y (0: square pixels) */
    double fov_x, fov_y;
    splat_lens_model model;
    double coefficients[SPLAT_LENS_COEFFICIENTS]; /* of distortion */
    int width, height;        /* 0: as the photo */
    splat_error *absent;      /* why the photo is not there, where the reader of the files knows; malloc'd */
    bool is_test, is_lower_scale;
    int rim;                  /* pixels at each border that are no part of the photo */
    int crop, n_crops;        /* of a wide photo, dataset_crops.c; n_crops 0: the view is the photo */
    splat_lens_crop cut;      /* of a crop; the pose is the crop's then */
} splat_source_view;

typedef struct splat_source {
    const char *format;
    splat_source_view *views; size_t n_views;
    bool has_split;           /* is_test means something */
    bool is_blender;          /* pictures and random points follow the NeRF-synthetic loaders */
    char *scene_folder;
    char *photo_folder;       /* COLMAP: of the photos; else the scene's */
    char *model_folder;       /* sparse/0, sparse/1, ... or sparse of a COLMAP scene, else NULL */
    size_t n_models;          /* of those in sub-folders of sparse/; model_folder is the largest */
    char *point_cloud;        /* a PLY, or NULL */
    char *reconstruction;     /* the file that holds OpenSfM's points, or NULL */
    size_t n_reconstructions; /* of which the largest is taken */
    size_t n_left_out;        /* cameras without a pose, or switched off */
    char *left_out;           /* the first of their names, or NULL */
    char **lost; size_t n_lost; /* photos that are absent or cannot be read: paths below the folder, not in views */
    const splat_scene_arrays *given; /* photos and points in memory; scene_folder and photo_folder are NULL then */
    double origin[3];         /* what was subtracted from the poses, and is to be from the points of these two */
} splat_source;

/* Where notices go; function may be NULL. */
typedef struct splat_dataset_log { splat_log_function function; void *user; } splat_dataset_log;
void splat_dataset_say(const splat_dataset_log *log, splat_log_level level, const char *format, ...) SPLAT_PRINTF(3, 4);

/* dataset_source.c: reads the scene's files; views come sorted by image name. Every photo exists, and is whole. */
splat_status splat_source_read(const splat_scene_options *options, const splat_dataset_log *log, splat_source *source,
                               splat_error *error);
/* dataset_lost.c: takes the views away whose photos are absent, have a damaged header or are cut off; a warning names
 * them. IO, FORMAT, UNSUPPORTED: more than a tenth are, or one with `strict`; the error is that of the first. */
splat_status splat_source_leave_out_lost(splat_source *source, const splat_scene_options *options,
                                         const splat_dataset_log *log, splat_error *error);
/* Whether a name, with the folders below the photos' or without, is that of a photo that was left out. */
bool splat_source_has_lost(const splat_source *source, const char *name);
void splat_source_free(splat_source *source);
/* ... and puts views in the order of their names. FORMAT: two share a photo. */
splat_status splat_source_sort(splat_source *source, splat_error *error);

/* dataset_given.c: the same of photos in memory, which are checked; `photos` receives copies of them without names, and
 * is the caller's (free). */
splat_status splat_source_take(const splat_scene_arrays *arrays, const splat_scene_options *options,
                               splat_scene_photo **photos, splat_source *source, splat_error *error);
/* dataset_given.c: the points that were given. Errors: ARGUMENT (not finite), MEMORY. */
splat_status splat_given_points(const splat_scene_arrays *arrays, splat_point **points, size_t *n, splat_error *error);

/* dataset_crops.c: photos that one pinhole camera cannot show become several views each; a notice says so. Errors: of
 * photos that cannot be read; UNSUPPORTED for lenses that no camera can show; ARGUMENT for panoramas with OFF. */
splat_status splat_source_cut(splat_source *source, const splat_scene_options *options, const splat_dataset_log *log,
                              splat_error *error);
/* dataset_size.c: the lens of a photo that its camera is for width x height of, with the bound of the options. */
splat_lens splat_source_lens(const splat_source_view *view, int width, int height,
                             const splat_scene_options *options);

/* dataset_size.c: probes the photo and fills sizes, lens and camera of a view. *limited as in splat_resolution_apply.
 * `before`: a finished view, or NULL; of the same lens, it lends its frame. */
splat_status splat_view_set_camera(splat_dataset_view *view, const splat_source_view *source,
                                   const splat_scene_options *options, const splat_dataset_view *before, bool *limited,
                                   splat_error *error);

/* Whether a picture of file size can be a reduced or enlarged copy of one of full size: sides agree within one pixel,
 * or the aspect within 1 percent. */
bool splat_same_view(int file_width, int file_height, int full_width, int full_height);
/* dataset_masks.c: mask_path, has_alpha_mask and has_mask of the views. Cameras must be set. */
splat_status splat_dataset_find_masks(splat_dataset *dataset, const splat_source *source,
                                      const splat_scene_options *options, const splat_dataset_log *log,
                                      splat_error *error);
/* dataset_split.c: fills is_test, train and test. Names and is_lower_scale of the views must be set. */
splat_status splat_dataset_split(splat_dataset *dataset, const splat_source *source,
                                 const splat_scene_options *options, const splat_dataset_log *log, splat_error *error);

/* dataset_depths.c: depth_path and what belongs to it of the training views, where `depths` asks for them. The split
 * must be set. Errors: IO, FORMAT, UNSUPPORTED, MEMORY. */
splat_status splat_dataset_find_depths(splat_dataset *dataset, const splat_source *source,
                                       const splat_scene_options *options, const splat_dataset_log *log,
                                       splat_error *error);

/* dataset_depth_points.c: the points that each training view sees, where `sfm_depth` asks for them. Extent and split
 * must be set. Errors: UNSUPPORTED (the scene has no tracks), FORMAT, MEMORY. */
splat_status splat_dataset_load_depth_points(splat_dataset *dataset, const splat_source *source,
                                             const splat_scene_options *options, const splat_dataset_log *log,
                                             splat_error *error);

/* dataset_depth_points.c: where a point lies in a picture, in pixels from its upper left corner, and its depth: (u, v,
 * z), u and v also beyond the borders. False, and nothing is written: z is not above least_depth (0 or more). */
bool splat_dataset_place_point(const splat_camera *camera, const float position[3], double least_depth,
                               double place[3]);

/* dataset_masked_points.c: takes those of the dataset's points away of which more than half of the photos in their
 * tracks have a black mask where the point is seen; a notice says how many. tracks: of all its points. Errors: those of
 * reading masks, MEMORY. */
splat_status splat_dataset_drop_masked_points(splat_dataset *dataset, const splat_source *source,
                                              const splat_colmap_tracks *tracks, const splat_dataset_log *log,
                                              splat_error *error);

/* dataset_points.c: points and extent. Cameras and split must be set. */
splat_status splat_dataset_load_points(splat_dataset *dataset, const splat_source *source, uint64_t seed,
                                       const splat_dataset_log *log, splat_error *error);

#endif
