/* What a failed call of the CUDA runtime means: a file of its own, as that of every kernel asks it. */
#include "backend/cuda_backend.cuh"

splat_status splat_cuda_check(cudaError_t result, const char *doing, splat_error *error)
{
    if (result == cudaSuccess) return SPLAT_OK;
    cudaGetLastError();
    return splat_fail(error, result == cudaErrorMemoryAllocation ? SPLAT_ERROR_MEMORY : SPLAT_ERROR_DEVICE,
                      "the GPU could not %s: %s", doing, cudaGetErrorString(result));
}
