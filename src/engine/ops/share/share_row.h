/* An entry of a frame and its row, on the host and on a device. */
#ifndef SPLAT_OPS_SHARE_ROW_H
#define SPLAT_OPS_SHARE_ROW_H

#include "ops/share/share.h"

#ifdef __CUDACC__
#define SPLAT_SHARE_INLINE static __host__ __device__ __forceinline__
#else
#define SPLAT_SHARE_INLINE static inline
#endif

/* The arrays of a frame that rows are of. */
typedef struct splat_share_arrays {
    uint32_t *ids;
    float *mean2d, *conic, *depth;
    uint16_t *rect;
} splat_share_arrays;

SPLAT_SHARE_INLINE splat_share_arrays splat_share_arrays_of(const splat_frame *frame)
{
    splat_share_arrays a = {frame->ids, frame->mean2d, frame->conic, frame->depth, frame->tile_rect};
    return a;
}

/* Some tile may blend it. */
SPLAT_SHARE_INLINE bool splat_share_has_tiles(const uint16_t rect[4])
{
    return rect[2] > rect[0] && rect[3] > rect[1];
}

SPLAT_SHARE_INLINE splat_share_row splat_share_row_of(const splat_share_arrays *a, size_t v)
{
    splat_share_row row;
    row.depth = a->depth[v];
    for (int k = 0; k < 2; k++) row.mean[k] = a->mean2d[2 * v + (size_t)k];
    for (int k = 0; k < 4; k++) row.conic[k] = a->conic[4 * v + (size_t)k];
    for (int k = 0; k < 4; k++) row.rect[k] = a->rect[4 * v + (size_t)k];
    return row;
}

SPLAT_SHARE_INLINE void splat_share_row_put(const splat_share_arrays *a, size_t v, const splat_share_row *row)
{
    a->depth[v] = row->depth;
    for (int k = 0; k < 2; k++) a->mean2d[2 * v + (size_t)k] = row->mean[k];
    for (int k = 0; k < 4; k++) a->conic[4 * v + (size_t)k] = row->conic[k];
    for (int k = 0; k < 4; k++) a->rect[4 * v + (size_t)k] = row->rect[k];
}

#endif
