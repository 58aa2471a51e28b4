/* splatsmith/capture.h - cameras for photos that have none: COLMAP and, for videos, ffmpeg are run as other programs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_CAPTURE_H
#define SPLATSMITH_CAPTURE_H

#include "splatsmith/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pairs of photos that COLMAP compares. */
typedef enum splat_matcher {
    SPLAT_MATCHER_AUTO,       /* exhaustive up to 150 photos, on a GPU 300; beyond, VOCAB_TREE where there is one, else
                                 sequential; sequential for videos */
    SPLAT_MATCHER_EXHAUSTIVE, /* every pair */
    SPLAT_MATCHER_SEQUENTIAL, /* neighbours by name, and every tenth photo with every tenth */
    SPLAT_MATCHER_VOCAB_TREE  /* pairs that a vocabulary tree finds similar */
} splat_matcher;
#define SPLAT_WORDS_MATCHER "auto|exhaustive|sequential|vocab_tree"

/* How COLMAP finds the cameras of matched photos. */
typedef enum splat_mapper {
    SPLAT_MAPPER_AUTO,        /* global for more than 300 photos that all have a focal length in their EXIF, if COLMAP
                                 has it (4.0 and later) and it succeeds; else incremental */
    SPLAT_MAPPER_INCREMENTAL, /* one photo after the other */
    SPLAT_MAPPER_GLOBAL       /* all at once: faster, needs good focal lengths */
} splat_mapper;
#define SPLAT_WORDS_MAPPER "auto|incremental|global"

/* The size of photos in COLMAP (their longer side), and the number of features of each. The time of matching grows with
 * the square of the features. */
typedef enum splat_camera_quality {
    SPLAT_CAMERA_QUALITY_AUTO,   /* HIGH with a COLMAP for CUDA, else MEDIUM */
    SPLAT_CAMERA_QUALITY_LOW,    /* 1000 pixels, 2048 features */
    SPLAT_CAMERA_QUALITY_MEDIUM, /* 1600 pixels, 4096 features */
    SPLAT_CAMERA_QUALITY_HIGH    /* 2400 pixels, 8192 features */
} splat_camera_quality;
#define SPLAT_WORDS_CAMERA_QUALITY "auto|low|medium|high"

typedef struct splat_cameras_options {
    size_t size;
    const char *source;       /* a folder with photos, or with a folder of photos in it; or a video. Required */
    const char *folder;       /* the scene to write; made when absent. Required */
    const char *images;       /* the folder of the photos inside the source; NULL: "images", or the source itself */
    const char *colmap;       /* the program; NULL: "colmap", as PATH finds it */
    const char *camera_model; /* COLMAP's name of one, in any case of letters; NULL or "auto": OPENCV for twenty photos
                                 and more of one camera, else SIMPLE_RADIAL */
    splat_matcher matcher;    /* AUTO */
    splat_mapper mapper;      /* AUTO */
    const char *vocab_tree;   /* the file of a vocabulary tree that fits this COLMAP (up to 3.11 of FLANN, later of
                                 faiss; neither reads the other's): VOCAB_TREE needs it, as nothing is downloaded.
                                 NULL: none */
    int n_frames;             /* frames of a video; 0 (default): two a second, at most 300 */
    int threads;              /* threads of COLMAP; 0 (default): all */
    /* Called several times a second with the name of the stage and its fraction (0 to 1); false stops. NULL: none. */
    bool (*progress)(void *user, const char *stage, double fraction);
    void *progress_user;
    splat_log_function log;   /* NULL: silence */
    void *log_user;
    splat_camera_quality quality; /* AUTO */
} splat_cameras_options;

typedef struct splat_cameras_info {
    size_t n_photos;        /* photos that COLMAP received */
    size_t n_registered;    /* photos in COLMAP's largest model */
    size_t n_points, n_models;
    char camera_model[32];  /* COLMAP's name */
    splat_matcher matcher;  /* the matcher that was used */
    bool is_done_before;    /* an earlier run with the same photos and options was complete: no work */
} splat_cameras_info;

void splat_cameras_options_init_sized(splat_cameras_options *options, size_t size);
#define splat_cameras_options_init(options) splat_cameras_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_cameras_options_set(splat_cameras_options *options, const char *name, const char *text,
                                       splat_error *error);
/* Checks the options without opening a file. Errors: ARGUMENT. */
splat_status splat_cameras_options_check(const splat_cameras_options *options, splat_error *error);
/* True if a source has photos and no cameras: a folder of photos without sparse/, transforms*.json or another program's
 * poses, or a video (by its ending). images: as above. */
bool splat_cameras_are_needed(const char *source, const char *images);
/* Runs COLMAP, and for a video ffmpeg, and writes a COLMAP scene to options->folder: images (a link to the photos, or
 * the frames of the video), sparse/, and the state of each stage (docs/files.md, "Cameras of photos"). It does not
 * change the source. A later call with the same photos and options skips the finished stages and continues the one that
 * was interrupted. info: may be NULL. Errors: ARGUMENT, IO (a program is missing or failed: the message says what to
 * do, and names its log), FORMAT (no cameras were found), STOPPED, MEMORY. */
splat_status splat_cameras_find(const splat_cameras_options *options, splat_cameras_info *info, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
