/* Private to the op: the inner loops of project and project_backward, compiled once a SIMD level
 * (project_simd.c). Every level gives the same bytes. */
#ifndef SPLAT_OPS_PROJECT_KERNELS_H
#define SPLAT_OPS_PROJECT_KERNELS_H

#include "backend/backend.h"
#include "math/projection.h"
#include "ops/project/project.h"
#include "ops/simd.h"

/* Gaussians that one task handles. Fixed, so that nothing depends on the number of threads. The backward block keeps
 * the gradients of its Gaussians (60 KiB) and the slices that Adam touches in the second cache level; of a quarter of
 * that the slices are too short to be foreseen. */
#define SPLAT_PROJECT_BLOCK 256
#define SPLAT_PROJECT_GROUPS (SPLAT_PROJECT_BLOCK / SPLAT_LANES)
#define SPLAT_BACKWARD_BLOCK 256

/* Gradients of one block, laid out like the parameters. */
typedef struct splat_gradient_block {
    float means[3 * SPLAT_BACKWARD_BLOCK], sh_dc[3 * SPLAT_BACKWARD_BLOCK];
    float opacities[SPLAT_BACKWARD_BLOCK], scales[3 * SPLAT_BACKWARD_BLOCK], rotations[4 * SPLAT_BACKWARD_BLOCK];
    float sh_rest[45 * SPLAT_BACKWARD_BLOCK]; /* the last: most of the block, and not always read */
} splat_gradient_block;

/* parameter -= step m / (sqrt(inverse_correction2 v) + epsilon), step = lr / correction1. */
typedef struct splat_adam_step {
    float step, inverse_correction2, beta1, beta2, epsilon;
} splat_adam_step;

/* What moves the moments, of each value: m by mean, v by square, which is that of one view's gradient where it is
 * NULL. */
typedef struct splat_adam_gradient {
    const float *mean, *square;
} splat_adam_gradient;

static inline splat_adam_gradient splat_adam_gradient_at(splat_adam_gradient g, size_t value)
{
    return (splat_adam_gradient){g.mean + value, g.square ? g.square + value : NULL};
}

/* Rows of one tensor in their storage, from the row that the pointers stand at. */
typedef struct splat_stored_rows {
    uint32_t channels;
    uint64_t index;      /* of the first value in the whole tensor: what its rounding depends on */
    float *parameters;   /* NULL: half */
    uint16_t *half;      /* rows of splat_half_row(channels) */
    float *m, *v;        /* NULL: quantized */
    uint32_t *quantized; /* channels words a row; rows_in_bytes: splat_moment_row_words(channels) */
    bool rows_in_bytes;
} splat_stored_rows;

typedef struct splat_project_kernels {
    /* masks[k] bit l: Gaussian begin + 16 k + l is visible as far as its shape goes. Returns the number of them. */
    uint32_t (*find)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin, uint32_t end,
                     uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t *n_degenerate);
    /* Writes the entries of the Gaussians in masks to the frame from entry first_visible on. An entry whose colour is
     * not finite gets depth 0; their number is returned. */
    uint32_t (*write)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin,
                      const uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t first_visible, splat_frame *frame);
    /* Gradients of the visible entries [v_begin, v_end), which belong to the block of Gaussians from begin on, into a
     * block that is zero where it is read. Returns the number of Gaussians whose gradient is not finite; it is left. */
    uint32_t (*backward)(const splat_gaussians *gaussians, const splat_projector *projector, const splat_frame *frame,
                         uint32_t begin, uint32_t v_begin, uint32_t v_end, splat_gradient_block *block);
    void (*adam)(float *parameters, float *m, float *v, splat_adam_gradient gradient, size_t n, splat_adam_step step);
    /* The same on n rows of which something is not stored as floats; key: splat_rounding_key of moments. */
    void (*adam_stored)(const splat_stored_rows *rows, splat_adam_gradient gradient, uint32_t n, splat_adam_step step,
                        uint32_t key);
} splat_project_kernels;

extern const splat_project_kernels splat_project_kernels_c;
#if SPLATSMITH_X86
extern const splat_project_kernels splat_project_kernels_avx2, splat_project_kernels_avx512;
#endif

const splat_project_kernels *splat_project_kernels_of(const splat_backend *backend);

#endif
