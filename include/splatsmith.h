/* splatsmith.h - photos in, a Gaussian splat out. The only public header; this file is the manual.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plain C, usable from C++. Every object is an opaque handle with a create/open/load function and one function that
 * gives it back. Functions that can fail return a splat_status and take a `splat_error *` (may be NULL) last.
 * The library never prints, exits or aborts, and keeps no global state.
 *
 * Thread safety: a handle is used by one thread at a time; different handles of different contexts are independent.
 * splat_trainer_request_stop() may be called from any thread and from a signal handler.
 *
 * Conventions: lengths are in scene units; camera space has x right, y down, z forward (COLMAP); quaternions are
 * (w, x, y, z); pictures are row-major with the origin at the top left; pixel (i, j) is sampled at (i + 1/2, j + 1/2)
 * of the continuous picture. Strings are UTF-8 and borrowed unless a comment says otherwise.
 */
#ifndef SPLATSMITH_H
#define SPLATSMITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPLATSMITH_VERSION_MAJOR 0
#define SPLATSMITH_VERSION_MINOR 1
#define SPLATSMITH_VERSION_PATCH 0
#define SPLATSMITH_VERSION "0.1.0"

/* ---------------------------------------------------------------- errors */

/* The codes are pinned: a code never changes its number. */
typedef enum splat_status {
    SPLAT_OK = 0,
    SPLAT_ERROR_ARGUMENT = 1,    /* an option or argument is out of its range */
    SPLAT_ERROR_IO = 2,          /* the operating system refused to read or write */
    SPLAT_ERROR_FORMAT = 3,      /* a file is truncated, corrupt or contradicts itself */
    SPLAT_ERROR_UNSUPPORTED = 4, /* valid, but this version cannot do it */
    SPLAT_ERROR_MEMORY = 5,      /* host or device memory is exhausted, or a limit would be passed */
    SPLAT_ERROR_DEVICE = 6,      /* the accelerator failed or is absent */
    SPLAT_ERROR_NUMERIC = 7,     /* NaN or infinity where none may be */
    SPLAT_ERROR_STOPPED = 8,     /* a stop was requested; the state is sound */
    SPLAT_ERROR_INTERNAL = 9,    /* a bug here: please report it */
    SPLAT_ERROR_CHECKPOINT = 10  /* checkpoints could not be written; the splat was saved where that was possible */
} splat_status;

#define SPLAT_NO_OFFSET UINT64_MAX

/* What went wrong, where. `message` is one sentence that says what to do. Filled only when a function fails. */
typedef struct splat_error {
    splat_status status;
    uint64_t offset;    /* byte offset in `file`, SPLAT_NO_OFFSET when it has none */
    uint64_t line;      /* 1-based line in a text `file`, 0 when it has none */
    char file[512];     /* "" when no file is concerned; the end of the path when it is longer */
    char message[1024];
} splat_error;

/* Writes "message (file, line 3)" or "message (file, byte 128)" into text[size]; always ends with NUL. Returns text. */
const char *splat_error_format(const splat_error *error, char *text, size_t size);
/* A short lower-case name of the code: "format", "memory", ... Never NULL. */
const char *splat_status_name(splat_status status);
/* "0.1.0": the version of the library that is running. */
const char *splat_version(void);

/* ---------------------------------------------------------------- context: backend, threads, log */

typedef struct splat_context splat_context;

typedef enum splat_log_level { SPLAT_LOG_WARNING = 0, SPLAT_LOG_NOTICE = 1, SPLAT_LOG_DEBUG = 2 } splat_log_level;
/* Receives one line without a newline, on the thread that called into the library. */
typedef void (*splat_log_function)(void *user, splat_log_level level, const char *message);

/* When memory that is not used any more goes back to the device. */
typedef enum splat_fragmentation {
    SPLAT_FRAGMENTATION_NORMAL = 0, /* when arrays shrink, and when working memory is a third larger than needed */
    SPLAT_FRAGMENTATION_AGGRESSIVE = 1, /* all of it, at every density control */
    SPLAT_FRAGMENTATION_MINIMAL = 2 /* never before the end: nothing is mapped twice */
} splat_fragmentation;

typedef struct splat_context_options {
    const char *backend;    /* "auto", "cpu" or "cuda"; NULL is "auto" */
    int gpu;                /* index of the device for "cuda"; default 0 */
    int threads;            /* CPU threads; 0 (default): as many as the process may use. Results do not depend on it */
    bool deterministic;     /* GPU: the same bytes on every run, slower; the CPU always gives the same bytes */
    const char *simd;       /* "auto", "avx512", "avx2" or "c"; NULL is "auto" (the widest this CPU has) */
    splat_fragmentation fragmentation; /* NORMAL */
    splat_log_function log; /* NULL: silence */
    void *log_user;
} splat_context_options;

void splat_context_options_init(splat_context_options *options);
/* Opens the backend. `context` is owned by the caller (splat_context_destroy). Errors: ARGUMENT, DEVICE, MEMORY. */
splat_status splat_context_create(const splat_context_options *options, splat_context **context, splat_error *error);
/* Every scene, model and trainer of the context must be gone before. NULL is allowed. */
void splat_context_destroy(splat_context *context);
/* "cpu (avx512, 2 threads)" and the like; lives as long as the context. */
const char *splat_context_description(const splat_context *context);
/* "0000:3b:00.0": the GPU of the context, "" on the CPU. */
const char *splat_context_pci_bus_id(const splat_context *context);

/* An NVIDIA GPU, as the driver describes it. */
typedef struct splat_device_info {
    int index;                      /* what splat_context_options.gpu takes */
    char name[256];
    int compute_major, compute_minor; /* 9, 0 is sm_90 */
    size_t total_bytes, free_bytes; /* of its memory; free_bytes is 0 when the device does not tell */
    int driver_version;             /* the newest CUDA of the driver: 1000 major + 10 minor */
    int runtime_version;            /* the CUDA of this build, likewise */
} splat_device_info;

/* *n: how many GPUs there are; the first `capacity` of them are described (devices may be NULL when it is 0). Errors:
 * UNSUPPORTED (built without CUDA), DEVICE (no driver, one too old, or no GPU; the message says which). */
splat_status splat_device_list(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error);

typedef struct splat_memory_info {
    size_t bytes;          /* held in named blocks now */
    size_t peak_bytes;     /* the most since the context was created */
    size_t n_blocks;
    size_t used_bytes;     /* in use, <= bytes: the rest of the last page or granule of each block is not */
    size_t host_bytes;     /* GPU: pinned host memory of blocks that were placed there */
    size_t overhead_bytes; /* GPU: what the process holds beside the blocks (the driver's context and code) */
    size_t limit_bytes;    /* `bytes` never passes it; 0: no limit */
    size_t n_refused;      /* growths that the limit refused */
} splat_memory_info;

/* Device memory of the context (host memory for the CPU backend). */
void splat_context_memory(const splat_context *context, splat_memory_info *info);
/* Calls back once a named block, largest first; then, with the owner "host", what the host holds for photos and files.
 */
typedef void (*splat_memory_block_function)(void *user, const char *owner, const char *name, size_t bytes);
void splat_context_memory_blocks(const splat_context *context, splat_memory_block_function visit, void *user);

/* ---------------------------------------------------------------- cameras and scenes */

/* A pinhole camera at the resolution of the picture it renders. */
typedef struct splat_camera {
    float rotation[9];    /* world to camera, row-major */
    float translation[3]; /* x_camera = rotation x_world + translation */
    float center[3];      /* the camera centre in the world: -rotation^T translation */
    float fx, fy;         /* focal lengths, pixels */
    float cx, cy;         /* principal point, pixels of the continuous picture: width/2 when centred */
    int32_t width, height;
} splat_camera;

typedef struct splat_scene splat_scene;

typedef struct splat_scene_options {
    const char *source_path;   /* the folder of the scene; required */
    const char *images;        /* folder of the photos inside the scene; NULL is "images" */
    int resolution;            /* -1: at most 1600 wide (default); 1,2,4,8,16,32,64: divisor; other: target width */
    double resolution_scale;   /* 1: both sides of what that gives are multiplied by it; at most 1; 0 is 1 too */
    bool eval;                 /* hold test views out */
    int llffhold;              /* with eval: every n-th view by sorted name is a test view; >= 2, default 8 */
    int test_camera_count;     /* with eval: this many evenly spread test views instead; -1 (default): use llffhold */
    const char *split_file;    /* a split written before (split.json of a model folder): it wins; NULL: none */
    bool white_background;     /* composite pictures with alpha over white instead of black */
    bool load_allres;          /* multi-scale Blender scenes: train on all scales */
    double image_cache_gb;     /* bound of the decoded-photo cache, GiB; <= 0 (default): 2, or 0.25 with low_dram */
    bool low_dram;
    uint64_t seed;             /* random points of scenes that have none */
} splat_scene_options;

typedef struct splat_scene_info {
    const char *format;        /* "colmap", "nerf-synthetic", "multiscale-blender", "transforms" */
    size_t n_views, n_train, n_test, n_points;
    float extent;              /* 1.1 x the largest distance of a training camera from their mean (NeRF++) */
    int max_width, max_height; /* pixels of the largest loaded picture */
    bool random_points;        /* the scene had no points: they were drawn at random */
} splat_scene_info;

typedef struct splat_view_info {
    const char *name;    /* file name of the photo (its path below the photos where names repeat); the scene owns it */
    bool is_test;
    splat_camera camera; /* at the loaded resolution */
} splat_view_info;

void splat_scene_options_init(splat_scene_options *options);
/* Reads cameras, points and the split; photos are decoded when needed, through the cache. The scene is owned by the
 * caller (splat_scene_close). Errors: ARGUMENT, IO, FORMAT, UNSUPPORTED, MEMORY; each names the file. */
splat_status splat_scene_open(splat_context *context, const splat_scene_options *options, splat_scene **scene,
                              splat_error *error);
/* NULL is allowed, as for every function that gives a handle back. */
void splat_scene_close(splat_scene *scene);
void splat_scene_get_info(const splat_scene *scene, splat_scene_info *info);
/* index < n_views, in the order of sorted names. */
splat_status splat_scene_get_view(const splat_scene *scene, size_t index, splat_view_info *info, splat_error *error);
/* The photo of a view as loaded (resized, composited): rgb = uint8_t[height][width][3], sRGB, caller's memory. */
splat_status splat_scene_read_photo(splat_scene *scene, size_t index, uint8_t *rgb, splat_error *error);

/* ---------------------------------------------------------------- models: a set of Gaussians */

typedef struct splat_model splat_model;

/* How a footprint is filtered on the screen. */
typedef enum splat_render_mode {
    SPLAT_RENDER_AUTO = 0,   /* mip when the file says so (filter_3D, or SplatRenderMode: mip), else classic */
    SPLAT_RENDER_MIP = 1,    /* 2D Mip filter: variance kernel_size, with opacity compensation */
    SPLAT_RENDER_CLASSIC = 2 /* 3DGS: variance 0.3, no compensation */
} splat_render_mode;

typedef struct splat_model_info {
    size_t n_gaussians;
    int sh_degree;       /* 0 to 3 */
    bool has_filter_3d;
    splat_render_mode render_mode; /* MIP or CLASSIC */
    float kernel_size;
} splat_model_info;

/* Reads any PLY of the 3DGS family by property names (SH degree 0 to 3, normals or not, filter_3D or not, other
 * columns ignored), or the parameters of a checkpoint, without its optimizer. The model is owned by the caller
 * (splat_model_destroy). Errors: IO, FORMAT, UNSUPPORTED, MEMORY. */
splat_status splat_model_load(splat_context *context, const char *path, splat_model **model, splat_error *error);
void splat_model_destroy(splat_model *model);
/* What a file holds, from its header alone. Errors: IO, FORMAT, UNSUPPORTED. */
splat_status splat_model_describe(const char *path, splat_model_info *info, splat_error *error);
void splat_model_get_info(const splat_model *model, splat_model_info *info);
/* Cuts the SH bands above sh_degree off and gives their memory back; a higher degree than the model's changes nothing.
 * Errors: ARGUMENT, MEMORY. */
splat_status splat_model_reduce_sh(splat_model *model, int sh_degree, splat_error *error);
/* How the model is rendered from now on. kernel_size: variance in pixel^2, <= 0 keeps the mode's default. */
splat_status splat_model_set_render_mode(splat_model *model, splat_render_mode mode, float kernel_size,
                                         splat_error *error);
/* Writes a binary PLY, atomically; its folder is made when absent. fused: the 3D filter is baked into scales and
 * opacities, no filter_3D column, and a comment "SplatRenderMode: mip": what other viewers read. */
splat_status splat_model_save(const splat_model *model, const char *path, bool fused, splat_error *error);
/* Renders one view: rgb = float[3][height][width] (planar, unclamped), caller's memory; background = rgb in [0,1]. */
splat_status splat_model_render(splat_model *model, const splat_camera *camera, const float background[3], float *rgb,
                                splat_error *error);

/* What a view shows besides its colours: maps of [height][width], in the caller's memory; those that are NULL are left
 * out. With the weights w = alpha T of the blended Gaussians: */
typedef struct splat_geometry_maps {
    float *depth;      /* sum of w z over sum of w; z is along the camera's axis; 0 where nothing is blended */
    float *median;     /* z of the Gaussian that takes the transmittance below 1/2; 0 where none does */
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
    double render_ms;        /* time from asking for a render until it is there: as times do, it differs each time */
} splat_metrics;

/* LPIPS v0.1 (Zhang et al., CVPR 2018): a distance of two pictures by the features of a network, lower is better. The
 * weights are not part of the program: a safetensors file with torchvision's tensor names (features.N.weight, ...) and
 * lin0.weight, ...; F32, F16, BF16 or F64. */
typedef struct splat_lpips splat_lpips;

typedef struct splat_lpips_options {
    const char *net;     /* "vgg" (default), "alex" or "squeeze" */
    const char *weights; /* the file, or a folder with lpips_<net>.safetensors; NULL or "": the environment variable
                            SPLATSMITH_LPIPS_WEIGHTS says which */
    bool normalize;      /* true: pictures go in as [-1, 1], as the authors of LPIPS do; false (default): as [0, 1], as
                            the 3DGS family does. The two give different numbers. */
} splat_lpips_options;

void splat_lpips_options_init(splat_lpips_options *options);
/* Loads the weights (vgg 59 MB, alex 10 MB, squeeze 3 MB of device memory). Owned by the caller (splat_lpips_destroy),
 * who destroys it before the context. Errors: ARGUMENT (no such net), IO (no weights; the sentence says how to get
 * them), FORMAT, UNSUPPORTED, NUMERIC, MEMORY. */
splat_status splat_lpips_create(splat_context *context, const splat_lpips_options *options, splat_lpips **lpips,
                                splat_error *error);
void splat_lpips_destroy(splat_lpips *lpips);
/* Makes the file of a net from torchvision's backbone (.pth) and lpips's heads (weights/v0.1/<net>.pth), atomically;
 * nothing in them is executed. Errors: ARGUMENT (no such net), IO, FORMAT (not of this net), UNSUPPORTED, MEMORY. */
splat_status splat_lpips_convert(const char *net, const char *backbone, const char *heads, const char *path,
                                 splat_error *error);
/* From now on splat_evaluate and splat_write_results measure LPIPS too; NULL ends it. Borrowed: destroying it ends it
 * as well. With its weights it takes at most 300 MB of device memory for pictures up to 1.6 Mpixel and in
 * proportion beyond; all but the weights is given back after each set of views. A set with a picture too small for the
 * network, or too large for a memory limit, is measured without it, and a notice says so. */
void splat_context_set_lpips(splat_context *context, splat_lpips *lpips);
/* Measures two pictures: image float[3][height][width] in [0,1], photo uint8_t[height][width][3]. per_layer (NULL
 * allowed) receives the 5 (vgg, alex) or 7 (squeeze) terms of the sum. Errors: ARGUMENT (too small for the network),
 * MEMORY, DEVICE. */
splat_status splat_lpips_measure(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                                 double *distance, double *per_layer, splat_error *error);

typedef enum splat_view_set {
    SPLAT_VIEWS_TRAIN = 0,
    SPLAT_VIEWS_TEST = 1,
    SPLAT_VIEWS_TRAIN_REPORT = 2 /* five train views */
} splat_view_set;

/* One evaluated view. render is float[3][height][width] clamped to [0,1], photo uint8_t[height][width][3]; both live
 * for the call. Return false to stop. */
typedef bool (*splat_view_function)(void *user, size_t index_in_set, const splat_view_info *view, const float *render,
                                    const uint8_t *photo, const splat_metrics *metrics);

/* Renders and measures every view of a set, one view in memory at a time. visit may be NULL. An empty set gives
 * n_views = 0 and NaN nowhere (all zero). */
splat_status splat_evaluate(splat_context *context, splat_scene *scene, splat_model *model, splat_view_set set,
                            bool quantize, bool white_background, splat_view_function visit, void *user,
                            splat_metrics *mean, splat_error *error);

/* ---------------------------------------------------------------- training (Mip-Splatting) */

/* The whole process on the device, as its driver counts it, will not pass limit_bytes: the context's own share is taken
 * off and every growth of a block beyond the rest is refused (MEMORY). On the CPU backend the named blocks alone count.
 * 0 takes the limit away. Errors: MEMORY when more is held already. */
splat_status splat_context_set_memory_limit(splat_context *context, size_t limit_bytes, splat_error *error);

typedef struct splat_trainer splat_trainer;

/* How the spherical harmonics of degree 1 and more are stored; all else is float32. */
typedef enum splat_sh_storage {
    SPLAT_SH_FLOAT32 = 0,
    SPLAT_SH_FLOAT16 = 1 /* half the bytes; stores round stochastically */
} splat_sh_storage;

/* How Adam's moments are stored. */
typedef enum splat_optimizer_storage {
    SPLAT_OPTIMIZER_FLOAT32 = 0,
    SPLAT_OPTIMIZER_QUANTIZED = 1 /* 16 bits; 8 bits with a scale a row for the spherical harmonics above degree 0 */
} splat_optimizer_storage;

/* SuGaR's coarse training (Guedon and Lepetit, CVPR 2024): a trained splat is trained on with losses that lay its
 * Gaussians flat on surfaces (docs/method.md, "Coarse training"). */
typedef enum splat_regularization {
    SPLAT_REGULARIZE_NONE = 0,          /* no coarse training: a splat is trained from the scene's points */
    SPLAT_REGULARIZE_DENSITY = 1,       /* the density follows that of flat, opaque Gaussians */
    SPLAT_REGULARIZE_SDF = 2,           /* the distance that the density stands for is that to the rendered depth */
    SPLAT_REGULARIZE_DN_CONSISTENCY = 3 /* as DENSITY, and normals agree with the slope of the depth */
} splat_regularization;

typedef struct splat_coarse_options {
    splat_regularization regularization; /* NONE */
    int first_iteration;     /* 7000: the clock before the first step, whatever splat is loaded; all rates, windows and
                                `iterations` count by this clock */
    int regularize_after;    /* 9000: until here opacities are pushed to 0 or 1; then those below prune_opacity go, and
                                the losses of the surface begin. Not before first_iteration */
    float entropy_factor;    /* 0.1 */
    float prune_opacity;     /* 0.5 */
    float estimation_factor; /* 0.2: of the density or SDF loss */
    float normal_factor;     /* 0.2: of the loss on normals of neighbours */
    float dn_factor;         /* 0.05: of depth-normal consistency */
    size_t n_samples;        /* 50,000 points a step, drawn in the visible Gaussians */
    int neighbor_interval;   /* 500: steps between two searches of the nearest neighbours */
    bool full_res_normals;   /* depth-normal consistency at the size of the photos instead of half of it */
} splat_coarse_options;

typedef struct splat_train_options {
    int iterations;                 /* 30000 */
    int sh_degree;                  /* 3 */
    bool white_background;
    bool random_background;         /* a random colour each step */
    float kernel_size;              /* 0.1: variance of the 2D Mip filter, pixel^2 */
    bool ray_jitter;                /* random sampling position inside each pixel */
    bool resample_gt_image;         /* photo resampled at the jittered position; needs ray_jitter */
    bool photos_on_host;            /* GPU: upload each step's photo instead of keeping all of them on the device */
    bool sample_more_highres;       /* with probability 0.3 take a view at least 800 wide */
    /* learning rates; positions decay from init to final over max_steps and are multiplied by the scene extent */
    float position_lr_init, position_lr_final, position_lr_delay_mult;
    int position_lr_max_steps;
    float feature_lr, opacity_lr, scaling_lr, rotation_lr;
    float lambda_dssim;             /* 0.2 */
    /* density control */
    float percent_dense;            /* 0.01 of the extent separates clone from split */
    int densification_interval;     /* 100 */
    int opacity_reset_interval;     /* 3000 */
    int densify_from_iter;          /* 500 */
    int densify_until_iter;         /* 15000 */
    float densify_grad_threshold;   /* 0.0002, NDC units */
    float min_opacity_threshold;    /* 0.005 */
    size_t target_gaussian_count;   /* exact cap kept at density control; 0: none */
    uint64_t seed;                  /* 0 */
    /* memory: what each choice costs stands in docs/memory.md */
    splat_sh_storage sh_storage;    /* FLOAT32 */
    splat_optimizer_storage optimizer_storage; /* FLOAT32 */
    bool sh_offload;        /* GPU: SH above degree 0 and their moments in pinned host memory; those of Gaussians
                               that a step does not see stay as they are */
    uint64_t max_instances; /* (Gaussian, tile) pairs at a time; a view with more is done in bands; 0: no bound */
    size_t max_gaussians;           /* rows that density control may have at any moment, before it prunes: what does not
                                       fit is refused, the smallest gradients first; 0: no bound */
    splat_coarse_options coarse;    /* NONE, with the defaults above */
} splat_train_options;

typedef struct splat_step_info {
    int iteration;       /* 1-based, of the step just done */
    float loss, l1, ssim;
    size_t n_visible, n_instances, n_degenerate;
    size_t n_gaussians;
    int active_sh_degree;
    size_t view_index;
    double step_ms;
    size_t n_added, n_removed; /* by density control in this step */
    size_t n_refused;          /* Gaussians that density control wanted and memory did not allow */
} splat_step_info;

void splat_train_options_init(splat_train_options *options);
/* The same for coarse training: until 15000 by its clock, without density control. */
void splat_train_options_init_coarse(splat_train_options *options, splat_regularization regularization);
/* Initialises a model from the scene's points. Borrows scene and context. Owned by the caller. */
splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **trainer, splat_error *error);
void splat_trainer_destroy(splat_trainer *trainer);

/* ---------------------------------------------------------------- planning memory */

typedef struct splat_plan_options {
    size_t limit_bytes;      /* of the whole process on the device; required */
    bool for_gpu;            /* plan for a GPU although the context runs on the CPU */
    size_t overhead_bytes;   /* of the driver's context; 0: the context's own, or a usual figure with for_gpu */
    size_t n_gaussians;      /* to plan for; 0: target_gaussian_count, or an estimate from the scene's points */
    bool keep_photos, keep_sh_storage, keep_optimizer_storage, keep_sh_offload; /* the user chose: not to be changed */
} splat_plan_options;

typedef struct splat_plan_row {
    const char *owner, *name; /* "parameters", "spherical harmonics, 16-bit" ... */
    size_t bytes;
} splat_plan_row;

typedef struct splat_plan_choice {
    const char *option;       /* "--sh_storage float16" */
    const char *cost;         /* what it costs, in words */
    size_t saved_bytes;       /* at the planned count */
} splat_plan_choice;

#define SPLAT_PLAN_ROWS 16
#define SPLAT_PLAN_CHOICES 8

typedef struct splat_plan {
    splat_train_options options; /* as asked, with the choices made: what to train with */
    size_t limit_bytes;
    size_t n_gaussians;          /* planned for */
    bool estimated;              /* n_gaussians comes from the number of points */
    size_t n_rows;
    splat_plan_row rows[SPLAT_PLAN_ROWS]; /* while training with options.max_gaussians rows */
    size_t total_bytes;          /* their sum, <= limit_bytes */
    size_t evaluation_bytes;     /* of the process while it evaluates */
    size_t render_bytes;         /* of a process that only renders the trained splat */
    size_t coarse_bytes;         /* of coarse training of all of it afterwards; 0 in plans of that stage */
    size_t host_bytes;           /* pinned host memory */
    size_t n_choices;
    splat_plan_choice choices[SPLAT_PLAN_CHOICES];
} splat_plan;

void splat_plan_options_init(splat_plan_options *options);
/* Chooses how to train a scene within a limit, the cheapest choices first: photos streamed; pictures in bands of tiles;
 * 16-bit SH; quantized moments; SH and their moments in host memory (GPU); a cap on the count. Pure arithmetic: nothing
 * is allocated. Errors: MEMORY when not even the smallest model fits (the message names the least limit), ARGUMENT. */
splat_status splat_plan_make(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                             const splat_plan_options *options, splat_plan *plan, splat_error *error);

/* ---------------------------------------------------------------- the trainer, step by step */

/* One iteration. */
splat_status splat_trainer_step(splat_trainer *trainer, splat_step_info *info, splat_error *error);
/* The model being trained; borrowed, valid until the trainer is destroyed, changes with every step. */
splat_model *splat_trainer_model(splat_trainer *trainer);
int splat_trainer_iteration(const splat_trainer *trainer);

/* Milliseconds of each stage of the step, summed over `steps` steps. */
typedef struct splat_stage_times {
    double data, project, bin, raster, loss, raster_backward, project_backward;
    int steps;
} splat_stage_times;
/* Off at first. Turning it on clears the sums; the last two steps are not in them yet. */
void splat_trainer_measure_stages(splat_trainer *trainer, bool on);
/* The sums since the last call of this function. */
void splat_trainer_stage_times(splat_trainer *trainer, splat_stage_times *times);

/* Starts from a splat instead of the scene's points: parameters and filter from a PLY of the trainer's SH degree, fresh
 * moments; the next step is iteration + 1. On error the trainer is unchanged. */
splat_status splat_trainer_load_model(splat_trainer *trainer, const char *ply_path, int iteration, splat_error *error);

/* Coarse training begins: parameters from a splat (any PLY of the 3DGS family, or a checkpoint) with its 3D filter
 * fused into scales and opacities, rendered from then on as the splat asks for (Mip filter or classic); fresh moments.
 * SH bands that the trainer's degree lacks are cut off. Errors: ARGUMENT (a trainer without coarse options), those of
 * splat_model_load, FORMAT (no training view sees the splat), NUMERIC (too few Gaussians). On error the trainer must
 * not be used any more. */
splat_status splat_trainer_start_coarse(splat_trainer *trainer, const char *path, splat_error *error);

/* The losses of coarse training at the last step, without their factors; waits for the device. NaN where a loss was not
 * part of that step. */
typedef struct splat_coarse_losses {
    double entropy, estimation, normal, depth_normal;
    size_t n_samples, n_sampled_gaussians; /* points that counted, and Gaussians that they could be drawn in */
} splat_coarse_losses;
splat_status splat_trainer_coarse_losses(splat_trainer *trainer, splat_coarse_losses *losses, splat_error *error);

/* Splits Gaussians, the first ones first, until there are n: a larger model to measure with. */
splat_status splat_trainer_grow_to(splat_trainer *trainer, size_t n, splat_error *error);

/* Everything needed to go on, bit for bit: parameters, moments, statistics, filter, iteration, options, split. Random
 * numbers and the order of views are functions of seed and iteration. One self-describing file (docs/files.md), written
 * atomically and in pieces: it takes 4 MB of host memory, and room on the disk is looked at first. Errors: IO (the
 * old file stays), MEMORY, DEVICE; UNSUPPORTED after an operation that failed halfway. */
splat_status splat_trainer_save_checkpoint(splat_trainer *trainer, const char *path, splat_error *error);
/* Replaces the state of a trainer made for the same training views and seed (ARGUMENT otherwise, saying what differs).
 * Other options are the trainer's; one notice tells each that changed. A lower SH degree than the file's cuts bands and
 * their moments off, for good: the next checkpoint has the lower degree. A higher one is refused. Another storage is
 * converted, rounding to nearest. Also reads chkpntN.pth of the published trainers, which do not say what they belong
 * to. Everything is checked before the trainer changes; on error it is unchanged, unless the disk fails after that. */
splat_status splat_trainer_load_checkpoint(splat_trainer *trainer, const char *path, splat_error *error);

typedef enum splat_event_kind {
    SPLAT_EVENT_STEP = 0,       /* step */
    SPLAT_EVENT_EVALUATION = 1, /* metrics of `set` at `step.iteration` */
    SPLAT_EVENT_SAVED = 2,      /* path: the PLY that was written */
    SPLAT_EVENT_CHECKPOINT = 3  /* path */
} splat_event_kind;

typedef struct splat_event {
    splat_event_kind kind;
    const splat_step_info *step;
    splat_view_set set;
    const splat_metrics *metrics;
    const char *path;
} splat_event;

typedef void (*splat_event_function)(void *user, const splat_event *event);

/* Whose tags the curves have: see docs/files.md. */
typedef enum splat_tensorboard_kind {
    SPLAT_TENSORBOARD_NONE = 0,
    SPLAT_TENSORBOARD_DEFAULT = 1,
    SPLAT_TENSORBOARD_UPSTREAM = 2 /* those of the published trainer */
} splat_tensorboard_kind;

typedef struct splat_run_options {
    const char *model_path;            /* output folder; required, created when absent */
    const int *test_iterations;        size_t n_test_iterations;
    const int *save_iterations;        size_t n_save_iterations; /* the last iteration is always saved */
    const int *checkpoint_iterations;  size_t n_checkpoint_iterations;
    int checkpoint_interval;           /* a checkpoint every so many iterations, the newest two are kept; 0: none */
    const char *start_checkpoint;      /* NULL: from the beginning; "latest": the newest of the model folder that can be
                                          read */
    splat_tensorboard_kind tensorboard; /* event files in the model folder; NONE */
    struct splat_monitor *monitor;     /* NULL; else its figures go to TensorBoard (splat_monitor_create); borrowed */
    bool report;                       /* report.html at the end, history.jsonl meanwhile, in the model folder; false */
    const char *command;               /* as typed, for TensorBoard and the report; NULL allowed */
    int profile_interval;              /* a memory sample every so many steps, in <model_path>/profiles; 0: none */
    const int *snapshot_iterations;    size_t n_snapshot_iterations; /* the list of all blocks after these */
    bool only_checkpoint;              /* after the last iteration a checkpoint instead of the splat */
    splat_event_function event;        /* NULL allowed */
    void *event_user;
} splat_run_options;

void splat_run_options_init(splat_run_options *options);
/* Trains to options.iterations with the folder layout of 3DGS: cfg_args, cameras.json, input.ply, split.json,
 * point_cloud/iteration_N/point_cloud.ply and point_cloud_fused.ply, chkpntN.splatsmith. After a requested stop the
 * splat and a checkpoint are saved and SPLAT_ERROR_STOPPED comes back. An error that leaves the state sound (MEMORY,
 * NUMERIC, IO, FORMAT) leaves a checkpoint too. A checkpoint that cannot be written is a warning; after the second in a
 * row the splat is saved and SPLAT_ERROR_CHECKPOINT comes back. */
splat_status splat_trainer_run(splat_trainer *trainer, const splat_run_options *options, splat_error *error);
/* Async-signal-safe: the run ends after the step in progress. */
void splat_trainer_request_stop(splat_trainer *trainer);

/* ---------------------------------------------------------------- model folders */

/* What a model folder's cfg_args says. Strings are owned by the struct (splat_model_config_free). */
typedef struct splat_model_config {
    char *source_path, *model_path, *images;
    int sh_degree, resolution;
    bool white_background, eval, load_allres;
    float kernel_size;
} splat_model_config;

splat_status splat_model_config_read(const char *model_path, splat_model_config *config, splat_error *error);
void splat_model_config_free(splat_model_config *config);
/* The PLY of an iteration (-1: the highest there is) in a model folder. path[size] receives it; *found the number. */
splat_status splat_model_find_iteration(const char *model_path, int iteration, char *path, size_t size, int *found,
                                        splat_error *error);

/* Measures all test views (quantised) and writes results.json and per_view.json under the method name "ours_N". */
splat_status splat_write_results(splat_context *context, splat_scene *scene, splat_model *model, const char *model_path,
                                 int iteration, bool white_background, splat_view_function visit, void *user,
                                 splat_metrics *mean, splat_error *error);
/* Writes <model_path>/{train,test}/ours_N/{test_preds_R,gt_R}/%05d.png (R = resolution option). */
splat_status splat_render_views(splat_context *context, splat_scene *scene, splat_model *model, splat_view_set set,
                                const char *model_path, int iteration, int resolution, bool white_background,
                                splat_view_function visit, void *user, splat_error *error);
/* Pictures of a view besides its colours, as bits: */
typedef enum splat_map_kind {
    SPLAT_MAP_DEPTH = 1,   /* expected depth: 16-bit PNG, PFM (float32), JSON with the PNG's scale and the intrinsics */
    SPLAT_MAP_MEDIAN = 2,  /* median depth, likewise */
    SPLAT_MAP_NORMAL = 4,  /* world normals: (n + 1) / 2 as 8-bit RGB, PFM */
    SPLAT_MAP_ALPHA = 8,   /* 8-bit gray PNG, PFM */
    SPLAT_MAP_DENSITY = 16 /* Gaussians blended, in the colours of the TensorBoard heat map; PNG */
} splat_map_kind;
#define SPLAT_N_MAP_KINDS 5
/* Writes <folder>/{train,test}/ours_N/{depth,median,normal,alpha,density}_R/%05d.{png,pfm,json}, the kinds of `kinds`
 * (docs/files.md). visit (NULL allowed) is told of each view; false stops (STOPPED). */
splat_status splat_write_maps(splat_scene *scene, splat_model *model, splat_view_set set, unsigned kinds,
                              const char *folder, int iteration, int resolution,
                              bool (*visit)(void *user, size_t n_done), void *user, splat_error *error);
/* A PNG with one row a view: photo, render, error (x4). At most n_views test views, evenly spread. The folder of
 * `path` is made when absent. */
splat_status splat_write_contact_sheet(splat_context *context, splat_scene *scene, splat_model *model, size_t n_views,
                                       const char *path, bool white_background, splat_error *error);

/* ---------------------------------------------------------------- monitor: the machine while something runs */

/* What the driver (NVML) tells of a GPU. NaN: it does not tell. */
typedef struct splat_gpu_sample {
    bool present;            /* false: no GPU is watched, and every number is NaN */
    char name[96];
    double memory_used_bytes, memory_total_bytes; /* of all processes, with what the driver keeps for itself */
    double process_bytes;    /* of the watched process */
    double compute_percent;  /* of the time: a kernel ran */
    double memory_percent;   /* of the time: its memory was read or written */
    double power_w, power_limit_w, power_percent, temperature_c, fan_percent;
    double clock_graphics_mhz, clock_sm_mhz, clock_memory_mhz;
    double pstate;           /* 0, the fastest, to 15 */
    double throttle_hw_slowdown, throttle_power_cap, throttle_thermal; /* 1: clocks are held down by it now; else 0 */
    double pcie_generation, pcie_width; /* of the link now; it may sleep at a lower generation */
} splat_gpu_sample;

/* One look at the machine. NaN: unknown; rates are unknown in the first sample. */
typedef struct splat_monitor_sample {
    uint64_t number;         /* 1 is the first */
    double seconds;          /* since the monitor was created */
    double wall_time;        /* seconds since 1970 */
    splat_gpu_sample gpu;
    bool process_alive;      /* false: the watched process has ended, or none is watched */
    double process_cpu_percent;         /* 100 is one CPU */
    double process_rss_bytes, process_virtual_bytes, process_swap_bytes;
    double process_growth_bytes;        /* of memory and swap, since the first sample */
    double process_virtual_delta_bytes; /* of virtual memory, since the sample before */
    double process_read_bytes_per_s, process_write_bytes_per_s; /* storage; NaN for another user's process */
    double spill_bytes;      /* growth of the process's memory and swap since the GPU's memory became full, 0 while it
                              * is not: what no longer fits there is being kept on the host */
    double cpu_percent;      /* of all CPUs of the machine */
    double ram_used_bytes, ram_total_bytes, ram_percent; /* of the machine; used: not available to programs */
    double disk_read_bytes_per_s, disk_write_bytes_per_s, net_received_bytes_per_s, net_sent_bytes_per_s;
} splat_monitor_sample;

typedef struct splat_monitor splat_monitor;

typedef struct splat_monitor_options {
    int pid;                 /* the process to watch; 0 (default): the calling one; -1: the machine only */
    double period_s;         /* between two samples; 0.01 to 86400, default 1 */
    const char *gpu;         /* PCI bus id (splat_context_pci_bus_id) or index in the order of nvidia-smi; NULL: the
                              * first one; "": none */
    const char *csv_path;    /* rows are appended here; NULL: none */
    const char *proc_root;   /* NULL: "/proc" */
    splat_log_function log;  /* NULL: silence */
    void *log_user;
} splat_monitor_options;

void splat_monitor_options_init(splat_monitor_options *options);
/* Takes the first sample and starts a thread that takes the others. Where the driver cannot be asked, a notice is
 * logged once and the host is watched alone. Owned by the caller. Errors: ARGUMENT (no such process, a CSV with other
 * columns), IO, MEMORY. */
splat_status splat_monitor_create(const splat_monitor_options *options, splat_monitor **monitor, splat_error *error);
/* The latest sample; quick, and may be called from any thread. After a failed write of the CSV, which is given up
 * then, the first call logs a warning. */
void splat_monitor_latest(splat_monitor *monitor, splat_monitor_sample *sample);
/* Stops the thread. NULL is allowed. */
void splat_monitor_destroy(splat_monitor *monitor);

/* ---------------------------------------------------------------- memory profiles */

/* What memory is for. Gradients of the model's size do not exist (the backward pass ends in Adam); those of a view on
 * the screen are activations. */
typedef enum splat_memory_category {
    SPLAT_MEMORY_PARAMETERS = 0,
    SPLAT_MEMORY_GRADIENTS,
    SPLAT_MEMORY_OPTIMIZER,
    SPLAT_MEMORY_STATISTICS,  /* of density control */
    SPLAT_MEMORY_ACTIVATIONS, /* the view in work, and the working memory of the ops */
    SPLAT_MEMORY_IMAGES,
    SPLAT_MEMORY_BUFFERS,
    SPLAT_MEMORY_OTHER,
    SPLAT_N_MEMORY_CATEGORIES
} splat_memory_category;

const char *splat_memory_category_name(splat_memory_category category); /* "parameters" ... */

/* One sample of a run that was profiled. */
typedef struct splat_profile_sample {
    int iteration;
    size_t n_gaussians, n_blocks;
    double seconds;          /* since the profile began */
    size_t allocated_bytes;  /* in use in the named blocks on the device */
    size_t reserved_bytes;   /* mapped for them: exactly the sum of the blocks */
    size_t peak_bytes;       /* the most that was reserved so far */
    size_t driver_bytes;     /* of the process on the GPU, as its driver counts; 0 on the CPU */
    size_t host_bytes;       /* pinned blocks, photos, staging, files */
    size_t process_bytes;    /* resident memory of the process */
    size_t category_bytes[SPLAT_N_MEMORY_CATEGORIES]; /* reserved, on the device */
} splat_profile_sample;

typedef enum splat_profile_verdict {
    SPLAT_PROFILE_FLAT = 0,
    SPLAT_PROFILE_GROWS = 1,
    SPLAT_PROFILE_UNKNOWN = 2 /* too few samples to tell */
} splat_profile_verdict;

/* Whether one figure grows once the number of Gaussians stays. */
typedef struct splat_profile_trend {
    const char *what;               /* "allocated on the device" ... */
    splat_profile_verdict verdict;
    double bytes_per_1000_steps;    /* slope of the least-squares line; 0 when unknown */
    char reason[320];               /* one sentence */
} splat_profile_trend;

typedef struct splat_profile_saving {
    const char *option, *cost;
    size_t bytes;                   /* that it would have freed on the device at the peak */
} splat_profile_saving;

/* A block on the device; texts are cut to their room. */
typedef struct splat_profile_large_block {
    char name[64], category[16], type[16];
    size_t bytes;                   /* reserved */
} splat_profile_large_block;

#define SPLAT_PROFILE_TRENDS 4
#define SPLAT_PROFILE_SAVINGS 6
#define SPLAT_PROFILE_LARGEST 5

typedef struct splat_profile {
    char *path;                     /* of the file */
    char backend[160];              /* "cuda (NVIDIA ...)" */
    splat_profile_sample *samples;  /* n_samples >= 1, by iteration */
    size_t n_samples;
    size_t peak;                    /* index of the sample with the most reserved */
    size_t category_peaks[SPLAT_N_MEMORY_CATEGORIES]; /* likewise, for each category */
    int settled_iteration;          /* of the first sample that trends look at: densification ended */
    size_t overhead_bytes;          /* what the driver counted beside the blocks at the first sample */
    splat_profile_trend trends[SPLAT_PROFILE_TRENDS];
    size_t n_trends;
    splat_profile_saving savings[SPLAT_PROFILE_SAVINGS]; /* largest first */
    size_t n_savings;
    splat_profile_large_block largest[SPLAT_PROFILE_LARGEST]; /* at the peak, largest first */
    size_t n_largest;
    bool is_cut;                    /* the last line is cut off, as of a run that was killed or goes on: left out */
} splat_profile;

/* The newest profile (profiles/tensor_profile_<time>.jsonl) of a run: `run` is a model folder, such a file, or
 * "latest", the newest in `folder`, its folders and theirs. path[size] receives it. Errors: IO (there is none),
 * ARGUMENT. */
splat_status splat_profile_find(const char *run, const char *folder, char *path, size_t size, splat_error *error);
/* Reads and judges a profile; free it with splat_profile_free. Errors: IO, FORMAT (with the line), UNSUPPORTED,
 * MEMORY. */
splat_status splat_profile_read(const char *path, splat_profile **profile, splat_error *error);
void splat_profile_free(splat_profile *profile);
/* Draws memory by category over the iterations. Errors: IO, MEMORY. */
splat_status splat_profile_write_svg(const splat_profile *profile, const char *path, splat_error *error);

/* ---------------------------------------------------------------- benchmarks */

/* What n times say, in their unit. Percentiles interpolate between neighbours. The interval of the mean comes from
 * batch means, as times of neighbouring steps resemble each other: consecutive times are averaged in up to 20 batches
 * of at least 10 (4 batches when there are fewer), and Student's t is applied to those. */
typedef struct splat_bench_times {
    size_t n;
    double mean, median, min, max, p95, p99;
    double standard_deviation;  /* of single times; NaN for n = 1 */
    double mean_error;          /* standard error of the mean; NaN for n < 8, as are the two below */
    double mean_low, mean_high; /* 95 % confidence interval of the mean */
    int n_batches;              /* 0 for n < 8 */
} splat_bench_times;

/* Errors: ARGUMENT (no times), MEMORY. */
splat_status splat_bench_times_compute(const double *times, size_t n, splat_bench_times *result, splat_error *error);

#define SPLAT_BENCH_STAGE_STEPS 300

typedef struct splat_bench_options {
    int warmup, iterations;  /* steps before, and steps measured */
    bool stages;             /* then as many again, at most these, with every stage timed */
} splat_bench_options;

/* Device memory in one phase. */
typedef struct splat_bench_memory {
    size_t allocated_bytes;  /* in use in named blocks at the end of the phase */
    size_t named_bytes;      /* reserved for them, then */
    size_t peak_bytes;       /* the most that was reserved */
    size_t overhead_bytes;   /* what the driver holds for the process beside them; 0 on the CPU */
    double process_bytes;    /* the most that the driver counted for the process, looked at 4 times a second; NaN: it
                              * does not tell */
} splat_bench_memory;

/* The GPU while training was measured. Numbers are NaN where the driver does not tell. */
typedef struct splat_bench_gpu {
    bool present;            /* false: none, or no driver to ask */
    char name[96];
    size_t n_samples;
    double clock_sm_min_mhz, clock_sm_mean_mhz, clock_sm_max_mhz, clock_memory_mean_mhz;
    double temperature_max_c, power_mean_w, compute_mean_percent;
    double throttled_hw, throttled_power, throttled_thermal; /* part of the samples, 0 to 1, with clocks held down */
} splat_bench_gpu;

typedef struct splat_bench_stage {
    const char *name;
    double ms;
    double limit_ms;         /* bytes that must move once over copy_gb_per_s; 0: none is known */
} splat_bench_stage;

#define SPLAT_BENCH_STAGES 7

typedef struct splat_bench_result {
    int first_iteration;     /* the first measured step */
    int warmup;
    splat_bench_times step;  /* ms; from the end of one step to the end of the next, so their sum is the wall clock */
    double *step_ms;         /* [step.n], owned by the result (splat_bench_result_free) */
    double seconds, iterations_per_second;
    double seconds_to_30k;   /* 30,000 steps at this mean */
    size_t n_gaussians_first, n_gaussians_last;
    double n_visible, n_instances; /* means */
    splat_bench_memory training, evaluation; /* warm-up included; evaluation is all 0 without test views */
    double host_bytes, host_peak_bytes; /* resident memory of the process: the most seen while training, and ever */
    splat_bench_gpu gpu;
    splat_metrics quality;   /* of the test views after the measured steps, renders rounded to 8 bits; n_views may be
                              * 0 */
    double evaluation_seconds;
    double copy_gb_per_s;    /* bytes read plus bytes written by a large copy on the device; 0: no room for one */
    size_t n_stages;         /* 0 when they were not asked for */
    splat_bench_stage stages[SPLAT_BENCH_STAGES];
} splat_bench_result;

/* Trains warmup + iterations steps, measures the test views, then trains some steps more for the stages. Free the
 * result in any case. Errors: those of a step and of an evaluation; ARGUMENT. */
splat_status splat_trainer_bench(splat_trainer *trainer, const splat_bench_options *options, splat_bench_result *result,
                                 splat_error *error);
void splat_bench_result_free(splat_bench_result *result);

/* The machine and the program, for reports. */
typedef struct splat_environment {
    char host[128], system[256], processor[128];
    int n_cpus;              /* logical ones of the machine */
    char gpu[256];           /* "" when the context has none */
    size_t gpu_bytes;
    int driver_version, runtime_version; /* CUDA, 1000 major + 10 minor; 0: none */
    char date[32];           /* "2026-11-20T08:15:00Z" */
} splat_environment;

/* context = NULL: the host only. */
void splat_environment_read(const splat_context *context, splat_environment *environment);

/* Whether a result can be written to `path`, as the functions below take it: to be asked before an hour is measured.
 * Creates the folder. Errors: IO, MEMORY. */
splat_status splat_bench_check_output(const char *path, splat_error *error);
/* Writes a result with environment, scene and options. A path that ends in ".json" is the file; any other is a folder,
 * created when absent, that receives training_benchmark_results.json, iteration_times.svg and iteration_histogram.svg.
 * command: how the program was called, NULL allowed. docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_bench_write(const splat_trainer *trainer, const splat_bench_result *result, const char *command,
                               const char *path, splat_error *error);

/* One thing done n times. */
typedef struct splat_bench_row {
    const char *name;
    splat_bench_times ms;    /* of one (with n_together > 1: of a round over them) */
    size_t n_together;       /* done at the same time by several threads, or timed as one */
    double per_second;       /* pictures, or views */
    double mb_per_s;         /* 10^6 bytes a second; 0: bytes are not the point */
} splat_bench_row;

#define SPLAT_BENCH_ROWS 8
typedef struct splat_bench_rows {
    const char *mode;        /* "data", "render" */
    size_t n_rows;
    splat_bench_row rows[SPLAT_BENCH_ROWS];
    int width, height;       /* of the largest picture */
    size_t n_gaussians;      /* 0 for "data" */
} splat_bench_rows;

/* Photos of the training views, n of them in turn: files decoded, decoded and resized, the same by all threads, taken
 * from the cache, and uploaded to the device blocking and ahead. Errors: ARGUMENT, those of reading a photo, MEMORY,
 * DEVICE. */
splat_status splat_bench_data(splat_context *context, splat_scene *scene, int n, splat_bench_rows *rows,
                              splat_error *error);
/* Views of a model from the scene's cameras in turn, then (with two training views or more) random ones between them,
 * at their size or (width, height > 0) another with the same field of view: rendered on the device, and rendered and
 * brought to the host; n each, after `warmup` that are not measured. Errors: ARGUMENT, MEMORY, DEVICE. */
splat_status splat_bench_render(splat_scene *scene, splat_model *model, int width, int height, int warmup, int n,
                                splat_bench_rows *rows, splat_error *error);
/* As splat_bench_write, into <mode>_benchmark_results.json. */
splat_status splat_bench_write_rows(const splat_context *context, const splat_scene *scene,
                                    const splat_bench_rows *rows, const char *command, const char *path,
                                    splat_error *error);

/* A result that was written before. */
typedef struct splat_bench_record splat_bench_record;

typedef struct splat_bench_figures {
    const char *name;        /* of its folder, or of its file; the record owns all strings */
    const char *mode;        /* "training"; "data" and "render" have scene, device and rows only */
    const char *scene, *device;
    splat_bench_times step;  /* ms, computed anew from the single times */
    double iterations_per_second, seconds_to_30k;
    double n_gaussians;      /* at the end */
    double training_peak_bytes, evaluation_peak_bytes, host_peak_bytes; /* NaN: not in the file */
    double psnr, ssim, l1, lpips; /* NaN: not measured */
    const char *lpips_net;   /* "" without LPIPS */
    size_t n_rows;           /* 0 for "training" */
    splat_bench_row rows[SPLAT_BENCH_ROWS];
} splat_bench_figures;

/* path: the file, or a folder with the result of training, else of photos, else of views. The record is owned by the
 * caller. Errors: IO, FORMAT (damaged, no benchmark), UNSUPPORTED (of another version of the schema), MEMORY. */
splat_status splat_bench_read(const char *path, splat_bench_record **record, splat_error *error);
void splat_bench_record_free(splat_bench_record *record);
void splat_bench_record_get(const splat_bench_record *record, splat_bench_figures *figures);

typedef struct splat_bench_comparison {
    double change, change_low, change_high;      /* of the mean time: +0.05 is 5 % slower; 95 % confidence interval, NaN
                                                  * when either has too few times */
    double speedup, speedup_low, speedup_high;   /* baseline's time over the candidate's */
    double seconds_saved;                        /* of 30,000 steps */
    bool is_significant;                         /* the interval does not hold "no change" */
    double quality_loss;                         /* the largest relative loss among PSNR, SSIM and, when both have it
                                                  * of the same network, LPIPS; negative: all are better; NaN: one has
                                                  * no quality */
} splat_bench_comparison;

/* The speed alone, of two rows for example: quality_loss is NaN. */
void splat_bench_compare_times(const splat_bench_times *baseline, const splat_bench_times *candidate,
                               splat_bench_comparison *comparison);
/* Of two results of training. */
void splat_bench_compare(const splat_bench_record *baseline, const splat_bench_record *candidate,
                         splat_bench_comparison *comparison);
typedef void (*splat_bench_difference_function)(void *user, const char *sentence);
/* Calls back for everything that makes the comparison unfair: another machine, GPU, driver, scene, resolution, count of
 * Gaussians (by more than 5 %), range of iterations, option, or throttled clocks. */
void splat_bench_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                             splat_bench_difference_function visit, void *user);

/* The table of phases, a row a record (of training) in their order, and what each differs in from the one before, as
 * malloc'd text the caller frees: Markdown, or a self-contained HTML page. quality_tolerance: relative loss that the
 * verdict forgives (0.005). NULL when memory is exhausted. */
char *splat_bench_report_markdown(splat_bench_record *const *records, size_t n, double quality_tolerance);
char *splat_bench_report_html(splat_bench_record *const *records, size_t n, double quality_tolerance);
/* Both, as benchmark_report.md and benchmark_report.html in a folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_bench_report_write(splat_bench_record *const *records, size_t n, double quality_tolerance,
                                      const char *folder, splat_error *error);

/* ---------------------------------------------------------------- novel views around the cameras */

typedef struct splat_random_views_options {
    size_t n;
    float position_deviation;  /* of the position, in mean distances between a camera and its nearest neighbour: 0.1 */
    float rotation_deviation_deg; /* about each of the camera's axes: 2 */
    uint64_t seed;
} splat_random_views_options;

void splat_random_views_options_init(splat_random_views_options *options);
/* cameras[options->n] (caller's memory), a function of scene, split and options: between a training camera and one of
 * its three nearest neighbours, position and rotation interpolated, then moved by normal noise; intrinsics of the
 * first. Errors: ARGUMENT (fewer than two training views; a deviation out of range). */
splat_status splat_random_views(const splat_scene *scene, const splat_random_views_options *options,
                                splat_camera *cameras, splat_error *error);
/* Renders them into folder/images/000000.png ... and writes their poses as transforms.json and as a COLMAP model in
 * sparse/0: the folder is a scene by itself. visit is told each number (from 1) and may stop by returning false. */
splat_status splat_write_random_views(splat_scene *scene, splat_model *model, const splat_random_views_options *options,
                                      bool white_background, const char *folder,
                                      bool (*visit)(void *user, size_t n_done), void *user, splat_error *error);

/* ---------------------------------------------------------------- meshes from splats */

typedef enum splat_mesh_method {
    SPLAT_MESH_POISSON = 0, /* points on the surface that the training views see, screened Poisson reconstruction */
    SPLAT_MESH_TSDF = 1,    /* depth maps of the training views fused in a sparse grid of signed distances */
    SPLAT_MESH_MARCHING_CUBES = 2 /* levels of the splat's density on a sparse grid, whatever the views see: a skin of
                               flat Gaussians becomes a sheet with two sides */
} splat_mesh_method;

/* POISSON: where the points come from. */
typedef enum splat_mesh_point_source {
    SPLAT_MESH_POINTS_LEVEL = 0, /* levels of the splat's density along the rays of the training views (SuGaR) */
    SPLAT_MESH_POINTS_DEPTH = 1, /* the median depth of the training views' pixels */
    SPLAT_MESH_POINTS_CENTERS = 2 /* centres of the Gaussians that stand first in a pixel, with their shortest axes as
                                     normals, on the side that they are seen from */
} splat_mesh_point_source;

#define SPLAT_MESH_LEVELS 8

/* Called between pieces of work; fraction of the stage, 0 to 1. Return false to stop (STOPPED). */
typedef bool (*splat_mesh_progress)(void *user, const char *stage, double fraction);

typedef struct splat_mesh_extract_options {
    splat_mesh_method method;   /* POISSON */
    splat_mesh_point_source points; /* LEVEL */
    float levels[SPLAT_MESH_LEVELS]; /* LEVEL, MARCHING_CUBES: densities, above 0 and below 1; a mesh each; 0.3 */
    size_t n_levels;            /* of them: 1 to SPLAT_MESH_LEVELS; 1 */
    size_t n_points;            /* LEVEL, DEPTH: surface points to take, for each level; 2,000,000 */
    float resolution_factor;    /* of the sides of the training views' pictures; 0.05 to 8, 1 */
    int poisson_depth;          /* POISSON: 10; 6 to 12: the finest cell is 2^-depth of the box */
    double density_quantile;    /* POISSON: this share of the vertices goes, those with the fewest points near; 0.02 */
    size_t outlier_neighbors;   /* POISSON: points much farther than others from so many neighbours go; 20; 0: none */
    double outlier_std;         /* that is, more than the mean and so many standard deviations; 20 */
    bool project;               /* POISSON: vertices move along their normals to the nearest point, where no face turns
                                   over, and take its colour; false: points are noisier than what they were made to */
    double voxel_size;          /* TSDF, MARCHING_CUBES: scene units; 0: a 320th of the box */
    double least_scale;         /* MARCHING_CUBES: Gaussians are at least so many voxels thick; 0.5 */
    double max_depth;           /* TSDF: farther surface is left out, scene units; 0: none is */
    float min_alpha;            /* TSDF, DEPTH: pixels with less opacity show no surface; 0.5 */
    bool background;            /* POISSON: a second mesh of what lies around the box, up to four times as far; true */
    bool has_bbox; /* the box is the next two; else a cube around the cameras, as wide as the scene's extent */
    double bbox_low[3], bbox_high[3]; /* world; never shifted */
    bool center_bbox;           /* the cube lies around the mean of the cameras (true), else around the origin */
    size_t target_vertices;     /* 1,000,000: simplified to it; 0: not simplified */
    size_t min_component_faces; /* smaller pieces are removed; 100 */
    uint64_t max_host_bytes;    /* host memory for points, pictures and reconstruction; 0: no limit */
    uint64_t seed;              /* of the choice of points */
    splat_mesh_progress progress; /* NULL: none */
    void *progress_user;
} splat_mesh_extract_options;

typedef struct splat_mesh_extract_info {
    size_t n_gaussians;                     /* LEVEL, CENTERS, MARCHING_CUBES: with an opacity of 1/2 and more */
    size_t n_points;                        /* POISSON: used */
    size_t n_vertices_first, n_faces_first; /* before cleaning and simplifying */
    size_t n_vertices, n_faces;             /* written */
} splat_mesh_extract_info;

void splat_mesh_extract_options_init(splat_mesh_extract_options *options);
/* Meshes that splat_mesh_extract makes: n_levels for POISSON from LEVEL and for MARCHING_CUBES, else 1. */
size_t splat_mesh_extract_count(const splat_mesh_extract_options *options);
/* Makes meshes with colours and outward normals from what the training views see of a splat, and writes each to its
 * paths (.ply, .obj, .glb), atomically. paths: [meshes][n_paths], n_paths for each mesh in the order of the levels;
 * info: [meshes]. One view is in memory at a time. What the work will need in host memory is told as a notice before
 * it begins, and when max_host_bytes is less, nothing is begun (MEMORY).
 *
 * LEVEL, CENTERS and MARCHING_CUBES look at a copy of the Gaussians with an opacity of 1/2 and more, with the 3D filter
 * fused: 44 bytes each on the device, and 60 for LEVEL's neighbours. For the rest the surface in a pixel is where the
 * transmittance passes 1/2. The model is not changed.
 *
 * Errors: ARGUMENT, FORMAT (no Gaussians, fewer than 16 opaque ones, fewer than two views), NUMERIC (no surface is
 * seen), MEMORY, IO, STOPPED. */
splat_status splat_mesh_extract(splat_context *context, splat_scene *scene, splat_model *model,
                                const splat_mesh_extract_options *options, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error);

/* A number as SuGaR's file names have it: the shortest decimal without its point, 0.3 as "03", 0.05 as "005", 1 as
 * "10". Returns text. */
const char *splat_name_number(char text[32], float value);

/* ---------------------------------------------------------------- pictures of meshes */

/* As bits: */
typedef enum splat_mesh_view_kind {
    SPLAT_MESH_VIEW_COLOR = 1,  /* the colours of the vertices, interpolated */
    SPLAT_MESH_VIEW_NORMAL = 2, /* the faces' normals in the world, whichever side is seen: (n + 1) / 2 as RGB, PFM */
    SPLAT_MESH_VIEW_DEPTH = 4,  /* 16-bit PNG, PFM and JSON, as SPLAT_MAP_DEPTH has them */
    SPLAT_MESH_VIEW_SHADED = 8  /* gray faces in the light of a lamp at the camera; their backs are red */
} splat_mesh_view_kind;
#define SPLAT_N_MESH_VIEW_KINDS 4
/* Draws a mesh (PLY or OBJ), both sides of its faces, from the cameras of a set of views, and writes
 * <folder>/{train,test}/mesh_<name>/{color,normal,depth,shaded}/%05d.{png,pfm,json}, the kinds of `kinds`; <name> is
 * that of the mesh's file without its end. What is nearer than 0.01 along the camera's axis is cut off. The pictures do
 * not depend on the context's threads; the mesh and one view are in memory. visit (NULL allowed) is told of each view;
 * false stops (STOPPED). Errors: ARGUMENT (no such kind; no faces; colours of a mesh that has none), IO, FORMAT,
 * UNSUPPORTED, MEMORY. */
splat_status splat_write_mesh_views(splat_scene *scene, const char *mesh_path, splat_view_set set, unsigned kinds,
                                    const char *folder, bool white_background,
                                    bool (*visit)(void *user, size_t n_done), void *user, splat_error *error);

/* ---------------------------------------------------------------- reports on meshes */

typedef struct splat_mesh_figure {
    double min, max, mean, deviation; /* deviation: of the population. All 0 when there is nothing to measure */
} splat_mesh_figure;

/* Of the mesh as it stands in the file: vertices are not merged. An edge is open when one face has it, and manifold
 * when one or two have it; neighbours are the two faces of an edge that has just these two. */
typedef struct splat_mesh_quality {
    size_t n_vertices, n_faces, n_edges; /* edges: each once */
    size_t n_boundary_edges;             /* open ones */
    size_t n_non_manifold_edges;         /* of more than two faces */
    size_t n_components;                 /* pieces of faces that share vertices */
    size_t n_duplicate_vertices;         /* at the very place of an earlier one */
    size_t n_isolated_vertices;          /* in no face */
    size_t n_degenerate_faces;           /* area below 1e-10, in squared scene units */
    size_t n_low_quality_faces;          /* aspect below 0.3 */
    size_t n_degenerate_normals;         /* vertex normals (of the file, else computed) shorter than 0.1 */
    size_t n_flipped_normals;            /* neighbours whose normals are more than 90 degrees apart */
    int64_t euler_characteristic;        /* used vertices - edges + faces */
    bool is_watertight;                  /* there are faces, and every edge has two */
    bool is_winding_consistent;          /* no two faces run along an edge in the same direction */
    splat_mesh_figure area;              /* of faces */
    splat_mesh_figure aspect;            /* 4 sqrt(3) area / sum of squared sides: 1 is equilateral */
    splat_mesh_figure edge_length;       /* over the sides of faces: an inner edge counts twice */
    splat_mesh_figure valence;           /* edges at a used vertex; 6 is ideal inside */
    double edge_uniformity;              /* 1 - deviation / mean of edge_length */
    double normal_consistency;           /* mean cosine between neighbours */
    double surface_area, volume;         /* signed; it means something for closed meshes only */
    double low[3], high[3], diagonal;    /* bounding box */
    double box_volume, box_aspect;       /* box_aspect: largest over smallest side; 0 when one is 0 */
    uint64_t file_bytes;
    int score;                           /* 0 to 100: watertight 20, no open edge 10, mean aspect > 0.6 20, no
                                          * degenerate face 10, normal_consistency > 0.8 20, no flipped normal 10,
                                          * edge_uniformity > 0.7 10; 0 without faces */
    const char *verdict;                 /* "EXCELLENT" from 90 on, "GOOD" 75, "FAIR" 60, "POOR" */
} splat_mesh_quality;

#define SPLAT_MESH_THRESHOLDS 8

typedef struct splat_mesh_report_options {
    const char *reference;   /* a mesh or points, PLY or OBJ; NULL: no distances */
    size_t n_samples;        /* points drawn on the surface of the mesh, and of a reference with faces: 200,000 */
    uint64_t seed;
    double thresholds[SPLAT_MESH_THRESHOLDS]; /* scene units */
    size_t n_thresholds;     /* 0: 0.25, 0.5, 1 and 2 % of the diagonal of the reference */
} splat_mesh_report_options;

/* Exact distances from points of one side to the faces of the other (to its points when it has no faces). Points are
 * drawn evenly by area with the seed; a reference without faces gives its own points. */
typedef struct splat_mesh_distances {
    size_t n_mesh_samples, n_reference_samples;
    double mesh_samples_per_area;        /* density, per squared scene unit */
    double reference_diagonal;
    double to_reference_mean, to_reference_rms, to_reference_max, to_reference_p95; /* accuracy */
    double to_mesh_mean, to_mesh_rms, to_mesh_max, to_mesh_p95;                     /* completeness */
    double chamfer;                      /* the mean of the two means */
    size_t n_thresholds;
    double thresholds[SPLAT_MESH_THRESHOLDS];
    double precision[SPLAT_MESH_THRESHOLDS];    /* part of the mesh at most so far from the reference */
    double completeness[SPLAT_MESH_THRESHOLDS]; /* part of the reference at most so far from the mesh */
    double f_score[SPLAT_MESH_THRESHOLDS];      /* their harmonic mean */
} splat_mesh_distances;

typedef struct splat_mesh_report {
    char file[512], reference[512];      /* reference "": none, and distances are all 0 */
    splat_mesh_quality quality;
    splat_mesh_distances distances;
    uint64_t seed;
} splat_mesh_report;

void splat_mesh_report_options_init(splat_mesh_report_options *options);
/* Reads a mesh (PLY or OBJ) and measures it. The same file, options and seed give the same figures for any number of
 * threads. Errors: IO, FORMAT (with byte or line; no faces), UNSUPPORTED, ARGUMENT (a threshold that is not above 0; a
 * reference without points), MEMORY. */
splat_status splat_mesh_report_make(const splat_context *context, const char *path,
                                    const splat_mesh_report_options *options, splat_mesh_report *report,
                                    splat_error *error);
/* As JSON; docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write(const splat_mesh_report *report, const char *path, splat_error *error);
/* As TensorBoard scalars Mesh/Topology/..., Mesh/Quality/..., Mesh/Geometry/..., Mesh/Surface/... and
 * Mesh/Reference/... of a step, in a new event file in the folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write_tensorboard(const splat_mesh_report *report, const char *folder, int64_t step,
                                                 splat_error *error);

/* ---------------------------------------------------------------- the built-in scene */

typedef struct splat_sample_options {
    int width, height; /* 320 x 240 */
    int n_cameras;     /* 60 */
    int n_points;      /* 6000 noisy surface points */
    int n_truth;       /* 200000 points of ground_truth.ply */
    int supersample;   /* 3: rays a pixel side */
    uint64_t seed;     /* the same seed gives the same bytes */
} splat_sample_options;

void splat_sample_options_init(splat_sample_options *options);
/* Writes a ray-traced COLMAP scene (images/, sparse/0 in binary and text) and ground_truth.ply into folder, which must
 * be absent or empty. Errors: ARGUMENT, IO. */
splat_status splat_sample_write(splat_context *context, const char *folder, const splat_sample_options *options,
                                splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
