/* The entries of a tile's instances, for raster, geometry and foremost. */
#include "ops/raster/raster_kernel.h"
#include "ops/raster/reach.h"
#include "ops/simd.h"

#define AHEAD 8 /* instances whose rows are fetched while others are worked on */

/* Sixteen entries side by side: a loop over lanes becomes vectors. */
typedef struct lane_reach {
    float v[SPLAT_LANES], a[SPLAT_LANES], b[SPLAT_LANES], c[SPLAT_LANES], alpha0[SPLAT_LANES]; /* in */
    float power_min[SPLAT_LANES], half[SPLAT_LANES];
    int32_t row_begin[SPLAT_LANES], row_end[SPLAT_LANES];
} lane_reach;

/* power_min, and half the height of the ellipse, INFINITY where it is not known. What blends nothing has a power_min of
 * -SPLAT_REACH_SLACK: its alpha is below 1/255 everywhere. */
SPLAT_FORCE_INLINE void SIMD(find_reach)(lane_reach *restrict lanes)
{
    for (int l = 0; l < SPLAT_LANES; l++) {
        float least = splat_choose(lanes->alpha0[l] > 1.0f / 255.0f, 255.0f * lanes->alpha0[l], 1.0f);
        float power_min = -splat_log(least) - SPLAT_REACH_SLACK;
        splat_reach reach = splat_reach_at(lanes->a[l], lanes->b[l], lanes->c[l], power_min);
        lanes->power_min[l] = power_min;
        lanes->half[l] = sqrtf((float)(reach.form * (double)lanes->a[l] * reach.inverse));
        lanes->half[l] = splat_choose(reach.form < INFINITY, lanes->half[l], INFINITY);
    }
}

SPLAT_FORCE_INLINE int32_t row_clamp(float row, float rows)
{
    return (int32_t)splat_clamp(row, 0.0f, rows);
}

/* Rows of the tile with |v - y| <= half, half a pixel wider with jitter. The slack covers the rounding here, and the
 * row at row - half itself; a row too many costs one test. */
SPLAT_FORCE_INLINE void SIMD(find_rows)(const splat_raster_tile *tile, float slack, lane_reach *restrict lanes)
{
    float y = (float)tile->y, rows = (float)tile->rows;
    for (int l = 0; l < SPLAT_LANES; l++) {
        float half = lanes->half[l] + (slack + 1e-6f * fabsf(lanes->v[l])), row = lanes->v[l] - y;
        lanes->row_begin[l] = row_clamp(row - half + 1.0f, rows);
        lanes->row_end[l] = row_clamp(row + half + 1.0f, rows);
    }
}

SPLAT_RASTER_LOAD(SIMD(splat_raster_load))
{
    float slack = (frame->jitter ? 0.5f : 0.0f) + 1e-2f;
    for (uint32_t begin = 0; begin < n; begin += SPLAT_LANES) {
        uint32_t count = n - begin < SPLAT_LANES ? n - begin : SPLAT_LANES;
        lane_reach lanes = {0};
        for (uint32_t l = 0; l < count; l++) {
            uint32_t i = begin + l, then = i + AHEAD < n ? i + AHEAD : i;
            size_t v = frame->instances[first + i], ahead = frame->instances[first + then];
            __builtin_prefetch(frame->conic + 4 * ahead);
            __builtin_prefetch(frame->mean2d + 2 * ahead);
            __builtin_prefetch(features ? features + SPLAT_GEOMETRY_CHANNELS * ahead : frame->rgb + 3 * ahead);
            const float *mean = frame->mean2d + 2 * v, *conic = frame->conic + 4 * v;
            const float *rgb = features ? features + SPLAT_GEOMETRY_CHANNELS * v : frame->rgb + 3 * v;
            entries[i] = (splat_raster_entry){.u = mean[0], .v = mean[1], .a = conic[0], .b = conic[1], .c = conic[2],
                                              .alpha0 = conic[3], .red = rgb[0], .green = rgb[1], .blue = rgb[2]};
            if (walk == SPLAT_WALK_PLANES) entries[i].fourth = rgb[3];
            if (walk == SPLAT_WALK_DEPTHS) entries[i].fourth = frame->depth[v];
            lanes.v[l] = mean[1];
            lanes.a[l] = conic[0];
            lanes.b[l] = conic[1];
            lanes.c[l] = conic[2];
            lanes.alpha0[l] = conic[3];
        }
        SIMD(find_reach)(&lanes);
        SIMD(find_rows)(tile, slack, &lanes);
        for (uint32_t l = 0; l < count; l++) {
            entries[begin + l].power_min = lanes.power_min[l];
            entries[begin + l].row_begin = lanes.row_begin[l];
            entries[begin + l].row_end = lanes.row_end[l];
        }
    }
}
