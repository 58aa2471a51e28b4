/* The text files of a 3DGS model folder: cameras.json, split.json; and where its splats lie. */
#ifndef SPLAT_IO_MODEL_FOLDER_H
#define SPLAT_IO_MODEL_FOLDER_H

#include "base/error.h"

/* One entry of cameras.json, at the full size of the photo. */
typedef struct splat_camera_entry {
    const char *name;    /* without extension (up to the first dot) */
    int width, height;
    double fx, fy;
    float rotation[9];   /* world to camera */
    float center[3];
} splat_camera_entry;
/* Test cameras come first in `entries`, as 3DGS does; ids count up. rotation is written camera-to-world. */
splat_status splat_cameras_json_write(const char *model_path, const splat_camera_entry *entries, size_t n,
                                      splat_error *error);
/* The first camera of such a file. Errors: IO, FORMAT, MEMORY. */
splat_status splat_cameras_json_first(const char *path, splat_camera *camera, splat_error *error);

/* split.json: {"version": 1, "train": [names], "test": [names]}. Names are photo file names. */
typedef struct splat_split { char **train, **test; size_t n_train, n_test; } splat_split;
splat_status splat_split_write(const char *model_path, const splat_split *split, splat_error *error);
splat_status splat_split_read(const char *path, splat_split *split, splat_error *error);
void splat_split_free(splat_split *split);

/* Highest N, or the wanted one, with point_cloud/iteration_N/point_cloud.ply. */
splat_status splat_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                  splat_error *error);

#endif
