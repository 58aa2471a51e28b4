/* The share ops on CUDA. Rows are 36 bytes, which a warp reads and writes as words that lie side by side. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_select.cuh"

extern "C" {
#include "ops/share/share.h"
}
#include "ops/share/share_row.h"

#define THREADS 128
#define ROW_WORDS 9

static_assert(sizeof(splat_share_row) == ROW_WORDS * sizeof(uint32_t), "a row is words");
static_assert(sizeof(splat_grad2d) == 10 * sizeof(float), "a gradient is words");

/* ---------------------------------------------------------------- share_find */

extern "C" splat_status splat_share_find_cuda(splat_backend *backend, const struct splat_share_find_args *args,
                                              splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    size_t bytes = 0;
    void *counts, *work;
    for (uint32_t view = 0; view < args->n_views; view++) {
        const splat_frame *frame = args->frames[view];
        size_t of_view = 0;
        CUDA_TRY("plan a selection",
                 splat_cuda_select_touching(NULL, &of_view, frame->tile_rect, frame->depth, args->entries[view], NULL,
                                            frame->n_visible, cuda->stream));
        if (of_view > bytes) bytes = of_view;
    }
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, args->n_views * sizeof(uint32_t), &counts, error));
    SPLAT_TRY(splat_scratch_take(backend, bytes ? bytes : 1, &work, error));
    for (uint32_t view = 0; view < args->n_views; view++) {
        const splat_frame *frame = args->frames[view];
        size_t room = bytes;
        CUDA_TRY("select what a view sees",
                 splat_cuda_select_touching(work, &room, frame->tile_rect, frame->depth, args->entries[view],
                                            (uint32_t *)counts + view, frame->n_visible, cuda->stream));
    }
    /* Colours may still be in work on the side stream: the host need not wait for them. */
    CUDA_TRY("count what views see", cudaMemcpyAsync(args->counts, counts, args->n_views * sizeof(uint32_t),
                                                     cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("count what views see", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- share_pack, share_unpack */

__global__ void __launch_bounds__(THREADS)
    pack_kernel(splat_share_arrays arrays, const __grid_constant__ splat_share_pack_args P)
{
    __shared__ uint32_t words[THREADS * ROW_WORDS];
    const uint32_t first = blockIdx.x * THREADS, k = first + threadIdx.x;
    uint32_t *rows = (uint32_t *)P.rows;
    if (k < P.n) *(splat_share_row *)(words + ROW_WORDS * threadIdx.x) = splat_share_row_of(&arrays, P.entries[k]);
    __syncthreads();
    const uint32_t n_words = min(P.n - first, (uint32_t)THREADS) * ROW_WORDS;
    for (uint32_t w = threadIdx.x; w < n_words; w += THREADS) rows[(size_t)first * ROW_WORDS + w] = words[w];
}

extern "C" splat_status splat_share_pack_cuda(splat_backend *backend, const struct splat_share_pack_args *args,
                                              splat_error *error)
{
    if (args->n == 0) return SPLAT_OK;
    pack_kernel<<<splat_cuda_blocks(args->n, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(
        splat_share_arrays_of(args->frame), *args);
    CUDA_LAUNCHED("pack of rows");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(THREADS)
    unpack_kernel(const uint32_t *rows, uint32_t n, splat_share_arrays arrays, splat_cuda_view_state *state)
{
    __shared__ uint32_t words[THREADS * ROW_WORDS];
    const uint32_t first = blockIdx.x * THREADS, v = first + threadIdx.x;
    const uint32_t n_words = min(n - first, (uint32_t)THREADS) * ROW_WORDS;
    for (uint32_t w = threadIdx.x; w < n_words; w += THREADS) words[w] = rows[(size_t)first * ROW_WORDS + w];
    __syncthreads();
    if (v == 0) state->n_visible = n;
    if (v >= n) return;
    splat_share_row_put(&arrays, v, (const splat_share_row *)(words + ROW_WORDS * threadIdx.x));
    arrays.ids[v] = v;
}

extern "C" splat_status splat_share_unpack_cuda(splat_backend *backend, const struct splat_share_unpack_args *args,
                                                splat_error *error)
{
    args->frame->n_visible = args->n;
    if (args->n == 0) return SPLAT_OK;
    unpack_kernel<<<splat_cuda_blocks(args->n, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(
        (const uint32_t *)args->rows, args->n, splat_share_arrays_of(args->frame), splat_cuda_state_of(args->frame));
    CUDA_LAUNCHED("unpack of rows");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- share_colors, share_hide, share_put */

/* A thread a float: a row's lie side by side. */
template <uint32_t CHANNELS>
__global__ void __launch_bounds__(THREADS)
    colors_kernel(const float *rgb, const uint32_t *entries, uint64_t n_floats, float *colors)
{
    const uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < n_floats) colors[at] = rgb[(size_t)entries[at / CHANNELS] * CHANNELS + at % CHANNELS];
}

extern "C" splat_status splat_share_colors_cuda(splat_backend *backend, const struct splat_share_colors_args *args,
                                                splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const uint64_t n_floats = args->channels * (uint64_t)args->n;
    if (args->n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_fork(cuda, error)); /* the entries are the stream's */
    const unsigned blocks = splat_cuda_blocks(n_floats, THREADS);
    if (args->channels == 3)
        colors_kernel<3><<<blocks, THREADS, 0, cuda->side_stream>>>(args->rgb, args->entries, n_floats, args->colors);
    else
        colors_kernel<4><<<blocks, THREADS, 0, cuda->side_stream>>>(args->rgb, args->entries, n_floats, args->colors);
    CUDA_LAUNCHED("colours on their way");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(THREADS) hide_kernel(const float2 *means, const float *depth, uint32_t n,
                                                       int32_t width, int32_t height, const uint8_t *mask,
                                                       splat_grad2d *gradients)
{
    const uint32_t v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= n || !(depth[v] > 0.0f)) return;
    const float2 mean = means[v];
    if (mask[splat_pixel_under(mean.x, mean.y, width, height)] < SPLAT_LOSS_KEPT) gradients[v].mean_abs = NAN;
}

extern "C" splat_status splat_share_hide_cuda(splat_backend *backend, const struct splat_share_hide_args *args,
                                              splat_error *error)
{
    const splat_frame *frame = args->frame;
    if (frame->n_visible == 0) return SPLAT_OK;
    hide_kernel<<<splat_cuda_blocks(frame->n_visible, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(
        (const float2 *)frame->mean2d, frame->depth, frame->n_visible, frame->camera.width, frame->camera.height,
        args->mask, frame->grad2d);
    CUDA_LAUNCHED("statistics that are left out");
    return SPLAT_OK;
}

__global__ void __launch_bounds__(THREADS)
    put_kernel(const float *rows, const uint32_t *entries, uint64_t n_floats, float *gradients)
{
    const uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (at < n_floats) gradients[(size_t)entries[at / 10] * 10 + at % 10] = rows[at];
}

__global__ void __launch_bounds__(THREADS)
    put_depths_kernel(const float *depths, const uint32_t *entries, uint32_t n, float *grad_depth)
{
    const uint32_t k = blockIdx.x * THREADS + threadIdx.x;
    if (k < n) grad_depth[entries[k]] = depths[k];
}

extern "C" splat_status splat_share_put_cuda(splat_backend *backend, const struct splat_share_put_args *args,
                                             splat_error *error)
{
    const uint64_t n_floats = 10 * (uint64_t)args->n;
    if (args->n == 0) return SPLAT_OK;
    put_kernel<<<splat_cuda_blocks(n_floats, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(
        (const float *)args->rows, args->entries, n_floats, (float *)args->gradients);
    CUDA_LAUNCHED("gradients of a view");
    if (!args->depths) return SPLAT_OK;
    put_depths_kernel<<<splat_cuda_blocks(args->n, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(
        args->depths, args->entries, args->n, args->grad_depth);
    CUDA_LAUNCHED("gradients of a view's depths");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- share_rows */

__global__ void __launch_bounds__(THREADS) rows_kernel(const __grid_constant__ splat_share_rows_args P)
{
    const uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x, k = at / P.words, word = at % P.words;
    if (k >= P.n) return;
    P.to[(P.to_first + k * P.to_stride) * P.words + word] = P.from[(P.from_first + k * P.from_stride) * P.words + word];
}

extern "C" splat_status splat_share_rows_cuda(splat_backend *backend, const struct splat_share_rows_args *args,
                                              splat_error *error)
{
    const uint64_t n_words = (uint64_t)args->n * args->words;
    if (n_words == 0) return SPLAT_OK;
    SPLAT_TRY(splat_cuda_join(splat_cuda_of(backend), error));
    rows_kernel<<<splat_cuda_blocks(n_words, THREADS), THREADS, 0, splat_cuda_of(backend)->stream>>>(*args);
    CUDA_LAUNCHED("rows on their way");
    return SPLAT_OK;
}
