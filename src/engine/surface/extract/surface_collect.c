/* The points of an extraction, from the source that its options name. */
#include "surface/extract/surface_collect.h"

#include "surface/extract/surface_agreed.h"
#include "surface/extract/surface_centers.h"
#include "surface/extract/surface_gaussians.h"
#include "surface/extract/surface_levels.h"
#include "surface/extract/surface_points.h"
#include "surface/extract/surface_views.h"

#include <string.h>

size_t splat_surface_points_capacity(const splat_scene *scene, const splat_model *model,
                                     const splat_mesh_extract_options *options)
{
    switch (options->points) {
    case SPLAT_MESH_POINTS_LEVEL: /* before they are thinned out, twice the share of one view */
        return options->n_points + splat_surface_share(scene, options, 0);
    case SPLAT_MESH_POINTS_CENTERS: return model->gaussians.n;
    case SPLAT_MESH_POINTS_VIEWS:
    case SPLAT_MESH_POINTS_DEPTH: break;
    }
    return options->n_points;
}

static splat_status collect_opaque(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                   splat_surface_points *points, size_t *n_opaque, splat_error *error)
{
    splat_surface_gaussians opaque;
    SPLAT_TRY(splat_surface_gaussians_make(model, &opaque, error));
    *n_opaque = opaque.g.n;
    splat_status status = options->points == SPLAT_MESH_POINTS_LEVEL
                              ? splat_surface_levels(scene, model, &opaque, options, points, error)
                              : splat_surface_centers(scene, model, &opaque, options, points, error);
    splat_surface_gaussians_free(model->backend, &opaque);
    return status;
}

splat_status splat_surface_points_collect(splat_scene *scene, splat_model *model,
                                          const splat_mesh_extract_options *options, splat_surface_points *points,
                                          splat_free_space *space, size_t *n_opaque, splat_error *error)
{
    size_t n = splat_mesh_extract_count(options), capacity = splat_surface_points_capacity(scene, model, options);
    splat_status status = SPLAT_OK;
    memset(points, 0, n * sizeof *points);
    memset(space, 0, sizeof *space);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        status = splat_surface_points_make(&points[i], capacity, error);
    *n_opaque = 0;
    if (status == SPLAT_OK && options->points == SPLAT_MESH_POINTS_DEPTH)
        status = splat_surface_depths(scene, model, options, points, error);
    else if (status == SPLAT_OK && options->points == SPLAT_MESH_POINTS_VIEWS)
        status = splat_surface_views_agreed(scene, model, options, points, space, error);
    else if (status == SPLAT_OK)
        status = collect_opaque(scene, model, options, points, n_opaque, error);
    for (size_t i = 0; i < n && status != SPLAT_OK; i++) splat_surface_points_free(&points[i]);
    return status;
}
