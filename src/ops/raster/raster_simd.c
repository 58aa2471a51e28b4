/* raster of one tile, and the walk along its list that geometry shares. Rows of the tile are vectors: PARTS of splat_vf
 * make one row of sixteen pixels. */
#include "ops/raster/raster_kernel.h"
#include "ops/simd.h"

#include <stddef.h>

#define LANES SPLAT_NATIVE_LANES
#define PARTS (SPLAT_TILE / LANES)

/* Sampling positions of a tile. Without jitter the columns are the same in every row, and only columns[0] is set. */
typedef struct SIMD(positions) {
    splat_vf x[SPLAT_TILE][PARTS], y[SPLAT_TILE][PARTS];
} SIMD(positions);

/* Sixteen floats of row `row` of a picture plane at the tile; lanes outside the picture are 0. */
SPLAT_FORCE_INLINE void SIMD(row_read)(const float *plane, int32_t width, const splat_raster_tile *tile, int32_t row,
                                       splat_vf values[PARTS])
{
    const float *from = plane + (size_t)(tile->y + row) * (size_t)width + (size_t)tile->x;
    if (tile->columns == SPLAT_TILE) {
        memcpy(values, from, SPLAT_TILE * sizeof(float));
        return;
    }
    float bounce[SPLAT_TILE] = {0};
    memcpy(bounce, from, (size_t)tile->columns * sizeof(float));
    memcpy(values, bounce, sizeof bounce);
}

/* The reverse; `plane` may hold any 32-bit type. */
SPLAT_FORCE_INLINE void SIMD(row_write)(void *plane, int32_t width, const splat_raster_tile *tile, int32_t row,
                                        const void *values)
{
    char *to = (char *)plane + ((size_t)(tile->y + row) * (size_t)width + (size_t)tile->x) * 4;
    if (tile->columns == SPLAT_TILE)
        memcpy(to, values, SPLAT_TILE * 4);
    else
        memcpy(to, values, (size_t)tile->columns * 4);
}

SPLAT_FORCE_INLINE splat_vf SIMD(lane_numbers)(int part)
{
    splat_vf lanes;
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = (float)(part * LANES + lane);
    return lanes;
}

SPLAT_FORCE_INLINE void SIMD(positions_make)(const splat_frame *frame, const splat_raster_tile *tile,
                                             SIMD(positions) *positions)
{
    int32_t width = frame->camera.width;
    size_t plane = (size_t)width * (size_t)frame->camera.height;
    splat_vf zero = {0};
    for (int32_t row = 0; row < tile->rows; row++) {
        for (int part = 0; part < PARTS; part++) {
            positions->x[row][part] = SIMD(lane_numbers)(part) + (float)tile->x;
            positions->y[row][part] = zero + (float)(tile->y + row);
        }
        if (!frame->jitter) continue;
        splat_vf dx[PARTS], dy[PARTS];
        SIMD(row_read)(frame->jitter, width, tile, row, dx);
        SIMD(row_read)(frame->jitter + plane, width, tile, row, dy);
        for (int part = 0; part < PARTS; part++) {
            positions->x[row][part] += dx[part];
            positions->y[row][part] += dy[part];
        }
    }
}

/* Here alone it is decided who blends (raster.h). power of the lanes; the mask holds those that can still pass. */
SPLAT_FORCE_INLINE splat_vf SIMD(power)(const splat_raster_entry *e, splat_vf dx, splat_vf dy, splat_vi *mask)
{
    splat_vf power = -0.5f * (e->a * dx * dx + e->c * dy * dy) - e->b * dx * dy;
    *mask = (power <= 0.0f) & (power >= e->power_min);
    return power;
}

/* alpha of the lanes; the mask loses those below 1/255. */
SPLAT_FORCE_INLINE splat_vf SIMD(alpha)(const splat_raster_entry *e, splat_vf gaussian, splat_vi *mask)
{
    splat_vf zero = {0}, most = zero + SPLAT_ALPHA_MAX, alpha = e->alpha0 * gaussian;
    alpha = splat_vf_min(most, alpha);
    *mask &= alpha >= SPLAT_ALPHA_MIN;
    return alpha;
}

/* A tile's pixels while they are blended. */
typedef struct SIMD(pixels) {
    splat_vf transmittance[SPLAT_TILE][PARTS];
    splat_vf red[SPLAT_TILE][PARTS], green[SPLAT_TILE][PARTS], blue[SPLAT_TILE][PARTS]; /* or distance, normal's x, y */
    splat_vi last[SPLAT_TILE][PARTS];
    splat_vi blended[SPLAT_TILE][PARTS]; /* how many; only where they are counted */
    splat_vi alive[SPLAT_TILE][PARTS]; /* inside the picture and not ended */
    uint32_t parts_alive;              /* parts of rows with a lane alive */
    splat_vf fourth[SPLAT_TILE][PARTS]; /* of geometry alone: the normal's z */
    splat_vi middle[SPLAT_TILE][PARTS]; /* of geometry alone: position of the entry that takes T below 1/2, or 0 */
} SIMD(pixels);

SPLAT_FORCE_INLINE void SIMD(pixels_begin)(const splat_raster_tile *tile, SIMD(pixels) *pixels, bool geometry)
{
    splat_vf zero = {0};
    memset(pixels, 0, geometry ? sizeof *pixels : offsetof(SIMD(pixels), fourth));
    for (int32_t row = 0; row < tile->rows; row++)
        for (int part = 0; part < PARTS; part++) {
            pixels->transmittance[row][part] = zero + 1.0f;
            pixels->alive[row][part] = SIMD(lane_numbers)(part) < (float)tile->columns;
            pixels->parts_alive += splat_vi_any(pixels->alive[row][part]);
        }
}

/* Blends one entry, `position` 1-based in the tile's list. `jittered`, `counted` and `geometry` are constants of the
 * caller, here and below. */
SPLAT_FORCE_INLINE void SIMD(blend)(SIMD(pixels) *pixels, const SIMD(positions) *positions, const splat_raster_entry *e,
                                    int32_t position, bool jittered, bool counted, bool geometry)
{
    const splat_raster_entry own = *e; /* what is written to the pixels cannot change it: it stays in registers */
    e = &own;
    for (int part = 0; part < PARTS; part++)
        for (int32_t row = e->row_begin; row < e->row_end; row++) {
            splat_vf dx = e->u - positions->x[jittered ? row : 0][part], dy = e->v - positions->y[row][part];
            splat_vi mask;
            splat_vf power = SIMD(power)(e, dx, dy, &mask);
            mask &= pixels->alive[row][part];
            if (!splat_vi_any(mask)) continue;
            splat_vf alpha = SIMD(alpha)(e, splat_vf_exp_within(power), &mask);
            alpha = splat_vf_and(mask, alpha);
            splat_vf t = pixels->transmittance[row][part], next = t * (1.0f - alpha);
            /* Lanes that do not blend keep T, which is never below the limit. */
            splat_vi ends = next < SPLAT_TRANSMITTANCE_MIN;
            if (splat_vi_any(ends)) {
                pixels->alive[row][part] &= ~ends;
                pixels->parts_alive -= !splat_vi_any(pixels->alive[row][part]);
                mask &= ~ends;
                alpha = splat_vf_and(mask, alpha);
                next = t * (1.0f - alpha);
            }
            splat_vf weight = alpha * t;
            pixels->transmittance[row][part] = next;
            pixels->red[row][part] += e->red * weight;
            pixels->green[row][part] += e->green * weight;
            pixels->blue[row][part] += e->blue * weight;
            pixels->last[row][part] = (position & mask) | (pixels->last[row][part] & ~mask);
            if (counted) pixels->blended[row][part] -= mask; /* a lane that blends is -1 */
            if (geometry) {
                splat_vi passes = (t >= 0.5f) & (next < 0.5f);
                pixels->fourth[row][part] += e->fourth * weight;
                pixels->middle[row][part] = (position & passes) | (pixels->middle[row][part] & ~passes);
            }
        }
}

/* Blends the tile's list from the front into its pixels. features: of geometry; NULL: colours. */
SPLAT_FORCE_INLINE void SIMD(walk)(const splat_frame *frame, const float *features, const splat_raster_tile *tile,
                                   SIMD(pixels) *pixels, bool counted, bool geometry)
{
    splat_raster_entry entries[SPLAT_RASTER_BATCH];
    SIMD(positions) positions;
    SIMD(positions_make)(frame, tile, &positions);
    SIMD(pixels_begin)(tile, pixels, geometry);
    for (uint32_t first = tile->begin; first < tile->end && pixels->parts_alive; first += SPLAT_RASTER_BATCH) {
        uint32_t n = tile->end - first < SPLAT_RASTER_BATCH ? tile->end - first : SPLAT_RASTER_BATCH;
        splat_raster_load(frame, features, tile, first, n, entries);
        int32_t position = (int32_t)(first - tile->begin) + 1;
        if (frame->jitter)
            for (uint32_t i = 0; i < n && pixels->parts_alive; i++)
                SIMD(blend)(pixels, &positions, &entries[i], position + (int32_t)i, true, counted, geometry);
        else
            for (uint32_t i = 0; i < n && pixels->parts_alive; i++)
                SIMD(blend)(pixels, &positions, &entries[i], position + (int32_t)i, false, counted, geometry);
    }
}

SPLAT_FORCE_INLINE void SIMD(pixels_end)(const splat_frame *frame, const splat_raster_tile *tile, SIMD(pixels) *pixels)
{
    int32_t width = frame->camera.width;
    size_t plane = (size_t)width * (size_t)frame->camera.height;
    for (int32_t row = 0; row < tile->rows; row++) {
        for (int part = 0; part < PARTS; part++) {
            pixels->red[row][part] += pixels->transmittance[row][part] * frame->background[0];
            pixels->green[row][part] += pixels->transmittance[row][part] * frame->background[1];
            pixels->blue[row][part] += pixels->transmittance[row][part] * frame->background[2];
        }
        SIMD(row_write)(frame->image, width, tile, row, pixels->red[row]);
        SIMD(row_write)(frame->image + plane, width, tile, row, pixels->green[row]);
        SIMD(row_write)(frame->image + 2 * plane, width, tile, row, pixels->blue[row]);
        SIMD(row_write)(frame->transmittance, width, tile, row, pixels->transmittance[row]);
        SIMD(row_write)(frame->last, width, tile, row, pixels->last[row]);
        if (frame->blended) SIMD(row_write)(frame->blended, width, tile, row, pixels->blended[row]);
    }
}

SPLAT_FORCE_INLINE void SIMD(blend_tile)(const splat_frame *frame, uint32_t tile, bool counted)
{
    splat_raster_tile t = splat_raster_tile_of(frame, tile);
    SIMD(pixels) pixels;
    SIMD(walk)(frame, NULL, &t, &pixels, counted, false);
    SIMD(pixels_end)(frame, &t, &pixels);
}

SPLAT_RASTER_TILE(SIMD(splat_raster_tile))
{
    if (frame->blended)
        SIMD(blend_tile)(frame, tile, true);
    else
        SIMD(blend_tile)(frame, tile, false);
}

/* The others walk as raster does, so they share its translation unit. */
#include "ops/raster/raster_backward_simd.inc"
#include "ops/geometry/geometry_simd.inc"
