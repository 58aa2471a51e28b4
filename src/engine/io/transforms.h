/* Scenes as JSON: NeRF-synthetic transforms_{train,test}.json, multi-scale Blender metadata.json, and
 * Nerfstudio / instant-ngp transforms.json. */
#ifndef SPLAT_IO_TRANSFORMS_H
#define SPLAT_IO_TRANSFORMS_H

#include "base/error.h"
#include "math/lens.h"

typedef struct splat_transforms_frame {
    char *path;                 /* of the photo, with extension, relative to the scene folder and inside it; other
                                   programs' poses: absolute where the folder of photos is */
    char *mask;                 /* relative as path, inside the scene folder; NULL: none. It need not exist */
    double world_to_camera[12]; /* 3x4 row-major, x right, y down, z forward */
    /* at the size width x height; 0 when the file does not say (then from the photo and fov_x) */
    double fx, fy, cx, cy;
    int width, height;
    int rim;                    /* pixels at each border that are no part of the photo */
    double fov_x, fov_y;        /* radians, 0 when focal lengths are given; fov_y 0: square pixels */
    splat_lens_model model;     /* SIMPLE_PINHOLE, NERFSTUDIO, FULL_OPENCV, OPENCV_FISHEYE or EQUIRECTANGULAR;
                                   Metashape's fisheye is THIN_PRISM_FISHEYE */
    double coefficients[SPLAT_LENS_COEFFICIENTS]; /* distortion, in the model's order */
    splat_error *absent;        /* malloc'd: says that the photo is not there, path is the name that was looked for;
                                   NULL: it is there */
    bool is_test;               /* the file assigns it to the test set */
    bool is_lower_scale;        /* multi-scale Blender: not a d0 picture */
} splat_transforms_frame;

typedef struct splat_transforms {
    const char *format;         /* "nerf-synthetic", "multiscale-blender", "transforms"; "realitycapture",
                                   "opensfm", "metashape", "polycam" */
    splat_transforms_frame *frames;
    size_t n_frames;
    bool has_split;             /* is_test means something */
    char *point_cloud;          /* relative to the scene, in the frame of the poses before `origin`, or NULL */
    size_t n_parts;             /* OpenSfM: reconstructions in the file, of which one is taken */
    double origin[3];           /* what was subtracted from the file's coordinates: zero but for other programs' */
    size_t n_left_out;          /* cameras of the file that have no pose, or are switched off */
    char *left_out;             /* the first of their names, with commas between; NULL: none */
} splat_transforms;

/* True if one of the files exists. */
bool splat_transforms_found(const char *scene_folder);
/* Detects by files present. FORMAT errors name the file and the line or the frame; lenses of other kinds are
 * UNSUPPORTED. Photos that do not exist are marked (`absent`); nothing of a photo is read. */
splat_status splat_transforms_read(const char *scene_folder, splat_transforms *transforms, splat_error *error);
void splat_transforms_free(splat_transforms *transforms);
/* Marks a frame whose photo is not there, or cannot be read; copies both. MEMORY. */
splat_status splat_transforms_set_absent(splat_transforms_frame *frame, const char *name, const splat_error *reason,
                                         splat_error *error);

#endif
