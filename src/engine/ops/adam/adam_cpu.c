/* Adam on the CPU: walks a block's slices of every tensor. */
#include "ops/adam/adam_block.h"

#include "math/gaussian.h"

#include <math.h>

/* One tensor of Gaussians [begin, begin + n) in its storage. */
static splat_stored_rows rows_of(const splat_gaussians *gaussians, const splat_moments *moments, int tensor,
                                 float *parameters, float *m, float *v, size_t begin)
{
    const uint32_t channels = splat_tensor_channels(tensor, gaussians->sh_degree);
    const uint32_t moment_words = splat_quantized_moment_words(tensor, gaussians->sh_degree);
    splat_stored_rows rows = {.channels = channels, .index = (uint64_t)begin * channels};
    if (tensor == SPLAT_TENSOR_sh_rest && gaussians->sh_rest_half)
        rows.half = gaussians->sh_rest_half + begin * splat_half_row(channels);
    else
        rows.parameters = parameters + begin * channels;
    if (moments->storage == SPLAT_OPTIMIZER_QUANTIZED) {
        rows.rows_in_bytes = tensor == SPLAT_TENSOR_sh_rest;
        rows.quantized = moments->quantized[tensor] + begin * moment_words;
    } else {
        rows.m = m + begin * channels;
        rows.v = v + begin * channels;
    }
    return rows;
}

static void step_rows(const splat_adam_kernels *kernels, const splat_stored_rows *rows, splat_adam_gradient gradient,
                      size_t n, splat_adam_step step, uint32_t key)
{
    if (rows->parameters && rows->m)
        kernels->adam(rows->parameters, rows->m, rows->v, gradient, n * rows->channels, step);
    else
        kernels->adam_stored(rows, gradient, (uint32_t)n, step, key);
}

splat_adam_job splat_adam_begin(const splat_backend *backend, const splat_gaussians *gaussians, const splat_adam *adam,
                                uint32_t n_views)
{
    splat_adam_job s = {.kernels = SPLAT_OF_LEVEL(backend->simd, &splat_adam_kernels),
                        .gaussians = gaussians,
                        .adam = adam};
    for (int t = 0; adam && t < SPLAT_N_TENSORS; t++)
        s.steps[t] = (splat_adam_step){.step = adam->lr[t] / adam->correction1[t],
                                       .inverse_correction2 = 1.0f / adam->correction2[t],
                                       .beta1 = powf(SPLAT_ADAM_BETA1, (float)n_views),
                                       .beta2 = powf(SPLAT_ADAM_BETA2, (float)n_views),
                                       .epsilon = SPLAT_ADAM_EPSILON};
    return s;
}

/* Adam on one tensor of a block; with visible_only by runs of visible neighbours. */
static void step_tensor(const splat_adam_job *s, const splat_adam_range *range, bool visible_only, int tensor,
                        float *parameters, float *m, float *v, splat_adam_gradient gradient)
{
    const splat_adam *adam = s->adam;
    const uint32_t key = splat_rounding_key((uint32_t)tensor, adam->iteration), *ids = s->ids;
    const size_t channels = splat_tensor_channels(tensor, s->gaussians->sh_degree);
    uint32_t end;
    for (uint32_t entry = range->v_begin; visible_only && entry < range->v_end; entry = end) {
        for (end = entry + 1; end < range->v_end && ids[end] == ids[end - 1] + 1;) end++;
        splat_stored_rows rows = rows_of(s->gaussians, adam->moments, tensor, parameters, m, v, ids[entry]);
        const splat_adam_gradient run = splat_adam_gradient_at(gradient, (ids[entry] - range->begin) * channels);
        step_rows(s->kernels, &rows, run, end - entry, s->steps[tensor], key);
    }
    if (visible_only) return;
    splat_stored_rows rows = rows_of(s->gaussians, adam->moments, tensor, parameters, m, v, range->begin);
    step_rows(s->kernels, &rows, gradient, range->n, s->steps[tensor], key);
}

void splat_adam_step_block(const splat_adam_job *s, const splat_adam_range *range, bool rest_of_visible_only,
                           const splat_gradient_block *block, const splat_gradient_block *squares)
{
    const splat_adam *adam = s->adam;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (splat_tensor_channels(SPLAT_TENSOR_##name, s->gaussians->sh_degree) && adam->update[SPLAT_TENSOR_##name])      \
        step_tensor(s, range, SPLAT_TENSOR_##name == SPLAT_TENSOR_sh_rest && rest_of_visible_only,                     \
                    SPLAT_TENSOR_##name, s->gaussians->p.name, adam->moments->m.name, adam->moments->v.name,           \
                    (splat_adam_gradient){block->name, squares ? squares->name : NULL});
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

void splat_adam_add_pulls(const splat_gaussians *gaussians, float opacity_pull, float scale_pull,
                          const splat_adam_range *range, splat_gradient_block *block)
{
    const float *logits = gaussians->p.opacities + range->begin;
    const float *log_scales = gaussians->p.scales + 3 * (size_t)range->begin;
    for (uint32_t k = 0; opacity_pull > 0.0f && k < range->n; k++) {
        float o = splat_sigmoid(logits[k]), pull = opacity_pull * (o * (1.0f - o));
        if (isfinite(pull)) block->opacities[k] += pull;
    }
    for (uint32_t k = 0; scale_pull > 0.0f && k < 3 * range->n; k++) {
        float pull = scale_pull * expf(log_scales[k]);
        if (isfinite(pull)) block->scales[k] += pull;
    }
}
