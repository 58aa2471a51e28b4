/* Private to the op: the inner loops of Adam, compiled once a SIMD level (adam_simd.c). Every level gives the same
 * bytes. */
#ifndef SPLAT_OPS_ADAM_KERNELS_H
#define SPLAT_OPS_ADAM_KERNELS_H

#include "backend/backend.h"
#include "ops/simd.h"

/* parameter -= step m / (sqrt(inverse_correction2 v) + epsilon), step = lr / correction1. */
typedef struct splat_adam_step {
    float step, inverse_correction2, beta1, beta2, epsilon;
} splat_adam_step;

/* The gradients that move the moments, for each value: m by mean, v by square (NULL: mean squared, for one view). */
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
    uint64_t index;      /* index of the first value in the whole tensor; decides its rounding */
    float *parameters;   /* NULL: half */
    uint16_t *half;      /* rows of splat_half_row(channels) */
    float *m, *v;        /* NULL: quantized */
    uint32_t *quantized; /* channels words a row; rows_in_bytes: splat_moment_row_words(channels) */
    bool rows_in_bytes;
} splat_stored_rows;

typedef struct splat_adam_kernels {
    void (*adam)(float *parameters, float *m, float *v, splat_adam_gradient gradient, size_t n, splat_adam_step step);
    /* The same on n rows of which something is not stored as floats; key: splat_rounding_key of moments. */
    void (*adam_stored)(const splat_stored_rows *rows, splat_adam_gradient gradient, uint32_t n, splat_adam_step step,
                        uint32_t key);
} splat_adam_kernels;

extern const splat_adam_kernels splat_adam_kernels_c;
#if SPLATSMITH_X86
extern const splat_adam_kernels splat_adam_kernels_avx2, splat_adam_kernels_avx512;
#endif

#endif
