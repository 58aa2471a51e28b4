/* project_backward with Adam on the CPU, by fixed blocks of Gaussians: the gradients of a block's visible members go to
 * a small buffer on the stack, and Adam walks the block's slices of every tensor at once. */
#include "ops/project/project.h"

#include "ops/project/project_kernels.h"

#include <math.h>
#include <string.h>

/* The first visible entry whose Gaussian is not below id; ids ascend. */
static uint32_t lower_bound(const splat_frame *frame, uint64_t id)
{
    uint32_t low = 0, high = frame->n_visible;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (frame->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* docs/method.md 7.1: gradients of the mean in NDC units. */
static void add_statistics(const splat_statistics *statistics, const splat_frame *frame, uint32_t v_begin,
                           uint32_t v_end)
{
    const float half_width = 0.5f * (float)frame->camera.width, half_height = 0.5f * (float)frame->camera.height;
    for (uint32_t v = v_begin; v < v_end; v++) {
        const splat_grad2d *g = frame->grad2d + v;
        float x = half_width * g->mean_x, y = half_height * g->mean_y;
        float length = sqrtf(x * x + y * y);
        size_t i = frame->ids[v];
        if (!isfinite(length) || !isfinite(g->mean_abs)) continue; /* counted in n_degenerate; the sums stay usable */
        statistics->grad[i] += length;
        statistics->grad_abs[i] += g->mean_abs;
        statistics->count[i] += 1.0f;
    }
}

/* Parameters, moments and asked-for gradients of Gaussians [begin, begin + n). */
static void apply_block(const splat_project_kernels *kernels, const struct splat_project_backward_args *args,
                        const splat_adam_step *steps, size_t begin, size_t n, const splat_gradient_block *block)
{
    const splat_adam *adam = args->adam;
#define SPLAT_TENSOR(name, unused)                                                                                     \
    do {                                                                                                               \
        const int tensor = SPLAT_TENSOR_##name;                                                                        \
        size_t channels = splat_tensor_channels(tensor, args->gaussians->sh_degree), from = begin * channels;          \
        if (channels && args->gradients)                                                                               \
            memcpy(args->gradients->name + from, block->name, n * channels * sizeof(float));                           \
        if (channels && adam && adam->update[tensor])                                                                  \
            kernels->adam(args->gaussians->p.name + from, adam->m.name + from, adam->v.name + from, block->name,       \
                          n * channels, steps[tensor]);                                                                \
    } while (0);
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
}

splat_status splat_project_backward_cpu(splat_backend *backend, const struct splat_project_backward_args *args,
                                        splat_error *error)
{
    (void)error;
    const splat_project_kernels *kernels = splat_project_kernels_of(backend);
    splat_frame *frame = args->frame;
    const uint32_t n = args->gaussians->n;
    const int64_t n_blocks = ((int64_t)n + SPLAT_BACKWARD_BLOCK - 1) / SPLAT_BACKWARD_BLOCK;
    const splat_projector projector =
        splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    splat_adam_step steps[SPLAT_N_TENSORS];
    for (int t = 0; args->adam && t < SPLAT_N_TENSORS; t++)
        steps[t] = (splat_adam_step){.step = args->adam->lr[t] / args->adam->correction1[t],
                                     .inverse_correction2 = 1.0f / args->adam->correction2[t]};
    uint32_t n_bad = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(backend->threads) reduction(+ : n_bad)
    for (int64_t b = 0; b < n_blocks; b++) {
        splat_gradient_block block;
        uint32_t begin = (uint32_t)b * SPLAT_BACKWARD_BLOCK;
        uint32_t count = n - begin < SPLAT_BACKWARD_BLOCK ? n - begin : SPLAT_BACKWARD_BLOCK;
        uint32_t v_begin = lower_bound(frame, begin), v_end = lower_bound(frame, (uint64_t)begin + count);
        memset(&block, 0, sizeof block);
        n_bad += kernels->backward(args->gaussians, &projector, frame, begin, v_begin, v_end, &block);
        if (args->statistics) add_statistics(args->statistics, frame, v_begin, v_end);
        apply_block(kernels, args, steps, begin, count, &block);
    }
    frame->n_degenerate += n_bad;
    return SPLAT_OK;
}
