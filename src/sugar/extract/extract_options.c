/* What an extraction can be told: defaults and ranges. */
#include "sugar/extract/extract_parts.h"

#include "base/options.h"

void splat_mesh_extract_options_init_sized(splat_mesh_extract_options *options, size_t size)
{
    const splat_mesh_extract_options defaults = {
        .method = SPLAT_MESH_POISSON,
        .points = SPLAT_MESH_POINTS_LEVEL,
        .levels = {0.3f},
        .n_levels = 1,
        .resolution_factor = 1,
        .n_points = 2000000,
        .poisson_depth = 10,
        .density_quantile = 0,
        .support_trim = 1.5,
        .outlier_neighbors = 20,
        .outlier_std = 20,
        .project = false,
        .least_scale = 0.5,
        .min_alpha = 0.5f,
        .background = true,
        .center_bbox = true,
        .target_vertices = 1000000,
        .planes = true,
        .remove_sky = true,
        .min_component_faces = 100,
        .least_seen = 0.001,
        .unseen_rim = 8};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

static bool has_levels(const splat_mesh_extract_options *o)
{
    return o->method == SPLAT_MESH_MARCHING_CUBES ||
           (o->method == SPLAT_MESH_POISSON && o->points == SPLAT_MESH_POINTS_LEVEL);
}

size_t splat_mesh_extract_count(const splat_mesh_extract_options *options)
{
    return has_levels(options) ? options->n_levels : 1;
}

static splat_status check_levels(const splat_mesh_extract_options *o, splat_error *error)
{
    if (o->n_levels < 1 || o->n_levels > SPLAT_MESH_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "1 to %d surface levels are possible, not %zu",
                          SPLAT_MESH_LEVELS, o->n_levels);
    for (size_t i = 0; i < o->n_levels; i++) {
        if (!(o->levels[i] > 0 && o->levels[i] < 1))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a surface level must be above 0 and below 1, not %g",
                              (double)o->levels[i]);
        for (size_t k = 0; k < i; k++)
            if (o->levels[k] == o->levels[i])
                return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the surface level %g is given twice",
                                  (double)o->levels[i]);
    }
    return SPLAT_OK;
}

splat_status splat_mesh_extract_options_check(const splat_mesh_extract_options *o, splat_error *error)
{
    splat_mesh_extract_options own;
    splat_mesh_extract_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, o, "splat_mesh_extract_options", error));
    o = &own;
    if ((unsigned)o->method > SPLAT_MESH_MARCHING_CUBES)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown mesh method %d", (int)o->method);
    if ((unsigned)o->points > SPLAT_MESH_POINTS_VIEWS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown source of points %d", (int)o->points);
    if (has_levels(o)) SPLAT_TRY(check_levels(o, error));
    if (!(o->resolution_factor >= 0.05f && o->resolution_factor <= 8))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "resolution_factor must be from 0.05 to 8, not %g",
                          (double)o->resolution_factor);
    if (o->n_points < 1000 || o->n_points > 500000000)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "n_points must be between 1,000 and 500,000,000, not %zu",
                          o->n_points);
    if (o->poisson_depth && (o->poisson_depth < 6 || o->poisson_depth > 12))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "poisson_depth must be 6 to 12, or 0 for what the points "
                          "deserve, not %d", o->poisson_depth);
    if (!(o->density_quantile >= 0 && o->density_quantile < 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density_quantile must be in [0, 1), not %g",
                          o->density_quantile);
    if (!(o->support_trim >= 0 && o->support_trim <= 1000))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "support_trim must be from 0 to 1000, not %g", o->support_trim);
    if (!(o->min_alpha > 0 && o->min_alpha <= 1))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "min_alpha must be above 0 and at most 1, not %g",
                          (double)o->min_alpha);
    if (o->outlier_neighbors == 1 || o->outlier_neighbors > 32 || !(o->outlier_std >= 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "outlier_neighbors must be 0 or 2 to 32 and outlier_std not "
                          "negative, not %zu and %g", o->outlier_neighbors, o->outlier_std);
    if (!(o->least_scale >= 0 && o->least_scale <= 100))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "least_scale must be from 0 to 100 voxels, not %g",
                          o->least_scale);
    if (!(o->voxel_size >= 0) || !(o->max_depth >= 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxel_size and max_depth must not be negative");
    if (!(o->least_seen >= 0 && o->least_seen <= 1) || o->unseen_rim < -1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "least_seen must be from 0 to 1 and unseen_rim -1 or more, not "
                          "%g and %d", o->least_seen, o->unseen_rim);
    for (int k = 0; k < 3; k++)
        if (o->has_bbox && !(o->bbox_low[k] < o->bbox_high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box is empty: bboxmin must be below bboxmax");
    return SPLAT_OK;
}
