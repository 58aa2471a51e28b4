/* The tables of the tensors of bound Gaussians. */
#include "math/bound.h"

static const splat_tensor_row rows[SPLAT_N_BOUND_TENSORS] = {
#define SPLAT_BOUND_TENSOR(name, channels, ...)                                                                        \
    {#name, "adam_m." #name, "adam_v." #name, "adam." #name, "", channels, SPLAT_STORED_FLOATS},
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
};

enum {
    VERTEX = 1,
    GAUSSIAN = 0,
    N_OF_VERTICES = 0
#define SPLAT_BOUND_TENSOR(name, channels, of, ...) +(of)
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
};

const splat_tensor_table splat_bound_vertex_tensors = {N_OF_VERTICES, rows};
const splat_tensor_table splat_bound_plane_tensors = {SPLAT_N_BOUND_TENSORS - N_OF_VERTICES, rows + N_OF_VERTICES};
