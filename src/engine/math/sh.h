/* Real spherical harmonics of degree 0 to 3, as 3D Gaussian Splatting uses them (docs/method.md 5): colour coefficients
 * times the basis at the unit direction from the camera to the Gaussian. Shared by C and CUDA.
 *
 * Functions take a stride between coefficients, so that sixteen Gaussians can lie side by side (stride 16, one lane
 * each); a stride of 1 is a plain array. Bands are separate functions: a caller evaluates those that are active. */
#ifndef SPLAT_MATH_SH_H
#define SPLAT_MATH_SH_H

#include "math/inline.h"

#define SPLAT_SH_C0 0.28209479177387814f
#define SPLAT_SH_C1 0.4886025119029199f
#define SPLAT_SH_C2_0 1.0925484305920792f
#define SPLAT_SH_C2_1 -1.0925484305920792f
#define SPLAT_SH_C2_2 0.31539156525252005f
#define SPLAT_SH_C2_3 -1.0925484305920792f
#define SPLAT_SH_C2_4 0.5462742152960396f
#define SPLAT_SH_C3_0 -0.5900435899266435f
#define SPLAT_SH_C3_1 2.890611442640554f
#define SPLAT_SH_C3_2 -0.4570457994644658f
#define SPLAT_SH_C3_3 0.3731763325901154f
#define SPLAT_SH_C3_4 -0.4570457994644658f
#define SPLAT_SH_C3_5 1.445305721320277f
#define SPLAT_SH_C3_6 -0.5900435899266435f

/* b[k stride] = b_k(x, y, z) for k of the band; b points to the place of b_0. */
SPLAT_MATH_INLINE void splat_sh_band1(float x, float y, float z, float *b, int stride)
{
    b[1 * stride] = -SPLAT_SH_C1 * y;
    b[2 * stride] = SPLAT_SH_C1 * z;
    b[3 * stride] = -SPLAT_SH_C1 * x;
}

SPLAT_MATH_INLINE void splat_sh_band2(float x, float y, float z, float *b, int stride)
{
    b[4 * stride] = SPLAT_SH_C2_0 * x * y;
    b[5 * stride] = SPLAT_SH_C2_1 * y * z;
    b[6 * stride] = SPLAT_SH_C2_2 * (2.0f * z * z - x * x - y * y);
    b[7 * stride] = SPLAT_SH_C2_3 * x * z;
    b[8 * stride] = SPLAT_SH_C2_4 * (x * x - y * y);
}

SPLAT_MATH_INLINE void splat_sh_band3(float x, float y, float z, float *b, int stride)
{
    float xx = x * x, yy = y * y, zz = z * z;
    b[9 * stride] = SPLAT_SH_C3_0 * y * (3.0f * xx - yy);
    b[10 * stride] = SPLAT_SH_C3_1 * x * y * z;
    b[11 * stride] = SPLAT_SH_C3_2 * y * (4.0f * zz - xx - yy);
    b[12 * stride] = SPLAT_SH_C3_3 * z * (2.0f * zz - 3.0f * xx - 3.0f * yy);
    b[13 * stride] = SPLAT_SH_C3_4 * x * (4.0f * zz - xx - yy);
    b[14 * stride] = SPLAT_SH_C3_5 * z * (xx - yy);
    b[15 * stride] = SPLAT_SH_C3_6 * x * (xx - 3.0f * yy);
}

/* d[0..2] += sum over k of the band of w[k stride] grad b_k, with x, y, z taken as independent; d has the stride
 * too. */
SPLAT_MATH_INLINE void splat_sh_band1_gradient(const float *w, int stride, float *d)
{
    d[0] += -SPLAT_SH_C1 * w[3 * stride];
    d[stride] += -SPLAT_SH_C1 * w[1 * stride];
    d[2 * stride] += SPLAT_SH_C1 * w[2 * stride];
}

SPLAT_MATH_INLINE void splat_sh_band2_gradient(float x, float y, float z, const float *w, int stride, float *d)
{
    float w4 = SPLAT_SH_C2_0 * w[4 * stride], w5 = SPLAT_SH_C2_1 * w[5 * stride], w6 = SPLAT_SH_C2_2 * w[6 * stride];
    float w7 = SPLAT_SH_C2_3 * w[7 * stride], w8 = SPLAT_SH_C2_4 * w[8 * stride];
    d[0] += w4 * y - 2.0f * w6 * x + w7 * z + 2.0f * w8 * x;
    d[stride] += w4 * x + w5 * z - 2.0f * w6 * y - 2.0f * w8 * y;
    d[2 * stride] += w5 * y + 4.0f * w6 * z + w7 * x;
}

SPLAT_MATH_INLINE void splat_sh_band3_gradient(float x, float y, float z, const float *w, int stride, float *d)
{
    float xx = x * x, yy = y * y, zz = z * z, xy = x * y, yz = y * z, xz = x * z;
    float w9 = SPLAT_SH_C3_0 * w[9 * stride], w10 = SPLAT_SH_C3_1 * w[10 * stride];
    float w11 = SPLAT_SH_C3_2 * w[11 * stride];
    float w12 = SPLAT_SH_C3_3 * w[12 * stride], w13 = SPLAT_SH_C3_4 * w[13 * stride];
    float w14 = SPLAT_SH_C3_5 * w[14 * stride], w15 = SPLAT_SH_C3_6 * w[15 * stride];
    d[0] += 6.0f * w9 * xy + w10 * yz - 2.0f * w11 * xy - 6.0f * w12 * xz + w13 * (4.0f * zz - 3.0f * xx - yy) +
            2.0f * w14 * xz + 3.0f * w15 * (xx - yy);
    d[stride] += 3.0f * w9 * (xx - yy) + w10 * xz + w11 * (4.0f * zz - xx - 3.0f * yy) - 6.0f * w12 * yz -
                 2.0f * w13 * xy - 2.0f * w14 * yz - 6.0f * w15 * xy;
    d[2 * stride] += w10 * xy + 8.0f * w11 * yz + w12 * (6.0f * zz - 3.0f * xx - 3.0f * yy) + 8.0f * w13 * xz +
                     w14 * (xx - yy);
}

#endif
