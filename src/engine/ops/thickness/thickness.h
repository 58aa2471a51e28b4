/* thickness: how thick the visible Gaussians are, so that they become discs on the surface (PGSR, Chen et al., TVCG
 * 2024, eq. 2; NeuSG, Chen et al., 2023), or only those that are thick blobs (docs/method.md, "Thickness"). */
#ifndef SPLAT_OPS_THICKNESS_H
#define SPLAT_OPS_THICKNESS_H

#include "ops/frame.h"

/* With s_min <= s_mid <= s_max the scales of a Gaussian, without the 3D filter (of equal ones the first axis is the
 * shorter one):
 *
 *     loss = mean over the visible of (s_min - ratio s_mid where s_min > max(ratio s_mid, least), else 0)
 *
 * ratio 0 flattens all that is thicker than `least`; above it is a hinge: what is that much thinner than wide is left
 * alone. In scene units. Those that count are active; which ones do, which axes are meant, and s_mid are constants of
 * the gradient, or Gaussians would become thin against their width by growing wide:
 *
 *     dloss/d ln s_min = s_min / n_visible    of the active, else 0
 *
 * The sums have a fixed order. After a step that overflowed or was not finite a device reports 0 and adds nothing.
 * Working memory is scratch, which it resets. */
struct splat_thickness_args {
    const splat_gaussians *gaussians;
    const splat_frame *frame; /* after project */
    float ratio;              /* of the shortest to the middle scale, 0 to 1 */
    float least;              /* scene units: nothing is flattened further */
    float weight;             /* weight of the gradient; the reported loss has none */
    float *grad_scales;       /* [n][3] added to: dL/d ln s */
    double *result;           /* device memory, 2: the loss; share of visible Gaussians above the limit */
};

#define SPLAT_THICKNESS_BLOCK 1024 /* visible Gaussians of one sum on the CPU */
#define SPLAT_THICKNESS_THREADS 256 /* the same on a device */

/* Scratch for n Gaussians, all of them visible. */
static inline size_t splat_thickness_sums_bytes(size_t n_blocks)
{
    return 3 * n_blocks * sizeof(double);
}

static inline size_t splat_thickness_scratch_bytes(bool on_device, size_t n)
{
    size_t block = on_device ? SPLAT_THICKNESS_THREADS : SPLAT_THICKNESS_BLOCK, n_blocks = (n + block - 1) / block;
    return splat_thickness_sums_bytes(n_blocks + (on_device && n_blocks ? 1 : 0));
}

#endif
