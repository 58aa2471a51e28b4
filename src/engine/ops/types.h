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

typedef struct splat_gaussians {
    uint32_t n;
    int sh_degree;        /* degree of the stored sh_rest */
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

#endif
