/* Inlining for the formulas of math/: functions of one Gaussian that the CPU runs in loops over sixteen lanes and CUDA
 * in one thread each. They are always inlined: a call inside a loop would keep the loop from being vectorised. */
#ifndef SPLAT_MATH_INLINE_H
#define SPLAT_MATH_INLINE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SPLAT_MATH_INLINE static inline __host__ __device__
#else
#define SPLAT_MATH_INLINE static inline __attribute__((always_inline))
#endif

SPLAT_MATH_INLINE uint32_t splat_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

SPLAT_MATH_INLINE float splat_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* condition ? a : b, for conditions of 0 and 1. On the host by bits: GCC turns a conditional with a constant into a
 * branch (it computes the rest for the constant ahead), and the loop around it is no longer vectorised. */
SPLAT_MATH_INLINE float splat_choose(int condition, float a, float b)
{
#ifdef __CUDACC__
    return condition ? a : b;
#else
    uint32_t mask = -(uint32_t)condition, bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    bits_a = (bits_a & mask) | (bits_b & ~mask);
    memcpy(&a, &bits_a, sizeof a);
    return a;
#endif
}

/* x in [low, high]; NaN gives high. */
SPLAT_MATH_INLINE float splat_clamp(float x, float low, float high)
{
    x = splat_choose(x < high, x, high);
    return splat_choose(x > low, x, low);
}

#endif
