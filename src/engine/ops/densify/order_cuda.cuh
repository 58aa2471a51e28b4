/* Floats as unsigned keys of the same order, for radix sorts and integer minima: shared by density control and knn on
 * CUDA. */
#ifndef SPLAT_OPS_ORDER_CUDA_CUH
#define SPLAT_OPS_ORDER_CUDA_CUH

#include <cstdint>

/* -0 and 0 are one key; no finite float has the key 0 or UINT32_MAX. */
__device__ __forceinline__ uint32_t splat_order_key(float value)
{
    uint32_t bits = __float_as_uint(value + 0.0f);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float splat_order_value(uint32_t key)
{
    return __uint_as_float(key >> 31 ? key & 0x7FFFFFFFu : ~key);
}

/* The lowest of a full warp's values, in every lane. __reduce_min_sync would need sm_80. */
__device__ __forceinline__ uint32_t splat_order_warp_min(uint32_t value)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) value = min(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

/* expf of the host rounds nearly always to the float next to the exact value; so does this. Decisions that compare it
 * with a threshold are then those of the CPU, which the device's own expf (2 ulp) does not give. */
__device__ __forceinline__ float splat_order_exp(float x)
{
    return (float)exp((double)x);
}

#endif
