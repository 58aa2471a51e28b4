/* Colours of pictures: the transfer function of sRGB, and how bright a pixel is. */
#ifndef SPLAT_MATH_COLOR_H
#define SPLAT_MATH_COLOR_H

#include "math/inline.h"

/* sRGB (IEC 61966-2-1): an encoded value to a linear one and back; 0 to 0, 1 to 1, and beyond by the same formulas. */
SPLAT_MATH_INLINE double splat_srgb_decode(double encoded)
{
    return encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4);
}

SPLAT_MATH_INLINE double splat_srgb_encode(double linear)
{
    return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1.0 / 2.4) - 0.055;
}

/* Luma of encoded bytes, 0 to 1 (Rec. 601). */
SPLAT_MATH_INLINE float splat_luma(const uint8_t rgb[3])
{
    return (float)(299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 255000.0f;
}

#endif
