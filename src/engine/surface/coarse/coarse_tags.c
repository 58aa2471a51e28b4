/* Tags of coarse training in TensorBoard: those of the tuned SuGaR trainer (Time/, Performance/, VRAM/, System/,
 * Stats/, Test/, Histograms/) and the text Training_Guide. */
#include "surface/coarse/coarse_tags.h"
#include "train/parts/regularizer.h"

#include <math.h>
#include <stdio.h>


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
