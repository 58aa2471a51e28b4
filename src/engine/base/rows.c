/* Both work on blocks, and the few numbers of blocks are summed by one thread between. */
#include "base/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- keeping */

enum { BLOCK_BYTES = 65536, BLOCKS = 64, SHORT = 8192 }; /* BLOCKS of them at a time; SHORT: rows for one thread */

/* The kept ones of rows[n] to `to`, which may be their own place or lie before it; how many they are. Rows that stay
 * together move together. */
static size_t pack(const uint8_t *rows, size_t row_bytes, size_t n, const uint8_t *keep, uint8_t *to)
{
    size_t n_kept = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool stays = keep[i];
        for (end = i + 1; end < n && (keep[end] != 0) == stays; end++) {}
        if (!stays) continue;
        memmove(to + n_kept * row_bytes, rows + i * row_bytes, (end - i) * row_bytes);
        n_kept += end - i;
    }
    return n_kept;
}

/* Blocks are packed outside of the array, then moved into it, only over rows that were already read. */
static size_t keep_in_waves(uint8_t *rows, size_t row_bytes, size_t n, const uint8_t *keep, int threads, uint8_t *wave)
{
    size_t block = BLOCK_BYTES / row_bytes, n_kept = 0;
    for (size_t begin = 0; begin < n; begin += BLOCKS * block) {
        size_t left = n - begin, n_blocks = left < BLOCKS * block ? (left + block - 1) / block : BLOCKS;
        size_t counts[BLOCKS], to[BLOCKS];
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t b = 0; b < n_blocks; b++) {
            size_t first = begin + b * block, length = n - first < block ? n - first : block;
            counts[b] = pack(rows + first * row_bytes, row_bytes, length, keep + first, wave + b * BLOCK_BYTES);
        }
        for (size_t b = 0; b < n_blocks; b++) {
            to[b] = n_kept;
            n_kept += counts[b];
        }
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t b = 0; b < n_blocks; b++)
            memcpy(rows + to[b] * row_bytes, wave + b * BLOCK_BYTES, counts[b] * row_bytes);
    }
    return n_kept;
}

size_t splat_keep_rows(void *rows, size_t row_bytes, size_t n, const uint8_t *keep, int threads)
{
    const uint8_t *gone = n ? memchr(keep, 0, n) : NULL;
    if (!gone) return n; /* the usual case */
    size_t first = (size_t)(gone - keep);
    uint8_t *from = (uint8_t *)rows + first * row_bytes, *wave = NULL;
    if (threads > 1 && n - first > SHORT && row_bytes <= BLOCK_BYTES) wave = malloc((size_t)BLOCKS * BLOCK_BYTES);
    size_t n_kept = wave ? keep_in_waves(from, row_bytes, n - first, keep + first, threads, wave)
                         : pack(from, row_bytes, n - first, keep + first, from);
    free(wave);
    return first + n_kept;
}

/* ---------------------------------------------------------------- adding up */

static uint32_t add_up(uint32_t *counts, size_t n, uint32_t sum)
{
    for (size_t i = 0; i < n; i++) counts[i] = sum += counts[i];
    return sum;
}

void splat_add_up(uint32_t *counts, size_t n, int threads)
{
    uint32_t sums[BLOCKS];
    size_t length = (n + BLOCKS - 1) / BLOCKS;
    if (threads < 2 || n <= SHORT) {
        add_up(counts, n, 0);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t b = 0; b < BLOCKS; b++) {
        sums[b] = 0;
        for (size_t i = b * length; i < n && i < (b + 1) * length; i++) sums[b] += counts[i];
    }
    for (size_t b = 0, before = 0; b < BLOCKS; b++) {
        size_t sum = sums[b];
        sums[b] = (uint32_t)before;
        before += sum;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t b = 0; b < BLOCKS; b++) {
        size_t first = b * length;
        if (first < n) add_up(counts + first, n - first < length ? n - first : length, sums[b]);
    }
}
