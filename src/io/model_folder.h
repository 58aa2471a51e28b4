/* The text files of a 3DGS model folder: cfg_args, cameras.json, split.json, results.json, per_view.json. */
#ifndef SPLAT_IO_MODEL_FOLDER_H
#define SPLAT_IO_MODEL_FOLDER_H

#include "base/error.h"

/* cfg_args: one line, a valid Python Namespace(...) with the keys of the published trainer in its order. */
splat_status splat_cfg_args_write(const char *model_path, const splat_model_config *config, bool ray_jitter,
                                  bool resample_gt_image, bool sample_more_highres, splat_error *error);
/* Reads any Namespace(...) of the 3DGS family; unknown keys are skipped, missing ones take the defaults. */
splat_status splat_cfg_args_read(const char *model_path, splat_model_config *config, splat_error *error);

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

/* split.json: {"version": 1, "train": [names], "test": [names]}. Names are photo file names. */
typedef struct splat_split { char **train, **test; size_t n_train, n_test; } splat_split;
splat_status splat_split_write(const char *model_path, const splat_split *split, splat_error *error);
splat_status splat_split_read(const char *path, splat_split *split, splat_error *error);
void splat_split_free(splat_split *split);

/* results.json {method: {SSIM, PSNR, PSNR_per_channel, L1}} and per_view.json {method: {SSIM: {view: value}, ..}},
 * indent 1. Other methods already in the files are kept. names[i] is "00000.png" and so on. */
splat_status splat_results_write(const char *model_path, const char *method, const splat_metrics *mean,
                                 const splat_metrics *views, const char *const *names, size_t n, splat_error *error);

/* Highest N, or the wanted one, with point_cloud/iteration_N/point_cloud.ply. */
splat_status splat_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                  splat_error *error);

#endif
