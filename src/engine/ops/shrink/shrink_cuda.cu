/* shrink on CUDA: as on the CPU, a thread a row, or a thread a pair. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/shrink/shrink.h"
}
#include "ops/shrink/shrink_math.h"

#define SHRINK_THREADS 128

__global__ void __launch_bounds__(SHRINK_THREADS)
    shrink_halves_kernel(uint32_t n, uint32_t channels, const float *values, uint32_t *rows)
{
    uint32_t i = blockIdx.x * SHRINK_THREADS + threadIdx.x;
    if (i >= n) return;
    const size_t words = splat_half_row(channels) / 2;
    splat_half_row_encode(values + i * (size_t)channels, channels, (uint16_t *)(rows + i * words));
}

__global__ void __launch_bounds__(SHRINK_THREADS)
    shrink_moments_kernel(uint32_t n, uint32_t channels, const float *m, const float *v, uint32_t *rows)
{
    uint32_t i = blockIdx.x * SHRINK_THREADS + threadIdx.x;
    if (i >= n) return;
    splat_moment_row_encode(m + i * (size_t)channels, v + i * (size_t)channels, channels,
                            rows + i * (size_t)splat_moment_row_words(channels));
}

__global__ void __launch_bounds__(SHRINK_THREADS)
    shrink_pairs_kernel(uint32_t n, const float *m, const float *v, uint32_t *rows)
{
    uint32_t i = blockIdx.x * SHRINK_THREADS + threadIdx.x;
    if (i < n) rows[i] = splat_pair_encode(m[i], v[i], SPLAT_PAIR_NEAREST);
}

extern "C" splat_status splat_shrink_cuda(splat_backend *backend, const struct splat_shrink_args *args,
                                          splat_error *error)
{
    cudaStream_t stream = splat_cuda_of(backend)->stream;
    const uint32_t channels = args->channels;
    const size_t words = splat_shrink_row_words(args);
    void *scratch;
    if (args->n == 0 || channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_shrink_scratch_bytes(args->n, (uint32_t)words), &scratch, error));
    uint32_t *piece = (uint32_t *)scratch;
    for (uint32_t first = 0; first < args->n; first += SPLAT_SHRINK_PIECE) {
        const uint32_t n = args->n - first < SPLAT_SHRINK_PIECE ? args->n - first : SPLAT_SHRINK_PIECE;
        const float *m = args->m + first * (size_t)channels, *v = args->v ? args->v + first * (size_t)channels : NULL;
        const unsigned row_blocks = splat_cuda_blocks(n, SHRINK_THREADS);
        const uint32_t n_pairs = n * channels;
        if (!v)
            shrink_halves_kernel<<<row_blocks, SHRINK_THREADS, 0, stream>>>(n, channels, m, piece);
        else if (args->storage == SPLAT_STORED_HARMONICS)
            shrink_moments_kernel<<<row_blocks, SHRINK_THREADS, 0, stream>>>(n, channels, m, v, piece);
        else
            shrink_pairs_kernel<<<splat_cuda_blocks(n_pairs, SHRINK_THREADS), SHRINK_THREADS, 0, stream>>>(n_pairs, m,
                                                                                                          v, piece);
        CUDA_LAUNCHED("shrink");
        SPLAT_TRY(splat_backend_copy(backend, (uint32_t *)args->m + first * words, piece, n * words * sizeof *piece,
                                     error));
    }
    return SPLAT_OK;
}
