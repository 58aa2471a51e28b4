/* clear_space on CUDA: a thread a Gaussian, the cameras in batches that fit a launch's parameters (constant memory), so
 * that nothing is allocated, copied or waited for. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/clear_space/clear_space.h"
#include "ops/clear_space/clear_space_math.h"
}

#define CLEAR_THREADS 256
#define BATCH 56 /* cameras of a launch: its parameters stay below 4 KiB */

struct clear_parameters {
    const float *means;
    float *logits;
    uint32_t n, n_cameras;
    splat_clear_camera cameras[BATCH];
};

static_assert(sizeof(clear_parameters) <= 4096, "the parameters of a launch on any device");

__global__ void __launch_bounds__(CLEAR_THREADS) clear_space_kernel(const __grid_constant__ clear_parameters P)
{
    const uint32_t i = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (i >= P.n || !(P.logits[i] > SPLAT_CLEARED_LOGIT)) return;
    const float mean[3] = {P.means[3 * (size_t)i], P.means[3 * (size_t)i + 1], P.means[3 * (size_t)i + 2]};
    bool is_before = false;
#pragma unroll 4
    for (uint32_t k = 0; k < P.n_cameras; k++) is_before |= splat_clear_is_before(&P.cameras[k], mean);
    if (is_before) P.logits[i] = SPLAT_CLEARED_LOGIT;
}

extern "C" splat_status splat_clear_space_cuda(splat_backend *backend, const struct splat_clear_space_args *args,
                                               splat_error *error)
{
    clear_parameters P = {};
    P.means = args->gaussians->p.means;
    P.logits = args->gaussians->p.opacities;
    P.n = args->gaussians->n;
    if (P.n == 0) return SPLAT_OK;
    const unsigned blocks = splat_cuda_blocks(P.n, CLEAR_THREADS);
    for (uint32_t begin = 0; begin < args->n_cameras; begin += P.n_cameras) {
        const uint32_t left = args->n_cameras - begin;
        P.n_cameras = left < BATCH ? left : BATCH;
        for (uint32_t k = 0; k < P.n_cameras; k++)
            P.cameras[k] = splat_clear_camera_of(&args->cameras[begin + k], args->near_depths[begin + k]);
        clear_space_kernel<<<blocks, CLEAR_THREADS, 0, splat_cuda_of(backend)->stream>>>(P);
        CUDA_LAUNCHED("clear_space");
    }
    return SPLAT_OK;
}
