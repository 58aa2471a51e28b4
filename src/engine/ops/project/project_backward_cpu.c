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
static void add_statistics(const splat_statistics *statistics, const uint8_t *mask, const splat_frame *frame,
                           uint32_t v_begin, uint32_t v_end)
{
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

static void step_rows(const splat_project_kernels *kernels, const splat_stored_rows *rows,
                      splat_adam_gradient gradient, size_t n, splat_adam_step step, uint32_t key)
{
    if (rows->parameters && rows->m)
        kernels->adam(rows->parameters, rows->m, rows->v, gradient, n * rows->channels, step);
    else
        kernels->adam_stored(rows, gradient, (uint32_t)n, step, key);
}

/* A block of Gaussians: its place, and its visible entries. */
typedef struct block_range {
    uint32_t begin, n, v_begin, v_end;
} block_range;

static int64_t n_blocks_of(uint32_t n)
{
    return ((int64_t)n + SPLAT_BACKWARD_BLOCK - 1) / SPLAT_BACKWARD_BLOCK;
}

static block_range range_of(uint32_t n, int64_t block)
{
    const uint32_t begin = (uint32_t)block * SPLAT_BACKWARD_BLOCK, left = n - begin;
    return (block_range){.begin = begin, .n = left < SPLAT_BACKWARD_BLOCK ? left : SPLAT_BACKWARD_BLOCK};
}

/* What a step is of. */
typedef struct stepped {
    const splat_project_kernels *kernels;
    const splat_gaussians *gaussians;
    const splat_adam *adam;
    const uint32_t *ids; /* of the view's entries */
    splat_adam_step steps[SPLAT_N_TENSORS];
} stepped;

/* n_views: that one step is of. */
static stepped stepped_of(const splat_backend *backend, const splat_gaussians *gaussians, const splat_adam *adam,
                          uint32_t n_views)
{
    stepped s = {.kernels = splat_project_kernels_of(backend), .gaussians = gaussians, .adam = adam};
    for (int t = 0; adam && t < SPLAT_N_TENSORS; t++)
        s.steps[t] = (splat_adam_step){.step = adam->lr[t] / adam->correction1[t],
                                       .inverse_correction2 = 1.0f / adam->correction2[t],
                                       .beta1 = powf(SPLAT_ADAM_BETA1, (float)n_views),
                                       .beta2 = powf(SPLAT_ADAM_BETA2, (float)n_views),
                                       .epsilon = SPLAT_ADAM_EPSILON};
    return s;
}

/* Adam on one tensor of a block; with visible_only by runs of visible neighbours. */
static void step_tensor(const stepped *s, const block_range *range, bool visible_only, int tensor, float *parameters,
                        float *m, float *v, splat_adam_gradient gradient)
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

/* Parameters and moments of a block. squares: NULL for one view. */
static void step_block(const stepped *s, const block_range *range, bool rest_of_visible_only,
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

/* The rows of one tensor of a block's visible entries (ids NULL: of all its Gaussians), and their squares, to those of
 * its Gaussians. */
static void add_rows(const uint32_t *ids, const block_range *range, size_t channels, const float *block, float *sums,
                     float *squares)
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

/* The asked-for gradients of a block. */
static void give_gradients(const struct splat_project_backward_args *args, const block_range *range,
                           const splat_gradient_block *block)
{
    const uint32_t *ids = args->extra_gradients ? NULL : args->frame->ids;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (args->gradients->name) {                                                                                       \
        const size_t channels = splat_tensor_channels(SPLAT_TENSOR_##name, args->gaussians->sh_degree);                \
        if (args->adds)                                                                                                \
            add_rows(ids, range, channels, block->name, args->gradients->name, args->squares->name);                   \
        else                                                                                                           \
            memcpy(args->gradients->name + range->begin * channels, block->name, range->n * channels * sizeof(float)); \
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

/* What is asked of the depths of a block's visible entries; returns how many of them are not finite. */
static uint32_t add_depth_gradients(const struct splat_project_backward_args *args, const block_range *range,
                                    splat_gradient_block *block)
{
    const float *ahead = args->frame->camera.rotation + 6;
    uint32_t n_bad = 0;
    for (uint32_t v = range->v_begin; v < range->v_end; v++) {
        float *mean = block->means + 3 * (args->frame->ids[v] - range->begin), g = args->grad_depth[v];
        n_bad += !isfinite(g);
        for (int k = 0; isfinite(g) && k < 3; k++) mean[k] += ahead[k] * g;
    }
    return n_bad;
}

/* The gradients of opacity_pull sum o and scale_pull sum s. */
static void add_pulls(const splat_gaussians *gaussians, float opacity_pull, float scale_pull, const block_range *range,
                      splat_gradient_block *block)
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

/* Whether anything reads a block's gradients of sh_rest; where not, they need not be zero before they are made. */
static bool wants_rest(const struct splat_project_backward_args *args)
{
    return (args->adam && args->adam->update[SPLAT_TENSOR_sh_rest]) || (args->gradients && args->gradients->sh_rest);
}

/* The host puts nothing off (splat_backend.defers_rest). */
splat_status splat_settle_rest_cpu(splat_backend *backend, const struct splat_settle_rest_args *args,
                                   splat_error *error)
{
    (void)backend;
    (void)args;
    (void)error;
    return SPLAT_OK;
}

splat_status splat_project_backward_cpu(splat_backend *backend, const struct splat_project_backward_args *args,
                                        splat_error *error)
{
    (void)error;
    splat_frame *frame = args->frame;
    const uint32_t n = args->gaussians->n;
    const splat_projector projector =
        splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    stepped s = stepped_of(backend, args->gaussians, args->adam, 1);
    s.ids = frame->ids;
    const size_t cleared = wants_rest(args) ? sizeof(splat_gradient_block) : offsetof(splat_gradient_block, sh_rest);
    uint32_t n_bad = 0;
#pragma omp parallel for schedule(dynamic, 4) num_threads(backend->threads) reduction(+ : n_bad)
    for (int64_t b = 0; b < n_blocks_of(n); b++) {
        splat_gradient_block block;
        block_range range = range_of(n, b);
        range.v_begin = lower_bound(frame, range.begin);
        range.v_end = lower_bound(frame, (uint64_t)range.begin + range.n);
        memset(&block, 0, cleared);
        n_bad += s.kernels->backward(args->gaussians, &projector, frame, range.begin, range.v_begin, range.v_end,
                                     &block);
        if (args->grad_depth) n_bad += add_depth_gradients(args, &range, &block);
        for (uint32_t k = 0; args->extra_gradients && k < range.n; k++)
            n_bad += !add_extra_gradients(args->extra_gradients, (size_t)range.begin + k, k, &block);
        add_pulls(args->gaussians, args->opacity_pull, args->scale_pull, &range, &block);
        if (args->statistics)
            add_statistics(args->statistics, args->statistics_mask, frame, range.v_begin, range.v_end);
        if (args->gradients) give_gradients(args, &range, &block);
        if (args->adam) step_block(&s, &range, args->adam->rest_of_visible_only, &block, NULL);
    }
    frame->n_degenerate += n_bad;
    return SPLAT_OK;
}

/* The means of a block's rows over the views. */
static void mean_block(const struct splat_batch_step_args *args, const splat_tensors *sums, const block_range *range,
                       splat_gradient_block *block)
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

static void clear_block(const struct splat_batch_step_args *args, const splat_tensors *sums, const block_range *range)
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
    const stepped s = stepped_of(backend, args->gaussians, args->adam, args->n_views);
#pragma omp parallel for schedule(static) num_threads(backend->threads)
    for (int64_t b = 0; b < n_blocks_of(n); b++) {
        splat_gradient_block block, squares, pulls = {0};
        const block_range range = range_of(n, b);
        mean_block(args, args->gradients, &range, &block);
        mean_block(args, args->squares, &range, &squares);
        add_pulls(args->gaussians, args->opacity_pull, args->scale_pull, &range, &pulls);
        pull_block(range.n, pulls.opacities, block.opacities, squares.opacities);
        pull_block(3 * range.n, pulls.scales, block.scales, squares.scales);
        step_block(&s, &range, false, &block, args->n_views > 1 ? &squares : NULL);
        if (args->clears) clear_block(args, args->gradients, &range);
        if (args->clears) clear_block(args, args->squares, &range);
    }
    return SPLAT_OK;
}
