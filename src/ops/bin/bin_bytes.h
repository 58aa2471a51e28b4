/* The memory of bin. */
#ifndef SPLAT_OPS_BIN_BYTES_H
#define SPLAT_OPS_BIN_BYTES_H

#include "ops/work.h"

/* Of the CPU's radix sort: values of a digit, and elements that are worth a thread. */
#define SPLAT_BIN_RADIX_BITS 11
#define SPLAT_BIN_RADIX_SIZE (1u << SPLAT_BIN_RADIX_BITS)
#define SPLAT_BIN_CHUNK_MIN 2048u

/* Contiguous chunks that n elements are cut into. */
static inline size_t splat_bin_chunks(size_t n, size_t threads)
{
    size_t count = n / SPLAT_BIN_CHUNK_MIN + 1;
    return count < threads ? count : threads;
}

/* CPU, scratch: (depth, entry) of the visible, twice; a histogram a chunk, by digit or tile; instances of the rows. */
static inline size_t splat_bin_pairs_bytes(size_t n)
{
    return 2 * n * sizeof(uint64_t);
}

static inline size_t splat_bin_histograms_bytes(size_t n_chunks, size_t n_tiles)
{
    return n_chunks * splat_larger(n_tiles + 1, SPLAT_BIN_RADIX_SIZE) * sizeof(uint32_t);
}

static inline size_t splat_bin_rows_bytes(size_t tiles_y)
{
    return tiles_y * sizeof(uint64_t);
}

/* CPU, the frame's: the list and a slot of each instance; the first slot of each Gaussian. */
static inline size_t splat_bin_list_bytes(size_t n_instances)
{
    return 2 * n_instances * sizeof(uint32_t);
}

static inline size_t splat_bin_slots_bytes(size_t n)
{
    return (n + 1) * sizeof(uint32_t);
}

/* Of the frame. A device keeps the list, and where it is deterministic a slot of each instance, the order by depth and
 * its first slots. */
static inline size_t splat_bin_frame_bytes(const splat_work *w)
{
    if (!w->on_device) return splat_bin_list_bytes(w->n_instances) + splat_bin_slots_bytes(w->n);
    size_t list = w->n_instances * sizeof(uint32_t);
    return w->deterministic ? 2 * list + w->n * (sizeof(uint32_t) + sizeof(uint64_t)) : list;
}

/* Working memory. A device: keys and order of the visible, twice, their sums, and CUB's; then keys (as narrow as the
 * number of tiles allows) twice and values of the instances, and CUB's. */
static inline size_t splat_bin_scratch_bytes(const splat_work *w)
{
    size_t n_tiles = splat_work_tiles(w);
    if (!w->on_device)
        return splat_bin_pairs_bytes(w->n) +
               splat_bin_histograms_bytes(splat_bin_chunks(w->n, w->threads), n_tiles) +
               splat_bin_rows_bytes(w->height / SPLAT_TILE + 1);
    const size_t cub_of_gaussian = 2, cub_of_instance = 1;
    size_t key = n_tiles + 1 < UINT16_MAX ? sizeof(uint16_t) : sizeof(uint32_t);
    size_t of_gaussian = 4 * sizeof(uint32_t) + sizeof(uint64_t) + cub_of_gaussian;
    size_t of_instance = 2 * key + (w->deterministic ? 2 : 1) * sizeof(uint32_t) + cub_of_instance;
    return w->n * of_gaussian + w->n_instances * of_instance;
}

#endif
