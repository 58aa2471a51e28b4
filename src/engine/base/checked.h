/* Checked size arithmetic: sizes from files never wrap. Each returns false on overflow. */
#ifndef SPLAT_BASE_CHECKED_H
#define SPLAT_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>

static inline bool splat_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool splat_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

#endif
