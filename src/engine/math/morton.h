/* Morton codes: 21 bits of each of three coordinates, by turns; neighbours in the order are neighbours in space. */
#ifndef SPLAT_MATH_MORTON_H
#define SPLAT_MATH_MORTON_H

#include "math/inline.h"

/* x < 2^21, with two zero bits after each of its own. */
SPLAT_MATH_INLINE uint64_t splat_morton_spread(uint64_t x)
{
    x = (x | x << 32) & 0x001F00000000FFFFull;
    x = (x | x << 16) & 0x001F0000FF0000FFull;
    x = (x | x << 8) & 0x100F00F00F00F00Full;
    x = (x | x << 4) & 0x10C30C30C30C30C3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}

#endif
