/* The plain data that ops share: Gaussians, moments, statistics. Pointers are device pointers of the backend that runs
 * the op. Shared by C and CUDA. */
#ifndef SPLAT_OPS_TYPES_H
#define SPLAT_OPS_TYPES_H

#include "backend/memory.h"
#include "math/gaussians.h"
#include "math/quantize.h"
#include "splatsmith/core.h"

#define SPLAT_TILE 16 /* pixels of a tile side; a part of the method: visibility is decided by tiles */

/* Tiles along a side of so many pixels. */
static inline size_t splat_tiles_along(size_t pixels)
{
    return (pixels + SPLAT_TILE - 1) / SPLAT_TILE;
}

/* Adam's first and second moments in one of two storages (math/quantize.h). */
typedef struct splat_moments {
    splat_optimizer_storage storage;
    splat_tensors m, v;                  /* FLOAT32: [n][channels] each; NULL otherwise */
    /* QUANTIZED: a pair (m, v) in a word, [n][channels]; sh_rest: rows of splat_moment_row_words(channels) words.
     * All zero bits are zero moments. NULL otherwise. */
    uint32_t *quantized[SPLAT_N_TENSORS];
} splat_moments;

/* Words (uint32_t) of a row of a tensor's parameters in each storage, and of its quantized moments. */
static inline uint32_t splat_tensor_row_words(const splat_tensor_row *row, int sh_degree, splat_sh_storage storage)
{
    uint32_t channels = splat_tensor_row_channels(row, sh_degree);
    bool is_half = row->storage == SPLAT_STORED_HARMONICS && storage == SPLAT_SH_FLOAT16;
    return is_half ? splat_half_row(channels) / 2 : channels;
}

static inline uint32_t splat_tensor_row_moment_words(const splat_tensor_row *row, int sh_degree)
{
    uint32_t channels = splat_tensor_row_channels(row, sh_degree);
    return row->storage == SPLAT_STORED_HARMONICS ? splat_moment_row_words(channels) : channels;
}

/* The same of tensor t (SPLAT_TENSOR_means, ...). */
static inline uint32_t splat_parameter_words(int tensor, int sh_degree, splat_sh_storage storage)
{
    return splat_tensor_row_words(&splat_gaussian_tensors.rows[tensor], sh_degree, storage);
}

static inline uint32_t splat_quantized_moment_words(int tensor, int sh_degree)
{
    return splat_tensor_row_moment_words(&splat_gaussian_tensors.rows[tensor], sh_degree);
}

/* Steps of Adam that a backend has put off (splat_backend.defers_rest) for sh_rest in float32 on the device:
 * most Gaussians are not seen by a view, and steps without gradient can be made later, one after the other, with the
 * same bits. A row's are made up when a step sees its Gaussian again, those of all rows by op settle_rest: whoever
 * reads or moves sh_rest or its moments asks for that first. */
#define SPLAT_MAX_DEFERRED 128
typedef struct splat_deferred_rest {
    float *gradient;  /* [n][4] dL/dcolour, before the clamp, of the last step that saw the Gaussian; then, as bits,
                         2 made + waits: the steps that its row has made, and whether the next is that of this
                         gradient (without one its gradient is zero). All zero bits when nothing is put off */
    float *direction; /* [n][3] unit vector from the camera of that step to the mean */
    float *steps;     /* [SPLAT_MAX_DEFERRED][2] lr / correction1 and 1 / sqrt(correction2) of the steps put off; NaN:
                         the step was left out */
    float *m, *v;     /* the moments of sh_rest, [n][channels]; set by project_backward */
    uint32_t n_steps; /* put off so far */
    int active_sh_degree; /* of these steps */
    /* Steps of several views (op batch_step), where n_slots is above 1: gradient is [n][n_slots][4] and direction
     * [n][n_slots][3], a slot for each view of a step; the last word of a gradient is the number of its step, counted
     * from 1, which waits where it is above the row's made. */
    uint32_t n_slots;
    uint32_t n_views; /* of each of these steps */
    uint32_t *made;   /* [n] steps that the row has made */
    bool at_once;     /* of several views, and nothing is put off: batch_step makes the step that waits in the slots.
                         For small storages, whose rounding goes by the iteration */
} splat_deferred_rest;

/* Rows of sh_rest and of its moments that lie in host memory (SPLAT_ON_HOST), kept on the device from view to view
 * (splat_backend.caches_rest). A step fetches what its view sees and the cache lacks, into slots that are empty or hold
 * what the view does not see, and whose rows then go home: each row crosses the bus once each way, both ways at once,
 * beside what the step computes. What finds no slot is read and written where it lies. Only where a row lies changes,
 * so the bits do not. density_grow and density_prune move rows here and at home alike; whoever else reads or moves
 * sh_rest or its moments first sends all rows home by op settle_rest. */
typedef struct splat_rest_cache {
    uint32_t *slot;     /* [n_rows] 1 + the slot that has the Gaussian's rows, or 0: they are at home, or it does not
                           exist yet */
    uint32_t *owner;    /* [n_slots] 1 + the Gaussian whose rows are there, or 0 */
    uint32_t *counts;   /* [SPLAT_REST_CACHE_COUNTS] of the step in work */
    uint32_t *leaving;  /* [n_slots] like owner: whose rows go home in the step in work, as others move in */
    uint32_t *chosen;   /* [n_slots] of the step in work: empty slots from the front, those that may be left from the
                           end */
    uint32_t *rest;     /* [n_slots][rest_words], or NULL: sh_rest itself lies on the device */
    uint32_t *moments[2];      /* [n_slots][moment_words] m and v; quantized: both in the first, then NULL */
    uint32_t *home_moments[2]; /* [n][moment_words] likewise, of all Gaussians */
    uint32_t n_slots, rest_words, moment_words;
    uint32_t n_rows;    /* Gaussians at most */
    bool is_empty;
} splat_rest_cache;

#define SPLAT_REST_CACHE_COUNTS 3

/* Cuts the arrays from memory of the backend (NULL: none is cut), of which the first *zeroed bytes have to be zero.
 * Returns the bytes they take. n_slots, n_rows, the words of rows (0: no sh_rest) and home_moments are set before. */
size_t splat_rest_cache_cut(splat_rest_cache *cache, void *data, size_t *zeroed);

typedef struct splat_gaussians {
    uint32_t n;
    int sh_degree;        /* of the stored sh_rest */
    int active_sh_degree; /* bands that are evaluated, <= sh_degree */
    splat_tensors p;      /* raw parameters; p.sh_rest is NULL when sh_rest_half is used */
    uint16_t *sh_rest_half; /* [n][splat_half_row(channels)] IEEE binary16, or NULL: p.sh_rest holds them */
    bool rest_on_host;      /* sh_rest lies in host memory (SPLAT_ON_HOST): read whole rows, and only where needed */
    splat_deferred_rest *deferred; /* steps that sh_rest lacks, or NULL: it lacks none */
    splat_rest_cache *cache;       /* of rows in host memory, or NULL: none */
    float *filter_3d;     /* [n] standard deviation of the 3D smoothing filter, world units; 0 is none */
} splat_gaussians;

/* Densification statistics since the last density control (docs/method.md 7.1, 10). */
typedef struct splat_statistics {
    float *grad;     /* [n] sum of |(dL/du W/2, dL/dv H/2)| over the views that saw it */
    float *grad_abs; /* [n] sum of the per-pixel absolute gradients, L1 over the axes */
    float *count;    /* [n] views that saw it */
} splat_statistics;

#endif
