/* Code shared by the SIMD levels of field_loss. Samples of one generator have the same sixteen Gaussians and are
 * computed together as a group: its Gaussians are read and prepared once, and their gradients are summed before they
 * are written. */
#ifndef SPLAT_OPS_FIELD_LOSS_KERNEL_H
#define SPLAT_OPS_FIELD_LOSS_KERNEL_H

#include "ops/field_loss/field_loss_math.h"

/* Floats of a gradient: mean 3, log scales 3, raw rotation 4, logit. */
#define SPLAT_FIELD_GRADIENT 11

/* The contribution of a sample to the depth map: the place, and dfield/dD there. 0: none. */
typedef struct splat_field_spot {
    float u, v, grad_depth;
} splat_field_spot;

/* The contributions of a group to its Gaussians, the generator first. */
typedef struct splat_field_record {
    uint32_t ids[SPLAT_FIELD_KERNELS];
    _Alignas(64) float gradient[SPLAT_FIELD_GRADIENT][SPLAT_FIELD_KERNELS];
    uint32_t n_counting;  /* samples; 0: the gradient is undefined */
    double field, normal; /* sums of the losses */
} splat_field_record;

typedef struct splat_field_groups {
    splat_field_job job;
    const splat_tensors *parameters;
    const uint32_t *pool;
    uint32_t *places;        /* [n_samples] of the generators in the pool */
    uint32_t *order;         /* [n_samples] samples by place, then by index */
    uint32_t *begin;         /* [n_groups + 1] first sample of each group in that order */
    splat_field_spot *spots; /* SDF: [n_samples] in that order; else NULL */
} splat_field_groups;

/* Records of groups begin .. end - 1. The gradients are those of the means over all n_samples. */
#define SPLAT_FIELD_RUN(name)                                                                                          \
    void name(const splat_field_groups *groups, uint32_t begin, uint32_t end, splat_field_record *records)

SPLAT_FIELD_RUN(splat_field_run_c);
SPLAT_FIELD_RUN(splat_field_run_avx2);
SPLAT_FIELD_RUN(splat_field_run_avx512);

#endif
