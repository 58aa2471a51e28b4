/* Arrays whose length is not known before their last item. */
#ifndef SPLAT_BASE_ARRAY_H
#define SPLAT_BASE_ARRAY_H

#include "base/checked.h"

#include <stdlib.h>

/* Room for one more item after n of them, doubling: `items`, or where they are now. NULL: memory is exhausted, and
 * `items` stays as it is. The caller frees. */
static inline void *splat_array_grow(void *items, size_t *capacity, size_t n, size_t item_size)
{
    if (n < *capacity) return items;
    size_t wanted, bytes;
    if (!splat_size_mul(*capacity ? *capacity : 32, 2, &wanted) || !splat_size_mul(wanted, item_size, &bytes))
        return NULL;
    void *grown = realloc(items, bytes);
    if (grown) *capacity = wanted;
    return grown;
}

#endif
