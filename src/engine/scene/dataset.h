/* A scene in memory: cameras at the loaded resolution, the split, the initial points. Photos stay on disk until the
 * image cache decodes them. */
#ifndef SPLAT_SCENE_DATASET_H
#define SPLAT_SCENE_DATASET_H

#include "base/error.h"
#include "io/colmap/colmap.h"
#include "math/depth_point.h"
#include "math/lens_views.h"
#include "splatsmith/scene.h"

typedef struct splat_dataset_view {
    char *path;            /* path of the photo; of a photo in memory its name */
    const splat_scene_photo *in_memory; /* the photo in memory; NULL: it is a file */
    const uint8_t *mask_in_memory;      /* the mask of a photo in memory; NULL: none */
    char *photo_name;      /* its file name; below sub-folders when two train, or two test photos share it */
    char *name;            /* name of the photo; of a crop with "#" and its number at the end */
    splat_camera camera;   /* at the loaded resolution */
    int file_width, file_height; /* size of the photo file */
    int full_width, full_height; /* size of the camera (cameras.json), after undistortion */
    double full_fx, full_fy;
    bool is_distorted;           /* the photo has `lens`; decoding turns it into one of `frame`, a pinhole camera */
    splat_lens lens;
    splat_lens_frame frame;
    uint32_t photo;              /* number of the photo, < n_photos; crops of one follow one another */
    int crop, n_crops;           /* number of the crop, and of crops of the photo; 0: the view is the photo */
    double turn[9];              /* crops: rays of the frame from rays of the lens (splat_lens_crop) */
    bool is_test;
    char *mask_path;             /* the mask file; NULL: none */
    char *sky_path;              /* of the mask of the sky, with `sky` FOLDER; NULL: none */
    bool has_alpha_mask;         /* the photo's alpha is its mask */
    bool has_blank;              /* the undistorted view has pixels that the photo lacks */
    bool has_mask;               /* one of these is true: a mask, a byte a pixel, follows the decoded photo */
    char *depth_path;            /* map of inverse depths of a training photo; NULL: none */
    int depth_width, depth_height; /* size of the map */
    float depth_scale, depth_offset; /* inverse depth = scale value/65536 + offset */
    size_t first_depth_point, n_depth_points; /* range in dataset.depth_points */
    float near_depth;            /* half of the depth that one in a thousand points in the picture lies before: nothing
                                    of the scene is nearer; 0: unknown, with fewer than 20 points in the picture */
    bool is_lower_scale;   /* multi-scale Blender: not trained on unless load_allres */
} splat_dataset_view;

typedef struct splat_dataset {
    const char *format;
    splat_dataset_view *views; size_t n_views;  /* sorted by name (bytes) */
    splat_scene_photo *in_memory;               /* photos in memory, without their names; NULL: photos are files */
    size_t n_photos;                            /* fewer than views where photos are cut into crops */
    uint32_t *train; size_t n_train;            /* view indices */
    uint32_t *test;  size_t n_test;
    splat_point *points; size_t n_points;
    uint8_t *point_photos;                      /* [n_points] training photos that see each point, 255: or more; NULL:
                                                   the scene has no tracks */
    bool random_points;
    float extent;
    bool composite_truncates; /* NeRF-synthetic: alpha compositing truncates to 8 bits */
    bool white_background;
    splat_mask_mode mask_mode;
    bool invert_masks;
    size_t n_masked;          /* views that have a mask */
    size_t n_depths;          /* views that have a map of inverse depths */
    splat_depth_point *depth_points; size_t n_depth_points; /* of the training views in their order, by sfm_depth; the
                                                              weights of a view are E/Z times shares of 1 */
} splat_dataset;

/* Bytes of a decoded photo: RGB, and its mask where the view has one. */
static inline size_t splat_view_photo_bytes(const splat_dataset_view *view)
{
    return (view->has_mask ? 4 : 3) * (size_t)view->camera.width * (size_t)view->camera.height;
}
/* The mask of a decoded photo, in host or device memory: uint8_t[height][width] after its colours; NULL: none. */
static inline const uint8_t *splat_view_mask(const splat_dataset_view *view, const uint8_t *photo)
{
    return view->has_mask ? photo + 3 * (size_t)view->camera.width * (size_t)view->camera.height : NULL;
}

/* Offset of the map of inverse depths, uint16_t[height][width], behind a decoded photo; below, the bytes of both. */
static inline size_t splat_view_depth_at(const splat_dataset_view *view)
{
    return (splat_view_photo_bytes(view) + 1) / 2 * 2;
}
static inline size_t splat_view_decoded_bytes(const splat_dataset_view *view)
{
    if (!view->depth_path) return splat_view_photo_bytes(view);
    return splat_view_depth_at(view) + 2 * (size_t)view->camera.width * (size_t)view->camera.height;
}
/* The map of inverse depths of a decoded photo; NULL: the view has none. */
static inline const uint16_t *splat_view_depth(const splat_dataset_view *view, const uint8_t *photo)
{
    return view->depth_path ? (const uint16_t *)(const void *)(photo + splat_view_depth_at(view)) : NULL;
}

/* True if a view's photo has a mask of its own, in addition to its alpha and to undistortion. */
static inline bool splat_view_has_own_mask(const splat_dataset_view *view)
{
    return view->mask_path || view->mask_in_memory;
}

#endif
