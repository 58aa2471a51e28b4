/* Code shared by the density ops on the CPU: order statistics, and work in chunks whose sums do not depend on
 * threads. */
#ifndef SPLAT_OPS_DENSIFY_COMMON_H
#define SPLAT_OPS_DENSIFY_COMMON_H

#include "backend/backend.h"
#include "math/inline.h"
#include "ops/densify/densify.h"
#include "ops/rest/rest.h"

#include <string.h>

/* Loops that count and then write to counted places run over chunks of this many Gaussians. */
#define SPLAT_DENSITY_CHUNK 16384u

static inline uint32_t splat_density_chunks(uint32_t n)
{
    return n / SPLAT_DENSITY_CHUNK + (n % SPLAT_DENSITY_CHUNK != 0);
}

static inline uint32_t splat_density_chunk_end(uint32_t n, uint32_t chunk)
{
    uint32_t begin = chunk * SPLAT_DENSITY_CHUNK;
    return n - begin < SPLAT_DENSITY_CHUNK ? n : begin + SPLAT_DENSITY_CHUNK;
}

/* An unsigned key in the order of the floats; -0 and 0 are one key. No float has the key UINT32_MAX but a NaN. */
static inline uint32_t splat_float_key(float value)
{
    uint32_t bits;
    value += 0.0f;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static inline float splat_key_float(uint32_t key)
{
    uint32_t bits = key >> 31 ? key & 0x7FFFFFFFu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The key of rank `rank` < n (0 is the lowest): a radix selection, four passes, linear for any data. *n_below: how many
 * keys are lower; *next: the lowest key that is higher (UINT32_MAX: none); *n_equal: how many are equal. */
typedef struct splat_order_statistic {
    uint32_t key, n_below, n_equal, next;
} splat_order_statistic;

splat_order_statistic splat_order_statistic_of(splat_backend *backend, const uint32_t *keys, uint32_t n, uint32_t rank);

/* The trained tensors and the moments, in any storage, as a flat list of arrays: a row of words[i] words (of 4 bytes)
 * for each Gaussian. */
typedef struct splat_density_arrays {
    uint32_t *data[3 * SPLAT_N_TENSORS + 1];
    uint32_t words[3 * SPLAT_N_TENSORS + 1];
    int n, n_copied; /* arrays: filter_3d first, then parameters up to n_copied, then moments */
    int halves;      /* the array with two halves in a word, or -1 */
    /* of the cache while it has rows: row i of array a is row slot[i] - 1 of cached[a], where both are there */
    const uint32_t *slot;
    uint32_t *cached[3 * SPLAT_N_TENSORS + 1];
} splat_density_arrays;

/* moments: NULL when there are none. rest: NULL allowed. */
splat_density_arrays splat_density_arrays_list(const splat_gaussians *gaussians, const splat_moments *moments,
                                               const splat_rest_state *rest);

/* Exponents of all ones: of a float, or of one of two halves. */
SPLAT_MATH_INLINE bool splat_density_word_is_finite(uint32_t word, bool halves)
{
    if (halves) return (word & 0x7c00u) != 0x7c00u && (word & 0x7c000000u) != 0x7c000000u;
    return (word & 0x7f800000u) != 0x7f800000u;
}

/* True if all parameters of Gaussian i are finite. CUDA: splat_density_mark_broken. */
bool splat_density_row_is_finite(const splat_density_arrays *arrays, size_t i);

/* The largest of three log scales, as a scale; a NaN among them is passed over. */
float splat_density_max_scale(const float log_scales[3]);

#endif
