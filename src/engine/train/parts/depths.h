/* Part `depth` of a step: the depth that a scene knows of its training photos (ops/depth_prior), as maps of inverse
 * depth and as points of structure from motion. Without known depth, or with weights of 0, it does nothing. */
#ifndef SPLAT_TRAIN_DEPTHS_H
#define SPLAT_TRAIN_DEPTHS_H

#include "ops/depth_prior/depth_prior.h"
#include "train/state.h"

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

/* Known depth of a step's view. Arrays are the frame's. */
typedef struct splat_step_depths {
    float map_weight, point_weight; /* 0: no such loss in this step */
    splat_raster_depth blend;       /* its planes are there as the losses need them; gradients begin as zeros */
    float *grad_along, *grad_inverse; /* [height][width] */
    int iteration;
} splat_step_depths;

/* Known depth of a trainer. */
typedef struct splat_depth_state {
    splat_block points;  /* splat_depth_point of all training views, as the dataset has them; empty: none count */
    splat_block patches; /* marks of patches with points: for each view with points, a byte a tile */
    size_t *first_patch; /* [views of the dataset] where its bytes begin; NULL without points */
    splat_block results; /* double: the sums of the losses */
    int map_iteration, points_iteration; /* steps that wrote the results; 0: none */
    splat_step_depths view; /* depths of the step's view */
} splat_depth_state;

static inline splat_depth_state *splat_depths_of(const splat_trainer *trainer)
{
    return trainer->parts[SPLAT_PART_depth];
}

/* The weight of a map at an iteration: from depth_l1_weight_init to depth_l1_weight_final, exponentially. */
float splat_depth_map_weight(const splat_train_options *options, int iteration);
/* The weight of the loss on points: until densify_until_iter. */
float splat_depth_point_weight(const splat_train_options *options, int iteration);

/* A step has such losses: one of the steps 1 to SPLAT_DEPTH_STEPS, one of as many after them, and so on. */
bool splat_depths_looks(uint64_t seed, int iteration);

/* True if the scene has maps and the options' weights use them. */
bool splat_depths_has_maps(const splat_train_options *options, const splat_dataset *dataset);
bool splat_depths_has_points(const splat_train_options *options, const splat_dataset *dataset);

/* The step of an iteration has losses of the known depth of this view. */
bool splat_depths_looks_at(const splat_trainer *trainer, int iteration, uint32_t view);

/* Another rank's part in the losses that rank 0 reports. Errors: DEVICE, RANK. */
splat_status splat_depths_serve_losses(const splat_trainer *trainer, splat_error *error);

#endif
