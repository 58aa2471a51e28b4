/* Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * A number depends only on (seed, stream, counter), so any thread, in any order, on the host or on a device, draws the
 * same one, and nothing needs to be saved to resume. Shared by C and CUDA.
 */
#ifndef SPLAT_BASE_RNG_H
#define SPLAT_BASE_RNG_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SPLAT_INLINE static inline __host__ __device__
#else
#define SPLAT_INLINE static inline
#endif

/* One purpose, one stream. Numbers are part of the file format of checkpoints: only append. */
enum {
    SPLAT_STREAM_VIEW_ORDER = 1,
    SPLAT_STREAM_SPLIT_SAMPLES = 2,
    SPLAT_STREAM_RAY_JITTER = 3,
    SPLAT_STREAM_BACKGROUND = 4,
    SPLAT_STREAM_RANDOM_POINTS = 5,
    SPLAT_STREAM_HIGHRES_VIEW = 6,
    SPLAT_STREAM_SAMPLE_SCENE = 7,
    SPLAT_STREAM_TEST = 8,
    SPLAT_STREAM_RANDOM_VIEWS = 9,
    SPLAT_STREAM_SURFACE_POINTS = 11,
    SPLAT_STREAM_FIELD_SAMPLES = 12,
    SPLAT_STREAM_MESH_SAMPLES = 16,
    SPLAT_STREAM_MULTI_VIEW = 20,
    SPLAT_STREAM_NEIGHBOR_VIEW = 21,
    SPLAT_STREAM_PLANES = 24,
    SPLAT_STREAM_RELOCATE = 30,
    SPLAT_STREAM_MEANS_NOISE = 31,
    SPLAT_STREAM_SAMPLE_EXPOSURE = 40,
    SPLAT_STREAM_PATCHES = 41,
    SPLAT_STREAM_DEPTH_STEPS = 42,
    SPLAT_STREAM_DRAW = 43,
    SPLAT_STREAM_DROPOUT = 44
};

typedef struct splat_random4 { uint32_t x[4]; } splat_random4;

/* Four uniform 32-bit words of counter (index, step) in a stream. */
SPLAT_INLINE splat_random4 splat_random(uint64_t seed, uint32_t stream, uint32_t step, uint64_t index)
{
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = step, c3 = stream;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    splat_random4 result = {{c0, c1, c2, c3}};
    return result;
}

/* Uniform in [0, 1), 24 bits. */
SPLAT_INLINE float splat_uniform(uint32_t word)
{
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in (0, 1), 24 bits: neither 0 nor 1. */
SPLAT_INLINE float splat_uniform_open(uint32_t word)
{
    return ((float)(word >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

/* Two standard normals from two words (Box-Muller). */
SPLAT_INLINE void splat_normal2(uint32_t a, uint32_t b, float *n0, float *n1)
{
    float radius = sqrtf(-2.0f * logf(splat_uniform_open(a))), angle = 6.2831853071795865f * splat_uniform(b);
    *n0 = radius * cosf(angle);
    *n1 = radius * sinf(angle);
}

#endif
