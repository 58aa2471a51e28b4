/* batch_step: a step of Adam of every Gaussian after several views; and the data of a step, of project_backward's, too.
 * Mathematics: docs/method.md 9. */
#ifndef SPLAT_OPS_ADAM_H
#define SPLAT_OPS_ADAM_H

#include "ops/rest/rest.h"

/* Adam (Kingma and Ba 2015), beta = (0.9, 0.999), epsilon 1e-15 added after the square root. */
typedef struct splat_adam {
    const splat_moments *moments;     /* read and written in their storage */
    uint32_t iteration;               /* seeds the rounding of 16-bit SH and of quantized moments (math/quantize.h):
                                         value i of tensor t rounds with splat_rounding_bits(splat_rounding_key(t,
                                         iteration), i) for its moments and with key + 1 for its parameter, i =
                                         Gaussian * channels + channel */
    bool rest_of_visible_only;        /* sh_rest and its moments change only where the Gaussian is visible (they lie in
                                         host memory and only what is seen is streamed) */
    float lr[SPLAT_N_TENSORS];        /* learning rate of each tensor */
    float correction1[SPLAT_N_TENSORS], correction2[SPLAT_N_TENSORS]; /* 1 - beta^t of the step being made */
    bool update[SPLAT_N_TENSORS];     /* false: neither parameters nor moments of the tensor change */
} splat_adam;

#define SPLAT_ADAM_BETA1 0.9f
#define SPLAT_ADAM_BETA2 0.999f
#define SPLAT_ADAM_EPSILON 1e-15f

/* batch_step: Adam of every Gaussian with the gradients of n_views views, to each of which is added what a row pulls at
 * itself (opacity_pull, scale_pull, as project_backward has them). It stands for as many steps of one view, whose
 * gradients are those where the first one is made (Wang and Aitchison, "Batch size invariant Adam", 2024): m follows
 * the mean of the gradients, v the mean of their squares, and moments decay by beta^n_views. The caller scales the
 * rates by n_views and counts as many steps in the corrections. adam->rest_of_visible_only is not looked at. With
 * rest->deferred, of several slots, and active bands, sh_rest's step is put off, with the gradients in the slots;
 * project_views came before. With deferred->at_once (in small storages alone) it is made, with those. sh_rest in host
 * memory is UNSUPPORTED on CUDA.
 * clears: the sums of tensors that are updated become zero. */
struct splat_batch_step_args {
    splat_gaussians *gaussians;
    const splat_adam *adam;
    const splat_tensors *gradients; /* sums over the views, finite; a deferred tensor has none */
    const splat_tensors *squares;   /* the same for the squares of each view's gradients */
    uint32_t n_views;
    float opacity_pull, scale_pull;
    bool clears;
    const splat_rest_state *rest; /* NULL allowed */
};

#endif
