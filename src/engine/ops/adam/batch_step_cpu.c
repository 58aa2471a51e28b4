/* batch_step on the CPU. */
#include "ops/adam/adam_block.h"

#include <math.h>
#include <string.h>

/* The means of a block's rows over the views. */
static void mean_block(const struct splat_batch_step_args *args, const splat_tensors *sums,
                       const splat_adam_range *range, splat_gradient_block *block)
{
    const float share = 1.0f / (float)args->n_views;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    {                                                                                                                  \
        const size_t channels = splat_tensor_channels(SPLAT_TENSOR_##name, args->gaussians->sh_degree);                \
        const float *rows = channels ? sums->name + range->begin * channels : NULL;                                    \
        for (size_t k = 0; k < range->n * channels; k++) block->name[k] = share * rows[k];                             \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

static void clear_block(const struct splat_batch_step_args *args, const splat_tensors *sums,
                        const splat_adam_range *range)
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    {                                                                                                                  \
        const size_t channels = splat_tensor_channels(SPLAT_TENSOR_##name, args->gaussians->sh_degree);                \
        if (channels && args->adam->update[SPLAT_TENSOR_##name])                                                       \
            memset(sums->name + range->begin * channels, 0, range->n * channels * sizeof(float));                      \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

/* Adds what values pull at themselves to the gradient of every view: mean of (g + pull)^2. */
static void pull_block(uint32_t n, const float *pulls, float *means, float *squares)
{
    for (uint32_t k = 0; k < n; k++) {
        squares[k] = fmaxf(squares[k] + pulls[k] * (2.0f * means[k] + pulls[k]), 0.0f);
        means[k] += pulls[k];
    }
}

splat_status splat_batch_step_cpu(splat_backend *backend, const struct splat_batch_step_args *args, splat_error *error)
{
    (void)error;
    const uint32_t n = args->gaussians->n;
    const splat_adam_job s = splat_adam_begin(backend, args->gaussians, args->adam, args->n_views);
#pragma omp parallel for schedule(static) num_threads(backend->threads)
    for (int64_t b = 0; b < splat_adam_n_blocks(n); b++) {
        splat_gradient_block block, squares, pulls = {0};
        const splat_adam_range range = splat_adam_range_of(n, b);
        mean_block(args, args->gradients, &range, &block);
        mean_block(args, args->squares, &range, &squares);
        splat_adam_add_pulls(args->gaussians, args->opacity_pull, args->scale_pull, &range, &pulls);
        pull_block(range.n, pulls.opacities, block.opacities, squares.opacities);
        pull_block(3 * range.n, pulls.scales, block.scales, squares.scales);
        splat_adam_step_block(&s, &range, false, &block, args->n_views > 1 ? &squares : NULL);
        if (args->clears) clear_block(args, args->gradients, &range);
        if (args->clears) clear_block(args, args->squares, &range);
    }
    return SPLAT_OK;
}
