/* Counts in sentences. */
#ifndef SPLAT_BASE_PLURAL_H
#define SPLAT_BASE_PLURAL_H

#include <stddef.h>

/* The end of a noun after its count: "%zu photo%s". */
static inline const char *splat_plural(size_t n)
{
    return n == 1 ? "" : "s";
}

#endif
