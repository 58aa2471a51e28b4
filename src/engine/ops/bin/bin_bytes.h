/* The memory of bin. */
#ifndef SPLAT_OPS_BIN_BYTES_H
#define SPLAT_OPS_BIN_BYTES_H

#include "ops/frame.h"
#include "ops/work.h"

/* The CPU's radix sort: values of a digit, and elements that are worth a thread. */
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

/* CPU, the frame's: the list and a slot of each instance; the first slot of each Gaussian; its row for raster. */
static inline size_t splat_bin_list_bytes(size_t n_instances)
{
    return 2 * n_instances * sizeof(uint32_t);
}

static inline size_t splat_bin_slots_bytes(size_t n)
{
    return (n + 1) * sizeof(uint32_t);
}

static inline size_t splat_bin_raster_rows_bytes(size_t n)
{
    return n * sizeof(splat_raster_row);
}

/* Bytes of the frame. A device keeps only the list. */
static inline size_t splat_bin_frame_bytes(const splat_work *w)
{
    if (!w->on_device)
        return splat_bin_list_bytes(w->n_instances) + splat_bin_slots_bytes(w->n) + splat_bin_raster_rows_bytes(w->n);
    return w->n_instances * sizeof(uint32_t);
}

/* A device's blocks count the lists of tiles in shared memory: of so many tiles each (a row of the largest picture has
 * 4,096), and so many Gaussians or more. */
#define SPLAT_BIN_RANGE_TILES 7168u
#define SPLAT_BIN_BLOCK_GAUSSIANS 1024u
#define SPLAT_BIN_BLOCKS 384u

static inline size_t splat_bin_blocks(size_t n)
{
    size_t blocks = n / SPLAT_BIN_BLOCK_GAUSSIANS + 1;
    return blocks < SPLAT_BIN_BLOCKS ? blocks : SPLAT_BIN_BLOCKS;
}

/* Working memory. A device: a length of each tile's list, and the share of each block in those that it counts; where
 * the rows of each block are kept; a key of 64 bits of each instance. */
static inline size_t splat_bin_scratch_bytes(const splat_work *w)
{
    size_t n_tiles = splat_work_tiles(w);
    if (!w->on_device)
        return splat_bin_pairs_bytes(w->n) +
               splat_bin_histograms_bytes(splat_bin_chunks(w->n, w->threads), n_tiles) +
               splat_bin_rows_bytes(w->height / SPLAT_TILE + 1);
    size_t of_block = n_tiles < SPLAT_BIN_RANGE_TILES ? n_tiles : SPLAT_BIN_RANGE_TILES;
    size_t of_tiles = (2 * n_tiles + splat_bin_blocks(w->n) * of_block) * sizeof(uint32_t);
    size_t ranges = 2 * n_tiles / SPLAT_BIN_RANGE_TILES + 1; /* of whole rows of tiles */
    of_tiles += (1 + splat_larger(splat_bin_blocks(w->n), ranges)) * sizeof(uint32_t);
    return of_tiles + w->n_instances * sizeof(uint64_t);
}

#endif
