/* A sparse grid of voxels: blocks of 8^3 in a hash, only where something is. First blocks are named (touched), then the
 * memory they need is known and stated, then it is allocated, once. */
#ifndef SPLAT_MESH_VOXEL_GRID_H
#define SPLAT_MESH_VOXEL_GRID_H

#include "base/error.h"

enum { SPLAT_BLOCK_SIDE = 8, SPLAT_BLOCK_VOXELS = 512 };
/* Blocks are numbered from -2^20 to 2^20 - 1 along each axis. */
#define SPLAT_BLOCK_LIMIT (1 << 20)
#define SPLAT_NO_BLOCK UINT32_MAX

/* Sample (i, j, k) of the grid lies at origin + voxel_size (i, j, k); block (x, y, z) holds samples 8x .. 8x + 7 and so
 * on, the first coordinate fastest. */
typedef struct splat_voxel_grid {
    double origin[3], voxel_size;
    size_t max_bytes;     /* touching and allocating stop here; SIZE_MAX: no limit */
    bool has_colors;
    size_t n_blocks, capacity;
    uint64_t *keys;       /* [n_blocks]; ascending once allocated: results do not depend on the order of touching */
    uint32_t *table;      /* block numbers by hash of their keys; SPLAT_NO_BLOCK: free */
    size_t table_mask;
    /* NULL until allocated, then zero */
    float *values;        /* [n_blocks][512] */
    float *weights;       /* [n_blocks][512]; 0: nothing is known of the voxel */
    uint16_t *colors;     /* [n_blocks][512][4]: red, green, blue and their weight, all times 256; or NULL */
} splat_voxel_grid;

/* Errors: ARGUMENT (voxel_size not positive, not finite numbers). On failure there is nothing to free. */
splat_status splat_voxel_grid_init(splat_voxel_grid *grid, const double origin[3], double voxel_size, bool has_colors,
                                   size_t max_bytes, splat_error *error);
void splat_voxel_grid_free(splat_voxel_grid *grid);

/* Makes sure that the block exists. Errors: MEMORY (max_bytes would be passed by what allocating needs, or memory is
 * exhausted), ARGUMENT (beyond SPLAT_BLOCK_LIMIT: voxels are too small for the region; or already allocated). */
splat_status splat_voxel_grid_touch(splat_voxel_grid *grid, const int32_t block[3], splat_error *error);
/* All blocks that hold a sample of the world box, or of one voxel around it. */
splat_status splat_voxel_grid_touch_box(splat_voxel_grid *grid, const double low[3], const double high[3],
                                        splat_error *error);
/* Bytes that the grid takes with the blocks it has, allocated or not. */
size_t splat_voxel_grid_bytes(const splat_voxel_grid *grid);
/* Sorts the blocks and allocates their voxels, zero. Errors: MEMORY. */
splat_status splat_voxel_grid_allocate(splat_voxel_grid *grid, splat_error *error);

/* The number of a block, or SPLAT_NO_BLOCK. */
uint32_t splat_voxel_grid_find(const splat_voxel_grid *grid, const int32_t block[3]);

static inline uint64_t splat_block_key(const int32_t block[3])
{
    uint64_t x = (uint64_t)(block[0] + SPLAT_BLOCK_LIMIT), y = (uint64_t)(block[1] + SPLAT_BLOCK_LIMIT),
             z = (uint64_t)(block[2] + SPLAT_BLOCK_LIMIT);
    return z << 42 | y << 21 | x;
}

static inline void splat_block_coordinates(uint64_t key, int32_t block[3])
{
    for (int c = 0; c < 3; c++) block[c] = (int32_t)(key >> (21 * c) & 0x1FFFFF) - SPLAT_BLOCK_LIMIT;
}

static inline bool splat_block_in_range(const int32_t block[3])
{
    for (int c = 0; c < 3; c++)
        if (block[c] < -SPLAT_BLOCK_LIMIT || block[c] >= SPLAT_BLOCK_LIMIT) return false;
    return true;
}

/* The world position of voxel `voxel` (0 .. 511) of block number `block`. */
static inline void splat_voxel_position(const splat_voxel_grid *grid, size_t block, size_t voxel, double position[3])
{
    int32_t at[3];
    const size_t local[3] = {voxel & 7, voxel >> 3 & 7, voxel >> 6};
    splat_block_coordinates(grid->keys[block], at);
    for (int c = 0; c < 3; c++)
        position[c] = grid->origin[c] + grid->voxel_size * ((double)at[c] * SPLAT_BLOCK_SIDE + (double)local[c]);
}

#endif
