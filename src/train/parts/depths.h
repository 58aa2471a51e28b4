/* The depth that a scene knows of its training photos (ops/depth_prior), and its place in a step: maps of inverse
 * depth, points of structure from motion. Where the scene knows none, or the weights are 0, a step is what it is
 * without. depths_state.c has weights and memory, depths_step.c the step. */
#ifndef SPLAT_TRAIN_DEPTHS_H
#define SPLAT_TRAIN_DEPTHS_H

#include "backend/memory.h"
#include "ops/depth_prior/depth_prior.h"
#include "ops/raster/raster.h"
#include "scene/dataset.h"
#include "splatsmith/train.h"
#include "train/memory/setup.h"

/* One step of so many, by lot, looks at known depth, and at one patch of a map in so many, by lot, too: what it sees
 * counts so many times. Depth is smooth but for its edges, and a view comes back; what it costs falls by as much. */
#define SPLAT_DEPTH_STEPS 4
#define SPLAT_DEPTH_MAP_PARTS 2

/* The doubles of the results: the sums of each loss (ops/depth_prior). */
enum {
    SPLAT_DEPTH_OF_MAP = 0,
    SPLAT_DEPTH_OF_POINTS = SPLAT_DEPTH_SUMS,
    SPLAT_N_DEPTH_RESULTS = 3 * SPLAT_DEPTH_SUMS
};

/* What a trainer keeps. */
typedef struct splat_depth_state {
    splat_block points;  /* splat_depth_point of all training views, as the dataset has them; empty: none count */
    splat_block patches; /* of those points: of each view that has some, a byte a tile, one view after another */
    size_t *first_patch; /* [views of the dataset] where its bytes begin; NULL without points */
    splat_block results; /* double: the sums of the losses */
    int map_iteration, points_iteration; /* of the step that wrote each of the results; 0: none */
} splat_depth_state;

/* A step's. Arrays are the frame's. */
typedef struct splat_step_depths {
    float map_weight, point_weight; /* 0: no such loss in this step */
    splat_raster_depth blend; /* its planes are there as the losses need them; gradients begin as zeros */
    float *grad_along, *grad_inverse, *grad_alpha; /* [height][width]; alpha: of points, or NULL */
    int iteration;
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

/* Whether a step looks: one of the steps 1 to SPLAT_DEPTH_STEPS, one of as many after them, and so on. */
bool splat_depths_looks(uint64_t seed, int iteration);

/* What the scene knows, as far as the options' weights ask for it. */
bool splat_depths_has_maps(const splat_train_options *options, const splat_dataset *dataset);
bool splat_depths_has_points(const splat_train_options *options, const splat_dataset *dataset);

/* Memory: of the frame, of scratch, and what is kept. */
size_t splat_depths_frame_bytes(const splat_memory_setup *setup, const splat_train_options *options, size_t n,
                                size_t n_pixels);
/* ... beside raster_backward's own. */
size_t splat_depths_backward_bytes(const splat_memory_setup *setup, const splat_train_options *options,
                                   const splat_work *work);
/* Blocks beside the rows: of the losses; of the points and their patches. */
size_t splat_depths_blocks(const splat_memory_setup *setup, const splat_train_options *options);
/* Bytes of a view's patches. */
static inline size_t splat_depths_patch_bytes(const splat_camera *camera)
{
    return splat_tiles_along((size_t)camera->width) * splat_tiles_along((size_t)camera->height);
}

size_t splat_depths_point_bytes(const splat_memory_setup *setup, const splat_train_options *options);

/* Of several ranks with a view each, n Gaussians seen by the largest: gradients of depths on their way, and at home. */
size_t splat_depths_batch_bytes(const splat_memory_setup *setup, const splat_train_options *options, size_t n_home,
                                size_t n_seen);

/* Uploads the points and their patches. Errors: MEMORY, DEVICE. */
splat_status splat_depths_init(struct splat_trainer *trainer, splat_error *error);
void splat_depths_free(struct splat_trainer *trainer);

/* Whether the step of an iteration looks at what is known of this view's depth. */
bool splat_depths_looks_at(const struct splat_trainer *trainer, int iteration, uint32_t view);
/* In this order, in a step: room, after the photo is staged; what is blended is in view->depths.blend then (of several
 * ranks all but grad_depth, whose rows are known when they have come); */
splat_status splat_depths_stage(struct splat_trainer *trainer, int iteration, struct splat_step_view *view,
                                splat_error *error);
/* the losses and their gradients, after the view is blended; dL/dopacity is added to view->grad_alpha where the step
 * has one, which must be complete, else to the depths' own. Of a view that ranks share each looks at its rows of
 * pixels. */
splat_status splat_depths_losses(struct splat_trainer *trainer, struct splat_step_view *view, splat_error *error);

/* The losses of the last step that looked, on any rank, as splat_trainer_get_losses gives them; returns how many. Waits
 * for the device. Errors: DEVICE, RANK. */
splat_status splat_depths_get_losses(const struct splat_trainer *trainer, splat_loss *losses, size_t *n,
                                     splat_error *error);
/* Another rank's part in it. */
splat_status splat_depths_serve_losses(const struct splat_trainer *trainer, splat_error *error);

#endif
