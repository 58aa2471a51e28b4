/* Code shared by project and project_backward on CUDA: activations, the SH basis and colours. Entries of the frame
 * are dense: visible entry v is Gaussian v; an invisible Gaussian has depth 0 and an empty tile_rect. */
#ifndef SPLAT_OPS_PROJECT_CUDA_CUH
#define SPLAT_OPS_PROJECT_CUDA_CUH

#include "ops/rest/rest_rows_cuda.cuh"

extern "C" {
#include "math/projection.h"
#include "math/sh.h"
#include "ops/project/project.h"
}

#define BASIS_STRIDE 17 /* odd: a thread writes its sixteen basis values without bank conflicts */

/* Scales, opacity and rotation as the screen sees them: through the 3D filter and normalised. */
struct activated {
    float s[3], st[3], o, ot, q[4], inverse_norm, f2;
    bool usable;
};

__device__ __forceinline__ activated activate(const splat_tensors &p, const float *filter_3d, float gain, uint32_t i)
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
    a.ot = a.o * c3 * gain;
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

#endif
