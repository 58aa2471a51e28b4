/* Sums of gradients in fixed point, for deterministic devices: sums of integers do not depend on their order, so that
 * atomics may make them. Units are powers of two, one for each of a Gaussian's ten sums, chosen by what a sum could be
 * at most: by the greatest gradient of a pixel and the greatest colour of the view, and by the Gaussian's ellipse. So
 * no sum overflows, and a unit is 2^-48 or less (at a megapixel 2^-47) of what one patch could add. */
#ifndef SPLAT_OPS_FIXED_SUMS_CUDA_CUH
#define SPLAT_OPS_FIXED_SUMS_CUDA_CUH

#include "ops/raster/raster_parameters.cuh"

/* Greatest values over the band's pixels and the view's Gaussians, floats as bits: none is negative. */
struct fixed_bounds {
    uint32_t gradient; /* sum of the absolute values of a pixel's channels */
    uint32_t fourth;   /* of geometry, of the fourth channel alone */
    uint32_t alpha;    /* absolute value of dL/dalpha */
    uint32_t colour;   /* absolute value of a channel of a Gaussian or of the background */
    uint32_t along, inverse;        /* of depths, absolute values of dL/dS and dL/dQ */
    uint32_t farthest, per_nearest; /* the largest z, and 1 / z */
};

static_assert(sizeof(fixed_bounds) == 8 * sizeof(uint32_t), "as splat_raster_fixed_bytes counts them");

/* An integer k with 2^k > x >= 0; of what is not finite 129. */
__device__ __forceinline__ int exponent_above(float x)
{
    return (int)(__float_as_uint(x) >> 23 & 255) - 126;
}

/* 2^k for k from -126 to 127. */
__device__ __forceinline__ float power_of_two(int k)
{
    return __uint_as_float((uint32_t)(k + 127) << 23);
}

/* Exponents of what the samples of a patch could sum up to at most, but for the Gaussian's own factors. */
struct fixed_exponents {
    int p, colour, fourth; /* p: of dL/dalpha0 */
};

/* The largest exponent of a pixel's along x + inverse y, from the greatest values. */
__device__ __forceinline__ int depth_exponent(uint32_t along, uint32_t x, uint32_t inverse, uint32_t y)
{
    return 1 + max(exponent_above(__uint_as_float(along)) + exponent_above(__uint_as_float(x)),
                   exponent_above(__uint_as_float(inverse)) + exponent_above(__uint_as_float(y)));
}

/* |dL/dalpha0| <= T (|its shade| + |the shade of all behind| + |dL/dalpha|), as weights and T add up to one. */
__device__ __forceinline__ fixed_exponents fixed_exponents_of(const raster_parameters &P)
{
    const fixed_bounds *bounds = P.bounds;
    const int headroom = 2 + 5; /* of rounding; of the 32 samples of a patch */
    const int gradient = exponent_above(__uint_as_float(bounds->gradient));
    int shade = 1 + gradient + exponent_above(__uint_as_float(bounds->colour));
    if (P.grad_depth)
        shade = 2 + max(shade, depth_exponent(bounds->along, bounds->farthest, bounds->inverse, bounds->per_nearest));
    const int alpha = exponent_above(__uint_as_float(bounds->alpha));
    return {headroom + 1 + max(shade, alpha), headroom + gradient,
            headroom + exponent_above(__uint_as_float(bounds->fourth))};
}

/* Exponents of the five sums of splat_grad2d that begin at 0 or, `high`, at 5. d is the way to a pixel that blends,
 * so Q(d) <= 2 ln 255 < 2^4; from it, as Q is positive, |Q d|_x <= (2^4 A)^1/2 and d_x^2 <= 2^4 C / det. Of needles,
 * whose det is rounding, more is not known than of the thinnest that float tells. All kernels must find the same: only
 * exponents are added, and products are rounded one by one. */
__device__ __forceinline__ void fixed_units(const fixed_exponents &e, const raster_parameters &P, bool geometry,
                                            bool high, float a, float b, float c, int unit[N_GRADS / 2])
{
    const int ea = exponent_above(a), ec = exponent_above(c), eac = exponent_above(__fmul_rn(a, c));
    const int slope_u = e.p + ((ea + 5) >> 1), slope_v = e.p + ((ec + 5) >> 1);
    if (high) {
        unit[0] = e.p;
        unit[1] = unit[2] = unit[3] = e.colour;
        unit[4] = geometry ? e.fourth
                           : max(slope_u + exponent_above((float)P.width), slope_v + exponent_above((float)P.height));
    } else {
        const float det = splat_determinant(a, b, c);
        const int least = eac - 24, lower = det > 0.0f ? max(exponent_above(det) - 2, least) : least;
        unit[0] = slope_u;
        unit[1] = slope_v;
        unit[2] = e.p + 4 + ec - lower;
        unit[3] = e.p + 4 + ((eac + 1) >> 1) - lower;
        unit[4] = e.p + 4 + ea - lower;
    }
#pragma unroll
    for (int i = 0; i < N_GRADS / 2; i++) unit[i] = min(max(unit[i] - P.fixed_bits, -126), 126);
}

/* The unit of dL/dz = sum w (dL/dS - dL/dQ / z^2). */
__device__ __forceinline__ int fixed_unit_of_depth(const raster_parameters &P)
{
    const int near = exponent_above(__uint_as_float(P.bounds->per_nearest));
    const int most = 2 + 5 + 1 + max(exponent_above(__uint_as_float(P.bounds->along)),
                                     exponent_above(__uint_as_float(P.bounds->inverse)) + 2 * near);
    return min(max(most - P.fixed_bits, -126), 126);
}

/* A sum of a patch in units of 2^unit. */
__device__ __forceinline__ long long to_fixed(const raster_parameters &P, float sum, int unit)
{
    const float most = power_of_two(P.fixed_bits); /* of one patch, so that all of them fit */
    return __float2ll_rn(fminf(fmaxf(__fmul_rn(sum, power_of_two(-unit)), -most), most));
}

#endif
