/* Checks shared by the versions of level_points. */
#ifndef SPLAT_OPS_LEVEL_POINTS_COMMON_H
#define SPLAT_OPS_LEVEL_POINTS_COMMON_H

#include "ops/level_points/level_points.h"

static inline splat_status splat_level_points_check(const struct splat_level_points_args *args, splat_error *error)
{
    if (args->n_levels < 1 || args->n_levels > SPLAT_MESH_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%d levels of the density; 1 to %d are possible", args->n_levels,
                          SPLAT_MESH_LEVELS);
    return SPLAT_OK;
}

#endif
