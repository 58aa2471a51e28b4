/* agree on CUDA: a thread a pixel. Compiled without contraction, as the host's code: the same bits. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/agree/agree.h"
#include "ops/agree/agree_math.h"
}

#define AGREE_THREADS 128

__global__ void __launch_bounds__(AGREE_THREADS) agree_kernel(const __grid_constant__ splat_agree_args A)
{
    const size_t i = (size_t)blockIdx.x * AGREE_THREADS + threadIdx.x;
    splat_agree_pixel pixel;
    splat_agree_sums sums;
    if (i >= A.n) return;
    const bool is_said = splat_agree_ask(&A.view, A.neighbors, A.n_neighbors, A.first + i, &pixel, &sums);
    A.verdicts[i] = is_said ? splat_agree_verdict(&pixel, &sums, A.n_neighbors) : SPLAT_AGREE_SILENT;
    if (is_said && i % A.every == A.phase) splat_agree_finish(&pixel, &sums, &A.agreements[i / A.every]);
}

extern "C" splat_status splat_agree_cuda(splat_backend *backend, const struct splat_agree_args *args,
                                         splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_agree_check(args, error));
    if (args->n == 0) return SPLAT_OK;
    agree_kernel<<<splat_cuda_blocks(args->n, AGREE_THREADS), AGREE_THREADS, 0, cuda->stream>>>(*args);
    CUDA_LAUNCHED("agree");
    return SPLAT_OK;
}
