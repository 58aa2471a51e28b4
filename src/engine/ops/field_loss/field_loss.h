/* field_loss: how well the density of the splat agrees with a surface, at random points near it, and how well the
 * normals around each point agree; losses and gradients at once (SuGaR, Guedon and Lepetit, CVPR 2024, eq. 7 to 9). */
#ifndef SPLAT_OPS_FIELD_LOSS_H
#define SPLAT_OPS_FIELD_LOSS_H

#include "math/density.h" /* SPLAT_NEIGHBORS */
#include "ops/frame.h"

enum { SPLAT_FIELD_DENSITY, SPLAT_FIELD_SDF };

#define SPLAT_FIELD_MAX_SAMPLES (1u << 24)

/* The pool: the visible Gaussians in ascending order; with SDF those of them whose mean is closer to the depth map than
 * twice their deviation towards the camera, |D(u, v) - z| < 2 |s o R^T dir|. The depth map is D = maps[0] + T z_max,
 * with z_max the largest camera-space z of all means; it is read bilinearly between the centres of pixels, and goes on
 * beyond the outermost of them as it is there. The pool and z_max are constants of the gradients.
 *
 * Each sample takes a Gaussian g of the pool, with replacement, and p = mean + R (1.5 s o xi), xi normal. Over the 16
 * Gaussians i that are g and its neighbours, with n_i the axis of the smallest scale s_min,i, phi = 1 (DENSITY) or 1/16
 * (SDF) and w_i = phi o_i exp(-1/2 |diag(1 / max(s, 1e-8)) R^T (p - mean)|^2):
 *
 *   d = sum w_i, beta = mean s_min,i
 *   DENSITY  field = |d - exp(-f^2 / (2 beta^2))|, f = (p - mean_g) . n_g
 *   SDF      field = min(|beta sqrt(-2 ln clamp(d, 1e-16, 1)) - |D(p) - z(p)|| 10 / E, 10 E);
 *            where d is clamped it has no gradient, and what the minimum cuts off has none. A sample counts if
 *            z(p) > 1e-4 and |D(p) - z(p)| <= sdf_range beta: what is farther from the depth map stands before or
 *            behind another surface, and beta sqrt(-2 ln 1e-16) = 8.58 beta is the most that the field can say
 *   normal = |n_g - sum a_i n_i' / max(sum a_i, 1e-6)|^2, n_i' = n_i or -n_i, on the side of n_g,
 *            a_i = w_i |(p - mean_i) . n_i| / max(s_min,i, 1e-6)^2: constants, only the normals have a gradient
 *
 * Gradients go through p, the weights, f, beta, D and its place. Which axis is the smallest, and sides, are constants.
 * The losses are means over the samples that count: those of SDF's range, and where all of this and its derivatives are
 * finite; which do is a constant of the gradients. When there are none the losses are 0 and nothing is added.
 *
 * Draws are a function of (seed, step, index of the sample) and of the pool. On the CPU the bytes do not depend on
 * threads or SIMD level; on a device they are the same from run to run. After a step that overflowed or was not finite
 * a device finds an empty pool. The host waits for nothing.
 *
 * Working memory is scratch, which it resets: the frame's grad2d must not lie there yet. A sample takes 24 bytes on
 * the CPU and 350 on a device, a Gaussian of the model 57 and 13; the CPU takes up to 3.3 MiB more.
 * Errors: ARGUMENT (n_samples not in 1 .. SPLAT_FIELD_MAX_SAMPLES; 1 to 15 Gaussians, which have no 15 neighbours; SDF
 * with a picture of 2^32 - 1 pixels or more); MEMORY. */
struct splat_field_loss_args {
    const splat_gaussians *gaussians;  /* filter_3d is not read: it was fused before */
    const splat_frame *frame;          /* after project */
    const uint32_t *neighbors;         /* [n][SPLAT_NEIGHBORS] the nearest other Gaussians (op knn) */
    uint32_t n_samples;
    uint64_t seed;
    uint32_t step;
    int mode;                          /* SPLAT_FIELD_DENSITY or SPLAT_FIELD_SDF */
    float field_weight, normal_weight; /* weights of the gradients; the reported losses have none */
    /* SDF only, with DENSITY not read: E > 0, the extent of the cameras; how far from the depth map a sample may be, in
     * beta; what geometry wrote, not normalized;
     * dL/dmaps and dL/dalpha (alpha = 1 - T), to which the field's are added. [height][width] each: of maps, and of
     * their gradient, the first plane alone is used */
    float extent, sdf_range;
    const float *maps, *transmittance;
    float *grad_maps, *grad_alpha;
    const splat_tensors *gradients;    /* added to: means, scales, rotations, opacities, of the raw parameters, [n]
                                          rows; the other tensors are not touched, and may be NULL */
    double *result;                    /* device memory, 4: field loss, normal loss, samples that count, Gaussians in
                                          the pool */
};

/* Scratch of a view of n Gaussians. */
size_t splat_field_loss_cpu_bytes(size_t n, size_t n_samples, int mode);

/* A device: 16 pairs a sample of keys and places, twice, the samples, and CUB's; flags, pool and runs of pairs of the
 * Gaussians. */
static inline size_t splat_field_loss_scratch_bytes(bool on_device, size_t n, size_t n_samples, int mode)
{
    return on_device ? 350 * n_samples + 13 * n : splat_field_loss_cpu_bytes(n, n_samples, mode);
}

#endif
