/* Translates errors of the CUDA runtime. A file of its own, because every kernel's file calls it. */
#include "backend/cuda_backend.cuh"

splat_status splat_cuda_check(cudaError_t result, const char *doing, splat_error *error)
{
    if (result == cudaSuccess) return SPLAT_OK;
    cudaGetLastError();
    return splat_fail(error, result == cudaErrorMemoryAllocation ? SPLAT_ERROR_MEMORY : SPLAT_ERROR_DEVICE,
                      "the GPU could not %s: %s", doing, cudaGetErrorString(result));
}
