/* Rows of a model's arrays, and those with a parameter that is not finite: shared by growth, pruning and relocation on
 * CUDA. */
#ifndef SPLAT_OPS_DENSITY_ROWS_CUDA_CUH
#define SPLAT_OPS_DENSITY_ROWS_CUDA_CUH

extern "C" {
#include "ops/densify/densify_common.h"
}

/* A word of row i of array a, wherever the row lies. */
__device__ __forceinline__ uint32_t *splat_density_word_at(const splat_density_arrays &arrays, int a, size_t i,
                                                           uint32_t column)
{
    const uint32_t slot = arrays.cached[a] ? arrays.slot[i] : 0, words = arrays.words[a];
    return slot ? arrays.cached[a] + (size_t)(slot - 1) * words + column : arrays.data[a] + i * words + column;
}

__device__ __forceinline__ uint32_t splat_density_word(const splat_density_arrays &arrays, int a, size_t i,
                                                       uint32_t column)
{
    return *splat_density_word_at(arrays, a, i, column);
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
        for (uint32_t k = threadIdx.x; k < n_rows * words; k += THREADS) {
            const uint32_t word = arrays.cached[a] ? splat_density_word(arrays, a, first + k / words, k % words)
                                                   : data[k];
            if (!splat_density_word_is_finite(word, halves)) atomicOr(&bad[k / words], 1u);
        }
    }
    __syncthreads();
}

#endif
