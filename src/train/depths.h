/* The depth that a scene knows of its training photos (ops/depth_prior), and its place in a step: maps of inverse
 * depth, points of structure from motion. Where the scene knows none, or the weights are 0, a step is what it is
 * without. depths_state.c has weights and memory, depths_step.c the step. */
#ifndef SPLAT_TRAIN_DEPTHS_H
#define SPLAT_TRAIN_DEPTHS_H

#include "backend/memory.h"
#include "ops/depth_prior/depth_prior.h"
#include "ops/geometry/geometry.h"
#include "scene/dataset.h"
#include "splatsmith/train.h"
#include "train/memory_setup.h"

/* The doubles of the results. */
enum { SPLAT_DEPTH_OF_MAP = 0, SPLAT_DEPTH_OF_POINTS = 1, SPLAT_N_DEPTH_RESULTS = 3 };

/* What a trainer keeps. */
typedef struct splat_depth_state {
    splat_block points;  /* splat_depth_point of all training views, as the dataset has them; empty: none count */
    splat_block results; /* double: the loss of maps, that of points, how many of these counted */
    bool had_map, had_points; /* the last step: which of the results are its own */
} splat_depth_state;

/* A step's. Arrays are the frame's. */
typedef struct splat_step_depths {
    float map_weight, point_weight; /* 0: no such loss in this step */
    float *features;         /* [n][4] */
    float *maps, *grad_maps; /* [4][height][width]; the gradients begin as zeros */
    float *grad_alpha;       /* [height][width], likewise; NULL: without points */
    splat_grad2d *gradients; /* [n], likewise */
    float *grad_means;       /* [n][3], likewise */
    float *zeros;            /* [n][4]: what the losses ask of scales, rotations and opacities directly */
    struct splat_geometry_args blend;
    struct splat_geometry_backward_args blend_backward;
} splat_step_depths;

struct splat_step_view;
struct splat_trainer;

static inline bool splat_step_has_depths(const splat_step_depths *depths)
{
    return depths->map_weight > 0 || depths->point_weight > 0;
}

/* The weight of a map at an iteration: from depth_l1_weight_init to depth_l1_weight_final, exponentially. */
float splat_depth_map_weight(const splat_train_options *options, int iteration);
/* That of points: until densify_until_iter. */
float splat_depth_point_weight(const splat_train_options *options, int iteration);

/* What the scene knows, as far as the options' weights ask for it. */
bool splat_depths_has_maps(const splat_train_options *options, const splat_dataset *dataset);
bool splat_depths_has_points(const splat_train_options *options, const splat_dataset *dataset);

/* Bytes of maps, or of their gradients. */
static inline size_t splat_depths_map_bytes(size_t n_pixels)
{
    return SPLAT_GEOMETRY_CHANNELS * n_pixels * sizeof(float);
}

/* Memory: of the frame, of scratch, and what is kept. */
size_t splat_depths_frame_bytes(const splat_memory_setup *setup, const splat_train_options *options, size_t n,
                                size_t n_pixels);
size_t splat_depths_scratch_bytes(const splat_memory_setup *setup, const splat_train_options *options);
/* ... and beside raster_backward's, whose lists' slots geometry_backward has once more. */
size_t splat_depths_backward_bytes(const splat_memory_setup *setup, const splat_train_options *options,
                                   const splat_work *work);
/* Blocks beside the rows: of the losses, and of the points. */
size_t splat_depths_blocks(const splat_memory_setup *setup, const splat_train_options *options);
size_t splat_depths_point_bytes(const splat_memory_setup *setup, const splat_train_options *options);

/* Uploads the points. Errors: MEMORY, DEVICE. */
splat_status splat_depths_init(struct splat_trainer *trainer, splat_error *error);
void splat_depths_free(struct splat_trainer *trainer);

/* In this order, in a step: room, after the photo is staged; */
splat_status splat_depths_stage(struct splat_trainer *trainer, int iteration, struct splat_step_view *view,
                                splat_error *error);
/* what is blended beside the colours, after project; */
splat_status splat_depths_describe(struct splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
/* the losses and their gradients, after the view is blended; */
splat_status splat_depths_losses(struct splat_trainer *trainer, struct splat_step_view *view, splat_error *error);
/* after the view's gradients, before project_backward: their place among these, and what is added to them. *extra: of a
 * regularizer when *any, which is added to; else it becomes the depths' own. */
splat_status splat_depths_backward(struct splat_trainer *trainer, const struct splat_step_view *view,
                                   splat_tensors *extra, bool *any, splat_error *error);

/* The losses of the last step, as splat_trainer_get_losses gives them; returns how many. Waits for the device. Errors:
 * DEVICE. */
splat_status splat_depths_get_losses(const struct splat_trainer *trainer, splat_loss *losses, size_t *n,
                                     splat_error *error);

#endif
