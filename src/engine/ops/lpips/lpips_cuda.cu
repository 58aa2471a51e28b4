/* The two ends of LPIPS on CUDA: a thread a pixel. Sums are made in a fixed order: of a block in a tree, of the blocks
 * by one block at the end. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/lpips/lpips.h"
}

#define LPIPS_THREADS 256

struct lpips_constants { float shift[3], scale[3]; };

__global__ void __launch_bounds__(LPIPS_THREADS)
lpips_input_kernel(const __grid_constant__ splat_lpips_input_args a, const __grid_constant__ lpips_constants constants)
{
    size_t width = a.width, i = (size_t)blockIdx.x * LPIPS_THREADS + threadIdx.x;
    if (i >= (size_t)(a.output.row_end - a.output.row_begin) * width) return;
    size_t pixel = i + (size_t)a.output.row_begin * width;
    int c = blockIdx.y;
    float render = a.image[(size_t)c * a.height * width + pixel], truth = a.photo_u8[3 * pixel + c] / 255.0f;
    if (a.mask && a.mask[pixel] < SPLAT_LOSS_KEPT) render = truth;
    if (a.normalize) {
        render = 2.0f * render - 1.0f;
        truth = 2.0f * truth - 1.0f;
    }
    float *out = a.output.data + c * a.output.channel_stride + i;
    out[0] = (render - constants.shift[c]) / constants.scale[c];
    out[a.output.image_stride] = (truth - constants.shift[c]) / constants.scale[c];
}

extern "C" splat_status splat_lpips_input_cuda(splat_backend *backend, const struct splat_lpips_input_args *args,
                                               splat_error *error)
{
    SPLAT_TRY(splat_lpips_input_check(args, error));
    const lpips_constants constants = {SPLAT_LPIPS_SHIFT, SPLAT_LPIPS_SCALE};
    uint64_t n = (uint64_t)(args->output.row_end - args->output.row_begin) * args->width;
    lpips_input_kernel<<<dim3(splat_cuda_blocks(n, LPIPS_THREADS), 3), LPIPS_THREADS, 0,
                         splat_cuda_of(backend)->stream>>>(*args, constants);
    CUDA_LAUNCHED("lpips_input");
    return SPLAT_OK;
}

/* The sum over the block's threads, for thread 0. */
__device__ double lpips_block_sum(double value)
{
    __shared__ double values[LPIPS_THREADS];
    values[threadIdx.x] = value;
    __syncthreads();
    for (int half = LPIPS_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    return values[0];
}

__global__ void __launch_bounds__(LPIPS_THREADS)
lpips_distance_kernel(const __grid_constant__ splat_lpips_distance_args a, double *partials)
{
    const splat_maps &maps = a.features;
    size_t i = (size_t)blockIdx.x * LPIPS_THREADS + threadIdx.x;
    float sum = 0.0f;
    if (i < (size_t)(a.row_end - a.row_begin) * maps.width) {
        const float *x = maps.data + (size_t)(a.row_begin - maps.row_begin) * maps.width + i;
        const float *y = x + maps.image_stride;
        float norm_x = 0.0f, norm_y = 0.0f;
#pragma unroll 8
        for (int c = 0; c < maps.channels; c++) {
            float u = x[c * maps.channel_stride], v = y[c * maps.channel_stride];
            norm_x += u * u;
            norm_y += v * v;
        }
        norm_x = 1.0f / (sqrtf(norm_x) + SPLAT_LPIPS_EPSILON);
        norm_y = 1.0f / (sqrtf(norm_y) + SPLAT_LPIPS_EPSILON);
#pragma unroll 8
        for (int c = 0; c < maps.channels; c++) {
            /* Equal features give exactly 0: no multiply may be fused with the subtraction. */
            float difference = __fsub_rn(__fmul_rn(x[c * maps.channel_stride], norm_x),
                                         __fmul_rn(y[c * maps.channel_stride], norm_y));
            sum += __ldg(a.weights + c) * difference * difference;
        }
    }
    double total = lpips_block_sum(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

__global__ void __launch_bounds__(LPIPS_THREADS) lpips_total_kernel(const double *partials, int n, double *sum)
{
    double mine = 0;
    for (int i = threadIdx.x; i < n; i += LPIPS_THREADS) mine += partials[i];
    double total = lpips_block_sum(mine);
    if (threadIdx.x == 0) *sum += total;
}

extern "C" splat_status splat_lpips_distance_cuda(splat_backend *backend, const struct splat_lpips_distance_args *args,
                                                  splat_error *error)
{
    SPLAT_TRY(splat_lpips_distance_check(args, error));
    cudaStream_t stream = splat_cuda_of(backend)->stream;
    unsigned n_blocks = splat_cuda_blocks((uint64_t)(args->row_end - args->row_begin) * args->features.width,
                                          LPIPS_THREADS);
    SPLAT_TRY(splat_block_ensure(backend, args->scratch, "lpips sums", SPLAT_OWNER_EVALUATION,
                                 n_blocks * sizeof(double), error));
    double *partials = (double *)args->scratch->data;
    lpips_distance_kernel<<<n_blocks, LPIPS_THREADS, 0, stream>>>(*args, partials);
    CUDA_LAUNCHED("lpips_distance");
    lpips_total_kernel<<<1, LPIPS_THREADS, 0, stream>>>(partials, (int)n_blocks, args->sum);
    CUDA_LAUNCHED("lpips_total");
    return SPLAT_OK;
}
