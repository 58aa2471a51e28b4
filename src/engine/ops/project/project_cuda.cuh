/* What project and project_backward share on CUDA: activations, the SH basis, and rows of sh_rest in both storages.
 * Entries of the frame are dense: visible entry v is Gaussian v; what is not visible has depth 0 and an empty
 * tile_rect. */
#ifndef SPLAT_OPS_PROJECT_CUDA_CUH
#define SPLAT_OPS_PROJECT_CUDA_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "math/projection.h"
#include "math/sh.h"
#include "ops/project/project.h"
}

/* rest_deferred_cuda.cu: the steps of sh_rest that the visible lack, then their colours into the frame, beside what is
 * submitted to the stream next. There must be active bands. */
splat_status splat_cuda_advance_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians, splat_frame *frame,
                                     splat_error *error);
/* batch_rest_cuda.cu: the same for what several views see. */
splat_status splat_cuda_advance_views(splat_cuda_backend *cuda, const struct splat_project_views_args *args,
                                      splat_error *error);
/* rest_cache_cuda.cu: fetches the rows of the visible, as far as the cache has slots, and sends others home; where
 * sh_rest lies in host memory their colours are written, too, likewise beside the stream, as far as
 * splat_cuda_mark_coloured. There must be active bands. return_rows: all go home. */
splat_status splat_cuda_fetch_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians, splat_frame *frame,
                                   splat_error *error);
splat_status splat_cuda_return_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians, splat_error *error);

/* Scales, opacity and rotation as the screen sees them: through the 3D filter and normalised. */
struct activated {
    float s[3], st[3], o, ot, q[4], inverse_norm, f2;
    bool usable;
};

__device__ __forceinline__ activated activate(const splat_tensors &p, const float *filter_3d, uint32_t i)
{
    activated a;
    float f = filter_3d[i];
    a.f2 = f * f;
    float c3 = 1.0f, sum = f + p.opacities[i];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float raw = p.scales[3 * (size_t)i + k];
        sum += raw;
        a.s[k] = expf(raw);
        a.st[k] = fmaxf(sqrtf(a.s[k] * a.s[k] + a.f2), a.s[k]);
        c3 *= a.st[k] > 0.0f ? a.s[k] / a.st[k] : 1.0f;
    }
    a.o = splat_sigmoid(p.opacities[i]);
    a.ot = a.o * c3;
    float4 q = reinterpret_cast<const float4 *>(p.rotations)[i];
    float norm = sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    a.usable = norm >= 1e-12f && isfinite(norm) && isfinite(sum);
    a.inverse_norm = 1.0f / norm;
    a.q[0] = q.x * a.inverse_norm;
    a.q[1] = q.y * a.inverse_norm;
    a.q[2] = q.z * a.inverse_norm;
    a.q[3] = q.w * a.inverse_norm;
    return a;
}

/* Unit direction from a camera's centre to the mean, and the distance. */
__device__ __forceinline__ float3 direction_from(const float *center, float x, float y, float z,
                                                 float *inverse_distance)
{
    float dx = x - center[0], dy = y - center[1], dz = z - center[2];
    *inverse_distance = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz);
    return make_float3(dx * *inverse_distance, dy * *inverse_distance, dz * *inverse_distance);
}

__device__ __forceinline__ float3 direction_of(const splat_projector &p, float x, float y, float z,
                                               float *inverse_distance)
{
    return direction_from(p.center, x, y, z, inverse_distance);
}

template <int DEGREE>
__device__ __forceinline__ void sh_basis(float3 d, float *b)
{
    b[0] = SPLAT_SH_C0;
    if (DEGREE > 0) splat_sh_band1(d.x, d.y, d.z, b, 1);
    if (DEGREE > 1) splat_sh_band2(d.x, d.y, d.z, b, 1);
    if (DEGREE > 2) splat_sh_band3(d.x, d.y, d.z, b, 1);
}

/* ---------------------------------------------------------------- rows of sh_rest
 *
 * A row is its words: a float each, or two halves each. HALF is the storage, DEGREE the highest band. */

constexpr uint32_t rest_channels(int degree)
{
    return 3u * ((uint32_t)(degree + 1) * (uint32_t)(degree + 1) - 1u);
}

/* Of the bands up to DEGREE; as many as a whole row has when DEGREE is the model's. */
constexpr uint32_t rest_words(int degree, bool half)
{
    return half ? (rest_channels(degree) + 1) / 2 : rest_channels(degree);
}

/* Of its quantized moments. */
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

/* Colour before the clamp at 0, of the first n_basis functions b. */
template <int DEGREE, bool HALF>
__device__ __forceinline__ float3 colour_of(const float *dc, const uint32_t *rest, const float *b, int n_basis)
{
    float3 rgb = make_float3(0.5f + b[0] * dc[0], 0.5f + b[0] * dc[1], 0.5f + b[0] * dc[2]);
#pragma unroll
    for (int k = 1; k < (DEGREE + 1) * (DEGREE + 1); k++)
        if (k < n_basis) {
            rgb.x += b[k] * rest_value<HALF>(rest, 3 * (k - 1));
            rgb.y += b[k] * rest_value<HALF>(rest, 3 * (k - 1) + 1);
            rgb.z += b[k] * rest_value<HALF>(rest, 3 * (k - 1) + 2);
        }
    return rgb;
}

/* ---------------------------------------------------------------- rows of a warp
 *
 * Rows that lie anywhere, the host's memory included, are moved by the warp as a whole: neighbouring lanes take
 * neighbouring words, several loads under way at a time. */

/* Where row r of a warp's 32 lies: that of Gaussian first + r at home, or its slot of a cache. */
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
