/* The trainer's state: everything a step reads or writes, all of it in this handle. */
#ifndef SPLAT_TRAIN_TRAINER_H
#define SPLAT_TRAIN_TRAINER_H

#include "model/model.h"
#include "ops/loss/loss.h"
#include "scene/scene.h"

#include <signal.h>

struct splat_trainer {
    splat_context *context;
    splat_backend *backend;
    splat_scene *scene;
    splat_train_options options;
    splat_model *model;

    int iteration;                       /* steps done */
    splat_tensor_blocks m, v;            /* Adam's moments */
    int adam_steps[SPLAT_N_TENSORS];     /* steps each tensor has made (t of the bias correction) */
    splat_block statistics[3];           /* grad, grad_abs, count: [n] each */

    splat_block photo, photo_resampled, jitter, grad_image, loss_scratch; /* transients of the view in work */
    uint32_t *view_order, view_order_epoch; /* the current epoch's permutation of the training views */

    size_t n_added, n_removed;           /* by the density control before the step in work */
    splat_stage_times times;
    volatile sig_atomic_t stop_requested;
};

/* density_control.c: what belongs after `iteration` (densify, opacity reset, 3D filter), see schedule.h. */
splat_status splat_density_control_after(splat_trainer *trainer, int iteration, splat_error *error);
/* Recomputes filter_3d from the training cameras. */
splat_status splat_trainer_update_filter(splat_trainer *trainer, splat_error *error);
/* Parameters, moments and statistics n rows long; statistics become zero. On failure nothing has changed. */
splat_status splat_trainer_resize(splat_trainer *trainer, uint32_t n, splat_error *error);

#endif
