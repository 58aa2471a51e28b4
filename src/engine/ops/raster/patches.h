/* Patches of a picture: 8x4 pixels, two across and four down a tile. Patch k of a tile has its first pixel at
 * (k % 2 * 8, k / 2 * 4) of the tile's. */
#ifndef SPLAT_OPS_RASTER_PATCHES_H
#define SPLAT_OPS_RASTER_PATCHES_H

#include "base/rng.h"
#include "ops/types.h"

#define SPLAT_PATCH_WIDTH 8
#define SPLAT_PATCH_HEIGHT 4
#define SPLAT_TILE_PATCHES 8

/* Some of them. */
typedef struct splat_patches {
    const uint8_t *marked; /* device, [tiles_y][tiles_x]: bit k: patch k; NULL: none */
    uint32_t n_parts;      /* 1, 2 or 4: one of so many of each tile's patches, by lot, too; 0: none */
    uint64_t seed;         /* seed of the draw, with the iteration and the tile */
    uint32_t iteration;
} splat_patches;

/* Bits of the patches of a tile that are drawn: k of the same k % n_parts, each as likely as the others. */
SPLAT_INLINE uint32_t splat_patches_drawn(const splat_patches *patches, uint32_t tile)
{
    if (patches->n_parts <= 1) return patches->n_parts ? 0xffu : 0;
    uint32_t lot = splat_random(patches->seed, SPLAT_STREAM_PATCHES, patches->iteration, tile).x[0];
    return (patches->n_parts == 2 ? 0x55u : 0x11u) << (lot & (patches->n_parts - 1));
}

/* Bits of a tile's patches. */
SPLAT_INLINE uint32_t splat_patches_of(const splat_patches *patches, uint32_t tile)
{
    return splat_patches_drawn(patches, tile) | (patches->marked ? patches->marked[tile] : 0u);
}

/* The patch of pixel (x, y) in its tile. */
SPLAT_INLINE uint32_t splat_patch_of(uint32_t x, uint32_t y)
{
    return y % SPLAT_TILE / SPLAT_PATCH_HEIGHT * 2 + x % SPLAT_TILE / SPLAT_PATCH_WIDTH;
}

#endif
