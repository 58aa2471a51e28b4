/* Rows of arrays moved and counted by all threads. */
#ifndef SPLAT_BASE_ROWS_H
#define SPLAT_BASE_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Moves the rows of rows[n], of row_bytes each, whose keep is not 0 to the front, in their order; returns their number.
 * Needs 4 MiB in addition for a while, or, without them, uses one thread. */
size_t splat_keep_rows(void *rows, size_t row_bytes, size_t n, const uint8_t *keep, int threads);

/* counts[n]: each becomes the sum of itself and all before it. */
void splat_add_up(uint32_t *counts, size_t n, int threads);

#endif
