/* opacity_entropy: how far the visible Gaussians are from being either there or not (SuGaR, Guedon and Lepetit, CVPR
 * 2024, section 4.1). */
#ifndef SPLAT_OPS_OPACITY_ENTROPY_H
#define SPLAT_OPS_OPACITY_ENTROPY_H

#include "ops/frame.h"

#define SPLAT_ENTROPY_EPSILON 1e-10f

/* loss = the mean of -o ln(o + 1e-10) - (1 - o) ln(1 - o + 1e-10) over the Gaussians that the frame sees, o =
 * sigmoid(logit - pivot), without the 3D filter: opacities above sigmoid(pivot) are pushed up, those below it down.
 * Without any Gaussians it is 0. The sum has a fixed order. After a step that overflowed or was not finite a device
 * reports 0 and adds nothing. Working memory is scratch, which it resets. */
struct splat_opacity_entropy_args {
    const splat_gaussians *gaussians;
    const splat_frame *frame; /* after project */
    float pivot;              /* a logit; 0: an opacity of 1/2 */
    float weight;             /* weight of the gradient; the reported loss has none */
    float *grad_opacities;    /* [n] added to: dL/dlogit */
    double *result;           /* device memory, 1: the loss */
};

#endif
