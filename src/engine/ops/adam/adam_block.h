/* Adam on the CPU, by fixed blocks of Gaussians: what project_backward and batch_step share. */
#ifndef SPLAT_OPS_ADAM_BLOCK_H
#define SPLAT_OPS_ADAM_BLOCK_H

#include "ops/adam/adam.h"
#include "ops/adam/adam_kernels.h"

/* Gaussians that one task handles. Fixed, so that nothing depends on the number of threads. A block keeps the gradients
 * of its Gaussians (60 KiB) and the slices that Adam touches in the second cache level; of a quarter of that the slices
 * are too short to be foreseen. */
#define SPLAT_ADAM_BLOCK 256

/* Gradients of one block, laid out like the parameters. */
typedef struct splat_gradient_block {
#define SPLAT_SMALL_TENSOR(name, channels) float name[(channels) * SPLAT_ADAM_BLOCK];
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    float sh_rest[45 * SPLAT_ADAM_BLOCK]; /* the last: most of the block, and not always read */
} splat_gradient_block;

/* A block of Gaussians: its place, and its visible entries. */
typedef struct splat_adam_range {
    uint32_t begin, n, v_begin, v_end;
} splat_adam_range;

static inline int64_t splat_adam_n_blocks(uint32_t n)
{
    return ((int64_t)n + SPLAT_ADAM_BLOCK - 1) / SPLAT_ADAM_BLOCK;
}

static inline splat_adam_range splat_adam_range_of(uint32_t n, int64_t block)
{
    const uint32_t begin = (uint32_t)block * SPLAT_ADAM_BLOCK, left = n - begin;
    return (splat_adam_range){.begin = begin, .n = left < SPLAT_ADAM_BLOCK ? left : SPLAT_ADAM_BLOCK};
}

/* The parts of a step. */
typedef struct splat_adam_job {
    const splat_adam_kernels *kernels;
    const splat_gaussians *gaussians;
    const splat_adam *adam;
    const uint32_t *ids; /* Gaussians of the view's entries */
    splat_adam_step steps[SPLAT_N_TENSORS];
} splat_adam_job;

/* n_views: that one step is of. */
splat_adam_job splat_adam_begin(const splat_backend *backend, const splat_gaussians *gaussians, const splat_adam *adam,
                                uint32_t n_views);
/* Parameters and moments of a block. squares: NULL for one view. */
void splat_adam_step_block(const splat_adam_job *job, const splat_adam_range *range, bool rest_of_visible_only,
                           const splat_gradient_block *block, const splat_gradient_block *squares);
/* The gradients of opacity_pull sum o and scale_pull sum s. */
void splat_adam_add_pulls(const splat_gaussians *gaussians, float opacity_pull, float scale_pull,
                          const splat_adam_range *range, splat_gradient_block *block);

#endif
