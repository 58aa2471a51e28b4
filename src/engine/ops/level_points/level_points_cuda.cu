/* level_points on CUDA: a thread a pixel; the densities of its samples stay in registers. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/level_points/level_points_common.h"
#include "ops/level_points/level_points_math.h"
}

#define LEVEL_THREADS 128

struct level_parameters {
    splat_level_points_args args; /* gaussians and camera point to the host: the next two stand for them */
    splat_gaussians gaussians;
    splat_camera camera;
};

__global__ void __launch_bounds__(LEVEL_THREADS) level_points_kernel(const __grid_constant__ level_parameters P)
{
    uint32_t i = blockIdx.x * LEVEL_THREADS + threadIdx.x;
    if (i >= P.args.n) return;
    splat_level_points_args args = P.args;
    args.gaussians = &P.gaussians;
    splat_level_points_of(&args, &P.camera, i);
}

extern "C" splat_status splat_level_points_cuda(splat_backend *backend, const struct splat_level_points_args *args,
                                                splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_level_points_check(args, error));
    if (args->n == 0) return SPLAT_OK;
    level_parameters P = {*args, *args->gaussians, *args->camera};
    level_points_kernel<<<splat_cuda_blocks(args->n, LEVEL_THREADS), LEVEL_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("level_points");
    return SPLAT_OK;
}
