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

/* SuGaR's coarse training (Guedon and Lepetit, CVPR 2024): a trained splat is trained on with losses that lay its
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
    int first_iteration;     /* 7000: the clock before the first step, whatever splat is loaded; all rates, windows and
                                `iterations` count by this clock */
    int regularize_after;    /* 9000: until here opacities are pushed to 0 or 1; then those below prune_opacity go, and
                                the losses of the surface begin. Not before first_iteration */
    float entropy_factor;    /* 0.1 */
    float prune_opacity;     /* 0.1 */
    float estimation_factor; /* 0.2: of the density or SDF loss */
    float normal_factor;     /* 0.2: of the loss on normals of neighbours */
    float dn_factor;         /* 0.05: of depth-normal consistency */
    size_t n_samples;        /* 50,000 points a step, drawn in the visible Gaussians */
    int neighbor_interval;   /* 500: steps between two searches of the nearest neighbours */
    bool full_res_normals;   /* depth-normal consistency at the size of the photos instead of half of it */
} splat_coarse_options;

/* Of Gaussians bound to a mesh: splatsmith/refine.h. */
typedef struct splat_refine_options {
    int gaussians_per_triangle;       /* 1, 3, 4 or 6; 1 */
    float normal_consistency_factor;  /* 0.1: of the loss on the normals of neighbouring triangles */
    float foreground_radius;          /* half the diagonal of what is in front, scene units; 0: the scene's extent */
} splat_refine_options;

typedef struct splat_strategy splat_strategy;       /* opaque: how Gaussians come and go */
typedef struct splat_regularizer splat_regularizer; /* opaque: losses beside that of the photo */
typedef struct splat_binding splat_binding;         /* opaque: what Gaussians follow from */
/* "default": the adaptive density control of 3D Gaussian Splatting, up to what the photos tell of, after which what is
 * nearly transparent goes; "classic": the same as it was published, without either; "fast": classic with a low cap;
 * "mcmc": a fixed number of Gaussians that move to where they are of use (3DGS as Markov Chain Monte Carlo). NULL:
 * there is none of that name. */
const splat_strategy *splat_strategy_find(const char *name);

/* What a run can do without to save memory, in the order in which it is given up. */
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
    splat_coarse_options coarse;    /* NONE, with the defaults above; it never grows: what is added to coarse training
                                       goes to the end of this struct */
    const splat_strategy *strategy; /* NULL: the default one */
    const splat_regularizer *regularizer; /* losses beside that of the photo: NULL, or that of coarse training, which
                                       splat_train_options_init_coarse sets */
    const splat_binding *binding;   /* what the Gaussians follow from instead of being free; NULL: nothing, or what
                                       splat_train_options_init_refine sets */
    splat_refine_options refine;    /* with such a binding */
    float sdf_range;                /* 8.58: of coarse training with SDF: samples farther than so many deviations from
                                       the depth map do not count */
    float prune_keep;               /* 0.4: of coarse training, the share of the Gaussians that opacities are pushed to
                                       1 of, at least; 0: of those above 1/2, as SuGaR does (with prune_opacity 0.5) */
    float flat_factor;              /* 0, over the extent: of coarse training, of the thickness of the Gaussians */
    float flat_ratio;               /* 0.2: with it, the smallest scale over the middle one that is allowed; 0: any
                                       thickness is too much */
    int trim_views;                 /* 0: of coarse training, Gaussians that stand in front in fewer training views go
                                       with the transparent ones */
    float geo_factor;               /* 0.01: of MULTIVIEW, of the pixels to where the neighbour's depth leads */
    float ncc_factor;               /* 0.05: of MULTIVIEW, of the difference of both photos across pixels' planes */
    size_t n_patches;               /* 16,384: of MULTIVIEW, pixels a step around which photos are compared */
    bool dn_edges;                  /* depth-normal consistency counts less at edges of the photo */
    float surface_fade;             /* 0: of coarse training, the last part of the steps after regularize_after in which
                                       the weights of dn_factor, geo_factor and ncc_factor fall to nothing */
    float init_opacity;             /* 0.1: of the first Gaussians */
    float init_scale;               /* 1: their standard deviations, over the distance of their neighbours */
    float opacity_reg;              /* 0: weight of the mean opacity as a loss, of all Gaussians */
    float scale_reg;                /* 0: of the mean standard deviation, scene units */
    float noise_lr;                 /* 500,000: with "mcmc", of the noise on positions, times their learning rate */
    int may_give_up;                /* 0: SPLAT_GIVE_UP_* that are given up, one after the other and for good, when the
                                       context has a memory limit and growth would not fit below it otherwise; with
                                       LISTS max_instances is set by what is left. A plan sets it */
    bool moments_offload;           /* GPU: of what sh_offload puts into pinned host memory, the moments alone: half of
                                       the bytes, and less than half of the traffic */
    float lr_final_factor;          /* 1: of all learning rates but that of the positions: they fall, from what they
                                       are after lr_decay_from_iter, exponentially to this part of it at
                                       position_lr_max_steps, and stay there */
    int lr_decay_from_iter;         /* 15000 */
    float sh_rest_lr;               /* 0: of the SH above degree 0; 0 stands for feature_lr/20 */
    bool exposure;                  /* exposure and white balance of each training photo, and vignetting of each camera,
                                       are found beside the splat, which is the neutral scene: docs/method.md 8.1 */
    float depth_l1_weight_init;     /* 1: of the loss against a scene's maps of inverse depth (`depths`), at first */
    float depth_l1_weight_final;    /* 0.01: at the end, exponentially between; init 0: no such loss */
    float sfm_depth_weight;         /* 0.01: of the loss against the depth of a scene's points (`sfm_depth`), until
                                       densify_until_iter */
    float pixels_per_gaussian;      /* 90: density control keeps no more Gaussians than one for so many pixels of the
                                       training photos, each counted as 405,000 at least, but as many as there are
                                       points; 0: no limit. Beside target_gaussian_count, which may be lower */
    float late_prune_opacity;       /* 0.05: after densification, Gaussians less opaque than this go; 0: none */
    splat_comm *ranks;              /* those that train together (splatsmith/distributed.h): each has a trainer, of the
                                       same scene and options, and a view of its own in each step
                                       (docs/distributed.md); borrowed. NULL, or one rank: alone */
} splat_train_options;

/* What a step tells. A GPU works while the host goes on, and a step waits only for the one before: on a GPU the loss
 * and the counts of the view are those of the step before. At the first step, and after one that memory did not allow,
 * none are known: l1, ssim and the counts are 0, and the loss says nothing. All else, and everything on the CPU, is of
 * the step just done. */
typedef struct splat_step_info {
    int iteration;       /* 1-based, of the step just done */
    float loss;          /* (1 - lambda_dssim) l1 + lambda_dssim (1 - ssim) */
    float l1, ssim;
    size_t n_visible, n_instances, n_degenerate; /* Gaussians; (Gaussian, tile) pairs; Gaussians with broken numbers */
    size_t n_gaussians;
    int active_sh_degree;
    size_t view_index;   /* in the scene, of the photo of the step just done */
    int n_views;         /* that the step was of: 1, or those of a batch, of which the loss and the counts are means,
                            iteration that of the last view, and view_index that of the first */
    double step_ms;      /* that the call took: on a GPU not the time of its kernels */
    size_t n_added, n_removed; /* by density control in this step */
    size_t n_refused;          /* Gaussians that density control wanted and memory did not allow */
} splat_step_info;

void splat_train_options_init_sized(splat_train_options *options, size_t size);
#define splat_train_options_init(options) splat_train_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: and those of its parts `coarse` and `refine`: "options" in core.h. */
splat_status splat_train_options_set(splat_train_options *options, const char *name, const char *text,
                                     splat_error *error);
/* The same with a strategy (NULL: the default one) and what it changes. "classic": pixels_per_gaussian and
 * late_prune_opacity 0. "fast": these, iterations 20000 and, as parts of them, position_lr_max_steps 20000,
 * densify_until_iter 10000, lr_decay_from_iter 14000; lr_final_factor 0.1, sh_rest_lr 0.0005, percent_dense 0.001,
 * target_gaussian_count 300,000. "mcmc": those two 0, densify_until_iter 25000, target_gaussian_count 1,000,000 (not
 * 0), init_opacity 0.5, init_scale 0.1, opacity_reg and scale_reg 0.01, lr_final_factor 0.05. */
void splat_train_options_init_strategy_sized(splat_train_options *options, size_t size, const splat_strategy *strategy);
#define splat_train_options_init_strategy(options, strategy)                                                           \
    splat_train_options_init_strategy_sized(options, sizeof *(options), strategy)
/* The same for coarse training: until 15000 by its clock, without density control. With MULTIVIEW estimation_factor and
 * normal_factor are 0, dn_factor 0.015, flat_factor 400, flat_ratio 0 and surface_fade 0.7. */
void splat_train_options_init_coarse_sized(splat_train_options *options, size_t size,
                                           splat_regularization regularization);
#define splat_train_options_init_coarse(options, regularization)                                                       \
    splat_train_options_init_coarse_sized(options, sizeof *(options), regularization)
/* ARGUMENT when an option is out of its range, or two contradict each other; splat_trainer_create asks it, too. */
splat_status splat_train_options_check(const splat_train_options *options, splat_error *error);
/* Initialises a model from the scene's points. Borrows scene and context. Owned by the caller. */
splat_status splat_trainer_create(splat_context *context, splat_scene *scene, const splat_train_options *options,
                                  splat_trainer **trainer, splat_error *error);
void splat_trainer_destroy(splat_trainer *trainer);

/* ---------------------------------------------------------------- planning memory */

typedef struct splat_plan_options {
    size_t size;
    size_t limit_bytes;      /* of the whole process on the device; 0: the context's */
    bool for_gpu;            /* plan for a GPU although the context runs on the CPU */
    size_t overhead_bytes;   /* of the driver's context; 0: the context's own, or a usual figure with for_gpu */
    size_t n_gaussians;      /* to plan for, and the form to begin with; 0: the plan's figures are those of
                                target_gaussian_count, or of an estimate from the scene's points */
    const splat_train_options *afterwards; /* of a stage that will train the result on with the same storages, as
                                splat_train_options_init_coarse makes them; NULL: none */
    bool keep_photos, keep_sh_storage, keep_optimizer_storage, keep_sh_offload; /* the user chose: not to be changed */
    size_t n_vertices;       /* of the mesh that Gaussians are bound to; 0: as many as their number lets expect */
    size_t n_ranks;          /* that train together: the rows are those of each, which has its limit;
                                counts are of all. Nothing goes to host memory. 0 and 1: one */
} splat_plan_options;

typedef struct splat_plan_row {
    const char *owner, *name; /* "parameters", "spherical harmonics, 16-bit" ... */
    size_t bytes;
} splat_plan_row;

typedef struct splat_plan_choice {
    const char *option;       /* "`sh_storage float16`" */
    const char *cost;         /* what it costs, in words */
    size_t saved_bytes;       /* at the count that fits; 0 of target_gaussian_count, which sets it */
} splat_plan_choice;

typedef struct splat_plan_step {
    const char *option, *cost;  /* as above */
    size_t n_gaussians;         /* the most that fit without it */
} splat_plan_step;

#define SPLAT_PLAN_ROWS 17
#define SPLAT_PLAN_CHOICES 8

typedef struct splat_plan {
    size_t size;
    size_t limit_bytes;
    size_t n_gaussians;          /* planned for */
    bool estimated;              /* n_gaussians comes from the number of points */
    size_t n_rows;
    splat_plan_row rows[SPLAT_PLAN_ROWS]; /* while training with max_gaussians rows */
    size_t total_bytes;          /* their sum, <= limit_bytes */
    size_t evaluation_bytes;     /* of the process while it evaluates; of several ranks of rank 0, which has all rows
                                    then, and while it saves */
    size_t render_bytes;         /* of a process that only renders the trained splat */
    size_t afterwards_bytes;     /* of the stage that trains all of it on, with what a plan chooses for that; 0: none
                                    was named */
    size_t host_bytes;           /* pinned host memory */
    size_t n_choices;
    splat_plan_choice choices[SPLAT_PLAN_CHOICES];
    /* How a run that grows begins, and what it then gives up, in this order; none of a run that does not grow. */
    size_t start_gaussians, start_bytes;
    size_t n_steps;
    splat_plan_step steps[SPLAT_PLAN_CHOICES];
} splat_plan;

void splat_plan_options_init_sized(splat_plan_options *options, size_t size);
#define splat_plan_options_init(options) splat_plan_options_init_sized(options, sizeof *(options))
void splat_plan_init_sized(splat_plan *plan, size_t size);
#define splat_plan_init(plan) splat_plan_init_sized(plan, sizeof *(plan))
/* How to train a scene within a limit. What is given up, in this order: photos on the device; lists of whole views; 32
 * bits of SH; 32 bits of moments; the moments of SH on the device, and SH themselves (GPU); Gaussians. A run that grows
 * begins with the cheapest form that holds the scene's points (options->n_gaussians, where it is named), and gives up
 * more when density control needs it (may_give_up): how far a scene grows is nobody's guess. What does not grow (coarse
 * training, a refinement) gets the cheapest form for its n_gaussians. Pure arithmetic: nothing is allocated.
 * chosen: as wanted, with all that set, what to train with; it may be `wanted` itself, and NULL when nobody asks. Both
 * it and the plan are as their _init left them, or of an earlier call; they change on success only. Errors: MEMORY when
 * not even the smallest model fits (the message names the least limit), ARGUMENT. */
splat_status splat_plan_make(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                             const splat_plan_options *options, splat_train_options *chosen, splat_plan *plan,
                             splat_error *error);

/* The splat that a training starts from: a Gaussian on each point of the scene (of at most target_gaussian_count),
 * without spherical harmonics, and before its first 3D filter. Of the options (NULL: the defaults) init_opacity,
 * init_scale, kernel_size and that count. Owned by the caller (splat_model_destroy). Errors: ARGUMENT, FORMAT (fewer
 * than 4 points), MEMORY, DEVICE. */
splat_status splat_model_from_scene(splat_context *context, const splat_scene *scene,
                                    const splat_train_options *options, splat_model **model, splat_error *error);

/* ---------------------------------------------------------------- the trainer, step by step */

/* One iteration. info may be NULL. Errors: MEMORY (without a memory limit), NUMERIC (the loss is not finite: the model
 * is as it was before), DEVICE, those of reading a photo. */
splat_status splat_trainer_step(splat_trainer *trainer, splat_step_info *info, splat_error *error);
/* The model being trained; borrowed, valid until the trainer is destroyed, changes with every step. Of several ranks it
 * has a part of the Gaussians while they train (splat_trainer_gather). */
splat_model *splat_trainer_get_model(splat_trainer *trainer);
int splat_trainer_get_iteration(const splat_trainer *trainer);

/* ---------------------------------------------------------------- several ranks
 *
 * Rank 0 is where a trainer is used as ever: it loads, steps, saves and runs. The others call splat_trainer_serve, or
 * splat_trainer_run, which is the same there. */

/* Takes part in what rank 0 does until that destroys its trainer. On rank 0: ARGUMENT. Errors: RANK (another failed),
 * those of a step: all ranks fail together. */
splat_status splat_trainer_serve(splat_trainer *trainer, splat_error *error);
/* On rank 0: all Gaussians come to the model of this trainer, until the next step. Checkpoints, and what a run saves
 * and measures, do without. Nothing where they are here, or there is one rank. Errors: MEMORY, RANK. */
splat_status splat_trainer_gather(splat_trainer *trainer, splat_error *error);

/* On rank 0, or alone: splat_model_evaluate for the model being trained. The views are dealt over the ranks, each with
 * a part of the Gaussians; only jobs that name exposures have all come to rank 0 first. */
splat_status splat_trainer_evaluate(splat_trainer *trainer, const splat_view_job *job, splat_metrics *mean,
                                    splat_error *error);

/* On rank 0, or alone: as splat_model_get_mean_opacity, of the Gaussians of all ranks. Errors: DEVICE, MEMORY, RANK. */
splat_status splat_trainer_get_mean_opacity(splat_trainer *trainer, double *mean, splat_error *error);

/* Milliseconds of each stage of the step, summed over `steps` steps. */
typedef struct splat_stage_times {
    double data, project, bin, raster, loss, raster_backward, project_backward;
    double send, send_back; /* between ranks that have a view each: what a view sees, and its gradients */
    int steps;
} splat_stage_times;

/* Bytes that a rank holds on its device, by what they are for (splat_memory_category); moments are the optimizer's. */
typedef struct splat_rank_memory {
    size_t parameters, optimizer, statistics, activations, buffers, images, other;
} splat_rank_memory;

/* What a rank had to do, since its trainer was made; means over its steps. */
typedef struct splat_rank_info {
    size_t peak_bytes;             /* the most memory of its backend */
    double n_visible, n_instances; /* that it blended: balance is how even they are */
    double exchange_ms;            /* of the host in exchanges with others, most of it waiting; on GPUs without the time
                                      that rows are on their way */
    double sent_bytes;             /* to others */
    splat_stage_times stages;      /* of the steps whose stages rank 0 measured; of shared views rank 0's alone */
    splat_rank_memory memory;      /* now */
} splat_rank_info;
/* On rank 0, between steps: all ranks, the first `capacity` of them into ranks; *n how many there are, 0 alone. Errors:
 * ARGUMENT (another rank), RANK. */
splat_status splat_trainer_get_ranks(splat_trainer *trainer, splat_rank_info *ranks, size_t capacity, size_t *n,
                                     splat_error *error);

/* Ranks 1 .. n - 1 of n that are threads of this process. */
typedef struct splat_workers splat_workers;
/* Starts them: each opens a context as `context` says, on GPU context->gpu + its rank, with its own trainer on the
 * scene, which all share, and serves. *comm is rank 0's: the caller makes the trainer of rank 0 with it as
 * options->ranks and otherwise the same options; what a worker finds wrong is then the error of that (RANK). On the CPU
 * each has context->threads threads. Everything that is given is borrowed until splat_workers_join. Errors: ARGUMENT
 * (n), MEMORY. */
splat_status splat_workers_start(const splat_context_options *context, splat_scene *scene,
                                 const splat_train_options *options, int n, splat_workers **workers, splat_comm **comm,
                                 splat_error *error);
/* Waits for them and closes *comm: after rank 0's trainer is destroyed, and before the scene is closed. NULL is
 * allowed. */
void splat_workers_join(splat_workers *workers);

/* Off at first. Turning it on clears the sums; the last two steps are not in them yet. */
void splat_trainer_measure_stages(splat_trainer *trainer, bool on);
/* The sums since the last call of this function. */
void splat_trainer_take_stage_times(splat_trainer *trainer, splat_stage_times *times);

/* Starts from a splat instead of the scene's points: parameters and filter from a PLY of the trainer's SH degree, fresh
 * moments; the next step is iteration + 1. On error the trainer is unchanged. */
splat_status splat_trainer_load_model(splat_trainer *trainer, const char *ply_path, int iteration, splat_error *error);

/* Coarse training begins: parameters from a splat (any PLY of the 3DGS family, or a checkpoint) with its 3D filter
 * fused into scales and opacities, rendered from then on as the splat asks for (Mip filter or classic); fresh moments.
 * SH bands that the trainer's degree lacks are cut off. Errors: ARGUMENT (a trainer without coarse options), those of
 * splat_model_load, FORMAT (no training view sees the splat), NUMERIC (too few Gaussians). On error the trainer must
 * not be used any more. */
splat_status splat_trainer_start_coarse(splat_trainer *trainer, const char *path, splat_error *error);

/* The exposures of the photos begin as an exposure.json has them, by the photos' names; for a trainer with `exposure`.
 * Errors: ARGUMENT, IO, FORMAT, MEMORY; the trainer is unchanged then. */
splat_status splat_trainer_load_exposures(splat_trainer *trainer, const char *path, splat_error *error);

/* A loss beside that of the photo, or a figure that tells of one. */
typedef struct splat_loss {
    const char *name;  /* "entropy" */
    const char *label; /* of its curve: "opacity entropy" */
    const char *tag;   /* in TensorBoard: "Loss/component_entropy_regularization"; NULL: none */
    double value;      /* without the factor; NaN: not part of the step */
    double factor;     /* with which it is part of the total; 0 of figures */
    bool is_figure;
} splat_loss;

#define SPLAT_MAX_LOSSES 16
/* Those of the last step, losses first, in the same order at every step; waits for the device. *n: 0 without a
 * regularizer and without known depth. */
splat_status splat_trainer_get_losses(const splat_trainer *trainer, splat_loss losses[SPLAT_MAX_LOSSES], size_t *n,
                                      splat_error *error);

/* Splits Gaussians, the first ones first, until there are n: a larger model to measure with. */
splat_status splat_trainer_grow_to(splat_trainer *trainer, size_t n, splat_error *error);

/* Everything needed to go on, bit for bit: parameters, moments, statistics, filter, iteration, options, split. Random
 * numbers and the order of views are functions of seed and iteration. One self-describing file (docs/files.md), written
 * atomically and in pieces: it takes 4 MB of host memory, and room on the disk is checked first. Errors: IO (the
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
    size_t training_peak_bytes, evaluation_peak_bytes; /* EVALUATION: the most that named blocks on the device held so
                                                          far while steps were made, and while views were measured */
} splat_event;

typedef void (*splat_event_function)(void *user, const splat_event *event);

/* Whose tags the curves have: see docs/files.md. */
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
    const char *command;               /* as typed, for TensorBoard and the report; NULL allowed */
    int profile_interval;              /* a memory sample every so many steps, in <model_path>/profiles; 0: none */
    const int *snapshot_iterations;    size_t n_snapshot_iterations; /* the list of all blocks after these */
    bool delete_first;                 /* all that lies in model_path is deleted once the run has made its first step;
                                          false: files of an earlier run are set aside, in a folder there */
    bool only_checkpoint;              /* after the last iteration a checkpoint instead of the splat */
    splat_lpips *lpips;                /* evaluations measure LPIPS, too; NULL: they do not; borrowed */
    splat_event_function event;        /* NULL allowed */
    void *event_user;
} splat_run_options;

void splat_run_options_init_sized(splat_run_options *options, size_t size);
#define splat_run_options_init(options) splat_run_options_init_sized(options, sizeof *(options))
/* Trains to options.iterations with the folder layout of 3DGS: cfg_args, cameras.json, input.ply, split.json,
 * point_cloud/iteration_N/point_cloud.ply and point_cloud_fused.ply, chkpntN.splatsmith. After a requested stop the
 * splat and a checkpoint are saved and SPLAT_ERROR_STOPPED comes back. An error that leaves the state sound (MEMORY,
 * NUMERIC, IO, FORMAT) leaves a checkpoint too. A checkpoint that cannot be written is a warning; after the second in a
 * row the splat is saved and SPLAT_ERROR_CHECKPOINT comes back. The folder is the run's: it is locked (IO when another
 * run is at work there), and what an earlier run left is moved to earlier_<date>_<time> in it, from where it comes back
 * when this run ends before its first step. With a start_checkpoint at the last iteration or beyond nothing is done. */
splat_status splat_trainer_run(splat_trainer *trainer, const splat_run_options *options, splat_error *error);
/* Async-signal-safe: the run ends after the step in progress. */
void splat_trainer_request_stop(splat_trainer *trainer);
/* Async-signal-safe: after the step in progress the run saves a checkpoint and the splat, and goes on. What cannot be
 * written is a warning. */
void splat_trainer_request_save(splat_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
