/* An order of numbers in which neighbours lie far apart. */
#ifndef SPLAT_MATH_SCATTER_H
#define SPLAT_MATH_SCATTER_H

#include <stddef.h>

/* The stride of such an order of 0 .. n - 1, n > 0: about the golden section of n, and without a common divisor, so
 * that (first + k stride) % n for k = 0 .. n - 1 is each number once. */
static inline size_t splat_scatter_stride(size_t n)
{
    for (size_t stride = (size_t)(0.618 * (double)n) + 1;; stride++) {
        size_t a = stride, b = n;
        while (b) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) return stride;
    }
}

#endif
