/* Rows of sh_rest on CUDA, in both storages, and how a warp moves them. */
#ifndef SPLAT_OPS_REST_ROWS_CUDA_CUH
#define SPLAT_OPS_REST_ROWS_CUDA_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/rest/rest.h"
}

/* ---------------------------------------------------------------- rows of sh_rest
 *
 * A row is its words: a float each, or two halves each. HALF is the storage, DEGREE the highest band. */

constexpr uint32_t rest_channels(int degree)
{
    return 3u * ((uint32_t)(degree + 1) * (uint32_t)(degree + 1) - 1u);
}

/* Words of the bands up to DEGREE; as many as a whole row has if DEGREE is the model's. */
constexpr uint32_t rest_words(int degree, bool half)
{
    return half ? (rest_channels(degree) + 1) / 2 : rest_channels(degree);
}

/* Words of its quantized moments. */
constexpr uint32_t moment_words(int degree)
{
    return 2u + (2u * rest_channels(degree) + 3u) / 4u;
}

/* In shared memory a row takes an odd number of words: lanes that read the same place of their rows then use different
 * banks. */
constexpr uint32_t odd_words(uint32_t words)
{
    return words | 1u;
}

__device__ __forceinline__ float half_value(uint32_t code)
{
#ifdef __CUDA_ARCH__
    float value; /* one instruction for splat_half_decode */
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)code));
    return value;
#else
    return splat_half_decode((uint16_t)code);
#endif
}

/* Value k of a row; k is known at compile time wherever this is fast. */
template <bool HALF>
__device__ __forceinline__ float rest_value(const uint32_t *row, uint32_t k)
{
    if (!HALF) return __uint_as_float(row[k]);
    return half_value(k & 1 ? row[k / 2] >> 16 : row[k / 2] & 0xffffu);
}

template <bool HALF>
__device__ __forceinline__ const uint32_t *rest_rows(const splat_gaussians &g)
{
    return HALF ? (const uint32_t *)g.sh_rest_half : (const uint32_t *)g.p.sh_rest;
}

/* ---------------------------------------------------------------- rows of a warp
 *
 * Rows that lie anywhere, the host's memory included, are moved by the warp as a whole: neighbouring lanes take
 * neighbouring words, several loads under way at a time. */

/* The place of row r of a warp's 32: that of Gaussian first + r at home, or its slot of a cache. */
template <bool CACHED>
struct warp_rows {
    uint32_t *home, *cached; /* cached: NULL where none are */
    const uint32_t *slots;   /* [32], 1 + the slot or 0, in shared memory */
    uint32_t first, words;
    __device__ __forceinline__ uint32_t *operator()(uint32_t r) const
    {
        if (CACHED && cached && slots[r]) return cached + (size_t)(slots[r] - 1) * words;
        return home + (size_t)(first + r) * words;
    }
};

__device__ __forceinline__ uint32_t lane_index(void)
{
    return threadIdx.x & 31u;
}

/* The numbers of the bits of `mask`, in their order, into list[32]; returns how many there are. */
__device__ __forceinline__ uint32_t list_rows(uint32_t mask, uint8_t *list)
{
    __syncwarp();
    if (mask >> lane_index() & 1u) list[__popc(mask & ((1u << lane_index()) - 1u))] = (uint8_t)lane_index();
    __syncwarp();
    return (uint32_t)__popc(mask);
}

/* The first WORDS words of rows list[0 .. n) to places of STRIDE words in shared memory: that of list[j] is list[j], or
 * j when PACKED. */
template <uint32_t WORDS, uint32_t STRIDE, bool PACKED, bool CACHED>
__device__ __forceinline__ void read_rows(uint32_t *shared, const warp_rows<CACHED> &rows, const uint8_t *list,
                                          uint32_t n)
{
    constexpr int IN_FLIGHT = 6;
    for (uint32_t k = lane_index(); k < n * WORDS; k += IN_FLIGHT * 32) {
        uint32_t word[IN_FLIGHT];
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + 32 * j;
            if (at < n * WORDS) word[j] = rows(list[at / WORDS])[at % WORDS];
        }
#pragma unroll
        for (int j = 0; j < IN_FLIGHT; j++) {
            uint32_t at = k + 32 * j;
            if (at < n * WORDS) shared[(PACKED ? at / WORDS : list[at / WORDS]) * STRIDE + at % WORDS] = word[j];
        }
    }
    __syncwarp();
}

/* The way back, of whole rows. */
template <uint32_t WORDS, uint32_t STRIDE, bool PACKED, bool CACHED>
__device__ __forceinline__ void write_rows(const uint32_t *shared, const warp_rows<CACHED> &rows, const uint8_t *list,
                                           uint32_t n)
{
    __syncwarp();
    for (uint32_t k = lane_index(); k < n * WORDS; k += 32)
        rows(list[k / WORDS])[k % WORDS] = shared[(PACKED ? k / WORDS : list[k / WORDS]) * STRIDE + k % WORDS];
    __syncwarp();
}

#endif
