/* The plain data that ops share: Gaussians, moments, statistics, and the frame (transients of one view). Pointers are
 * device pointers of the backend that runs the op. Shared by C and CUDA. */
#ifndef SPLAT_OPS_TYPES_H
#define SPLAT_OPS_TYPES_H

#include "backend/memory.h"
#include "math/quantize.h"
#include "splatsmith.h"

#define SPLAT_TILE 16        /* pixels of a tile side; a part of the method: visibility is decided by tiles */
#define SPLAT_MAX_SH_DEGREE 3
#define SPLAT_MAX_BANDS 4096 /* as many as a picture has rows of tiles */

/* Floats of sh_rest a Gaussian at a model's SH degree. */
static inline uint32_t splat_sh_rest_floats(int sh_degree)
{
    return 3u * ((uint32_t)(sh_degree + 1) * (uint32_t)(sh_degree + 1) - 1u);
}

enum {
#define SPLAT_TENSOR(name, channels) SPLAT_TENSOR_##name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    SPLAT_N_TENSORS
};

/* Channels of tensor t (SPLAT_TENSOR_means, ...) at an SH degree. */
static inline uint32_t splat_tensor_channels(int tensor, int sh_degree)
{
    static const uint32_t channels[SPLAT_N_TENSORS] = {3, 3, 0, 1, 3, 4};
    return tensor == SPLAT_TENSOR_sh_rest ? splat_sh_rest_floats(sh_degree) : channels[tensor];
}

/* One array for each trained tensor: parameters, a moment, or gradients. */
typedef struct splat_tensors {
#define SPLAT_TENSOR(name, channels) float *name;
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
} splat_tensors;

/* Adam's first and second moments in one of two storages (math/quantize.h). */
typedef struct splat_moments {
    splat_optimizer_storage storage;
    splat_tensors m, v;                  /* FLOAT32: [n][channels] each; NULL otherwise */
    /* QUANTIZED: a pair (m, v) in a word, [n][channels]; sh_rest: rows of splat_moment_row_words(channels) words.
     * All zero bits are zero moments. NULL otherwise. */
    uint32_t *quantized[SPLAT_N_TENSORS];
} splat_moments;

/* Words (uint32_t) of a row of a tensor in each storage. */
static inline uint32_t splat_parameter_words(int tensor, int sh_degree, splat_sh_storage storage)
{
    uint32_t channels = splat_tensor_channels(tensor, sh_degree);
    return tensor == SPLAT_TENSOR_sh_rest && storage == SPLAT_SH_FLOAT16 ? splat_half_row(channels) / 2 : channels;
}

static inline uint32_t splat_quantized_moment_words(int tensor, int sh_degree)
{
    uint32_t channels = splat_tensor_channels(tensor, sh_degree);
    return tensor == SPLAT_TENSOR_sh_rest ? splat_moment_row_words(channels) : channels;
}

typedef struct splat_gaussians {
    uint32_t n;
    int sh_degree;        /* of the stored sh_rest */
    int active_sh_degree; /* bands that are evaluated, <= sh_degree */
    splat_tensors p;      /* raw parameters; p.sh_rest is NULL when sh_rest_half is used */
    uint16_t *sh_rest_half; /* [n][splat_half_row(channels)] IEEE binary16, or NULL: p.sh_rest holds them */
    bool rest_on_host;      /* sh_rest lies in host memory (SPLAT_ON_HOST): read whole rows, and only where needed */
    float *filter_3d;     /* [n] standard deviation of the 3D smoothing filter, world units; 0 is none */
} splat_gaussians;

/* Densification statistics since the last density control (docs/method.md 7.1, 10). */
typedef struct splat_statistics {
    float *grad;     /* [n] sum of |(dL/du W/2, dL/dv H/2)| over the views that saw it */
    float *grad_abs; /* [n] sum of the per-pixel absolute gradients, L1 over the axes */
    float *count;    /* [n] views that saw it */
} splat_statistics;

/* The screen filter of a render. */
typedef struct splat_screen_filter {
    float kernel_size; /* variance added to both axes, pixel^2 */
    bool compensate;   /* true: Mip filter (opacity times kappa); false: classic 3DGS dilation */
} splat_screen_filter;

/* A Gaussian's gradient on the screen, summed over its pixels. */
typedef struct splat_grad2d {
    float mean_x, mean_y;       /* dL/du, dL/dv, pixels */
    float mean_abs;             /* sum over pixels of |W/2 dL/du| + |H/2 dL/dv| */
    float conic_a, conic_b, conic_c; /* dL/dA, dL/dB (B counted once), dL/dC */
    float opacity;              /* dL/d alpha0 */
    float r, g, b;              /* dL/d rgb */
} splat_grad2d;

/* The transients of one view. Entry v of the "visible" arrays belongs to Gaussian ids[v]. The CPU writes only the
 * visible, in ascending order of ids; other backends may write them in any order, and with entries between that are not
 * visible (depth 0, an empty tile_rect, all else undefined). Not to be copied: the backend keeps the addresses of the
 * blocks. Visible means: a tile is touched by the square of half side rho = ceil(3 sqrt(lambda_max)) around the
 * projected mean (docs/method.md 6). */
typedef struct splat_frame {
    /* set by the caller (splat_frame_reserve, then assignments) */
    splat_camera camera;
    splat_screen_filter filter;
    float background[3];
    const float *jitter;        /* [2][height][width] offsets (x plane, then y) of the sampling position, or NULL */
    uint32_t tiles_x, tiles_y;
    uint64_t n_instances_hint;  /* the view's last known counts, 0: unknown; a backend may size its arrays by them */
    uint32_t n_visible_hint;
    uint64_t max_instances;     /* room for instances at a time; 0: no bound. A view with more is done in bands */

    /* The band in work: rows of tiles [row_begin, row_end). row_begin is set before bin, row_end by bin: as many rows
     * as have at most max_instances instances together; all of them without a bound. It depends on nothing else, so a
     * band that begins at the same row again ends at the same row. */
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
    uint32_t *slot_begin;       /* [n_visible + 1], or NULL on backends that number slots in another order */
    uint32_t *tile_begin;       /* [tiles_x tiles_y + 1] first instance of each tile; set for the tiles of the band and
                                   the one behind them */
    /* written by raster */
    float *image;               /* [3][height][width] colour over the background, not clamped */
    float *transmittance;       /* [height][width] final T */
    uint32_t *last;             /* [height][width] 1-based position in the tile's list of the last blended instance */
    uint32_t *blended;          /* [height][width] Gaussians blended, or NULL (splat_frame_reserve): not counted. Set by
                                   the caller; raster counts in a variant of its own, which costs the other nothing */
    /* added to by raster_backward, band by band */
    splat_grad2d *grad2d;       /* [n_visible] */

    /* counts of the view; on a device they arrive asynchronously */
    uint32_t n_visible;
    uint32_t n_degenerate;      /* skipped: not finite, or a zero quaternion */
    uint64_t n_instances;       /* of the band in work */

    /* what bin keeps from band to band */
    uint64_t instance_room;     /* instances that the arrays have room for */
    void *bin_order;            /* what raster_backward needs beside the lists, on backends that need more */

    uint32_t capacity;          /* Gaussians that the arrays have room for */
    splat_region region;        /* behind all arrays: what lives as long as the view is in work */
} splat_frame;

/* Begins a view: gives up all that the region held, makes room for n Gaussians and a picture of camera's size, and sets
 * the array pointers, the camera and the tile counts; row_begin = 0. Cheap when nothing grows. */
splat_status splat_frame_reserve(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                                 splat_error *error);
/* Room for grad2d, all zero: in the scratch region, where it outlives raster_backward until the next op that resets the
 * scratch; or, when there is more than one band, in the frame's region. Before the first raster_backward of a view. */
splat_status splat_frame_reserve_gradients(splat_backend *backend, splat_frame *frame, bool bands, splat_error *error);
/* A buffer that lives as long as the view is in work. */
splat_status splat_frame_take(splat_backend *backend, splat_frame *frame, size_t bytes, void **data,
                              splat_error *error);
void splat_frame_free(splat_backend *backend, splat_frame *frame);

#endif
