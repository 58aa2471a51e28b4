/* splatsmith/sample.h - the built-in scenes: ray-traced photos with their cameras and the true surface.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_SAMPLE_H
#define SPLATSMITH_SAMPLE_H

#include "splatsmith/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum splat_sample_scene {
    SPLAT_SAMPLE_SCENE_BASIC,   /* small, for trying: a ball, a box, a torus, a hoop on a pole */
    SPLAT_SAMPLE_SCENE_OBJECTS, /* things, rods and a plate on a ground of 4 x 4, half textured and half plain */
    SPLAT_SAMPLE_SCENE_ROOM,    /* a furnished room of 6 x 4, 3 high, with painted walls, from inside */
    SPLAT_SAMPLE_SCENE_STREET,  /* a house, posts, a tree, a car; far hills under a sky at infinity */
    SPLAT_SAMPLE_SCENE_HALL,    /* a closed hall with vault, apse, columns and stairs, nearly all of it plain */
    SPLAT_SAMPLE_SCENE_GATE,    /* flat gates of rods and arches on a plain ground under the sky */
    SPLAT_SAMPLE_SCENE_ROOM2,   /* a grey room with a sloped ceiling; things stand close to its walls */
    SPLAT_SAMPLE_SCENE_GLOSSY,  /* a room with a polished table, a mirror, a dark pane and an open window */
    SPLAT_SAMPLE_SCENE_WHEEL,   /* a wheel with spokes of 2 mm, 4, 2 and 1 pixels wide */
    SPLAT_SAMPLE_SCENE_TABLE,   /* meshes of yours (`things`) on a table, from all around */
    SPLAT_SAMPLE_SCENE_PLACE,   /* a building or a room of yours (`things`) under the sky, from where one can stand */
    SPLAT_SAMPLE_SCENE_PRODUCT, /* TABLE with white paper before a white wall */
    SPLAT_SAMPLE_SCENE_FLIGHT,  /* PLACE as a drone sees it: straight down, and from a circle around it */
    SPLAT_SAMPLE_SCENE_LOFT,    /* a room under a roof: low walls, slopes, beams, all of one plaster */
    SPLAT_SAMPLE_SCENE_OFFICE   /* two plain corridors and a room, with doors and lamps */
} splat_sample_scene;
#define SPLAT_WORDS_SAMPLE_SCENE                                                                                       \
    "basic|objects|room|street|hall|gate|room2|glossy|wheel|table|place|product|flight|loft|office"

/* The camera model of the pictures: a pinhole, or one of COLMAP's that distort, in the order of its numbers;
 * EQUIRECTANGULAR panoramas; WIDE_FISHEYE is OPENCV_FISHEYE with 180 degrees over the width. */
typedef enum splat_sample_distortion {
    SPLAT_SAMPLE_DISTORTION_NONE, SPLAT_SAMPLE_DISTORTION_SIMPLE_RADIAL, SPLAT_SAMPLE_DISTORTION_RADIAL,
    SPLAT_SAMPLE_DISTORTION_OPENCV, SPLAT_SAMPLE_DISTORTION_OPENCV_FISHEYE, SPLAT_SAMPLE_DISTORTION_FULL_OPENCV,
    SPLAT_SAMPLE_DISTORTION_FOV, SPLAT_SAMPLE_DISTORTION_SIMPLE_RADIAL_FISHEYE,
    SPLAT_SAMPLE_DISTORTION_RADIAL_FISHEYE, SPLAT_SAMPLE_DISTORTION_THIN_PRISM_FISHEYE,
    SPLAT_SAMPLE_DISTORTION_RAD_TAN_THIN_PRISM_FISHEYE, SPLAT_SAMPLE_DISTORTION_SIMPLE_DIVISION,
    SPLAT_SAMPLE_DISTORTION_DIVISION, SPLAT_SAMPLE_DISTORTION_SIMPLE_FISHEYE, SPLAT_SAMPLE_DISTORTION_FISHEYE,
    SPLAT_SAMPLE_DISTORTION_EUCM, SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR, SPLAT_SAMPLE_DISTORTION_WIDE_FISHEYE
} splat_sample_distortion;
#define SPLAT_WORDS_SAMPLE_DISTORTION                                                                                  \
    "none|simple_radial|radial|opencv|opencv_fisheye|full_opencv|fov|simple_radial_fisheye|radial_fisheye|"            \
    "thin_prism_fisheye|rad_tan_thin_prism_fisheye|simple_division|division|simple_fisheye|fisheye|eucm|"            \
    "equirectangular|wide_fisheye"

/* Defaults: those of BASIC, and of the other scenes. */
typedef struct splat_sample_options {
    size_t size;
    int width, height; /* 320 x 240; 720 x 540 */
    int n_cameras;     /* 60; 120 */
    int n_points;      /* 6000, 20000 noisy surface points */
    int n_truth;       /* 200000, 500000 points of ground_truth.ply */
    int supersample;   /* 3, 2: rays a pixel side */
    uint64_t seed;     /* the same seed gives the same bytes; another seed gives another scene of the same kind */
    splat_sample_scene scene; /* BASIC */
    splat_sample_distortion distortion; /* NONE */
    int n_blobs; /* 0; blobs painted over every picture at changing places; masks/ marks them */
    float exposure_spread; /* 0: photos of one exposure; else each is multiplied by 2^e, e uniform in [-spread, spread]
                              stops, less the mean of the photos that `eval` trains on, with a white balance of an
                              eighth of that, and clipped */
    const char *things; /* NULL; meshes of TABLE or PRODUCT, their paths separated by commas, or the one of PLACE or
                           FLIGHT: with texture, colours of vertices, or grey; up is +y in a GLB and +z in others. All
                           get one scale, the largest 0.9 along its longest side, a place 12 */
    bool tracks; /* the COLMAP model lists the pictures that see each point, at most 12 */
    bool depths; /* depths/ and sparse/0/depth_params.json: exact inverse depths, as 3DGS has those of a network */
} splat_sample_options;

void splat_sample_options_init_sized(splat_sample_options *options, size_t size);
#define splat_sample_options_init(options) splat_sample_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_sample_options_set(splat_sample_options *options, const char *name, const char *text,
                                      splat_error *error);
/* Sets the scene and its default numbers; keeps the seed. */
void splat_sample_options_choose(splat_sample_options *options, splat_sample_scene scene);
/* Writes a ray-traced COLMAP scene (images/, sparse/0 in binary and text) and ground_truth.ply to `folder`, which must
 * be absent or empty. With blobs it also writes masks/, with exposure_spread the gains (ground_truth_exposure.json),
 * and for scenes other than BASIC, which need three cameras, ground_truth_mesh.ply (docs/files.md). Errors: ARGUMENT,
 * IO. */
splat_status splat_sample_write(splat_context *context, const char *folder, const splat_sample_options *options,
                                splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
