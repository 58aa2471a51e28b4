/* Sixteen lanes at a time. Kernels live in <op>_simd.c, which the build compiles once a level, with the level's flags
 * and SPLAT_SIMD_LEVEL as c, avx2 or avx512. What others call is named SIMD(name), which ends in the level; <op>_cpu.c
 * picks with SPLAT_OF_LEVEL. The arithmetic is the same at every level (no contraction, no reassociation), so every
 * level gives the same bytes.
 *
 * Two ways to write a kernel: on the native vectors splat_vf, splat_vi (GCC/Clang vector extensions of the width the
 * level has: 16, 8 or 4 lanes; wider ones GCC takes apart lane by lane), or as plain loops over 16 lanes of local
 * arrays, which the compiler vectorises (splat_exp is made for it).
 */
#ifndef SPLAT_OPS_SIMD_H
#define SPLAT_OPS_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define SIMD(name) SPLAT_SIMD_NAME(name, SPLAT_SIMD_LEVEL)
#define SPLAT_SIMD_NAME(name, level) SPLAT_SIMD_JOIN(name, level)
#define SPLAT_SIMD_JOIN(name, level) name##_##level

#define SPLAT_LANES 16
#define SPLAT_FORCE_INLINE static inline __attribute__((always_inline))

/* e^x for one value, branch-free, vectorisable; x is clamped to [-87, 88]. Relative error below 2e-7 (Cody-Waite
 * reduction by ln 2, degree-6 polynomial on [-ln2/2, ln2/2]). */
SPLAT_FORCE_INLINE float splat_exp(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = x * 1.44269504088896341f + 12582912.0f; /* 1.5 * 2^23: the integer part lands in the low bits */
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits; /* unsigned: of NaN they are anything */
    float scale;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4B400000u + 127u) << 23;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* e^x in double for x in [-700, 700], as 2^(x log2 e) by Taylor's polynomial of degree 8 on [-1/2, 1/2]; relative error
 * below 1e-9. */
SPLAT_FORCE_INLINE double splat_fine_exp(double x)
{
    double shifted = x * 1.4426950408889634 + 6755399441055744.0; /* 1.5 * 2^52: as in splat_exp */
    double r = (x * 1.4426950408889634 - (shifted - 6755399441055744.0)) * 0.6931471805599453;
    double p = 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64_t bits, scale;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&scale, &shifted, sizeof scale);
    bits += scale << 52;
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* ln x of a normal x >= 1, error below 1e-6: x = m 2^e with m in [2/3, 4/3), ln m = 2 artanh((m - 1)/(m + 1)). */
SPLAT_FORCE_INLINE float splat_log(float x)
{
    int32_t bits, exponent;
    memcpy(&bits, &x, sizeof bits);
    exponent = (bits - 0x3F2AAAAB) >> 23;
    bits -= exponent * (1 << 23);
    memcpy(&x, &bits, sizeof x);
    float t = (x - 1.0f) / (x + 1.0f), tt = t * t;
    float series = 1.0f + tt * (1.0f / 3 + tt * (1.0f / 5 + tt * (1.0f / 7 + tt * (1.0f / 9))));
    return (float)exponent * 0.693147181f + 2.0f * t * series;
}

/* Vectors of the level's own width. A mask is all ones or all zeros in each lane, as comparisons give it. */
#if defined(__AVX512F__)
#define SPLAT_NATIVE_LANES 16
#elif defined(__AVX2__)
#define SPLAT_NATIVE_LANES 8
#else
#define SPLAT_NATIVE_LANES 4
#endif
typedef float splat_vf __attribute__((vector_size(4 * SPLAT_NATIVE_LANES)));
typedef int32_t splat_vi __attribute__((vector_size(4 * SPLAT_NATIVE_LANES)));
typedef uint32_t splat_vu __attribute__((vector_size(4 * SPLAT_NATIVE_LANES)));

SPLAT_FORCE_INLINE splat_vf splat_vf_select(splat_vi mask, splat_vf a, splat_vf b)
{
    return (splat_vf)(((splat_vi)a & mask) | ((splat_vi)b & ~mask));
}

SPLAT_FORCE_INLINE splat_vf splat_vf_and(splat_vi mask, splat_vf a)
{
    return (splat_vf)((splat_vi)a & mask);
}

/* A mask where the level keeps it best: AVX-512 has registers for them, of a bit a lane. `&` joins two. */
#if defined(__AVX512F__)
typedef __mmask16 splat_vm;
#define SPLAT_VM_COMPARE(a, b, relation, operator) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), relation)
#else
typedef splat_vi splat_vm;
#define SPLAT_VM_COMPARE(a, b, relation, operator) ((a)operator(b))
#endif
#define SPLAT_VM_LESS(a, b) SPLAT_VM_COMPARE(a, b, _CMP_LT_OQ, <)
#define SPLAT_VM_AT_LEAST(a, b) SPLAT_VM_COMPARE(a, b, _CMP_GE_OQ, >=)

SPLAT_FORCE_INLINE splat_vm splat_vm_and_not(splat_vm a, splat_vm b)
{
    return (splat_vm)(a & ~b);
}

/* The lanes of `among` with 0 <= x <= limit. As integers floats that are not negative keep their order, and all others
 * are above them: one instruction where comparisons are without a sign. No x may be -0. */
SPLAT_FORCE_INLINE splat_vm splat_vm_within(splat_vm among, splat_vf x, float limit)
{
    splat_vf zero = {0}, most = limit - zero;
#if defined(__AVX512F__)
    return _mm512_mask_cmple_epu32_mask(among, (__m512i)x, (__m512i)most);
#else
    return among & (x >= zero) & (x <= most);
#endif
}

SPLAT_FORCE_INLINE splat_vm splat_vm_at_least_int(splat_vi a, splat_vi b)
{
#if defined(__AVX512F__)
    return _mm512_cmpge_epi32_mask((__m512i)a, (__m512i)b);
#else
    return a >= b;
#endif
}

/* The lanes of `among` with a >= b. */
SPLAT_FORCE_INLINE splat_vm splat_vm_among_at_least(splat_vm among, splat_vf a, splat_vf b)
{
#if defined(__AVX512F__)
    return _mm512_mask_cmp_ps_mask(among, (__m512)a, (__m512)b, _CMP_GE_OQ);
#else
    return among & (a >= b);
#endif
}

/* True if a lane of a mask is set. */
SPLAT_FORCE_INLINE bool splat_vm_any(splat_vm mask)
{
#if defined(__AVX512F__)
    return mask != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)mask) != 0;
#else
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

/* a in the lanes of the mask, 0 in the others. */
SPLAT_FORCE_INLINE splat_vf splat_vf_keep(splat_vm mask, splat_vf a)
{
#if defined(__AVX512F__)
    return (splat_vf)_mm512_maskz_mov_ps(mask, (__m512)a);
#else
    return splat_vf_and(mask, a);
#endif
}

/* *to takes `value` in the lanes of the mask. */
SPLAT_FORCE_INLINE void splat_vi_put(splat_vi *to, splat_vm mask, splat_vi value)
{
#if defined(__AVX512F__)
    _mm512_mask_store_epi32(to, mask, (__m512i)value);
#else
    *to = (value & mask) | (*to & ~mask);
#endif
}

/* One more in the lanes of the mask. */
SPLAT_FORCE_INLINE splat_vi splat_vi_count(splat_vi counts, splat_vm mask)
{
#if defined(__AVX512F__)
    return (splat_vi)_mm512_mask_add_epi32((__m512i)counts, mask, (__m512i)counts, _mm512_set1_epi32(1));
#else
    return counts - mask; /* a lane of the mask is -1 */
#endif
}

/* The smaller of a and b, which is b when one is NaN or they are equal: one instruction where the level has it. */
SPLAT_FORCE_INLINE splat_vf splat_vf_min(splat_vf a, splat_vf b)
{
#if defined(__AVX512F__)
    return (splat_vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (splat_vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (splat_vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return splat_vf_select(a < b, a, b);
#endif
}

/* The larger of a and b, which is b when one is NaN or they are equal. */
SPLAT_FORCE_INLINE splat_vf splat_vf_max(splat_vf a, splat_vf b)
{
#if defined(__AVX512F__)
    return (splat_vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (splat_vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (splat_vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return splat_vf_select(a > b, a, b);
#endif
}

/* The larger of |a| and |b|, which are not NaN. */
SPLAT_FORCE_INLINE splat_vf splat_vf_max_magnitude(splat_vf a, splat_vf b)
{
#if defined(__AVX512DQ__)
    return (splat_vf)_mm512_range_ps((__m512)a, (__m512)b, 0xb);
#else
    splat_vi zero = {0}, magnitude = zero + 0x7fffffff;
    return splat_vf_max(splat_vf_and(magnitude, a), splat_vf_and(magnitude, b));
#endif
}

/* All n <= 4 values are made before what follows uses one of them: compilers prefer one chain of steps after the other,
 * each of which waits for the one before. n is a constant of the caller. */
SPLAT_FORCE_INLINE void splat_vf_in_step(splat_vf *x, int n)
{
#if defined(__AVX512F__)
    if (n == 4) __asm__("" : "+v"(x[0]), "+v"(x[1]), "+v"(x[2]), "+v"(x[3]));
    if (n == 3) __asm__("" : "+v"(x[0]), "+v"(x[1]), "+v"(x[2]));
    if (n == 2) __asm__("" : "+v"(x[0]), "+v"(x[1]));
#else
    (void)x;
    (void)n;
#endif
}

/* y = e^-x of n <= 4 vectors with lanes in [-87, 87]; of others anything. n is a constant of the caller. With fewer
 * steps than splat_exp, as 2^(x log2 e) by a polynomial of degree 5 on [-1/2, 1/2], whose own error is 9.2e-8. Relative
 * error below 1.7e-7 + 8e-8 |x|, the second part from rounding x log2 e, as x has been rounded; e^0 is 1, and e^-x <= 1
 * where x >= 0. Step by step for all of them: the steps of one wait for each other. */
SPLAT_FORCE_INLINE void splat_vf_exps_of_negative(const splat_vf *x, splat_vf *y, int n)
{
    enum { MOST = 4 };
    splat_vf shifted[MOST], r[MOST], p[MOST];
    for (int k = 0; k < n; k++) r[k] = x[k] * -1.44269504088896341f;
    splat_vf_in_step(r, n);
    for (int k = 0; k < n; k++) shifted[k] = r[k] + 12582912.0f; /* as in splat_exp */
    for (int k = 0; k < n; k++) r[k] = r[k] - (shifted[k] - 12582912.0f);
    splat_vf_in_step(r, n);
    for (int k = 0; k < n; k++) p[k] = r[k] * 1.32647681e-3f + 9.67156701e-3f;
    splat_vf_in_step(p, n);
    for (int k = 0; k < n; k++) p[k] = p[k] * r[k] + 5.55074476e-2f;
    splat_vf_in_step(p, n);
    for (int k = 0; k < n; k++) p[k] = p[k] * r[k] + 2.40222365e-1f;
    splat_vf_in_step(p, n);
    for (int k = 0; k < n; k++) p[k] = p[k] * r[k] + 6.93146944e-1f;
    splat_vf_in_step(p, n);
    for (int k = 0; k < n; k++) p[k] = p[k] * r[k] + 1.0f;
    splat_vf_in_step(p, n);
    /* times 2^whole, which is normal: it lies in the low bits of `shifted`, and 0x4B400000 has none below bit 9;
     * unsigned, as lanes that do not matter are anything */
    for (int k = 0; k < n; k++) y[k] = (splat_vf)((splat_vu)p[k] + ((splat_vu)shifted[k] << 23));
}

/* Bit-equal to splat_exp lane by lane. */
SPLAT_FORCE_INLINE splat_vf splat_vf_exp(splat_vf x)
{
    splat_vf zero = {0}, low = zero - 87.0f, high = zero + 88.0f;
    x = splat_vf_min(high, splat_vf_select(x < low, low, x));
    splat_vf shifted = x * 1.44269504088896341f + 12582912.0f, whole = shifted - 12582912.0f;
    splat_vf r = x - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    splat_vf p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return (splat_vf)((splat_vu)p + ((splat_vu)shifted << 23));
}

#endif
