/* Options of the command line outside of the library's structs. Texts point into argv; NULL: not given. */
#ifndef SPLAT_LINE_PARTS_H
#define SPLAT_LINE_PARTS_H

#include "line/sizes.h"
#include "splatsmith.h"
#include "bench/bench.h"
#include "measure/random_views.h"
#include "mesh/measure/mesh_report.h"

#define SPLAT_LINE_LIST_MAX 1024

typedef struct splat_line_list {
    int values[SPLAT_LINE_LIST_MAX];
    size_t n;
} splat_line_list;

/* The options that --help shows. */
typedef enum splat_line_help { SPLAT_LINE_NO_HELP, SPLAT_LINE_HELP_BASIC, SPLAT_LINE_HELP_ALL } splat_line_help;

typedef struct splat_line_general {
    splat_line_help help;
    bool quiet;
    const char *ignored_text; /* where options without effect leave their value */
    bool ignored_flag;
} splat_line_general;

/* The device, its threads and its memory. */
typedef struct splat_line_machine {
    splat_context_options context;
    const char *fragmentation;
    splat_line_limit vram_limit;
    const char *gpus; /* a number or "all"; NULL: one */
} splat_line_machine;

/* The splat or mesh that a command opens. train: the model folder that it writes. */
typedef struct splat_line_model {
    const char *model_path, *ply;
    const char *gs_output_dir; /* only mesh, refine and pipeline */
    const char *mesh_file;     /* render, eval, contact-sheet: mesh instead of a splat; refine: initial mesh */
    int iteration;             /* -1: the last */
    int reduce_sh_degree;      /* -1: as it is */
    const char *render_mode;
} splat_line_model;

typedef struct splat_line_output {
    const char *path, *experiment_name;
    bool delete_first;
} splat_line_output;

/* A training, in words: strategies and storages. */
typedef struct splat_line_training_options {
    const char *strategy;
    const char *quality; /* an alias, as optimize_memory: src/program/stage/aliases.c */
    bool optimize_memory;
    const char *data_device;
    bool eval_only;
} splat_line_training_options;

/* A run: when it measures and saves, and how it reports. */
typedef struct splat_line_run_options {
    splat_line_list test_iterations, save_iterations, checkpoint_iterations, snapshot_iterations;
    int checkpoint_interval;
    double checkpoint_seconds; /* no option: the pipeline's own interval has it */
    const char *start_checkpoint;
    const char *monitor_csv;
    bool tensorboard, report, profile_tensors;
    const char *tensorboard_tags;
    int profile_interval;
} splat_line_run_options;

typedef struct splat_line_lpips_options {
    splat_lpips_options options;
    bool enable;
} splat_line_lpips_options;

/* The viewer of a training. */
typedef struct splat_line_page_options {
    int port;      /* -1: none */
    double budget; /* percent */
    bool stay;     /* the page stays after the training; read only if it is given */
} splat_line_page_options;

typedef struct splat_line_coarse_options {
    const char *regularization;
    int iterations;
    bool export_ply;
} splat_line_coarse_options;

/* Options of `mesh` in addition to splat_mesh_extract_options; the box is also that of refine and export. */
typedef struct splat_line_surface_options {
    const char *levels, *bbox_min, *bbox_max;
    bool use_marching_cubes, use_centers, use_vanilla_3dgs, remove_floaters;
    double max_host_memory; /* also of texture, GiB; 0: no limit */
} splat_line_surface_options;

typedef struct splat_line_refine_options {
    const char *time;                   /* NULL: `iterations` */
    int iterations;                     /* 0: the default */
    bool fits_photos;                   /* the default is as many as the photos are worth */
    const char *gaussians_per_triangle; /* NULL: the default */
    const char *deform;                 /* the edited mesh; NULL: it trains */
    bool keep_rest;
} splat_line_refine_options;

typedef struct splat_line_pipeline_options {
    const char *coarse_checkpoint;
    bool skip_training, skip_coarse, skip_refine, skip_texture, low_poly, high_poly, export_obj;
    float normal_consistency_factor;
} splat_line_pipeline_options;

typedef struct splat_line_eval_options {
    bool diffuse_only;
} splat_line_eval_options;

typedef struct splat_line_render_options {
    const char *what, *exposure; /* exposure: "neutral" or "own" */
    const char *camera_path;     /* NULL: the views of the scene */
    splat_random_views_options random_views; /* n = 0: none */
    const char *perturb;
    bool skip_train, skip_test;
} splat_line_render_options;

typedef struct splat_line_sheet_options {
    int n_views;
} splat_line_sheet_options;

typedef struct splat_line_export_options {
    const char *spz_version;
    const char *up_axis, *scene_up; /* up_axis NULL: it stays */
    double scale;
    int min_views; /* 0: all stay */
    bool dome;
    bool fused;
} splat_line_export_options;

typedef struct splat_line_bench_options {
    splat_bench_options options;
    const char *mode, *label, *notes, *max_slowdown, *quality_tolerance;
    int from_iteration; /* -1: not given */
    int width, height; /* 0: the scene's */
} splat_line_bench_options;

typedef struct splat_line_plan_request {
    size_t n_gaussians; /* also of bench */
    splat_line_limit device_memory;
} splat_line_plan_request;

typedef struct splat_line_mesh_report_options {
    splat_mesh_report_options options;
    const char *thresholds, *json, *tensorboard;
    int step;
} splat_line_mesh_report_options;

typedef struct splat_line_monitor_options {
    int pid; /* 0: none */
    float interval;
    const char *csv;
} splat_line_monitor_options;

typedef struct splat_line_profile_options {
    const char *folder, *svg;
} splat_line_profile_options;

/* Every part. Options name their field by its offset in this struct, which exists once: with the defaults. */
typedef struct splat_line_parts {
#define SPLAT_LINE_PART(name, type) type name;
#include "line/parts.def"
} splat_line_parts;

/* The defaults. */
const splat_line_parts *splat_line_default_parts(void);

#endif
