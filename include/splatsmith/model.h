/* splatsmith/model.h - a set of Gaussians: reading, writing and rendering it, comparing it with the photos of a scene,
 * and model folders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_MODEL_H
#define SPLATSMITH_MODEL_H

#include "splatsmith/core.h"
#include "splatsmith/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- models: a set of Gaussians */

typedef struct splat_model splat_model;

typedef struct splat_model_info {
    size_t n_gaussians;
    int sh_degree;       /* 0 to 3 */
    bool has_filter_3d;
    splat_render_mode render_mode; /* MIP or CLASSIC */
    float kernel_size;
} splat_model_info;

/* Reads a splat from a file of any format (splat_model_get_format), which it recognises by the content, then by the
 * name. A PLY of the 3DGS family is read by property names: SH degree 0 to 3, with or without normals and filter_3D;
 * other columns are ignored. Of a checkpoint only the parameters are read. The caller owns *model
 * (splat_model_destroy). Errors: IO, FORMAT, UNSUPPORTED, MEMORY. */
splat_status splat_model_load(splat_context *context, const char *path, splat_model **model, splat_error *error);
void splat_model_destroy(splat_model *model);
/* Reads the header of a file and fills *info. Errors: IO, FORMAT, UNSUPPORTED. */
splat_status splat_model_describe(const char *path, splat_model_info *info, splat_error *error);
void splat_model_get_info(const splat_model *model, splat_model_info *info);
/* Computes the mean opacity of all Gaussians, in [0,1], without the 3D filter; 0 without Gaussians. Waits for the
 * device. Errors: MEMORY, DEVICE. */
splat_status splat_model_get_mean_opacity(const splat_model *model, double *mean, splat_error *error);
/* Removes the SH bands above sh_degree and frees their memory; a no-op if the model's degree is not higher. Errors:
 * ARGUMENT, MEMORY. */
splat_status splat_model_reduce_sh(splat_model *model, int sh_degree, splat_error *error);
/* Sets how the model is rendered from now on. kernel_size: variance in pixel^2; <= 0: the mode's default. */
splat_status splat_model_set_render_mode(splat_model *model, splat_render_mode mode, float kernel_size,
                                         splat_error *error);
/* Fills *format with row `index` of the table of splat formats that loading and saving use. Returns false beyond the
 * last row. */
bool splat_model_get_format(size_t index, splat_file_format *format);
/* Checks that splat_model_save has a format for the ending of this name. Errors: ARGUMENT (lists the endings). */
splat_status splat_model_check_path(const char *path, splat_error *error);

void splat_save_options_init_sized(splat_save_options *options, size_t size);
#define splat_save_options_init(options) splat_save_options_init_sized(options, sizeof *(options))
/* Writes a file, atomically, in the format of the name's ending (without an ending: PLY); creates its folder. options:
 * NULL: the defaults. A splat that is rendered with the Mip filter is marked as such. Errors: ARGUMENT, IO, MEMORY. */
splat_status splat_model_save(const splat_model *model, const char *path, const splat_save_options *options,
                              splat_error *error);

/* ---------------------------------------------------------------- a splat's numbers */

typedef enum splat_array_type { SPLAT_ARRAY_FLOAT32 = 0, SPLAT_ARRAY_FLOAT16 = 1 } splat_array_type;

/* A view of numbers in their place: nothing is copied. */
typedef struct splat_array {
    void *data;          /* NULL: no numbers */
    int gpu;             /* the GPU in whose memory data lies (splat_device_info.index); -1: host memory */
    splat_array_type type;
    int n_dimensions;    /* 1 to 3 */
    size_t shape[3];
    size_t strides[3];   /* bytes from one element to the next along each dimension */
} splat_array;

/* The parameters of n Gaussians as they are trained. */
typedef struct splat_model_arrays {
    splat_array means;     /* [n][3] centres, world, scene units */
    splat_array sh_dc;     /* [n][3] coefficients of the constant harmonic: colour = 1/2 + 0.28209479 sh_dc + ... */
    splat_array sh_rest;   /* [n][(d+1)^2 - 1][3] those of the higher ones, d the SH degree; float16 with a model of
                              SPLAT_SH_FLOAT16 */
    splat_array opacities; /* [n] logits: opacity = 1/(1 + exp(-x)) */
    splat_array scales;    /* [n][3] natural logarithms of standard deviations along the Gaussian's axes, scene units */
    splat_array rotations; /* [n][4] quaternions (w, x, y, z) of any length, from the Gaussian's axes to the world */
    splat_array filter_3d; /* [n] standard deviation of the 3D filter, scene units, which is no part of scales and
                              opacities; without one data is NULL */
} splat_model_arrays;

/* Waits for the device and returns the model's own arrays. They are borrowed until the number of Gaussians may change
 * (a training step, splat_model_clean, splat_model_reduce_sh), or until the model or the trainer that owns it is
 * destroyed; sh_rest of a model in training is complete only until the next step. Writes into the arrays change the
 * model; on a GPU a write must have arrived before the next call of the library. Errors: DEVICE. */
splat_status splat_model_get_arrays(splat_model *model, splat_model_arrays *arrays, splat_error *error);

/* Numbers of a splat in host memory, rows without gaps, as in splat_model_arrays. */
typedef struct splat_model_values {
    size_t size;
    size_t n;               /* at least 1, below 2^31 */
    int sh_degree;          /* 0 to 3 */
    const float *means, *sh_dc, *opacities, *scales, *rotations;
    const float *sh_rest;   /* NULL: zeros */
    const float *filter_3d; /* NULL: none */
    splat_render_mode render_mode; /* AUTO: MIP with filter_3d, else CLASSIC */
    float kernel_size;      /* variance in pixel^2; 0: the mode's default */
} splat_model_values;

void splat_model_values_init_sized(splat_model_values *values, size_t size);
#define splat_model_values_init(values) splat_model_values_init_sized(values, sizeof *(values))
/* Makes a model with copies of these numbers. The caller owns *model (splat_model_destroy). Errors: ARGUMENT, MEMORY,
 * DEVICE. */
splat_status splat_model_from_values(splat_context *context, const splat_model_values *values, splat_model **model,
                                     splat_error *error);

/* ---------------------------------------------------------------- changing a splat */

/* Rules for removing Gaussians (splat_clean_options_init, splat_model_clean). A Gaussian is judged as it is rendered,
 * with its 3D filter. */
typedef struct splat_clean_options {
    size_t size;
    bool has_bbox;               /* remove Gaussians with centres outside bbox_low to bbox_high, in the world; false */
    double bbox_low[3], bbox_high[3];
    double min_opacity;          /* remove Gaussians with less, 0 to 1; 0: none */
    double max_size;             /* remove Gaussians with a standard deviation above this share of the splat's extent:
                                    the diagonal of bbox, or without it of the box with the middle 98 % of the centres
                                    along each axis; 0: none */
    double outlier_std;          /* of the rest, remove Gaussians whose mean distance from their neighbours is above the
                                    mean of all by more than this many deviations; 0: none */
    size_t outlier_neighbors;    /* number of these neighbours, with the Gaussian itself: 2 to 32; 20 */
} splat_clean_options;

/* Counts of removed Gaussians. Each counts once, for the first reason in this order. */
typedef struct splat_clean_counts {
    size_t n_before, n_removed;
    size_t n_not_finite, n_outside, n_faint, n_large, n_lonely;
} splat_clean_counts;

void splat_clean_options_init_sized(splat_clean_options *options, size_t size);
#define splat_clean_options_init(options) splat_clean_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text, except the arrays of the box: see "options" in splatsmith/core.h. */
splat_status splat_clean_options_set(splat_clean_options *options, const char *name, const char *text,
                                     splat_error *error);
/* Checks the options, as splat_model_clean does. Errors: ARGUMENT (an option is out of its range). */
splat_status splat_clean_options_check(const splat_clean_options *options, splat_error *error);
/* Removes Gaussians by these rules, and all with parameters that are not finite. The others keep their order. counts:
 * may be NULL. Errors: ARGUMENT, NUMERIC (no Gaussian would remain; nothing changed), MEMORY, DEVICE. */
splat_status splat_model_clean(splat_model *model, const splat_clean_options *options, splat_clean_counts *counts,
                               splat_error *error);

/* Turns a splat about the origin of its world, then scales it: centres, rotations, sizes, 3D filter and spherical
 * harmonics. A camera moved by splat_camera_transform sees the same picture as before. rotation: a quaternion
 * (w, x, y, z) of any length but 0. scale: above 0. Errors: ARGUMENT, MEMORY, DEVICE. */
splat_status splat_model_transform(splat_model *model, const double rotation[4], double scale, splat_error *error);

/* Adds n Gaussians, 1 to 1,000,000, with the colours of the sky behind the splat (its sky.safetensors), for programs
 * that know no sky: on the sky's ball, or around the splat at 50 times the median distance of its Gaussians from their
 * middle. Errors: ARGUMENT (n; the splat has no sky), MEMORY, DEVICE. */
splat_status splat_model_add_sky(splat_model *model, size_t n, splat_error *error);

/* Moves a camera as splat_model_transform moves a splat. rotation: of any length but 0. */
void splat_camera_transform(splat_camera *camera, const double rotation[4], double scale);

/* ---------------------------------------------------------------- rendering */

/* Renders one view: rgb = float[3][height][width] (planar, unclamped), caller's memory; background = rgb in [0,1]. */
splat_status splat_model_render(splat_model *model, const splat_camera *camera, const float background[3], float *rgb,
                                splat_error *error);

/* The same without a copy: *rgb is float32 [3][height][width] in the memory of the context's device, complete, and
 * borrowed until the model is rendered again, measured, trained or destroyed. Errors: MEMORY, DEVICE. */
splat_status splat_model_render_array(splat_model *model, const splat_camera *camera, const float background[3],
                                      splat_array *rgb, splat_error *error);
/* Writes a picture as a PNG with 8 bits a channel, atomically: floor(255 x + 1/2), with x clamped to [0,1]. rgb:
 * float[3][height][width], planar, host memory. Errors: ARGUMENT, IO, MEMORY. */
splat_status splat_picture_write(const char *path, const float *rgb, int width, int height, splat_error *error);

/* Maps of a view, each [height][width] in the caller's memory; NULL: not computed. The blended Gaussians have the
 * weights w = alpha T. */
typedef struct splat_geometry_maps {
    float *depth;      /* along the camera's axis, where the pixel's ray meets the blended plane of its Gaussians:
                          sum of w d over sum of w (-n . r); d is the camera's distance from a Gaussian's plane, which
                          is across n, and r the ray, with z = 1. 0 where alpha is 1/2 or less, and for planes seen
                          edge on */
    float *median;     /* the same for one Gaussian: the one that takes the transmittance below 1/2, and at most 3
                          deviations before or behind its centre; 0 if none does */
    float *normal;     /* [3][height][width] sum of w n, brought to length 1, or 0; n is the shortest axis of the
                          Gaussian, of the side that faces the camera */
    float *alpha;      /* sum of w */
    uint32_t *blended; /* Gaussians blended */
    bool camera_space; /* normals in camera space (x right, y down, z forward) instead of the world */
} splat_geometry_maps;
splat_status splat_model_render_geometry(splat_model *model, const splat_camera *camera,
                                         const splat_geometry_maps *maps, splat_error *error);

/* ---------------------------------------------------------------- metrics */

/* Means over views. l1, psnr, psnr_per_channel and ssim compare the float render, clamped to [0,1], with the photo;
 * with quantize, the render rounded to 8 bits (what render + metrics scripts of the field measure). */
typedef struct splat_metrics {
    double l1;
    double psnr;             /* dB, one mean squared error over all channels */
    double psnr_per_channel; /* dB, mean of the three channels' PSNR (the training report of 3DGS) */
    double ssim;             /* 11x11 Gaussian window, sigma 1.5, zero padding */
    size_t n_views;
    double lpips;            /* 0 when lpips_net is NULL */
    const char *lpips_net;   /* "vgg", "alex normalized", ...; NULL: LPIPS was not measured. Never to be freed */
    double render_ms;        /* time from the request of a render to its end; differs from run to run */
    size_t n_masked;         /* views with a mask: all figures above count only the pixels that it keeps (lpips: the
                                other pixels are the photo's) */
    double kept;             /* share of the pixels that masks keep; 1 without masks */
    double l1_whole, psnr_whole, psnr_per_channel_whole, ssim_whole; /* with masks: figures of all pixels */
    bool is_corrected;       /* cc_* were measured: as above, after each channel of the render got the mean and
                                contrast of the photo's, clamped to [0,1] (docs/method.md 12). They use the photo:
                                do not compare them with plain figures */
    double cc_psnr, cc_ssim;
    double cc_lpips;         /* 0 without lpips_net */
    bool is_exposed;         /* exposed_* were measured: with the exposure of the photos before and after */
    double exposed_psnr, exposed_ssim;
    bool is_exif_exposed;    /* exif_* were measured: with the exposure that the photo's EXIF predicts */
    double exif_psnr, exif_ssim;
    size_t n_near_views;     /* views with near light: their pictures contain 20 points of the scene */
    double near_light, all_light; /* sums over their pixels of alpha T: of Gaussians before half of that depth, and of
                                all. near_light/all_light is the share of floaters before the cameras */
} splat_metrics;

typedef struct splat_lpips splat_lpips; /* LPIPS, a distance of pictures: see below */

/* Receives each finished view, on the calling thread. render: float[3][height][width], clamped to [0,1]; photo:
 * uint8_t[height][width][3]. render, photo and metrics live for the call; they are NULL in functions that do not
 * measure. Return false to stop. */
typedef bool (*splat_view_function)(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                                    const uint8_t *photo, const splat_metrics *metrics);

/* A pass over views of a scene: which views, which measurements, and a function that receives each result. */
typedef struct splat_view_job {
    size_t size;
    splat_view_set set;        /* TEST */
    bool quantize;             /* measure renders rounded to 8 bits; false */
    splat_lpips *lpips;        /* measures LPIPS, too; borrowed. NULL (default): it is not measured */
    splat_view_function visit; /* NULL: nobody */
    void *user;
    bool color_correct;        /* measures with corrected colours, too (is_corrected); false */
    const char *exposures;     /* an exposure.json: its views get the exposures of their photos before they are measured
                                  and shown; NULL (default): all views are neutral, as the splat */
    const char *nearby_exposures; /* an exposure.json: if the photos are numbered and their exposures change slowly, as
                                     in a video, views are also measured with the exposure of the photos before and
                                     after (is_exposed), and with that of their EXIF if there is one
                                     (is_exif_exposed; docs/method.md 12); NULL (default): they are not */
    bool near_light;           /* measures near light, too (n_near_views); false */
} splat_view_job;

void splat_view_job_init_sized(splat_view_job *job, size_t size);
#define splat_view_job_init(job) splat_view_job_init_sized(job, sizeof *(job))
/* Renders and measures the views of a job over the scene's background, with one view in memory at a time. *mean: all
 * zero for an empty set; if `visit` stops the job, the means of the views so far. */
splat_status splat_model_evaluate(splat_model *model, splat_scene *scene, const splat_view_job *job,
                                  splat_metrics *mean, splat_error *error);

/* ---------------------------------------------------------------- LPIPS */

/* LPIPS v0.1 (Zhang et al., CVPR 2018): a distance of two pictures by the features of a network; lower is better. The
 * weights are not part of the program. They are a safetensors file with torchvision's tensor names (features.N.weight,
 * ...) and lin0.weight, ...; F32, F16, BF16 or F64.
 *
 * LPIPS with its weights needs at most 300 MB of device memory for pictures up to 1.6 Mpixel, and in proportion beyond.
 * After each set of views only the weights remain. A set with a picture too small for the network, or too large for a
 * memory limit, is measured without LPIPS, and a notice says so. */
typedef struct splat_lpips_options {
    size_t size;
    const char *net;     /* "vgg" (default), "alex" or "squeeze" */
    const char *weights; /* the file, or a folder with lpips_<net>.safetensors; NULL or "": that of the environment
                            variable SPLATSMITH_LPIPS_WEIGHTS */
    bool normalize;      /* true: pictures go in as [-1, 1], as the authors of LPIPS do; false (default): as [0, 1], as
                            the 3DGS family does. The two give different numbers. */
} splat_lpips_options;

void splat_lpips_options_init_sized(splat_lpips_options *options, size_t size);
#define splat_lpips_options_init(options) splat_lpips_options_init_sized(options, sizeof *(options))
/* Loads the weights (vgg 59 MB, alex 10 MB, squeeze 3 MB of device memory). The caller owns *lpips, and destroys it
 * before the context (splat_lpips_destroy). Errors: ARGUMENT (no such net), IO (no weights; the message says how to get
 * them), FORMAT, UNSUPPORTED, NUMERIC, MEMORY. */
splat_status splat_lpips_create(splat_context *context, const splat_lpips_options *options, splat_lpips **lpips,
                                splat_error *error);
void splat_lpips_destroy(splat_lpips *lpips);
/* Measures two pictures: image float[3][height][width] in [0,1], photo uint8_t[height][width][3]. per_layer (NULL
 * allowed) receives the 5 (vgg, alex) or 7 (squeeze) terms of the sum. Errors: ARGUMENT (too small for the network),
 * MEMORY, DEVICE. */
splat_status splat_lpips_measure(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                                 double *distance, double *per_layer, splat_error *error);

/* ---------------------------------------------------------------- model folders */

/* The contents of a model folder's cfg_args. The struct owns its strings, also those of `scene`
 * (splat_model_config_free). */
typedef struct splat_model_config {
    char *model_path;
    int sh_degree;
    float kernel_size;
    splat_scene_options scene; /* fields that cfg_args lacks have their defaults */
} splat_model_config;

splat_status splat_model_config_read(const char *model_path, splat_model_config *config, splat_error *error);
void splat_model_config_free(splat_model_config *config);
/* Finds the PLY of an iteration (-1: the last one) in a model folder. path[size] receives its path, *found its
 * number. */
splat_status splat_model_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                        splat_error *error);
/* Reads the first camera of a cameras.json, at the full size of its photo. Errors: IO, FORMAT, MEMORY. */
splat_status splat_model_read_start(const char *path, splat_camera *camera, splat_error *error);

/* Refuses (ARGUMENT) to measure a splat on photos that it was trained on: the split.json next to `path` (PLY or
 * checkpoint) or in its model folder, or the checkpoint itself, says that test views of the scene were trained on. A
 * splat without this information passes. Errors also: IO, FORMAT. */
splat_status splat_scene_check_splat(const splat_scene *scene, const char *path, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
