/* The schedule of coarse training: pure functions of the iteration, all false without coarse training. */
#ifndef SPLAT_SURFACE_COARSE_SCHEDULE_H
#define SPLAT_SURFACE_COARSE_SCHEDULE_H

#include "splatsmith/train.h"

/* True if the iteration has any of the losses below. */
bool splat_coarse_has_losses(const splat_train_options *options, int iteration);
/* Opacities are pushed to 0 or 1 in this iteration. */
bool splat_coarse_has_entropy(const splat_train_options *options, int iteration);
/* The transparent are removed. */
bool splat_coarse_prunes_after(const splat_train_options *options, int iteration);
/* The losses of the surface are part of this iteration. */
bool splat_coarse_regularizes(const splat_train_options *options, int iteration);
/* The factor, in 0 .. 1, that the weights of the losses on maps of depth and normals (depth-normal consistency and
 * those of MULTIVIEW) have at an iteration: 1, and over the last surface_fade of the steps a line that ends at 0. */
double splat_coarse_fade(const splat_train_options *options, int iteration);
/* ... and this one of them, which has a factor: at samples, of depth and normals, of thickness, of two views. */
bool splat_coarse_has_field(const splat_train_options *options, int iteration);
bool splat_coarse_has_depth_normal(const splat_train_options *options, int iteration);
bool splat_coarse_has_thickness(const splat_train_options *options, int iteration);
bool splat_coarse_has_multi_view(const splat_train_options *options, int iteration);
/* True if some iteration uses pairs of views. */
bool splat_coarse_sees_neighbors(const splat_train_options *options);
/* Before the losses at samples the nearest neighbours are searched again. */
bool splat_coarse_searches_neighbors(const splat_train_options *options, int iteration);

#endif
