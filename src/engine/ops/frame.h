/* The frame: everything that belongs to one view and lives no longer than it. Pointers are device pointers of the
 * backend that works on the view. Shared by C and CUDA. */
#ifndef SPLAT_OPS_FRAME_H
#define SPLAT_OPS_FRAME_H

#include "base/rng.h"
#include "math/dome.h"
#include "math/projection.h"
#include "ops/types.h"

#define SPLAT_MAX_BANDS 4096 /* as many as a picture has rows of tiles */

/* The screen filter of a render. */
typedef struct splat_screen_filter {
    float kernel_size; /* variance added to both axes, pixel^2 */
    bool compensate;   /* true: Mip filter (opacity times kappa); false: classic 3DGS dilation */
} splat_screen_filter;

/* A random share of the Gaussians is left out of a training view, so that no pixel depends on a single Gaussian
 * (DropGaussian, Park et al. 2025; docs/method.md 10.5). The others are more opaque by the factor 1/(1 - share), so
 * that the mean picture stays. share 0: all are drawn. Row i of the arrays is Gaussian first + stride i of the
 * model. */
typedef struct splat_dropout {
    float share; /* [0, 1) */
    uint64_t seed;
    uint32_t step, first, stride;
} splat_dropout;

#ifdef __CUDACC__
__host__ __device__
#endif
static inline bool splat_dropout_hides(const splat_dropout *d, uint32_t i)
{
    if (!(d->share > 0.0f)) return false;
    const splat_random4 r = splat_random(d->seed, SPLAT_STREAM_DROPOUT, d->step, d->first + (uint64_t)d->stride * i);
    return splat_uniform(r.x[0]) < d->share;
}

/* A Gaussian's gradient on the screen, summed over its pixels. Kernels sum its ten floats by their numbers. */
typedef struct splat_grad2d {
    float mean_x, mean_y;            /* dL/du, dL/dv, pixels */
    float conic_a, conic_b, conic_c; /* dL/dA, dL/dB (B counted once), dL/dC */
    float opacity;                   /* dL/d alpha0 */
    union {
        float channel[4];            /* op geometry: dL/d of a plane's distance and normal */
        struct {                     /* op raster: */
            float rgb[3];
            float mean_abs;          /* sum over pixels of |W/2 dL/du| + |H/2 dL/dv| */
        };
    };
} splat_grad2d;

/* The index of the pixel that holds a place of the picture (pixel centres at integers), of the nearest one where it
 * lies outside. */
#ifdef __CUDACC__
__host__ __device__
#endif
static inline size_t splat_pixel_under(float u, float v, int32_t width, int32_t height)
{
    float right = (float)(width - 1), bottom = (float)(height - 1);
    u = u < right ? u : right; /* NaN: the last */
    v = v < bottom ? v : bottom;
    return (size_t)(v > 0.0f ? v + 0.5f : 0.0f) * (size_t)width + (size_t)(u > 0.0f ? u + 0.5f : 0.0f);
}

/* The values of a visible Gaussian for blending, on the CPU: in one row, because the entries of a tile's list lie
 * anywhere. */
typedef struct splat_raster_row {
    float u, v, a, b, c, alpha0;
    float rgb[3], depth;
    float power_min;               /* blended samples have at least this power (ops/raster/reach.h) */
    float step, step8;             /* e^-C, e^-8C; 0 where rows are not stepped through (ops/raster/reach.h) */
    uint16_t first_row, last_row;  /* rows of the picture that the ellipse reaches; none when first_row > last_row */
    uint32_t unused[2];            /* fills a line of the processor's cache */
} splat_raster_row;

/* The needs of a view when it was last in work, 0: unknown. Sizes arrays, never results. */
typedef struct splat_view_hint {
    uint64_t n_instances;
    uint32_t n_visible;
} splat_view_hint;

/* The transients of one view. Entry v of the "visible" arrays belongs to Gaussian ids[v]. The CPU writes only the
 * visible, in ascending order of ids; other backends may write them in any order, and with entries between that are not
 * visible (depth 0, an empty tile_rect, all else undefined). Not to be copied: the backend keeps the addresses of the
 * blocks. Visible means: a tile is touched by the square of half side rho = ceil(3 sqrt(lambda_max)) around the
 * projected mean (docs/method.md 6). */
typedef struct splat_frame {
    /* set by splat_view_begin, then by assignments of the caller */
    splat_camera camera;
    splat_screen_filter filter;
    float background[3];
    splat_dome dome;            /* added to the picture by splat_view_forward, where it has colours */
    splat_dropout dropout;
    const float *jitter;        /* [2][height][width] offsets (x plane, then y) of the sampling position, or NULL */
    uint32_t tiles_x, tiles_y;
    splat_view_hint hint;       /* a backend may size its arrays by it */

    /* Bands, set by splat_view_forward: the view's lists are made for as many rows of tiles at a time as have at most
     * max_instances instances together; 0: no bound, and one band. */
    uint64_t max_instances;
    uint32_t n_bands, band_begin[SPLAT_MAX_BANDS]; /* first rows of the bands so far */
    /* The band in work: rows of tiles [row_begin, row_end). row_begin is set before bin, row_end by bin. It depends on
     * nothing but the first row and the bound, so a band that begins at the same row again ends at the same row. */
    uint32_t row_begin, row_end;

    /* written by project: capacity n of the Gaussians */
    uint32_t *ids;              /* [n_visible] index of the Gaussian */
    float *mean2d;              /* [n_visible][2] u, v */
    float *conic;               /* [n_visible][4] A, B, C of the inverse filtered covariance, then alpha0 */
    float *rgb;                 /* [n_visible][3] colour, clamped at 0 below */
    float *depth;               /* [n_visible] camera-space z */
    uint16_t *tile_rect;        /* [n_visible][4] x0, y0, x1, y1: half-open tiles that alpha >= 1/255 can reach; may
                                   be empty (x1 <= x0) for a visible Gaussian that no pixel can blend */
    /* written by bin, for the rows of the band; NULL until then */
    uint32_t *instances;        /* [n_instances] visible index v, by tile, then by depth, then by id */
    uint32_t *instance_slots;   /* [n_instances] unique slot in [0, n_instances), those of one v are contiguous:
                                   slot_begin[v] .. slot_begin[v+1]. NULL on backends that sum in another way */
    uint32_t *slot_begin;       /* [n_visible + 1], or NULL where instance_slots is */
    uint32_t *tile_begin;       /* [tiles_x tiles_y + 1] first instance of each tile; set for the tiles of the band and
                                   the one after them */
    uint32_t *tile_order;       /* [tiles of the band] those with the longest lists first; not set on the CPU */
    splat_raster_row *raster_rows; /* [n_visible], written with the view's first band; NULL but on the CPU */
    /* written by raster */
    float *image;               /* [3][height][width] colour over the background, not clamped */
    float *transmittance;       /* [height][width] final T */
    uint32_t *last;             /* [height][width] 1-based position in the tile's list of the last blended instance */
    uint32_t *blended;          /* [height][width] Gaussians blended, or NULL (splat_view_begin): not counted. Set by
                                   the caller; raster counts in a variant of its own, which costs the other nothing */
    /* added to by raster_backward, band by band; where it lies is said at splat_view_backward */
    splat_grad2d *grad2d;       /* [n_visible] */

    /* counts of the view; on a device they arrive asynchronously, out of `state` */
    void *state;                /* [view_state_bytes] the backend's own; zero when the view begins; NULL without any */
    uint32_t n_visible;
    uint32_t n_degenerate;      /* skipped: not finite, or a zero quaternion */
    uint64_t n_instances;       /* instances of the current band */
    uint64_t n_view_instances;  /* instances of all bands, in splat_view_forward */

    uint64_t instance_room;     /* capacity of the arrays of all bands, instances */
    uint32_t capacity;          /* Gaussians that the arrays have room for */
    splat_region region;        /* of all arrays. The last member: what stands before it is a view's, and is zeroed when
                                   the next begins */
} splat_frame;

/* The projection of the frame's view. */
static inline splat_projector splat_frame_projector(const splat_frame *frame)
{
    splat_projector p =
        splat_projector_make(&frame->camera, frame->filter.kernel_size, frame->filter.compensate, SPLAT_TILE);
    p.gain = 1.0f / (1.0f - frame->dropout.share);
    return p;
}

#endif
