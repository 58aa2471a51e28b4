/* Pictures of a training of several ranks: each projects its own Gaussians for all, and blends its view with what is
 * seen of everybody's (docs/distributed.md). */
#ifndef SPLAT_TRAIN_PICTURES_H
#define SPLAT_TRAIN_PICTURES_H

#include "train/ranks/shards.h"

/* Collective: the pictures of n_views of the dataset's views, over the scene's background, that of views[r] in the
 * model's frame of rank r. Every rank has its rows (splat_shards_deal). counted: the own frame's
 * blended is written too. Errors: MEMORY, below a memory limit on all ranks; RANK, DEVICE. */
splat_status splat_shards_blend(splat_trainer *trainer, const uint32_t *views, int n_views, bool counted,
                                splat_error *error);
/* A picture at rank 0, where rows are apart: into model->frame, and into *geometry, which is the frame's, as
 * splat_model_rasterize_geometry has it but without a median. Errors: as splat_shards_blend. */
splat_status splat_shards_show(splat_trainer *trainer, const splat_picture_order *order, splat_model_geometry *geometry,
                               splat_error *error);
/* The other ranks: their part in it. */
splat_status splat_shards_serve_picture(splat_trainer *trainer, const splat_order *order, splat_error *error);

#endif
