/* shrink: rows of float32 into their smaller storage (math/quantize.h), where they lie. A run that lacks memory does it
 * once to an array, between two steps. */
#ifndef SPLAT_OPS_SHRINK_H
#define SPLAT_OPS_SHRINK_H

#include "ops/types.h"

/* The first words of the array become the rows of the storage, closer together; what lies after them is undefined.
 * Values: v is NULL; `m` becomes halves, rows of splat_half_row(channels) with zeros as padding. Moments: m and v
 * become words, by `storage`: pairs, or rows of splat_moment_row_words(channels) for at least 4 channels, as with fewer
 * they would be longer than their floats; v is only read. All rounded to nearest: it happens once, not every step. The
 * same bits on every backend. Scratch is reset. Errors: MEMORY for splat_shrink_scratch_bytes; nothing has changed. */
struct splat_shrink_args {
    splat_tensor_storage storage; /* new storage of moments; values become HARMONICS */
    uint32_t n, channels;
    float *m;                     /* [n][channels] values or first moments; then rows of the storage */
    const float *v;               /* [n][channels] second moments, or NULL */
};

/* Rows that are converted at a time, by way of scratch, which holds as many of the storage. */
#define SPLAT_SHRINK_PIECE 16384u

static inline uint32_t splat_shrink_row_words(const struct splat_shrink_args *args)
{
    if (!args->v) return splat_half_row(args->channels) / 2;
    return args->storage == SPLAT_STORED_HARMONICS ? splat_moment_row_words(args->channels) : args->channels;
}

static inline size_t splat_shrink_scratch_bytes(uint32_t n, uint32_t row_words)
{
    return (size_t)(n < SPLAT_SHRINK_PIECE ? n : SPLAT_SHRINK_PIECE) * row_words * sizeof(uint32_t);
}

#endif
