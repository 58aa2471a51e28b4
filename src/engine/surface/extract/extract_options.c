/* What an extraction can be told: defaults and ranges. */
#include "surface/extract/extract_parts.h"

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
#define SPLAT_MESH_RANGE(field, zero, low, high) SPLAT_OPTION_CHECK(o, field, zero, low, high)
#include "splatsmith/option_ranges.def"
    for (int k = 0; k < 3; k++)
        if (o->has_bbox && !(o->bbox_low[k] < o->bbox_high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box is empty: bboxmin must be below bboxmax");
    return SPLAT_OK;
}
