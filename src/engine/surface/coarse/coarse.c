/* SuGaR's coarse training as the trainer sees it: its options, arrays, losses, curves and start. */
#include "surface/coarse/coarse.h"

#include "base/options.h"
#include "math/density.h"
#include "math/projection.h"
#include "model/files.h"
#include "model/transform.h"
#include "surface/coarse/coarse_multi_view.h"
#include "surface/coarse/coarse_parts.h"
#include "surface/coarse/coarse_prune.h"
#include "surface/coarse/coarse_schedule.h"
#include "surface/coarse/coarse_step.h"
#include "train/parts/regularizer.h"
#include "train/start.h"
#include "train/state.h"
#include "train/train_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static splat_status check(const splat_train_options *o, splat_error *error)
{
    const splat_coarse_options *c = &o->coarse;
    if (c->regularization < SPLAT_REGULARIZE_DENSITY || c->regularization > SPLAT_REGULARIZE_MULTIVIEW)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown regularization %d", (int)c->regularization);
    if (o->densify_until_iter > 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training has no density control: densify_until_iter "
                          "must be 0, not %d", o->densify_until_iter);
    if (o->iterations <= c->first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: iterations must be more, "
                          "not %d", c->first_iteration, o->iterations);
    if (c->regularize_after < c->first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: `regularize_after` must not "
                          "be before it, not %d, or the transparent would never go", c->first_iteration,
                          c->regularize_after);
    return SPLAT_OK;
}

static const splat_extra_array arrays[SPLAT_N_COARSE_ARRAYS] = {
    [SPLAT_COARSE_MEANS] = {"regular.means", 3, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_SCALES] = {"regular.scales", 3, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_ROTATIONS] = {"regular.rotations", 4, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_OPACITIES] = {"regular.opacities", 1, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_NEIGHBORS] = {"neighbors", SPLAT_NEIGHBORS, true, SPLAT_ROWS_CACHED},
};

static splat_loss entropy_of(const splat_trainer *t, const double *r)
{
    bool has_entropy = r && splat_coarse_has_entropy(&t->options, t->iteration);
    return (splat_loss){"entropy", "opacity entropy", "Loss/component_entropy_regularization",
                        has_entropy ? r[SPLAT_COARSE_ENTROPY] : NAN, (double)t->options.coarse.entropy_factor, false};
}

/* A weight as the step just done had it. */
static double faded(const splat_trainer *t, float weight)
{
    return (double)weight * splat_coarse_fade(&t->options, t->iteration);
}

static splat_loss depth_normal_of(const splat_trainer *t, const double *r)
{
    bool has_depth = r && splat_coarse_has_depth_normal(&t->options, t->iteration);
    return (splat_loss){"depth_normal", "depth and normals", "Loss/component_depth_normal_consistency",
                        has_depth ? r[SPLAT_COARSE_DEPTH_NORMAL] : NAN, faded(t, t->options.coarse.dn_factor), false};
}

static splat_loss thickness_of(const splat_trainer *t, const double *r)
{
    bool has_thickness = r && splat_coarse_has_thickness(&t->options, t->iteration);
    return (splat_loss){"thickness", "thickness of the Gaussians", "Loss/component_flattening",
                        has_thickness ? r[SPLAT_COARSE_THICKNESS] : NAN,
                        (double)t->options.flat_factor / (double)t->scene->dataset.extent, false};
}

/* Losses of MULTIVIEW, without those at samples. NaN without a neighbour, or if no pixel agrees. */
static size_t losses_of_pairs(const splat_trainer *t, const double *r, splat_loss list[SPLAT_MAX_LOSSES])
{
    bool has_pair = r && splat_coarse_has_multi_view(&t->options, t->iteration);
    const double *of_pair = has_pair ? r + SPLAT_COARSE_MULTI_VIEW : NULL;
    const splat_loss all[] = {
        entropy_of(t, r),
        {"geometric", "depth of two views", "Loss/component_multi_view_geometric",
         has_pair && of_pair[1] > 0 ? of_pair[0] : NAN, faded(t, t->options.geo_factor), false},
        {"photometric", "photos of two views", "Loss/component_multi_view_photometric",
         has_pair && of_pair[3] > 0 ? of_pair[2] : NAN, faded(t, t->options.ncc_factor), false},
        depth_normal_of(t, r),
        thickness_of(t, r),
        {"agreeing_pixels", "pixels that a neighbour agrees with", "Stats/n_agreeing_pixels",
         has_pair ? of_pair[1] : NAN, 0, true},
        {"compared_patches", "patches of photos that were compared", "Stats/n_compared_patches",
         has_pair ? of_pair[3] : NAN, 0, true},
    };
    _Static_assert(sizeof all / sizeof all[0] <= SPLAT_MAX_LOSSES, "room for all");
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof all[0];
}

/* NaN where a loss was not part of the step. */
static size_t losses(const splat_trainer *t, const double *r, splat_loss list[SPLAT_MAX_LOSSES])
{
    const splat_coarse_options *o = &t->options.coarse;
    bool has_field = r && splat_coarse_has_field(&t->options, t->iteration);
    bool has_thickness = r && splat_coarse_has_thickness(&t->options, t->iteration);
    bool has_samples = has_field && r[SPLAT_COARSE_FIELD + 3] > 0;
    bool is_sdf = o->regularization == SPLAT_REGULARIZE_SDF;
    if (o->regularization == SPLAT_REGULARIZE_MULTIVIEW) return losses_of_pairs(t, r, list);
    const splat_loss all[] = {
        entropy_of(t, r),
        {"estimation", "surface estimate", is_sdf ? "Loss/component_sdf_estimation" : "Loss/component_sdf_density",
         has_field ? r[SPLAT_COARSE_FIELD] : NAN, (double)o->estimation_factor, false},
        {"normal", "surface normals", "Loss/component_sdf_better_normal", has_field ? r[SPLAT_COARSE_FIELD + 1] : NAN,
         (double)o->normal_factor, false},
        depth_normal_of(t, r),
        thickness_of(t, r),
        {"samples", "points that counted", NULL, has_field ? r[SPLAT_COARSE_FIELD + 2] : NAN, 0, true},
        {"sampled_gaussians", "Gaussians that points could be drawn in", "Stats/n_gaussians_sdf_sampling",
         has_samples ? r[SPLAT_COARSE_FIELD + 3] : NAN, 0, true},
        {"thick_share", "share of the Gaussians that are too thick", "Stats/share_too_thick",
         has_thickness ? r[SPLAT_COARSE_THICKNESS + 1] : NAN, 0, true},
    };
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof all[0];
}

/* ---------------------------------------------------------------- TensorBoard */

/* The tags of the tuned SuGaR trainer (Time/, Performance/, VRAM/, System/, Stats/, Test/, Histograms/) and the text
 * Training_Guide. */
static void add(splat_tensorboard *writer, int iteration, const char *tag, double value)
{
    if (isfinite(value)) splat_tensorboard_add_scalar(writer, tag, iteration, value);
}

static const char guide[] =
    "# Coarse training: what to look at\n\n"
    "| curve | meaning | good |\n|---|---|---|\n"
    "| Loss/total | all parts below, with their factors | falls, with a step up where a part begins |\n"
    "| Loss/component_rendering | L1 and D-SSIM of one photo | falls, with noise: each step is another photo |\n"
    "| Loss/component_entropy_regularization | opacities that are neither 0 nor 1 | falls; ends before the prune |\n"
    "| Loss/component_sdf_density, ..._sdf_estimation | samples near the surface that disagree with it | falls |\n"
    "| Loss/component_sdf_better_normal | normals that disagree with their neighbours' | falls |\n"
    "| Loss/component_depth_normal_consistency | normals that disagree with the depth | falls |\n"
    "| Loss/component_multi_view_geometric, ..._photometric | neighbouring views that disagree on depth, and photos "
    "across it | fall |\n"
    "| Stats/n_agreeing_pixels | pixels whose depth a neighbour agrees with | rises |\n"
    "| Loss/component_flattening | thickness of the Gaussians beyond what --flat_ratio allows | falls |\n"
    "| Test/PSNR, ssim, lpips, loss (L1) | the test views | PSNR and SSIM rise, the others fall |\n"
    "| Stats/n_active_gaussians | opacity above 0.01 | falls at the prune, then stays |\n"
    "| Stats/scales_mean | size of the Gaussians | falls slowly |\n"
    "| Performance/iterations_per_sec, eta_minutes | speed, and minutes to go | steady |\n"
    "| VRAM/allocated_GB, reserved_GB, percent | named blocks; the whole GPU in use | flat after the prune |\n\n"
    "Figures called mean and std are of 10,000 Gaussians evenly taken.\n";

static void add_guide(splat_tensorboard *writer, int first_step)
{
    splat_tensorboard_add_text(writer, "Training_Guide", first_step, guide);
}

static void add_machine(splat_tensorboard *writer, int iteration, int steps_left, double step_ms,
                        double allocated_bytes, double reserved_bytes, const splat_monitor_sample *sample)
{
    add(writer, iteration, "Time/minutes_per_iter", step_ms / 60000);
    add(writer, iteration, "Performance/iterations_per_sec", 1000 / step_ms);
    add(writer, iteration, "Performance/eta_minutes", steps_left * step_ms / 60000);
    add(writer, iteration, "VRAM/allocated_GB", allocated_bytes / SPLAT_GIB);
    add(writer, iteration, "VRAM/reserved_GB", reserved_bytes / SPLAT_GIB);
    if (!sample) return;
    add(writer, iteration, "VRAM/percent", 100 * sample->gpu.memory_used_bytes / sample->gpu.memory_total_bytes);
    add(writer, iteration, "System/RAM_percent", sample->ram_percent);
    add(writer, iteration, "System/CPU_percent", sample->cpu_percent);
}

static void add_model(splat_tensorboard *writer, int iteration, const splat_summary *summary)
{
    static const struct {
        int tensor;
        const char *name;
    } tensors[] = {{SPLAT_TENSOR_means, "points"},          {SPLAT_TENSOR_scales, "scales"},
                   {SPLAT_TENSOR_rotations, "quaternions"}, {SPLAT_TENSOR_sh_dc, "sh_dc"},
                   {SPLAT_TENSOR_sh_rest, "sh_rest"},       {SPLAT_TENSOR_opacities, "opacities"}};
    char tag[64];
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        const splat_summary_spread *spread = &summary->tensors[tensors[i].tensor];
        if (spread->n == 0) continue; /* sh_rest of degree 0 */
        snprintf(tag, sizeof tag, "Stats/%s_mean", tensors[i].name);
        add(writer, iteration, tag, spread->mean);
        snprintf(tag, sizeof tag, "Stats/%s_std", tensors[i].name);
        add(writer, iteration, tag, spread->standard_deviation);
    }
    add(writer, iteration, "Stats/n_active_gaussians", summary->n_active);
}

static void add_test(splat_tensorboard *writer, int iteration, const splat_metrics *metrics, double lpips)
{
    add(writer, iteration, "Test/loss", metrics->l1);
    add(writer, iteration, "Test/PSNR", metrics->psnr);
    add(writer, iteration, "Test/ssim", metrics->ssim);
    add(writer, iteration, "Test/lpips", lpips);
    add(writer, iteration, "Test/render_time_ms", metrics->render_ms);
}

const splat_regularizer_report splat_coarse_report = {
    .begin = add_guide,
    .machine = add_machine,
    .model = add_model,
    .test = add_test,
    .count_tag = "Test/num_gaussians_K",
    .opacities_tag = "Histograms/opacities",
    .scales_tag = "Histograms/scales",
};

/* ---------------------------------------------------------------- the regularizer */

const splat_regularizer splat_coarse_regularizer = {
    .stage = "coarse",
    .title = "coarse training",
    .continues_splat = true,
    .least_gaussians = SPLAT_NEIGHBORS + 1,
    .arrays = arrays,
    .n_arrays = SPLAT_N_COARSE_ARRAYS,
    .arrays_title = "gradients and neighbours",
    .results_name = "coarse losses",
    .n_results = SPLAT_N_COARSE_RESULTS,
    .constant = "entropy_pivot",
    .acts_after = "regularize_after",
    .report = &splat_coarse_report,
    .check = check,
    .has_losses = splat_coarse_has_losses,
    .prepare = splat_coarse_search_neighbors,
    .step = splat_coarse_step,
    .work_bytes = splat_coarse_work_bytes,
    .neighbor_bytes = splat_coarse_neighbor_bytes,
    .after = splat_coarse_after,
    .changes_after = splat_coarse_prunes_after,
    .losses = losses,
};

void splat_train_options_init_coarse_sized(splat_train_options *options, size_t size,
                                           splat_regularization regularization)
{
    splat_train_options defaults;
    splat_train_options_init(&defaults);
    defaults.coarse.regularization = regularization;
    defaults.regularizer = regularization == SPLAT_REGULARIZE_NONE ? NULL : &splat_coarse_regularizer;
    splat_train_options_apply_preset(&defaults, "coarse");
    if (regularization == SPLAT_REGULARIZE_MULTIVIEW) splat_train_options_apply_preset(&defaults, "multiview");
    splat_options_give(options, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------- the start */

/* Coarse training begins with a splat: where it comes from, and whether it belongs to the scene. */
/* The splat as others would read it, in host memory: its filter is part of scales and opacities. It is on the device
 * only before the trainer's own arrays grow. */
static splat_status read_fused(splat_trainer *t, const char *path, splat_cloud *host, splat_error *error)
{
    splat_model *source;
    splat_model_info info;
    SPLAT_TRY(splat_model_load(t->context, path, &source, error));
    splat_status status = splat_model_fuse_filter(source, error);
    splat_model_get_info(source, &info);
    if (status == SPLAT_OK) status = splat_model_download(source, host, error);
    splat_model_destroy(source);
    if (status != SPLAT_OK) return status;
    bool is_mip = info.render_mode == SPLAT_RENDER_MIP;
    return splat_model_set_render_mode(t->model, info.render_mode, is_mip ? t->options.kernel_size : 0, error);
}

static bool sees(const splat_camera *c, const float *mean)
{
    float p[3];
    for (int k = 0; k < 3; k++)
        p[k] = c->rotation[3 * k] * mean[0] + c->rotation[3 * k + 1] * mean[1] + c->rotation[3 * k + 2] * mean[2] +
               c->translation[k];
    if (!(p[2] > SPLAT_NEAR)) return false;
    float u = c->fx * p[0] / p[2] + c->cx, v = c->fy * p[1] / p[2] + c->cy;
    return u >= 0 && v >= 0 && u <= (float)c->width && v <= (float)c->height;
}

#define LOOKED_AT 4096 /* Gaussians, evenly over the splat */

/* A splat of another scene would be trained to nothing. */
static splat_status check_seen(const splat_trainer *t, const splat_cloud *host, const char *path,
                               splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    size_t stride = host->n / LOOKED_AT + 1;
    for (size_t i = 0; i < host->n; i += stride)
        for (size_t v = 0; v < dataset->n_train; v++)
            if (sees(&dataset->views[dataset->train[v]].camera, host->means + 3 * i)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "no training view of %s sees this splat; was it trained on this scene?",
                         t->scene->options.source_path);
}

splat_status splat_trainer_start_coarse(splat_trainer *t, const char *path, splat_error *error)
{
    splat_cloud host;
    const float before = t->regularizer_constant;
    if (t->options.regularizer != &splat_coarse_regularizer)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the trainer was made without coarse options");
    if (t->scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          t->scene->dataset.n_train);
    SPLAT_TRY(read_fused(t, path, &host, error));
    splat_status status = host.n ? check_seen(t, &host, path, error) : SPLAT_OK; /* none at all is reported below */
    if (status == SPLAT_OK)
        status = splat_coarse_find_pivot(host.opacities, host.n, t->options.prune_keep, &t->regularizer_constant,
                                         error);
    if (status == SPLAT_OK) status = splat_trainer_begin_with(t, &host, path, t->options.coarse.first_iteration, error);
    if (status != SPLAT_OK) t->regularizer_constant = before;
    splat_cloud_free(&host);
    return status == SPLAT_OK ? splat_coarse_check_surface(t, path, error) : status;
}
