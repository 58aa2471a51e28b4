/* splatsmith/train.h - training: a plan of its memory, the trainer step by step, and whole runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_TRAIN_H
#define SPLATSMITH_TRAIN_H

#include "splatsmith/core.h"
#include "splatsmith/distributed.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- training (Mip-Splatting) */

typedef struct splat_trainer splat_trainer;

/* SuGaR's coarse training (Guedon and Lepetit, CVPR 2024): continues the training of a splat, with losses that lay its
 * Gaussians flat on surfaces (docs/method.md, "Coarse training"). */
typedef enum splat_regularization {
    SPLAT_REGULARIZE_NONE = 0,          /* no coarse training: a splat is trained from the scene's points */
    SPLAT_REGULARIZE_DENSITY = 1,       /* the density follows that of flat, opaque Gaussians */
    SPLAT_REGULARIZE_SDF = 2,           /* the distance that the density stands for is that to the rendered depth */
    SPLAT_REGULARIZE_DN_CONSISTENCY = 3, /* as DENSITY, and normals agree with the slope of the depth */
    SPLAT_REGULARIZE_MULTIVIEW = 4      /* flat Gaussians whose normals agree with the slope of the depth, and whose
                                           depth and photos agree with those of neighbouring views (PGSR) */
} splat_regularization;

typedef struct splat_coarse_options {
    splat_regularization regularization; /* NONE */
    int first_iteration;     /* 7000: the number before the first step, for any loaded splat; all rates, windows and
                                `iterations` count from it */
    int regularize_after;    /* 9000: until this iteration opacities are pushed to 0 or 1; then Gaussians below
                                prune_opacity are removed, and the losses of the surface begin. Not before
                                first_iteration */
    float entropy_factor;    /* 0.1 */
    float prune_opacity;     /* 0.1 */
    float estimation_factor; /* 0.2: weight of the density or SDF loss */
    float normal_factor;     /* 0.2: weight of the loss on normals of neighbours */
    float dn_factor;         /* 0.05: weight of depth-normal consistency */
    size_t n_samples;        /* 50,000 points a step, drawn in the visible Gaussians */
    int neighbor_interval;   /* 500: steps between two searches of the nearest neighbours */
    bool full_res_normals;   /* depth-normal consistency at the size of the photos instead of half of it */
} splat_coarse_options;

/* Options for Gaussians that are bound to a mesh: splatsmith/refine.h. */
typedef struct splat_refine_options {
    int gaussians_per_triangle;       /* 1, 3, 4 or 6; 1 */
    float normal_consistency_factor;  /* 0.1: weight of the loss on the normals of neighbouring triangles */
    float foreground_radius;          /* half the diagonal of the foreground, scene units; 0: the scene's extent */
} splat_refine_options;

typedef struct splat_strategy splat_strategy;       /* opaque: a rule of density control */
typedef struct splat_regularizer splat_regularizer; /* opaque: losses in addition to that of the photo */
typedef struct splat_binding splat_binding;         /* opaque: a mesh that Gaussians follow */
/* Returns the strategy of this name, NULL if there is none. "default": draws Gaussians by their gradients and splits
 * them along their longest axis, up to a budget that the photos decide; "fast": the same in half the steps, with at
 * most 330,000 Gaussians; "high": the same in 40,000 steps; "classic": the adaptive density control of 3D
 * Gaussian Splatting, as published; "mcmc": a fixed number of Gaussians, which move to where they help (3DGS as Markov
 * Chain Monte Carlo). */
const splat_strategy *splat_strategy_find(const char *name);

/* Measures that save memory, in the order in which a run takes them. */
typedef enum splat_give_up {
    SPLAT_GIVE_UP_PHOTOS = 1,     /* photos on the device (photos_on_host) */
    SPLAT_GIVE_UP_LISTS = 2,      /* room for the lists of whole views: those with many pairs are done in bands */
    SPLAT_GIVE_UP_SH = 4,         /* 32 bits a coefficient (sh_storage FLOAT16) */
    SPLAT_GIVE_UP_MOMENTS = 8,    /* 32 bits a moment (optimizer_storage QUANTIZED) */
    SPLAT_GIVE_UP_DEVICE_MOMENTS = 16, /* moments of SH above degree 0 on the device (moments_offload) */
    SPLAT_GIVE_UP_DEVICE_SH = 32, /* and SH above degree 0 themselves (sh_offload) */
    SPLAT_GIVE_UP_ALL = 63
} splat_give_up;

typedef struct splat_train_options {
    size_t size;
    int iterations;                 /* 30000 */
    int sh_degree;                  /* 3 */
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
    float lambda_dssim;             /* 0.2; default and high: 0.3, fast: 0.25 */
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
    /* memory: docs/memory.md has the cost of each choice */
    splat_sh_storage sh_storage;    /* FLOAT32 */
    splat_optimizer_storage optimizer_storage; /* FLOAT32 */
    bool sh_offload;        /* GPU: SH above degree 0 and their moments in pinned host memory; a step leaves those
                               of Gaussians outside its view unchanged */
    uint64_t max_instances; /* (Gaussian, tile) pairs at a time; a view with more is rendered in bands; 0: no bound */
    size_t max_gaussians;           /* rows that density control may have at any moment, before it prunes: new Gaussians
                                       that do not fit are refused, the smallest gradients first; 0: no bound */
    splat_coarse_options coarse;    /* NONE, with the defaults above; this struct never grows: new options of coarse
                                       training are fields at the end of the outer struct */
    const splat_strategy *strategy; /* NULL: the default one */
    const splat_regularizer *regularizer; /* losses in addition to that of the photo; NULL, or those of coarse training,
                                             which splat_train_options_init_coarse sets */
    const splat_binding *binding;   /* the mesh that the Gaussians follow; NULL: they are free; set by
                                       splat_train_options_init_refine */
    splat_refine_options refine;    /* options of the binding */
    float sdf_range;                /* 8.58: coarse training with SDF: samples farther than this many deviations from
                                       the depth map do not count */
    float prune_keep;               /* 0.4: coarse training: the least share of the Gaussians whose opacities are pushed
                                       to 1; 0: those above 1/2, as SuGaR does (with prune_opacity 0.5) */
    float flat_factor;              /* 0, over the extent: coarse training: weight of the thickness of the Gaussians */
    float flat_ratio;               /* 0.2: with flat_factor: the allowed ratio of the smallest scale to the middle one;
                                       0: all thickness is penalised */
    int trim_views;                 /* 0: coarse training: Gaussians that are in front in fewer training views are
                                       removed with the transparent ones */
    float geo_factor;               /* 0.01: MULTIVIEW: weight of the distance, in pixels, after a way to the
                                       neighbour's depth and back */
    float ncc_factor;               /* 0.05: MULTIVIEW: weight of the difference of both photos on pixels' planes */
    size_t n_patches;               /* 16,384: MULTIVIEW: pixels per step around which photos are compared */
    bool dn_edges;                  /* depth-normal consistency counts less at edges of the photo */
    float surface_fade;             /* 0: coarse training: the last part of the steps after regularize_after, in which
                                       dn_factor, geo_factor and ncc_factor fall to 0 */
    float init_opacity;             /* 0.1: opacity of the first Gaussians */
    float init_scale;               /* 1: their standard deviations, over the distance of their neighbours */
    float opacity_reg;              /* 0: weight of the mean opacity of all Gaussians as a loss */
    float scale_reg;                /* 0: the same for the mean standard deviation, scene units */
    float noise_lr;                 /* 500,000: "mcmc": factor of the noise on positions, times their learning rate */
    int may_give_up;                /* 0: SPLAT_GIVE_UP_* that the run may give up, one after the other and for good,
                                       when growth would not fit below the context's memory limit otherwise; with LISTS
                                       the remaining memory sets max_instances. A plan sets this field */
    bool moments_offload;           /* GPU: as sh_offload, but only the moments go to pinned host memory: half of the
                                       bytes, and less than half of the traffic */
    float lr_final_factor;          /* 1: after lr_decay_from_iter all learning rates but that of the positions fall
                                       exponentially, until they are this part of themselves at
                                       position_lr_max_steps */
    int lr_decay_from_iter;         /* 15000 */
    float sh_rest_lr;               /* 0: learning rate of the SH above degree 0; 0: feature_lr/20 */
    bool exposure;                  /* find exposure and white balance of each training photo, and vignetting of each
                                       camera; the splat is then the neutral scene: docs/method.md 8.1 */
    float depth_l1_weight_init;     /* 1: first weight of the loss against a scene's maps of inverse depth (`depths`) */
    float depth_l1_weight_final;    /* 0.01: its last weight, exponentially between; init 0: no such loss */
    float sfm_depth_weight;         /* 0.01: weight of the loss against the depth of a scene's points (`sfm_depth`),
                                       until densify_until_iter */
    float pixels_per_gaussian;      /* 90: density control keeps at most one Gaussian for this many pixels of the
                                       training photos, each counted as at least 405,000, and at least one for each
                                       point; 0: no limit. The lower of this and target_gaussian_count holds */
    float late_prune_opacity;       /* 0.05: after densification, Gaussians below this opacity are removed; 0: none */
    bool free_space;                /* false. Gaussians before half of the depth where the points in a photo begin are
                                       removed (docs/method.md 10.2) */
    bool dense_start;               /* false. Where the scene has fewer points than a quarter of the most Gaussians,
                                       places where photos match are first Gaussians, too (docs/method.md 3.1) */
    bool begins_later;              /* false. A checkpoint or a splat is loaded before the first step, so photos are not
                                       matched for the first Gaussians */
    float dropout;                  /* 0: the share of the Gaussians that the last step of a training with up to 30
                                       photos leaves out; with up to 80 photos less (docs/method.md 10.5) */
    splat_comm *ranks;              /* the ranks that train together (splatsmith/distributed.h). Each has a trainer with
                                       the same scene and options, and its own view in each step
                                       (docs/distributed.md). Borrowed. NULL: one rank */
    bool dome;                      /* false. The sky of the photos, a colour of each direction, lies behind the
                                       Gaussians and is trained with them (docs/method.md 8.6) */
} splat_train_options;

/* The results of a step. On a GPU the host does not wait for the device: loss, l1, ssim and the counts of the view are
 * those of the step before. At the first step, and after a step that memory did not allow, they are not known: l1, ssim
 * and the counts are 0, and the loss has no meaning. All other fields, and on the CPU all fields, belong to the step
 * just done. */
typedef struct splat_step_info {
    size_t size;
    int iteration;       /* 1-based, of the step just done */
    float loss;          /* (1 - lambda_dssim) l1 + lambda_dssim (1 - ssim) */
    float l1, ssim;
    size_t n_visible, n_instances, n_degenerate; /* Gaussians; (Gaussian, tile) pairs; Gaussians with broken numbers */
    size_t n_gaussians;
    int active_sh_degree;
    size_t view_index;   /* index in the scene of the step's photo */
    int n_views;         /* views of the step: 1, or a batch. Of a batch, the loss and the counts are means, iteration
                            is that of the last view, and view_index that of the first */
    double step_ms;      /* duration of the call; on a GPU kernels run longer */
    size_t n_added, n_removed; /* Gaussians added and removed by density control in this step */
    size_t n_refused;          /* Gaussians that density control wanted and memory did not allow */
} splat_step_info;

void splat_step_info_init_sized(splat_step_info *info, size_t size);
#define splat_step_info_init(info) splat_step_info_init_sized(info, sizeof *(info))

void splat_train_options_init_sized(splat_train_options *options, size_t size);
#define splat_train_options_init(options) splat_train_options_init_sized(options, sizeof *(options))
/* Sets a field, or one of `coarse` and `refine`, by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_train_options_set(splat_train_options *options, const char *name, const char *text,
                                     splat_error *error);
/* The same with a strategy (NULL: "default") and its own defaults: the PRESETs of train_options.def, which
 * docs/options.md lists. `splatsmith train` begins with these. splat_train_options_init has the defaults of "classic",
 * with a cap by pixels_per_gaussian; coarse training and refinement build on them. */
void splat_train_options_init_strategy_sized(splat_train_options *options, size_t size, const splat_strategy *strategy);
#define splat_train_options_init_strategy(options, strategy)                                                           \
    splat_train_options_init_strategy_sized(options, sizeof *(options), strategy)
/* Sets iterations (>= 1). With the strategies default, fast and high position_lr_max_steps, densify_from_iter,
 * densify_until_iter, opacity_reset_interval and lr_decay_from_iter keep their shares of the steps; fewer steps also
 * lower densification_interval, down to 25. Set any of these afterwards. */
void splat_train_options_set_steps(splat_train_options *options, int iterations);
/* Lowers iterations, as splat_train_options_set_steps, to 600 for each of n_train training photos, but not below 7,000:
 * more steps learn few photos by heart. Only the strategies default, fast and high. `splatsmith train` does so unless
 * `--iterations` is given. */
void splat_train_options_fit_photos(splat_train_options *options, size_t n_train);
/* Lowers sh_rest_lr in proportion to n_train training photos below 250, but not below 0.000125: few photos show a place
 * from few directions. Only the strategies default, fast and high. `splatsmith train` does so unless `--sh_rest_lr` is
 * given. */
void splat_train_options_fit_rates(splat_train_options *options, size_t n_train);
/* The same for coarse training: until 15000 by its clock, without density control. With MULTIVIEW estimation_factor and
 * normal_factor are 0, dn_factor 0.015, flat_factor 400, flat_ratio 0 and surface_fade 0.7. */
void splat_train_options_init_coarse_sized(splat_train_options *options, size_t size,
                                           splat_regularization regularization);
#define splat_train_options_init_coarse(options, regularization)                                                       \
    splat_train_options_init_coarse_sized(options, sizeof *(options), regularization)
/* Checks the options, as splat_trainer_create does. Errors: ARGUMENT (an option is out of its range, or two contradict
 * each other). */
splat_status splat_train_options_check(const splat_train_options *options, splat_error *error);
/* Creates a trainer with a model made from the scene's points. Borrows scene and context until splat_trainer_destroy.
 * The caller owns *trainer. Errors: ARGUMENT, FORMAT, MEMORY, DEVICE, RANK. */
splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **trainer, splat_error *error);
void splat_trainer_destroy(splat_trainer *trainer);

/* ---------------------------------------------------------------- planning memory */

typedef struct splat_plan_options {
    size_t size;
    size_t limit_bytes;      /* limit of the whole process on the device; 0: the context's */
    bool for_gpu;            /* plan for a GPU although the context runs on the CPU */
    size_t overhead_bytes;   /* bytes of the driver's context; 0: the context's own, or a usual figure with for_gpu */
    size_t n_gaussians;      /* the count to plan for, which also decides the form at the start; 0:
                                target_gaussian_count, or an estimate by the scene's points */
    const splat_train_options *afterwards; /* options of a later stage that continues from the result with the same
                                storages, as from splat_train_options_init_coarse; NULL: none */
    bool keep_photos, keep_sh_storage, keep_optimizer_storage, keep_sh_offload; /* the user's choices: the plan keeps
                                                                                   them */
    size_t n_vertices;       /* vertices of a mesh with bound Gaussians; 0: an estimate by their number */
    size_t n_ranks;          /* ranks that train together: rows and limit are those of each rank, counts
                                those of all; nothing goes to host memory. 0 and 1: one rank */
} splat_plan_options;

typedef struct splat_plan_row {
    const char *owner, *name; /* "parameters", "spherical harmonics, 16-bit" ... */
    size_t bytes;
} splat_plan_row;

typedef struct splat_plan_choice {
    const char *option;       /* "`sh_storage float16`" */
    const char *cost;         /* the cost in words */
    size_t saved_bytes;       /* saving at the count that fits; 0 for target_gaussian_count */
} splat_plan_choice;

typedef struct splat_plan_step {
    const char *option, *cost;  /* as above */
    size_t n_gaussians;         /* the most Gaussians that fit without this choice */
} splat_plan_step;

#define SPLAT_PLAN_ROWS 17
#define SPLAT_PLAN_CHOICES 8

typedef struct splat_plan {
    size_t size;
    size_t limit_bytes;
    size_t n_gaussians;          /* number of Gaussians of the plan */
    bool estimated;              /* n_gaussians comes from the number of points */
    size_t n_rows;
    splat_plan_row rows[SPLAT_PLAN_ROWS]; /* memory of a training with max_gaussians rows */
    size_t total_bytes;          /* sum of the rows, <= limit_bytes */
    size_t evaluation_bytes;     /* the process during an evaluation; with several ranks rank 0, which then has all
                                    rows, as in a save */
    size_t render_bytes;         /* a process that only renders the trained splat */
    size_t afterwards_bytes;     /* the stage in `afterwards`, with the plan's choices for it; 0: none */
    size_t host_bytes;           /* pinned host memory */
    size_t n_choices;
    splat_plan_choice choices[SPLAT_PLAN_CHOICES];
    /* The start of a run that grows, and the measures it then takes, in this order; empty for a run that does not
     * grow. */
    size_t start_gaussians, start_bytes;
    size_t n_steps;
    splat_plan_step steps[SPLAT_PLAN_CHOICES];
} splat_plan;

void splat_plan_options_init_sized(splat_plan_options *options, size_t size);
#define splat_plan_options_init(options) splat_plan_options_init_sized(options, sizeof *(options))
void splat_plan_init_sized(splat_plan *plan, size_t size);
#define splat_plan_init(plan) splat_plan_init_sized(plan, sizeof *(plan))
/* Plans the training of a scene within a memory limit. To save memory it gives up, in this order: photos on the device;
 * lists of whole views; 32 bits of SH; 32 bits of moments; the moments of SH on the device, and SH themselves (GPU);
 * Gaussians. A run that grows begins with the cheapest form that holds the scene's points (or options->n_gaussians),
 * and gives up more when density control needs it (may_give_up), because nobody knows how far a scene grows. A run that
 * does not grow (coarse training, a refinement) gets the cheapest form for its n_gaussians. This is arithmetic: nothing
 * is allocated. chosen: receives `wanted` with the plan's choices, to train with; it may be `wanted` itself, or NULL.
 * chosen and plan must be initialised (_init, or an earlier call); they change only on success. Errors: MEMORY (not
 * even the smallest model fits; the message names the least limit), ARGUMENT. */
splat_status splat_plan_make(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                             const splat_plan_options *options, splat_train_options *chosen, splat_plan *plan,
                             splat_error *error);

/* Makes the splat that a training starts from: a Gaussian on each point of the scene (at most target_gaussian_count),
 * with SH degree 0 and without a 3D filter. options: NULL, or init_opacity, init_scale, kernel_size and that count,
 * which are used. The caller owns *model (splat_model_destroy). Errors: ARGUMENT, FORMAT (fewer than 4 points), MEMORY,
 * DEVICE. */
splat_status splat_model_from_scene(splat_context *context, const splat_scene *scene,
                                    const splat_train_options *options, splat_model **model, splat_error *error);

/* ---------------------------------------------------------------- the trainer, step by step */

/* Trains one iteration and fills *info, which its _init or an earlier step has filled (NULL allowed). Errors: MEMORY
 * (without a memory limit), NUMERIC (the loss is not finite; the model did not change), DEVICE, those of reading a
 * photo; ARGUMENT (info was not initialised; no step is made). */
splat_status splat_trainer_step(splat_trainer *trainer, splat_step_info *info, splat_error *error);
/* Returns the model in training; borrowed until the trainer is destroyed; every step changes it. With several ranks it
 * has only a part of the Gaussians during the training (splat_trainer_gather). */
splat_model *splat_trainer_get_model(splat_trainer *trainer);
int splat_trainer_get_iteration(const splat_trainer *trainer);

/* ---------------------------------------------------------------- several ranks
 *
 * Rank 0 uses its trainer as a single rank does: it loads, steps, saves and runs. The other ranks call
 * splat_trainer_serve, or splat_trainer_run, which does the same there. */

/* Takes part in the work of rank 0 until rank 0 destroys its trainer. Errors: ARGUMENT (called on rank 0), RANK
 * (another rank failed), those of a step: all ranks fail together. */
splat_status splat_trainer_serve(splat_trainer *trainer, splat_error *error);
/* On rank 0: collects all Gaussians in the model of this trainer, until the next step. Checkpoints, and the saves and
 * evaluations of a run, need no call. A no-op if the Gaussians are here, or with one rank. Errors: MEMORY, RANK. */
splat_status splat_trainer_gather(splat_trainer *trainer, splat_error *error);

/* On rank 0, or with one rank: splat_model_evaluate for the model in training. The ranks share the views, each with its
 * part of the Gaussians; only a job that names exposures first collects all Gaussians on rank 0. */
splat_status splat_trainer_evaluate(splat_trainer *trainer, const splat_view_job *job, splat_metrics *mean,
                                    splat_error *error);

/* On rank 0, or with one rank: splat_model_get_mean_opacity over the Gaussians of all ranks. Errors: DEVICE, MEMORY,
 * RANK. */
splat_status splat_trainer_get_mean_opacity(splat_trainer *trainer, double *mean, splat_error *error);

/* Milliseconds of each stage of the step, summed over `steps` steps. */
typedef struct splat_stage_times {
    double data, project, bin, raster, loss, raster_backward, project_backward;
    double send, send_back; /* exchanges between ranks: Gaussians of a view, their gradients */
    int steps;
} splat_stage_times;

/* Bytes that a rank holds on its device, by what they are for (splat_memory_category); moments are the optimizer's. */
typedef struct splat_rank_memory {
    size_t parameters, optimizer, statistics, activations, buffers, images, other;
} splat_rank_memory;

/* The work of a rank since its trainer was made; means over its steps. */
typedef struct splat_rank_info {
    size_t peak_bytes;             /* the most memory that the rank's backend held */
    double n_visible, n_instances; /* blended by the rank; equal values mean a balanced load */
    double exchange_ms;            /* host time in exchanges with other ranks, most of it waiting; on GPUs without the
                                      time of the transfers */
    double sent_bytes;             /* bytes sent to other ranks */
    splat_stage_times stages;      /* mean of the steps whose stages rank 0 measured */
    splat_rank_memory memory;      /* memory at this moment */
} splat_rank_info;
/* On rank 0, between steps: describes the first `capacity` ranks. *n: the number of ranks, 0 without ranks. Errors:
 * ARGUMENT (called on another rank), RANK. */
splat_status splat_trainer_get_ranks(splat_trainer *trainer, splat_rank_info *ranks, size_t capacity, size_t *n,
                                     splat_error *error);

/* Ranks 1 .. n - 1 of n that are threads of this process. */
typedef struct splat_workers splat_workers;
/* Starts the workers. Each opens a context as `context` says, on GPU context->gpu + its rank (on the CPU with
 * context->threads threads), creates a trainer on the shared scene, and serves. *comm belongs to rank 0: the caller
 * creates the trainer of rank 0 with it as options->ranks and otherwise the same options. That call also returns an
 * error of a worker (RANK). All arguments are borrowed until splat_workers_join. Errors: ARGUMENT (n), MEMORY. */
splat_status splat_workers_start(const splat_context_options *context, splat_scene *scene,
                                 const splat_train_options *options, int n, splat_workers **workers, splat_comm **comm,
                                 splat_error *error);
/* Waits for the workers and closes *comm. Call it after rank 0's trainer is destroyed and before the scene is closed.
 * NULL is allowed. */
void splat_workers_join(splat_workers *workers);

/* Turns the measurement of stages on or off (at first off). Turning it on clears the sums. The sums lack the last two
 * steps. */
void splat_trainer_measure_stages(splat_trainer *trainer, bool on);
/* Fills *times with the sums since the last call of this function. */
void splat_trainer_take_stage_times(splat_trainer *trainer, splat_stage_times *times);

/* Starts from a splat instead of the scene's points: reads parameters and filter from a PLY of the trainer's SH degree,
 * and clears the moments. The next step is iteration + 1. On error the trainer is unchanged. */
splat_status splat_trainer_load_model(splat_trainer *trainer, const char *ply_path, int iteration, splat_error *error);

/* Begins coarse training: reads the parameters of a splat (any PLY of the 3DGS family, or a checkpoint), fuses its 3D
 * filter into scales and opacities, and clears the moments. The splat's own mode (Mip filter or classic) is used for
 * rendering from then on. SH bands above the trainer's degree are cut off. Errors: ARGUMENT (a trainer without coarse
 * options), those of splat_model_load, FORMAT (no training view sees the splat), NUMERIC (too few Gaussians). After an
 * error the trainer must not be used any more. */
splat_status splat_trainer_start_coarse(splat_trainer *trainer, const char *path, splat_error *error);

/* Sets the exposures of the photos, by their names, from an exposure.json; for a trainer with `exposure`. Errors:
 * ARGUMENT, IO, FORMAT, MEMORY; the trainer is unchanged then. */
splat_status splat_trainer_load_exposures(splat_trainer *trainer, const char *path, splat_error *error);
/* Sets the colours of the sky from a sky.safetensors; for a trainer with `dome`. Errors: ARGUMENT, IO, FORMAT, MEMORY;
 * the trainer is unchanged then. */
splat_status splat_trainer_load_sky(splat_trainer *trainer, const char *path, splat_error *error);

/* A loss in addition to that of the photo, or a figure about one. */
typedef struct splat_loss {
    const char *name;  /* "entropy" */
    const char *label; /* name of the curve: "opacity entropy" */
    const char *tag;   /* tag in TensorBoard: "Loss/component_entropy_regularization"; NULL: none */
    double value;      /* value without the factor; NaN: the step lacks this loss */
    double factor;     /* weight in the total; 0: a figure, not a loss */
    bool is_figure;
} splat_loss;

#define SPLAT_MAX_LOSSES 16
/* Fills losses with those of the last step: first losses, then figures, in the same order at every step. Waits for the
 * device. *n: 0 without a regularizer and without known depth. */
splat_status splat_trainer_get_losses(const splat_trainer *trainer, splat_loss losses[SPLAT_MAX_LOSSES], size_t *n,
                                      splat_error *error);

/* Splits Gaussians, the first ones first, until there are n: a larger model to measure with. */
splat_status splat_trainer_grow_to(splat_trainer *trainer, size_t n, splat_error *error);

/* Saves everything that a run needs to continue bit for bit: parameters, moments, statistics, filter, iteration,
 * options, split. (Random numbers and the order of views are functions of seed and iteration.) The file describes
 * itself (docs/files.md). It is written atomically and in pieces, with 4 MB of host memory, after a check of the room
 * on the disk. Errors: IO (the old file stays), MEMORY, DEVICE; UNSUPPORTED after an operation that failed halfway. */
splat_status splat_trainer_save_checkpoint(splat_trainer *trainer, const char *path, splat_error *error);
/* Replaces the state of a trainer. The checkpoint must belong to the same training views and seed (else ARGUMENT, with
 * the difference). Other options remain the trainer's; one notice lists those that changed. A lower SH degree than the
 * file's cuts off bands and their moments, also for the next checkpoint; a higher one is refused. Another storage is
 * converted, rounding to nearest. Also reads chkpntN.pth of the published trainers, which do not name their scene.
 * Everything is checked before the trainer changes; on error it is unchanged, unless the disk fails after the check. */
splat_status splat_trainer_load_checkpoint(splat_trainer *trainer, const char *path, splat_error *error);

typedef enum splat_event_kind {
    SPLAT_EVENT_STEP = 0,       /* `step` is set */
    SPLAT_EVENT_EVALUATION = 1, /* `metrics` of `set` at `step.iteration` are set */
    SPLAT_EVENT_SAVED = 2,      /* `path` is the PLY that was written */
    SPLAT_EVENT_CHECKPOINT = 3  /* path */
} splat_event_kind;

typedef struct splat_event {
    splat_event_kind kind;
    const splat_step_info *step;
    splat_view_set set;
    const splat_metrics *metrics;
    const char *path;
    size_t training_peak_bytes, evaluation_peak_bytes; /* EVALUATION: the most that named blocks on the device held so
                                                          far while steps were made, and while views were measured */
} splat_event;

typedef void (*splat_event_function)(void *user, const splat_event *event);

/* The tags of the curves: see docs/files.md. */
typedef enum splat_tensorboard_kind {
    SPLAT_TENSORBOARD_NONE = 0,
    SPLAT_TENSORBOARD_DEFAULT = 1,
    SPLAT_TENSORBOARD_UPSTREAM = 2 /* those of the published trainer */
} splat_tensorboard_kind;

typedef struct splat_run_options {
    size_t size;
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
    const char *command;               /* the command line, for TensorBoard and the report; NULL allowed */
    int profile_interval;              /* a memory sample every so many steps, in <model_path>/profiles; 0: none */
    const int *snapshot_iterations;    size_t n_snapshot_iterations; /* the list of all blocks after these */
    bool delete_first;                 /* true: delete the contents of model_path after the first step of this run;
                                          false: move the files of an earlier run to a folder in it */
    bool only_checkpoint;              /* after the last iteration save a checkpoint instead of the splat */
    splat_lpips *lpips;                /* evaluations measure LPIPS, too; NULL: they do not; borrowed */
    splat_event_function event;        /* NULL allowed */
    void *event_user;
    double checkpoint_seconds;         /* checkpoint_interval writes none within so many seconds after the start or the
                                          last one; 0 */
} splat_run_options;

void splat_run_options_init_sized(splat_run_options *options, size_t size);
#define splat_run_options_init(options) splat_run_options_init_sized(options, sizeof *(options))
/* Trains to options.iterations and writes the folder layout of 3DGS: cfg_args, cameras.json, input.ply, split.json,
 * point_cloud/iteration_N/point_cloud.ply and point_cloud_fused.ply, chkpntN.splatsmith. The folder is locked during
 * the run. Files of an earlier run move to earlier_<date>_<time> in it; they move back if this run ends before its
 * first step. With a start_checkpoint at the last iteration or beyond this is a no-op.
 *
 * A requested stop saves the splat and a checkpoint and returns SPLAT_ERROR_STOPPED. An error that leaves the state
 * sound (MEMORY, NUMERIC, IO, FORMAT) also leaves a checkpoint. A checkpoint that cannot be written is a warning; after
 * the second in a row the run saves the splat and returns SPLAT_ERROR_CHECKPOINT. Errors also: IO (another run has the
 * folder), those of a step. */
splat_status splat_trainer_run(splat_trainer *trainer, const splat_run_options *options, splat_error *error);
/* Facts of a run that it keeps when it resumes. */
typedef struct splat_run_begun {
    const splat_strategy *strategy; /* NULL: there is no checkpoint, or this program lacks its strategy */
    bool exposure, dome, dense_start;
} splat_run_begun;
/* Returns the facts of the checkpoint that options->start_checkpoint names; all zero without one. */
splat_run_begun splat_run_find_begun(const splat_run_options *options);
/* Ends the run after the step in progress. Async-signal-safe. */
void splat_trainer_request_stop(splat_trainer *trainer);
/* Makes the run save a checkpoint and the splat after the step in progress, and continue. A file that cannot be written
 * is a warning. Async-signal-safe. */
void splat_trainer_request_save(splat_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
