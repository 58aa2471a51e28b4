/* The hash of blocks. */
#include "mesh/voxel_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

splat_status splat_voxel_grid_init(splat_voxel_grid *grid, const double origin[3], double voxel_size, bool has_colors,
                                   size_t max_bytes, splat_error *error)
{
    memset(grid, 0, sizeof *grid);
    if (!(voxel_size > 0.0 && isfinite(voxel_size)) || !isfinite(origin[0]) || !isfinite(origin[1]) ||
        !isfinite(origin[2]))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a voxel must have a size above 0, not %g", voxel_size);
    memcpy(grid->origin, origin, sizeof grid->origin);
    grid->voxel_size = voxel_size;
    grid->has_colors = has_colors;
    grid->max_bytes = max_bytes;
    return SPLAT_OK;
}

void splat_voxel_grid_free(splat_voxel_grid *grid)
{
    free(grid->keys);
    free(grid->table);
    free(grid->values);
    free(grid->weights);
    free(grid->colors);
    memset(grid, 0, sizeof *grid);
}

/* Bytes of a block: its voxels, and up to two keys and four places in the table, because both grow by doubling. */
static size_t block_bytes(const splat_voxel_grid *grid)
{
    size_t voxel = 2 * sizeof(float) + (grid->has_colors ? 4 * sizeof(uint16_t) : 0);
    return SPLAT_BLOCK_VOXELS * voxel + 2 * sizeof(uint64_t) + 4 * sizeof(uint32_t);
}

size_t splat_voxel_grid_bytes(const splat_voxel_grid *grid)
{
    return grid->n_blocks * block_bytes(grid);
}

/* The slot of a key, or the free one where it belongs. */
static size_t find_slot(const splat_voxel_grid *grid, uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    size_t slot = (size_t)(h ^ h >> 29) & grid->table_mask;
    while (grid->table[slot] != SPLAT_NO_BLOCK && grid->keys[grid->table[slot]] != key)
        slot = (slot + 1) & grid->table_mask;
    return slot;
}

uint32_t splat_voxel_grid_find(const splat_voxel_grid *grid, const int32_t block[3])
{
    if (grid->n_blocks == 0 || !splat_block_in_range(block)) return SPLAT_NO_BLOCK;
    return grid->table[find_slot(grid, splat_block_key(block))];
}

static void fill_table(splat_voxel_grid *grid)
{
    memset(grid->table, 255, (grid->table_mask + 1) * sizeof *grid->table);
    for (size_t i = 0; i < grid->n_blocks; i++) grid->table[find_slot(grid, grid->keys[i])] = (uint32_t)i;
}

/* Twice as many keys, in a table that is at most half full. */
static splat_status grow(splat_voxel_grid *grid, splat_error *error)
{
    size_t capacity = grid->capacity ? 2 * grid->capacity : 256;
    uint64_t *keys = realloc(grid->keys, capacity * sizeof *keys);
    if (keys) grid->keys = keys;
    uint32_t *table = malloc(2 * capacity * sizeof *table);
    if (!keys || !table) {
        free(table);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a grid of %zu blocks of voxels", capacity);
    }
    free(grid->table);
    grid->table = table;
    grid->table_mask = 2 * capacity - 1;
    grid->capacity = capacity;
    fill_table(grid);
    return SPLAT_OK;
}

splat_status splat_voxel_grid_touch(splat_voxel_grid *grid, const int32_t block[3], splat_error *error)
{
    if (!splat_block_in_range(block))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxels of %g are too small for the region; use larger ones",
                          grid->voxel_size);
    if (grid->values)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a grid of voxels that is allocated takes no more blocks");
    uint64_t key = splat_block_key(block);
    if (grid->capacity && grid->table[find_slot(grid, key)] != SPLAT_NO_BLOCK) return SPLAT_OK;
    if (grid->n_blocks >= grid->max_bytes / block_bytes(grid) || grid->n_blocks >= SPLAT_NO_BLOCK - 1)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "voxels of %g need more than the %zu bytes that are allowed; use "
                          "larger ones or a smaller region", grid->voxel_size, grid->max_bytes);
    if (grid->n_blocks == grid->capacity) SPLAT_TRY(grow(grid, error));
    grid->keys[grid->n_blocks] = key;
    grid->table[find_slot(grid, key)] = (uint32_t)grid->n_blocks;
    grid->n_blocks++;
    return SPLAT_OK;
}

splat_status splat_voxel_grid_touch_box(splat_voxel_grid *grid, const double low[3], const double high[3],
                                        splat_error *error)
{
    int32_t from[3], to[3], block[3];
    for (int c = 0; c < 3; c++) {
        double first = floor(((low[c] - grid->origin[c]) / grid->voxel_size - 1.0) / SPLAT_BLOCK_SIDE);
        double last = floor(((high[c] - grid->origin[c]) / grid->voxel_size + 1.0) / SPLAT_BLOCK_SIDE);
        if (!(first >= -SPLAT_BLOCK_LIMIT && last < SPLAT_BLOCK_LIMIT))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxels of %g are too small for the region; use larger "
                              "ones", grid->voxel_size);
        from[c] = (int32_t)first;
        to[c] = (int32_t)last;
    }
    for (block[2] = from[2]; block[2] <= to[2]; block[2]++)
        for (block[1] = from[1]; block[1] <= to[1]; block[1]++)
            for (block[0] = from[0]; block[0] <= to[0]; block[0]++)
                SPLAT_TRY(splat_voxel_grid_touch(grid, block, error));
    return SPLAT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

splat_status splat_voxel_grid_allocate(splat_voxel_grid *grid, splat_error *error)
{
    size_t n = (grid->n_blocks ? grid->n_blocks : 1) * SPLAT_BLOCK_VOXELS;
    if (grid->values) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the grid of voxels is allocated already");
    if (grid->n_blocks) {
        qsort(grid->keys, grid->n_blocks, sizeof *grid->keys, compare_keys);
        fill_table(grid);
    }
    grid->weights = calloc(n, sizeof *grid->weights);
    grid->colors = grid->has_colors ? calloc(n, 4 * sizeof *grid->colors) : NULL;
    grid->values = calloc(n, sizeof *grid->values);
    if (grid->values && grid->weights && (grid->colors || !grid->has_colors)) return SPLAT_OK;
    free(grid->values);
    free(grid->weights);
    free(grid->colors);
    grid->values = grid->weights = NULL;
    grid->colors = NULL;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the %zu bytes of %zu blocks of voxels; use larger "
                      "voxels", splat_voxel_grid_bytes(grid), grid->n_blocks);
}
