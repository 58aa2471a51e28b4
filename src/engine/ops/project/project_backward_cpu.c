/* project_backward with Adam on the CPU, by fixed blocks of Gaussians: the gradients of a block's visible members go to
 * a small buffer on the stack, and Adam walks the block's slices of every tensor at once. */
#include "ops/project/project.h"

#include "math/gaussian.h"
#include "ops/project/project_kernels.h"

#include <math.h>
#include <stddef.h>
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
static void add_statistics(const splat_gradient_sink *sink, const splat_frame *frame, uint32_t v_begin,
                           uint32_t v_end)
{
    const splat_statistics *statistics = sink->statistics;
    const uint8_t *mask = sink->statistics_mask;
    const float half_width = 0.5f * (float)frame->camera.width, half_height = 0.5f * (float)frame->camera.height;
    for (uint32_t v = v_begin; v < v_end; v++) {
        const splat_grad2d *g = frame->grad2d + v;
        float x = half_width * g->mean_x, y = half_height * g->mean_y;
        float length = sqrtf(x * x + y * y);
        size_t i = frame->ids[v];
        const float *mean = frame->mean2d + 2 * (size_t)v;
        if (mask && mask[splat_pixel_under(mean[0], mean[1], frame->camera.width, frame->camera.height)] <
                        SPLAT_LOSS_KEPT)
            continue;
        if (!isfinite(length) || !isfinite(g->mean_abs)) continue; /* counted in n_degenerate; the sums stay usable */
        statistics->grad[i] += length;
        statistics->grad_abs[i] += g->mean_abs;
        statistics->count[i] += 1.0f;
    }
}

/* The rows of one tensor of a block's visible entries (ids NULL: of all its Gaussians), and their squares, to those of
 * its Gaussians. */
static void add_rows(const uint32_t *ids, const splat_adam_range *range, size_t channels, const float *block,
                     float *sums, float *squares)
{
    const uint32_t begin = ids ? range->v_begin : range->begin, end = ids ? range->v_end : range->begin + range->n;
    for (uint32_t v = begin; v < end; v++) {
        const size_t i = ids ? ids[v] : v;
        const float *from = block + (i - range->begin) * channels;
        float *to = sums + i * channels, *to_squares = squares + i * channels;
        for (size_t k = 0; k < channels; k++) to[k] += from[k];
        for (size_t k = 0; k < channels; k++) to_squares[k] += from[k] * from[k];
    }
}

/* The arrays that gradients are written or added to, or NULL. */
static const splat_tensors *gradients_of(const splat_gradient_sink *sink)
{
    return sink->write ? sink->write : sink->add;
}

/* The asked-for gradients of a block. */
static void give_gradients(const struct splat_project_backward_args *args, const splat_adam_range *range,
                           const splat_gradient_block *block)
{
    const uint32_t *ids = args->source.extra ? NULL : args->frame->ids;
    const splat_tensors *to = gradients_of(&args->sink), *squares = args->sink.add_squares;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (to->name) {                                                                                                    \
        const size_t channels = splat_tensor_channels(SPLAT_TENSOR_##name, args->gaussians->sh_degree);                \
        if (squares)                                                                                                   \
            add_rows(ids, range, channels, block->name, to->name, squares->name);                                      \
        else                                                                                                           \
            memcpy(to->name + range->begin * channels, block->name, range->n * channels * sizeof(float));              \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
}

/* Adds a Gaussian's gradients from elsewhere at its place in the block; false when they are not finite. */
static bool add_extra_gradients(const splat_tensors *extra, size_t i, uint32_t place, splat_gradient_block *block)
{
    const float *means = extra->means + 3 * i, *scales = extra->scales + 3 * i, *rotations = extra->rotations + 4 * i;
    float sum = extra->opacities[i];
    for (int k = 0; k < 3; k++) sum += means[k] + scales[k];
    for (int k = 0; k < 4; k++) sum += rotations[k];
    if (!isfinite(sum)) return false;
    for (int k = 0; k < 3; k++) block->means[3 * place + (uint32_t)k] += means[k];
    for (int k = 0; k < 3; k++) block->scales[3 * place + (uint32_t)k] += scales[k];
    for (int k = 0; k < 4; k++) block->rotations[4 * place + (uint32_t)k] += rotations[k];
    block->opacities[place] += extra->opacities[i];
    return true;
}

/* Adds the gradients of the depths of a block's visible entries; returns how many of them are not finite. */
static uint32_t add_depth_gradients(const struct splat_project_backward_args *args, const splat_adam_range *range,
                                    splat_gradient_block *block)
{
    const float *ahead = args->frame->camera.rotation + 6;
    uint32_t n_bad = 0;
    for (uint32_t v = range->v_begin; v < range->v_end; v++) {
        float *mean = block->means + 3 * (args->frame->ids[v] - range->begin), g = args->source.depth[v];
        n_bad += !isfinite(g);
        for (int k = 0; isfinite(g) && k < 3; k++) mean[k] += ahead[k] * g;
    }
    return n_bad;
}

/* True if a block's gradients of sh_rest are read; otherwise they need not be zeroed first. */
static bool wants_rest(const splat_gradient_sink *sink)
{
    const splat_tensors *gradients = gradients_of(sink);
    return (sink->step && sink->step->update[SPLAT_TENSOR_sh_rest]) || (gradients && gradients->sh_rest);
}

splat_status splat_project_backward_cpu(splat_backend *backend, const struct splat_project_backward_args *args,
                                        splat_error *error)
{
    (void)error;
    splat_frame *frame = args->frame;
    const splat_gradient_source *source = &args->source;
    const splat_gradient_sink *sink = &args->sink;
    const uint32_t n = args->gaussians->n;
    const splat_projector projector = splat_frame_projector(frame);
    splat_adam_job s = splat_adam_begin(backend, args->gaussians, sink->step, 1);
    const splat_project_kernels *kernels = splat_project_kernels_of(backend);
    s.ids = frame->ids;
    const size_t cleared = wants_rest(sink) ? sizeof(splat_gradient_block) : offsetof(splat_gradient_block, sh_rest);
    uint32_t n_bad = 0;
#pragma omp parallel for schedule(dynamic, 4) num_threads(backend->threads) reduction(+ : n_bad)
    for (int64_t b = 0; b < splat_adam_n_blocks(n); b++) {
        splat_gradient_block block;
        splat_adam_range range = splat_adam_range_of(n, b);
        range.v_begin = lower_bound(frame, range.begin);
        range.v_end = lower_bound(frame, (uint64_t)range.begin + range.n);
        memset(&block, 0, cleared);
        n_bad += kernels->backward(args->gaussians, &projector, frame, range.begin, range.v_begin, range.v_end,
                                   &block);
        if (source->depth) n_bad += add_depth_gradients(args, &range, &block);
        for (uint32_t k = 0; source->extra && k < range.n; k++)
            n_bad += !add_extra_gradients(source->extra, (size_t)range.begin + k, k, &block);
        splat_adam_add_pulls(args->gaussians, source->opacity_pull, source->scale_pull, &range, &block);
        if (sink->statistics)
            add_statistics(sink, frame, range.v_begin, range.v_end);
        if (gradients_of(sink)) give_gradients(args, &range, &block);
        if (sink->step) splat_adam_step_block(&s, &range, sink->step->rest_of_visible_only, &block, NULL);
    }
    frame->n_degenerate += n_bad;
    return SPLAT_OK;
}
