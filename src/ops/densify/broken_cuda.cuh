/* Rows of a model's arrays with a parameter that is not finite: shared by pruning and relocation on CUDA. */
#ifndef SPLAT_OPS_BROKEN_CUDA_CUH
#define SPLAT_OPS_BROKEN_CUDA_CUH

extern "C" {
#include "ops/densify/densify_common.h"
}

/* By all THREADS threads of a block: bad[k], in shared memory, tells whether row first + k, of n rows, has a parameter
 * that is not finite. Words are read in the order of memory; all threads may read bad afterwards. */
template <int THREADS>
__device__ __forceinline__ void splat_density_mark_broken(const splat_density_arrays &arrays, uint32_t first,
                                                          uint32_t n, uint32_t bad[THREADS])
{
    uint32_t n_rows = min(n - first, (uint32_t)THREADS);
    bad[threadIdx.x] = 0;
    __syncthreads();
    for (int a = 1; a < arrays.n_copied; a++) {
        uint32_t words = arrays.words[a];
        const uint32_t *data = arrays.data[a] + (size_t)first * words;
        bool halves = a == arrays.halves;
        for (uint32_t k = threadIdx.x; k < n_rows * words; k += THREADS)
            if (!splat_density_word_is_finite(data[k], halves)) atomicOr(&bad[k / words], 1u);
    }
    __syncthreads();
}

#endif
