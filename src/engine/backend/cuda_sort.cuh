/* CUB's radix sorts, compiled once for all ops: each file that includes CUB's headers costs 10 s of compile time. */
#ifndef SPLAT_BACKEND_CUDA_SORT_CUH
#define SPLAT_BACKEND_CUDA_SORT_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* Two arrays of the same length. A sort reads `current`, writes either, and leaves its result in `current`. */
struct splat_cuda_buffers32 {
    uint32_t *current, *other;
};
struct splat_cuda_buffers64 {
    uint64_t *current, *other;
};

/* Sorts n keys by their bits [0, bits); all sorts are stable. work: device memory of *bytes. Without work, nothing is
 * sorted: *bytes becomes what the sort needs. */
cudaError_t splat_cuda_sort_keys32(void *work, size_t *bytes, splat_cuda_buffers32 *keys, uint32_t n, int bits,
                                   cudaStream_t stream);
cudaError_t splat_cuda_sort_pairs32(void *work, size_t *bytes, splat_cuda_buffers32 *keys,
                                    splat_cuda_buffers32 *values, uint32_t n, int bits, cudaStream_t stream);
cudaError_t splat_cuda_sort_pairs64(void *work, size_t *bytes, splat_cuda_buffers64 *keys,
                                    splat_cuda_buffers32 *values, uint32_t n, int bits, cudaStream_t stream);

#endif
