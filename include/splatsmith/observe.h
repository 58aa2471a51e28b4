/* splatsmith/observe.h - what the program shows and measures beside training: LPIPS, the monitor, memory profiles,
 * benchmarks, reports on meshes. The program's own: any of it may change until version 1.0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_OBSERVE_H
#define SPLATSMITH_OBSERVE_H

#include "splatsmith/core.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"
#include "splatsmith/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- LPIPS */

/* LPIPS v0.1 (Zhang et al., CVPR 2018): a distance of two pictures by the features of a network, lower is better. The
 * weights are not part of the program: a safetensors file with torchvision's tensor names (features.N.weight, ...) and
 * lin0.weight, ...; F32, F16, BF16 or F64. What measures it takes a splat_lpips, or NULL.
 *
 * With its weights it takes at most 300 MB of device memory for pictures up to 1.6 Mpixel and in proportion beyond; all
 * but the weights is given back after each set of views. A set with a picture too small for the network, or too large
 * for a memory limit, is measured without it, and a notice says so. */
typedef struct splat_lpips_options {
    size_t size;
    const char *net;     /* "vgg" (default), "alex" or "squeeze" */
    const char *weights; /* the file, or a folder with lpips_<net>.safetensors; NULL or "": the environment variable
                            SPLATSMITH_LPIPS_WEIGHTS says which */
    bool normalize;      /* true: pictures go in as [-1, 1], as the authors of LPIPS do; false (default): as [0, 1], as
                            the 3DGS family does. The two give different numbers. */
} splat_lpips_options;

void splat_lpips_options_init_sized(splat_lpips_options *options, size_t size);
#define splat_lpips_options_init(options) splat_lpips_options_init_sized(options, sizeof *(options))
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
/* Measures two pictures: image float[3][height][width] in [0,1], photo uint8_t[height][width][3]. per_layer (NULL
 * allowed) receives the 5 (vgg, alex) or 7 (squeeze) terms of the sum. Errors: ARGUMENT (too small for the network),
 * MEMORY, DEVICE. */
splat_status splat_lpips_measure(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                                 double *distance, double *per_layer, splat_error *error);

/* ---------------------------------------------------------------- results and pictures of a model's views */

/* Measures the views of a job and writes results.json and per_view.json in the model folder, under the method name
 * "ours_<iteration>", with "_<variant>" after it unless that is NULL. Results that the files have of more views (a test
 * photo may be lost since) stay; the new ones then are "<method>_<n>_of_<more>_views". Errors: ARGUMENT (there are no
 * such views), STOPPED (nothing is written then), those of splat_model_evaluate, IO. */
splat_status splat_results_write(splat_model *model, splat_scene *scene, const splat_view_job *job,
                                 const char *model_path, int iteration, const char *variant, splat_metrics *mean,
                                 splat_error *error);
/* Puts figures where SuGaR's scripts look for them: results_<method><factor>_normal<factor>[_<variant>].json in a
 * folder, {scene: {"sugar_<level>_<vertices>_<refinement_iterations>": {n_views, ssim, psnr, lpips}}}, with what the
 * file says of others; figures of more views stay. name: of a mesh or a model folder, with or without its path, such as
 * sugarmesh_3Dgs7000_densityestim02_sdfnorm02_level03_decim1000000 or the sugarfine_ of it; another one is no error,
 * and *written is false. variant: "uvtexture", "diffuseonly", or NULL; after it comes "_poissoncenter" or
 * "_marchingcubes" of such meshes. scene_path: its last part is the scene. Errors: FORMAT (the file is no such JSON),
 * IO, MEMORY. */
splat_status splat_sugar_results_write(const char *folder, const char *name, const char *variant,
                                       const char *scene_path, int refinement_iterations,
                                       const splat_metrics *metrics, bool *written, splat_error *error);
/* Writes <folder>/{train,test}/ours_N/{test_preds_R,gt_R}/%05d.png (N: iteration, R: the scene's resolution option). */
splat_status splat_renders_write(splat_model *model, splat_scene *scene, const splat_view_job *job, const char *folder,
                                 int iteration, splat_error *error);
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
 * (docs/files.md). Nothing is measured. Errors: ARGUMENT (no such kind), IO, MEMORY, STOPPED. */
splat_status splat_maps_write(splat_model *model, splat_scene *scene, const splat_view_job *job, unsigned kinds,
                              const char *folder, int iteration, splat_error *error);
/* A PNG, or a JPEG when `path` ends with .jpg or .jpeg, with one row a view: photo, render, error (x4). At most n_views
 * test views, evenly spread. The folder of `path` is made when absent. */
splat_status splat_contact_sheet_write(splat_model *model, splat_scene *scene, size_t n_views, const char *path,
                                       splat_error *error);

/* ---------------------------------------------------------------- novel views around the cameras */

typedef struct splat_random_views_options {
    size_t size;
    size_t n;
    float position_deviation;  /* of the position, in mean distances between a camera and its nearest neighbour: 0.1 */
    float rotation_deviation_deg; /* about each of the camera's axes: 2 */
    uint64_t seed;
    splat_view_function visit; /* for each view written; NULL: nobody */
    void *user;
} splat_random_views_options;

void splat_random_views_options_init_sized(splat_random_views_options *options, size_t size);
#define splat_random_views_options_init(options) splat_random_views_options_init_sized(options, sizeof *(options))
/* cameras[options->n] (caller's memory), a function of scene, split and options: between a training camera and one of
 * its three nearest neighbours, position and rotation interpolated, then moved by normal noise; intrinsics of the
 * first. Errors: ARGUMENT (fewer than two training views; a deviation out of range). */
splat_status splat_random_views_make(const splat_scene *scene, const splat_random_views_options *options,
                                     splat_camera *cameras, splat_error *error);
/* Renders them into folder/images/000000.png ... and writes their poses as transforms.json and as a COLMAP model in
 * sparse/0: the folder is a scene by itself. Options->visit gets the camera, the number in place of a name and the
 * unclamped render. */
splat_status splat_random_views_write(splat_model *model, splat_scene *scene, const splat_random_views_options *options,
                                      const char *folder, splat_error *error);

/* ---------------------------------------------------------------- camera paths */

/* How many pictures a camera path has (docs/viewer.md, "Camera paths"). Errors: IO, FORMAT, MEMORY. */
splat_status splat_path_describe(const char *path_file, size_t *n_frames, splat_error *error);
/* Renders a camera path into output/000000.png ..., or, where output ends with .mp4, into a film, by the program
 * ffmpeg. background: rgb in [0,1]. Of the job visit and user count: the camera, the number in place of a name and the
 * unclamped render. Errors: IO (also: there is no ffmpeg), FORMAT, MEMORY, STOPPED. */
splat_status splat_path_write(splat_model *model, const char *path_file, const float background[3],
                              const splat_view_job *job, const char *output, splat_error *error);

/* ---------------------------------------------------------------- pictures of meshes */

/* How the texels of a texture become a colour. All in the photos' encoding (sRGB), as 3DGS and SuGaR blend. */
typedef enum splat_mesh_filter {
    SPLAT_MESH_FILTER_TRILINEAR = 0,  /* bilinear on two levels of mip maps, as programs that show meshes do */
    SPLAT_MESH_FILTER_NEAREST = 1,    /* the texel of the full texture, as SuGaR measures its meshes */
    SPLAT_MESH_FILTER_ANISOTROPIC = 2 /* up to 16 trilinear samples along the longer side of the pixel's footprint */
} splat_mesh_filter;

typedef struct splat_mesh_draw_options {
    size_t size;
    splat_mesh_filter filter; /* TRILINEAR */
    int supersampling;        /* samples along each side of a pixel, 1 to 8; 2 */
} splat_mesh_draw_options;

void splat_mesh_draw_options_init_sized(splat_mesh_draw_options *options, size_t size);
#define splat_mesh_draw_options_init(options) splat_mesh_draw_options_init_sized(options, sizeof *(options))

/* As bits: */
typedef enum splat_mesh_view_kind {
    SPLAT_MESH_VIEW_COLOR = 1,  /* the texture, else the colours of the vertices, else grey faces */
    SPLAT_MESH_VIEW_NORMAL = 2, /* the faces' normals in the world, whichever side is seen: (n + 1) / 2 as RGB, PFM */
    SPLAT_MESH_VIEW_DEPTH = 4,  /* 16-bit PNG, PFM and JSON, as SPLAT_MAP_DEPTH has them */
    SPLAT_MESH_VIEW_SHADED = 8  /* gray faces in the light of a lamp at the camera; their backs are red */
} splat_mesh_view_kind;
#define SPLAT_N_MESH_VIEW_KINDS 4
/* Draws a mesh (splat_mesh_get_format), both sides of its faces, over the scene's background from the cameras of a job,
 * and writes <folder>/{train,test}/mesh_<name>/{color,normal,depth,shaded}/%05d.{png,pfm,json}, the kinds of `kinds`;
 * <name> is that of the mesh's file without its end. Colours are drawn as `options` says (NULL: the defaults), the rest
 * at the centres of the pixels. What is nearer than 0.01 along the camera's axis is cut off. The pictures do not depend
 * on the context's threads; the mesh and one view are in memory. Nothing is measured. Errors: ARGUMENT (no such kind;
 * no faces; an option out of its range), IO, FORMAT, UNSUPPORTED, MEMORY, STOPPED. */
splat_status splat_mesh_views_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                    unsigned kinds, const splat_mesh_draw_options *options, const char *folder,
                                    splat_error *error);
/* splat_random_views_write with a mesh in place of the splat. */
splat_status splat_mesh_random_views_write(splat_scene *scene, const char *mesh_path,
                                           const splat_mesh_draw_options *draw_options,
                                           const splat_random_views_options *options, const char *folder,
                                           splat_error *error);

/* splat_path_write with a mesh in place of the splat. Errors also: ARGUMENT, UNSUPPORTED. */
splat_status splat_mesh_path_write(splat_context *context, const char *mesh_path,
                                   const splat_mesh_draw_options *draw_options, const char *path_file,
                                   const float background[3], const splat_view_job *job, const char *output,
                                   splat_error *error);

/* A mesh against photos. Means over views. */
typedef struct splat_mesh_metrics {
    splat_metrics all;     /* the background is part of the picture; with masks as of a splat: kept pixels, and whole
                              pictures beside them */
    splat_metrics covered; /* l1, psnr and ssim: means over the pixels that the mesh covers with all their samples,
                              and that masks keep, the photo standing in the others, so that windows of SSIM across the
                              border see no step; lpips is of the same picture, not scaled. Views without such pixels
                              are left out */
    double coverage;       /* such pixels, of all, or of those that masks keep */
    bool textured;         /* the mesh has a texture */
} splat_mesh_metrics;

/* Draws the mesh and measures it on the views of a job (splat_model_evaluate), one view in memory at a time; quantize
 * and lpips as there. The visitor gets the metrics of all pixels. Errors: those of splat_mesh_views_write and
 * splat_model_evaluate. */
splat_status splat_mesh_evaluate(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                 const splat_mesh_draw_options *options, splat_mesh_metrics *mean, splat_error *error);
/* The same, with results.json and per_view.json in the model folder, under the method "mesh_<name>", with "_<variant>"
 * after it unless that is NULL: the keys of splat_results_write, again with "_covered" at their ends, and "coverage".
 * Errors as above, and IO, STOPPED (nothing is written). */
splat_status splat_mesh_results_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                      const splat_mesh_draw_options *options, const char *model_path,
                                      const char *variant, splat_mesh_metrics *mean, splat_error *error);

/* splat_contact_sheet_write with rows of photo, mesh and, with a model, its splat; without (NULL) the error (x4) of
 * the mesh. */
splat_status splat_mesh_contact_sheet_write(splat_scene *scene, const char *mesh_path,
                                            const splat_mesh_draw_options *options, splat_model *model, size_t n_views,
                                            const char *path, splat_error *error);

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
    size_t size;
    int pid;                 /* the process to watch; 0 (default): the calling one; -1: the machine only */
    double period_s;         /* between two samples; 0.01 to 86400, default 1 */
    const char *gpu;         /* PCI bus id (splat_context_get_pci_bus_id) or index in the order of nvidia-smi; NULL: the
                              * first one; "": none */
    const char *csv_path;    /* rows are appended here; NULL: none */
    const char *proc_root;   /* NULL: "/proc" */
    splat_log_function log;  /* NULL: silence */
    void *log_user;
} splat_monitor_options;

void splat_monitor_options_init_sized(splat_monitor_options *options, size_t size);
#define splat_monitor_options_init(options) splat_monitor_options_init_sized(options, sizeof *(options))
/* Takes the first sample and starts a thread that takes the others. Where the driver cannot be asked, a notice is
 * logged once and the host is watched alone. Owned by the caller. Errors: ARGUMENT (no such process, a CSV with other
 * columns), IO, MEMORY. */
splat_status splat_monitor_create(const splat_monitor_options *options, splat_monitor **monitor, splat_error *error);
/* The latest sample; quick, and may be called from any thread. After a failed write of the CSV, which is given up
 * then, the first call logs a warning. */
void splat_monitor_get_latest(splat_monitor *monitor, splat_monitor_sample *sample);
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
    size_t size;
    int warmup, iterations;  /* steps before, and steps measured */
    bool stages;             /* then as many again, at most these, with every stage timed */
    splat_lpips *lpips;      /* of the test views; NULL: not measured; borrowed */
    const int *test_iterations; size_t n_test_iterations; /* the test views are measured after these steps, too */
} splat_bench_options;

void splat_bench_options_init_sized(splat_bench_options *options, size_t size);
#define splat_bench_options_init(options) splat_bench_options_init_sized(options, sizeof *(options))

/* Device memory in one phase. */
typedef struct splat_bench_memory {
    size_t allocated_bytes;  /* in use in named blocks at the end of the phase */
    size_t named_bytes;      /* reserved for them, then */
    size_t peak_bytes;       /* the most that was reserved */
    size_t overhead_bytes;   /* what the driver holds for the process beside them; 0 on the CPU */
    double process_bytes;    /* the most that the driver counted for the process, sampled 4 times a second; NaN: it
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

#define SPLAT_BENCH_STAGES 9

/* The test views on the way. */
typedef struct splat_bench_evaluation {
    int iteration;
    splat_metrics quality;   /* renders rounded to 8 bits */
} splat_bench_evaluation;

typedef struct splat_bench_result {
    int first_iteration;     /* the first measured step */
    int warmup;
    splat_bench_times step;  /* ms; from the end of one step to the end of the next, so their sum is the wall clock */
    double *step_ms;         /* [step.n], owned by the result (splat_bench_result_free) */
    double seconds, iterations_per_second;
    double views_a_step;     /* 1, or those of a batch */
    double seconds_to_30k;   /* 30,000 views at this mean */
    size_t n_gaussians_first, n_gaussians_last;
    double n_visible, n_instances; /* means of a view */
    splat_rank_info *ranks;  /* [n_ranks] where several trained, owned by the result; warm-up included */
    size_t n_ranks;
    double loss;             /* mean training loss of the measured steps; NaN: none arrived */
    double mean_opacity;     /* of the Gaussians at the end */
    splat_bench_evaluation *evaluations; /* owned by the result, by iteration */
    size_t n_evaluations;
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

/* What a result is to be found by later; each may be NULL. */
typedef struct splat_bench_note {
    const char *command;     /* how the program was called */
    const char *label;       /* its name in tables instead of its folder's */
    const char *notes;       /* a sentence for the reader */
} splat_bench_note;

/* Whether a result can be written to `path`, as the functions below take it: to be asked before an hour is measured.
 * Creates the folder. Errors: IO, MEMORY. */
splat_status splat_bench_check_output(const char *path, splat_error *error);
/* Writes a result with environment, scene and options. A path that ends in ".json" is the file; any other is a folder,
 * created when absent, that receives training_benchmark_results.json, iteration_times.svg and iteration_histogram.svg.
 * note: NULL allowed. docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_bench_write(const splat_trainer *trainer, const splat_bench_result *result,
                               const splat_bench_note *note, const char *path, splat_error *error);

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
                                    const splat_bench_rows *rows, const splat_bench_note *note, const char *path,
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
    double loss, mean_opacity; /* of the measured steps, at the end; NaN: not in the file */
    const char *date;        /* "2026-11-20T08:15:00Z"; "": not in the file */
    const char *label, *notes; /* as given when it was measured, "": none; name is the label where there is one */
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
void splat_bench_list_differences(const splat_bench_record *baseline, const splat_bench_record *candidate,
                                  splat_bench_difference_function visit, void *user);

/* The table of phases, a row a record (of training) in their order, and what each differs in from the one before, as
 * malloc'd text the caller frees: Markdown, or a self-contained HTML page. quality_tolerance: relative loss that the
 * verdict forgives (0.005). NULL when memory is exhausted. */
char *splat_bench_report_markdown(splat_bench_record *const *records, size_t n, double quality_tolerance);
char *splat_bench_report_html(splat_bench_record *const *records, size_t n, double quality_tolerance);
/* Both, as benchmark_report.md and benchmark_report.html in a folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_bench_report_write(splat_bench_record *const *records, size_t n, double quality_tolerance,
                                      const char *folder, splat_error *error);

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
#define SPLAT_MESH_SUBSETS 8
#define SPLAT_MESH_SUBSET_NAME 32

typedef struct splat_mesh_report_options {
    size_t size;
    const char *reference;   /* a mesh or points; NULL: no distances */
    size_t n_samples;        /* points drawn on the surface of the mesh, and of a reference with faces: 200,000 */
    uint64_t seed;
    double reference_margin; /* the mesh is compared inside the box of the reference, grown on every side by this part
                              * of its diagonal: 0.02, as the largest of the usual thresholds; -1: all of the mesh */
    double thresholds[SPLAT_MESH_THRESHOLDS]; /* scene units */
    size_t n_thresholds;     /* 0: 0.005, 0.01, 0.02 and 0.05 where points have subsets, as those of splat_sample_write;
                              * else 0.25, 0.5, 1 and 2 % of the diagonal of the reference */
    const char *reference_points; /* points that a mesh ought to reach, such as those that the photos show: completeness
                                   * is theirs, precision stays the reference's; NULL: the reference's own */
} splat_mesh_report_options;

/* Points of the reference that are counted apart: the property `subset` of a PLY. */
typedef struct splat_mesh_subset {
    char name[SPLAT_MESH_SUBSET_NAME];
    size_t n;              /* points */
    double to_mesh_median;
    double completeness[SPLAT_MESH_THRESHOLDS];
} splat_mesh_subset;

/* Exact distances from points of one side to the faces of the other (to its points when it has no faces). Points are
 * drawn evenly by area with the seed; a reference without faces, and a list of points beside it, give their own. Of the
 * mesh those count that lie inside the box of the reference, grown by the margin. */
typedef struct splat_mesh_distances {
    size_t n_mesh_samples, n_reference_samples;
    double mesh_samples_per_area;        /* density, per squared scene unit */
    double reference_diagonal;
    double reference_margin;             /* scene units; -1: the whole mesh was compared */
    double mesh_part;                    /* part of the mesh's area that was compared */
    double to_reference_mean, to_reference_rms, to_reference_max, to_reference_p95; /* accuracy */
    double to_mesh_mean, to_mesh_rms, to_mesh_max, to_mesh_p95;                     /* completeness */
    double chamfer;                      /* the mean of the two means */
    size_t n_thresholds;
    double thresholds[SPLAT_MESH_THRESHOLDS];
    double precision[SPLAT_MESH_THRESHOLDS];    /* part of the mesh at most so far from the reference */
    double completeness[SPLAT_MESH_THRESHOLDS]; /* part of the reference at most so far from the mesh */
    double f_score[SPLAT_MESH_THRESHOLDS];      /* their harmonic mean */
    double to_reference_median, to_mesh_median;
    size_t n_subsets;                    /* those that have points */
    splat_mesh_subset subsets[SPLAT_MESH_SUBSETS];
} splat_mesh_distances;

#define SPLAT_MESH_PAGES 256

/* Of a mesh without texture coordinates all are 0. */
typedef struct splat_mesh_texture {
    bool has_coordinates;
    size_t n_pages;       /* 0 with coordinates: the pictures are not there */
    int page_sizes[SPLAT_MESH_PAGES][2]; /* width, height */
    uint64_t n_texels;    /* of all pages */
    double used;          /* share of the texels that faces lie on; those that several faces show count each time */
    double texel_density; /* texels of faces a unit of length: sqrt(their texels / their area) */
} splat_mesh_texture;

typedef struct splat_mesh_report {
    char file[512], reference[512];      /* reference "": none, and distances are all 0 */
    char reference_points[512];          /* "": none beside the reference */
    splat_mesh_quality quality;
    splat_mesh_distances distances;
    uint64_t seed;
    splat_mesh_texture texture;
} splat_mesh_report;

void splat_mesh_report_options_init_sized(splat_mesh_report_options *options, size_t size);
#define splat_mesh_report_options_init(options) splat_mesh_report_options_init_sized(options, sizeof *(options))
/* Reads a mesh (splat_mesh_get_format) and measures it. The same file, options and seed give the same figures for any
 * number of threads. Errors: IO, FORMAT (with byte or line; no faces), UNSUPPORTED, ARGUMENT (a threshold that is not
 * above 0; a reference without points, or without any part of the mesh near it), MEMORY. */
splat_status splat_mesh_report_make(const splat_context *context, const char *path,
                                    const splat_mesh_report_options *options, splat_mesh_report *report,
                                    splat_error *error);
/* As JSON; docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write(const splat_mesh_report *report, const char *path, splat_error *error);
/* As TensorBoard scalars Mesh/Topology/..., Mesh/Quality/..., Mesh/Geometry/..., Mesh/Surface/... and
 * Mesh/Reference/... of a step, in a new event file in the folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write_tensorboard(const splat_mesh_report *report, const char *folder, int64_t step,
                                                 splat_error *error);

/* ---------------------------------------------------------------- names of files */

/* A number as SuGaR's file names have it: the shortest decimal without its point, 0.3 as "03", 0.05 as "005", 1 as
 * "10". Returns text. */
const char *splat_number_name(char text[32], float value);

#ifdef __cplusplus
}
#endif
#endif
