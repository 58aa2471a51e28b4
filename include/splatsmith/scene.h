/* splatsmith/scene.h - photos with their cameras: opening a scene, its views, and the built-in one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_SCENE_H
#define SPLATSMITH_SCENE_H

#include "splatsmith/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- scenes */

typedef struct splat_scene splat_scene;

/* The meaning of masks in training. IGNORE: masked pixels do not count (people, the tripod). SEGMENT: masked pixels
 * must be empty (only the object remains). ALPHA: masks are the opacity that the picture must have (photos with alpha,
 * mattes). */
typedef enum splat_mask_mode { SPLAT_MASKS_IGNORE, SPLAT_MASKS_SEGMENT, SPLAT_MASKS_ALPHA } splat_mask_mode;
#define SPLAT_WORDS_MASK_MODE "ignore|segment|alpha"

/* Photos of distorted cameras: as pinhole cameras without blank pixels (AUTO and CROP are the same), with all that the
 * photo shows (ALL: blank pixels are masked), or as they are (OFF: the camera files' distortion is not theirs). Photos
 * that see more than 70 degrees from their axis are cut into several views with all of them but OFF. */
typedef enum splat_undistort {
    SPLAT_UNDISTORT_AUTO, SPLAT_UNDISTORT_OFF, SPLAT_UNDISTORT_CROP, SPLAT_UNDISTORT_ALL
} splat_undistort;
#define SPLAT_WORDS_UNDISTORT "auto|off|crop|all"

/* Which photos `eval` holds out. EVERY: what the scene says, or test_camera_count or every n-th photo by name. SECTOR:
 * neighbours on the way around the scene, so that no photo is trained on near most of them. SPREAD: equally many with
 * equally many photos between them on that way; the control of SECTOR. */
typedef enum splat_split_rule { SPLAT_SPLIT_EVERY, SPLAT_SPLIT_SECTOR, SPLAT_SPLIT_SPREAD } splat_split_rule;
#define SPLAT_WORDS_SPLIT_RULE "every|sector|spread"

typedef struct splat_scene_options {
    size_t size;
    const char *source_path;   /* the folder of the scene; required */
    const char *images;        /* folder of the photos inside the scene; NULL is "images" */
    int resolution;            /* -1: at most 1600 wide (default); 1,2,4,8,16,32,64: divisor; other: target width */
    double resolution_scale;   /* 1: factor of both sides after `resolution`; at most 1; 0 is 1 too */
    bool eval;                 /* hold test views out */
    int llffhold;              /* with eval: every n-th view by sorted name is a test view; >= 2, default 8 */
    int test_camera_count;     /* with eval: this many evenly spread test views instead; -1 (default): use llffhold */
    const char *split_file;    /* a split written before (split.json of a model folder): it wins; NULL: none */
    bool white_background;     /* the background is white (false: black): under photos with alpha, and where no
                                  Gaussian is, in training, evaluations and pictures */
    bool load_allres;          /* multi-scale Blender scenes: train on all scales */
    double image_cache_gb;     /* bound of the decoded-photo cache, GiB; <= 0 (default): 2, or 0.25 with low_dram */
    bool low_dram;
    uint64_t seed;             /* seed of random points, for scenes without points */
    const char *masks;         /* folder of the masks inside the scene, or "none"; NULL: the folder masks or mask next
                                  to the photos' folder, if there is one, and the masks that transforms.json names */
    bool invert_masks;         /* white pixels are masked, instead of black ones */
    splat_mask_mode mask_mode; /* IGNORE; with the others the alpha of photos counts as a mask where there is none */
    bool eval_masks;           /* true: evaluations measure the pixels that masks keep, and also the whole picture */
    splat_undistort undistort; /* AUTO */
    float fisheye_degrees;     /* field of view of a fisheye's image circle; pixels farther than half of it from the
                                  axis are no part of the photo; at most 200, where crops end; default 190, also
                                  for 0 */
    const char *depths;        /* folder of maps of inverse depth inside the scene, as 3DGS has them, for training with
                                  depth_l1_weight_init; NULL: none are read */
    bool sfm_depth;            /* the points of the COLMAP model are kept with the photos that see them, for training
                                  with sfm_depth_weight */
    bool strict;               /* a photo that is absent, or cannot be read, is an error; false (default): up to a tenth
                                  of the photos are left out, with a warning that names them */
    splat_split_rule split;    /* with eval: EVERY (default). SECTOR and SPREAD ignore the scene's own test photos; they
                                  hold out test_camera_count photos, or one in llffhold (rounded up) */
    int sector;                /* with SECTOR and SPREAD: which of three sets, 0 (default) to 2. The sectors begin at
                                  0, 1/3 and 2/3 of the way around */
    const char *sky;           /* "auto" (also NULL): find the sky in the photos, where no surface can be; "none"; or a
                                  folder of masks inside the scene whose white pixels are sky */
} splat_scene_options;

typedef struct splat_scene_info {
    const char *format;        /* "colmap", "nerf-synthetic", "multiscale-blender", "transforms", "realitycapture",
                                  "opensfm", "metashape", "polycam", "memory" */
    size_t n_views, n_train, n_test, n_points;
    float extent;              /* 1.1 x the largest distance of a training camera from their mean (NeRF++) */
    int max_width, max_height; /* pixels of the largest loaded picture */
    bool random_points;        /* the scene had no points: they were drawn at random */
    size_t n_masked;           /* views with a mask: a file, alpha, or pixels that an undistorted photo lacks */
    size_t n_photos;           /* fewer than the views if wide photos are cut into several views */
    size_t n_depths;           /* training views with a map of inverse depths */
    size_t n_depth_points;     /* places of training views whose depth comes from the model's points */
} splat_scene_info;

typedef struct splat_view_info {
    const char *name;    /* file name of the photo (its path below the photos' folder if names repeat); a view that is
                            cut out of a photo adds "#" and a number; the scene owns it */
    bool is_test;
    splat_camera camera; /* at the loaded resolution */
} splat_view_info;

typedef enum splat_view_set {
    SPLAT_VIEWS_TRAIN = 0,
    SPLAT_VIEWS_TEST = 1,
    SPLAT_VIEWS_TRAIN_REPORT = 2 /* five train views */
} splat_view_set;

void splat_scene_options_init_sized(splat_scene_options *options, size_t size);
#define splat_scene_options_init(options) splat_scene_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_scene_options_set(splat_scene_options *options, const char *name, const char *text,
                                     splat_error *error);
/* Reads cameras, points and the split. It also decides which photos take part: each must exist, have a sound header and
 * be complete (`strict` says what happens otherwise). Photos are decoded later, through the cache. The caller owns
 * *scene (splat_scene_close). Errors: ARGUMENT, IO, FORMAT, UNSUPPORTED, MEMORY; each names the file. */
splat_status splat_scene_open(splat_context *context, const splat_scene_options *options, splat_scene **scene,
                              splat_error *error);
/* NULL is allowed, as in every function that destroys a handle. */
void splat_scene_close(splat_scene *scene);
void splat_scene_get_info(const splat_scene *scene, splat_scene_info *info);
/* index < n_views, in the order of sorted names. */
splat_status splat_scene_get_view(const splat_scene *scene, size_t index, splat_view_info *info, splat_error *error);
/* The photo of a view as loaded (resized, composited): rgb = uint8_t[height][width][3], sRGB, caller's memory. */
splat_status splat_scene_read_photo(splat_scene *scene, size_t index, uint8_t *rgb, splat_error *error);

/* How differently the training photos were exposed, by the brightness of the scene's points (docs/method.md 8.1). */
typedef struct splat_exposure_spread {
    size_t n_photos;  /* photos with enough points; 0: nothing is known */
    double deviation; /* of the exposures from those of the photos before and after; stops of display values */
    double error;     /* mean standard error of an exposure, the same */
    double explained; /* share of the points' differences between photos that exposures explain, 0 to 1 */
    bool differs;     /* the exposures differ so much that a training should find them (`exposure`) */
} splat_exposure_spread;

/* Measures the spread from at most 200 training photos, which are decoded. Errors: those of decoding, MEMORY. */
splat_status splat_scene_measure_exposures(splat_scene *scene, splat_exposure_spread *spread, splat_error *error);

/* Looks for the sky in the training photos, as splat_scene_options.sky says, when first called. *has: some photo shows
 * sky, and photos have no opacity (mask mode ALPHA). Errors: those of decoding, MEMORY. */
splat_status splat_scene_has_sky(splat_scene *scene, bool *has, splat_error *error);

/* Copies the points that a training starts from, the scene's or random ones, to the caller's memory: positions =
 * float[n_points][3], scene units; colors = uint8_t[n_points][3], sRGB. Either may be NULL. */
void splat_scene_get_points(const splat_scene *scene, float *positions, uint8_t *colors);

/* ---------------------------------------------------------------- scenes from memory */

#define SPLAT_CAMERA_PARAMETERS 16

/* A photo in memory with its camera. */
typedef struct splat_scene_photo {
    size_t size;
    const char *name;          /* a relative path without "..", such as "left/0001.jpg", unique in the scene. Views
                                  are sorted by it, and rules of splits follow that order. Copied */
    const uint8_t *pixels;     /* [height][width][channels], sRGB; borrowed until the scene is closed */
    int width, height;         /* 1 to 65500 */
    int channels;              /* 3: RGB (default); 4: RGBA with straight alpha */
    const uint8_t *mask;       /* [height][width], 255: kept, as a mask file would have it (splat_mask_mode); borrowed
                                  until the scene is closed. NULL: none */
    const char *camera_model;  /* COLMAP's name of the camera's model: "PINHOLE" (NULL is, too), "OPENCV",
                                  "OPENCV_FISHEYE", "EQUIRECTANGULAR", ... Distorted photos are undistorted as
                                  splat_scene_options.undistort says. Copied */
    double parameters[SPLAT_CAMERA_PARAMETERS]; /* in COLMAP's order, pixels of the continuous picture, whose first
                                  pixel has its centre at (0.5, 0.5); of PINHOLE: fx, fy, cx, cy */
    int camera_width, camera_height; /* size of the picture that the parameters belong to; 0: that of the photo. The
                                  photo may be a smaller or larger copy of that picture */
    double rotation[9];        /* world to camera, row-major; camera axes x right, y down, z forward (COLMAP, OpenCV) */
    double translation[3];     /* x_camera = rotation x_world + translation, scene units */
    bool is_test;              /* held out with `eval`; if all are false, splat_scene_options decide */
} splat_scene_photo;

void splat_scene_photo_init_sized(splat_scene_photo *photo, size_t size);
#define splat_scene_photo_init(photo) splat_scene_photo_init_sized(photo, sizeof *(photo))

/* The photos and points of a scene in memory. */
typedef struct splat_scene_arrays {
    size_t size;
    const splat_scene_photo *photos; size_t n_photos; /* all of the size that the first one says; copied */
    const float *points;       /* [n_points][3] where a training starts from, scene units; copied */
    const uint8_t *colors;     /* [n_points][3], sRGB; NULL: gray; copied */
    size_t n_points;           /* 0: random points are drawn around the cameras */
} splat_scene_arrays;

void splat_scene_arrays_init_sized(splat_scene_arrays *arrays, size_t size);
#define splat_scene_arrays_init(arrays) splat_scene_arrays_init_sized(arrays, sizeof *(arrays))
/* Makes a scene of photos in memory, with the `format` "memory". options: NULL, or options without source_path, images,
 * masks (except "none"), depths, sfm_depth and load_allres, which concern files. Photos are composited, undistorted and
 * resized when they are needed, through the cache. The model folder of a training on it names no scene. The caller owns
 * *scene (splat_scene_close). Errors: ARGUMENT, UNSUPPORTED (a lens that no pinhole camera can show), FORMAT (the sizes
 * of photo and camera contradict each other), MEMORY; each names the photo. */
splat_status splat_scene_create(splat_context *context, const splat_scene_arrays *arrays,
                                const splat_scene_options *options, splat_scene **scene, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
