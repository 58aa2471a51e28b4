/* The first Gaussians, one on each point (docs/method.md 3). */
#ifndef SPLAT_MODEL_INIT_POINTS_H
#define SPLAT_MODEL_INIT_POINTS_H

#include "model/model.h"

typedef struct splat_first_gaussians {
    size_t most;   /* most points to use, evenly spread over the list; 0: all */
    float opacity; /* 0.1 */
    float scale;   /* 1: standard deviations are this times the mean distance of the three nearest */
    uint32_t first_row, row_stride; /* of several ranks: of all those rows the model gets every row_stride-th from
                                       first_row on; 0: all */
} splat_first_gaussians;

/* Means, colours and scales from points (docs/method.md 3). n_points >= 4. */
splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          const splat_first_gaussians *first, splat_error *error);

#endif
