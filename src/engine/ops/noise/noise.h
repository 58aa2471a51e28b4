/* means_noise: the noise of Langevin dynamics on the positions (3DGS as Markov Chain Monte Carlo, Kheradmand et al.,
 * NeurIPS 2024; docs/method.md 10.1). */
#ifndef SPLAT_OPS_NOISE_H
#define SPLAT_OPS_NOISE_H

#include "ops/types.h"

/* means_noise: mu += strength gate(o~) Sigma~ xi, xi ~ N(0, I), with Sigma~ = R diag(s^2 + f^2) R^T, the covariance
 * (not its root), o~ = o prod(s/s~), and gate(o~) = 1/(1 + exp(100 (o~ - 0.005))): only what is hardly seen moves.
 * xi of Gaussian i: with r = splat_random(seed, SPLAT_STREAM_MEANS_NOISE, step, i), splat_normal2(r0, r1) gives xi_x,
 * xi_y and splat_normal2(r2, r3) gives xi_z (first of the pair). A Gaussian whose scales are so small, or whose opacity
 * is so large, that it would move by less than 1e-7 of its smallest standard deviation stays as it is, as does one
 * whose new mean would not be finite. strength is the learning rate of the means times the option noise_lr. */
struct splat_means_noise_args {
    const splat_gaussians *gaussians;
    float strength;
    uint64_t seed;
    uint32_t step;
    uint32_t first, stride; /* row i is Gaussian first + i stride of the model that the random numbers go by; stride 0:
                               Gaussian i */
};

#endif
