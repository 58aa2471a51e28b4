/* The parts of a Gaussian: the tensors of gaussians.def as numbers, sizes, pointers, and as a table. Shared by C and
 * CUDA. */
#ifndef SPLAT_MATH_GAUSSIANS_H
#define SPLAT_MATH_GAUSSIANS_H

#include <stddef.h>
#include <stdint.h>

#define SPLAT_MAX_SH_DEGREE 3

/* Floats of sh_rest a Gaussian at a model's SH degree. */
static inline uint32_t splat_sh_rest_floats(int sh_degree)
{
    return 3u * ((uint32_t)(sh_degree + 1) * (uint32_t)(sh_degree + 1) - 1u);
}

enum {
#define SPLAT_TENSOR(name, ...) SPLAT_TENSOR_##name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    SPLAT_N_TENSORS
};

/* One array for each trained tensor: parameters, a moment, or gradients. */
typedef struct splat_tensors {
#define SPLAT_TENSOR(name, ...) float *name;
#include "math/gaussians.def"
#undef SPLAT_TENSOR
} splat_tensors;

/* ---------------------------------------------------------------- as a table
 *
 * Kernels know the tensors above by name. What only moves rows, as arrays in memory, checkpoints and rates do, walks a
 * table, and works for Gaussians with other tensors too. */

/* How a tensor may be stored smaller than float32. */
typedef enum splat_tensor_storage {
    SPLAT_STORED_FLOATS = 0, /* parameters never; moments: 16 bits each */
    SPLAT_STORED_HARMONICS   /* parameters: float16; moments: 8 bits each, with two scales a row; either on the host */
} splat_tensor_storage;

typedef struct splat_tensor_row {
    const char *name;      /* name of its array in memory and in checkpoints */
    const char *m, *v, *mv; /* those of its moments: float32 each, or both quantized in one */
    const char *ply;       /* PLY columns, as in the .def */
    uint32_t channels;     /* 0: splat_sh_rest_floats of the model's SH degree */
    splat_tensor_storage storage;
} splat_tensor_row;

typedef struct splat_tensor_table {
    int n;
    const splat_tensor_row *rows; /* [n] */
} splat_tensor_table;

/* gaussians.def; row i is tensor SPLAT_TENSOR_* i. */
extern const splat_tensor_table splat_gaussian_tensors;

static inline uint32_t splat_tensor_row_channels(const splat_tensor_row *row, int sh_degree)
{
    return row->channels ? row->channels : splat_sh_rest_floats(sh_degree);
}

/* Channels of tensor t (SPLAT_TENSOR_means, ...) at an SH degree. */
static inline uint32_t splat_tensor_channels(int tensor, int sh_degree)
{
    enum { SPLAT_SH_REST = 0 };
    static const uint32_t channels[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, n, ...) n,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    return channels[tensor] ? channels[tensor] : splat_sh_rest_floats(sh_degree);
}

/* The PLY column of a channel: writes it into name[size]. */
void splat_tensor_ply_column(const splat_tensor_row *row, uint32_t channel, char *name, size_t size);

#endif
