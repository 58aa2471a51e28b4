/* Camera paths: keyframes in a JSON file, and the camera at any time between them. docs/viewer.md, "Camera paths". */
#ifndef SPLAT_IO_CAMERA_PATH_H
#define SPLAT_IO_CAMERA_PATH_H

#include "base/error.h"
#include "splatsmith/core.h"

#define SPLAT_CAMERA_PATH_BYTES_MAX (1 << 20) /* largest file */
#define SPLAT_CAMERA_PATH_KEYS_MAX 10000
#define SPLAT_CAMERA_PATH_SECONDS_MAX 86400.0

typedef struct splat_camera_key {
    double time;          /* seconds, above that of the key before */
    double position[3];   /* world */
    double quaternion[4]; /* (w, x, y, z), length 1: the camera's axes (x right, y down, z forward) to the world's */
    double fov_y;         /* degrees, 1 to 160 */
} splat_camera_key;

typedef struct splat_camera_path {
    double fps;
    int width, height;    /* pixels of a picture */
    size_t n;             /* number of keyframes, at least one */
    splat_camera_key *keys;
} splat_camera_path;

/* A text that is a path; `name` is for messages. *path is overwritten (splat_camera_path_free). Errors: FORMAT,
 * MEMORY. */
splat_status splat_camera_path_parse(const char *name, const char *text, size_t size, splat_camera_path *path,
                                     splat_error *error);
/* The same of a file. Errors also: IO. */
splat_status splat_camera_path_read(const char *file, splat_camera_path *path, splat_error *error);
void splat_camera_path_free(splat_camera_path *path);
/* Pictures from the first key to the last, both included where the rate allows it. */
size_t splat_camera_path_frames(const splat_camera_path *path);
/* The camera of picture `frame`: at the time of the first key and frame / fps, through the keys, by cubics whose slopes
 * at a key are those of the line between its neighbours; turns as numbers, brought to length 1. */
splat_camera splat_camera_path_at(const splat_camera_path *path, size_t frame);

#endif
