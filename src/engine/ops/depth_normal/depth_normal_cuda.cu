/* depth_normal on CUDA: a thread a pixel, in two passes; sums by block, then in the order of the blocks. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/depth_normal/depth_normal_math.h"
}

#define DEPTH_NORMAL_X 32
#define DEPTH_NORMAL_Y 8
#define DEPTH_NORMAL_THREADS (DEPTH_NORMAL_X * DEPTH_NORMAL_Y)
#define N_WARPS (DEPTH_NORMAL_THREADS / 32)

__global__ void __launch_bounds__(DEPTH_NORMAL_THREADS)
    first_kernel(const __grid_constant__ splat_depth_normal_job job, double2 *sums)
{
    __shared__ double2 parts[N_WARPS];
    const int x = blockIdx.x * DEPTH_NORMAL_X + threadIdx.x, y = blockIdx.y * DEPTH_NORMAL_Y + threadIdx.y;
    float loss = 0.0f;
    int counts = 0;
    if (x < job.width && y < job.height) counts = splat_depth_normal_first(&job, x, y, &loss);
    double2 sum = splat_block_sum2<N_WARPS>(loss, counts, parts);
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/* One block. */
__global__ void __launch_bounds__(DEPTH_NORMAL_THREADS)
    sum_kernel(const double2 *sums, unsigned n, double n_pixels, double *result)
{
    __shared__ double2 parts[N_WARPS];
    double a = 0, b = 0;
    for (unsigned i = threadIdx.x; i < n; i += DEPTH_NORMAL_THREADS) {
        a += sums[i].x;
        b += sums[i].y;
    }
    double2 sum = splat_block_sum2<N_WARPS>(a, b, parts);
    if (threadIdx.x != 0) return;
    result[0] = sum.x / n_pixels;
    result[1] = sum.y;
}

__global__ void __launch_bounds__(DEPTH_NORMAL_THREADS)
    second_kernel(const __grid_constant__ splat_depth_normal_job job)
{
    const int x = blockIdx.x * DEPTH_NORMAL_X + threadIdx.x, y = blockIdx.y * DEPTH_NORMAL_Y + threadIdx.y;
    if (x < job.width && y < job.height) splat_depth_normal_second(&job, x, y);
}

extern "C" splat_status splat_depth_normal_cuda(splat_backend *backend, const struct splat_depth_normal_args *args,
                                                splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    const int width = args->camera->width, height = args->camera->height;
    const size_t plane = (size_t)width * (size_t)height;
    const dim3 grid(splat_cuda_blocks(width, DEPTH_NORMAL_X), splat_cuda_blocks(height, DEPTH_NORMAL_Y));
    const dim3 block(DEPTH_NORMAL_X, DEPTH_NORMAL_Y);
    const unsigned n_blocks = grid.x * grid.y;
    void *slopes, *sums;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_depth_normal_slopes_bytes(plane), &slopes, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_depth_normal_sums_bytes(n_blocks), &sums, error));
    const splat_depth_normal_job job = splat_depth_normal_job_of(args, (float *)slopes);
    first_kernel<<<grid, block, 0, cuda->stream>>>(job, (double2 *)sums);
    CUDA_LAUNCHED("depth_normal");
    sum_kernel<<<1, DEPTH_NORMAL_THREADS, 0, cuda->stream>>>((const double2 *)sums, n_blocks, (double)plane,
                                                            args->result);
    CUDA_LAUNCHED("depth_normal sum");
    second_kernel<<<grid, block, 0, cuda->stream>>>(job);
    CUDA_LAUNCHED("depth_normal gradient");
    return SPLAT_OK;
}
