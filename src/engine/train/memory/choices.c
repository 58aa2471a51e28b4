/* Choices that save memory: the effect of each on a run, and its saving. */
#include "train/memory/choices.h"

#include "ops/view.h"
#include "train/step.h"

#include <math.h>
#include <stddef.h>

/* ---------------------------------------------------------------- how a run changes */

static void stream_photos(splat_train_options *o)
{
    o->photos_on_host = true;
}

static void halve_sh(splat_train_options *o)
{
    o->sh_storage = SPLAT_SH_FLOAT16;
}

static void quantize_moments(splat_train_options *o)
{
    o->optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
}

static void offload_moments(splat_train_options *o)
{
    o->moments_offload = true;
}

static void offload_sh(splat_train_options *o)
{
    o->sh_offload = true;
}

/* ---------------------------------------------------------------- what it saves */

static double saved_by_streaming(const splat_memory_held *held)
{
    return held->photos - 2 * (double)held->largest_photo;
}

static double saved_by_half_sh(const splat_memory_held *held)
{
    double words = splat_parameter_words(SPLAT_TENSOR_sh_rest, held->sh_degree, SPLAT_SH_FLOAT16);
    return held->harmonics_float32 - 4 * (double)held->n_gaussians * words;
}

static double saved_by_quantizing(const splat_memory_held *held)
{
    double words = 0;
    for (int t = 0; t < SPLAT_N_TENSORS; t++) words += splat_quantized_moment_words(t, held->sh_degree);
    return held->moments_float32 - 4 * (double)held->n_gaussians * words;
}

static double saved_by_offloading(const splat_memory_held *held)
{
    return held->harmonics_all;
}

static double saved_by_half_size(const splat_memory_held *held)
{
    double n_pixels = (double)held->largest_photo / 3;
    double bytes = n_pixels * (double)(splat_view_pixel_bytes() + splat_step_gradient_bytes(1));
    return 0.75 * (fmin(bytes, held->frame) + held->photos);
}

static double saved_by_fewer(const splat_memory_held *held)
{
    return held->rows / 10;
}

#define KEEP(flag) offsetof(splat_plan_options, flag)
#define UNSEEN "steps wait for the bus; colours of what a step does not see are not stepped"
#define MEASURED "rounding of small values; docs/memory.md has what was measured"

const splat_memory_choice splat_memory_choices[SPLAT_N_MEMORY_CHOICES] = {
    {"`data_device cpu`", "nothing measurable: photos are uploaded ahead of the steps", SPLAT_GIVE_UP_PHOTOS, true,
     KEEP(keep_photos), stream_photos, saved_by_streaming},
    {"(bands of tiles)", "views with many (Gaussian, tile) pairs are sorted twice a step", SPLAT_GIVE_UP_LISTS, false,
     0, NULL, NULL},
    {"`sh_storage float16`", MEASURED, SPLAT_GIVE_UP_SH, false, KEEP(keep_sh_storage), halve_sh, saved_by_half_sh},
    {"`optimizer_storage quantized`", MEASURED, SPLAT_GIVE_UP_MOMENTS, false, KEEP(keep_optimizer_storage),
     quantize_moments, saved_by_quantizing},
    {"(moments of SH on the host)", UNSEEN, SPLAT_GIVE_UP_DEVICE_MOMENTS, true, KEEP(keep_sh_offload), offload_moments,
     NULL},
    {"`sh_offload`", UNSEEN, SPLAT_GIVE_UP_DEVICE_SH, true, KEEP(keep_sh_offload), offload_sh, saved_by_offloading},
    {"`resolution` (half the width and height)", "less detail; three quarters of all pixels go", 0, false, 0, NULL,
     saved_by_half_size},
    {"`target_gaussian_count` (10 % fewer)", "the least opaque Gaussians go", 0, false, 0, NULL, saved_by_fewer},
};
