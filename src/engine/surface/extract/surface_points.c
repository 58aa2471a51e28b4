/* Points on a surface, whatever they come from. */
#include "surface/extract/surface_points.h"

#include "base/error.h"
#include "base/rows.h"
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

splat_status splat_surface_points_make(splat_surface_points *points, size_t capacity, splat_error *error)
{
    size_t room = capacity ? capacity : 1;
    *points = (splat_surface_points){.capacity = capacity};
    points->positions = malloc(3 * room * sizeof *points->positions);
    points->normals = malloc(3 * room * sizeof *points->normals);
    points->colors = malloc(4 * room);
    if (points->positions && points->normals && points->colors) return SPLAT_OK;
    splat_surface_points_free(points);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu surface points", capacity);
}

void splat_surface_points_free(splat_surface_points *points)
{
    free(points->positions);
    free(points->normals);
    free(points->colors);
    free(points->weights);
    free(points->sizes);
    memset(points, 0, sizeof *points);
}

void splat_surface_points_add(splat_surface_points *points, const float position[3], const float normal[3],
                              const uint8_t color[3])
{
    size_t n = points->n++;
    memcpy(points->positions + 3 * n, position, 3 * sizeof *position);
    memcpy(points->normals + 3 * n, normal, 3 * sizeof *normal);
    memcpy(points->colors + 4 * n, color, 3);
    points->colors[4 * n + 3] = 255;
}

splat_status splat_surface_points_weigh(splat_surface_points *points, splat_error *error)
{
    size_t room = points->capacity ? points->capacity : 1;
    points->weights = malloc(room * sizeof *points->weights);
    points->sizes = malloc(room * sizeof *points->sizes);
    if (points->weights && points->sizes) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the weights of %zu surface points", room);
}

void splat_surface_points_keep(splat_surface_points *points, const uint8_t *keep, int threads)
{
    size_t n = points->n;
    points->n = splat_keep_rows(points->positions, 12, n, keep, threads);
    splat_keep_rows(points->normals, 12, n, keep, threads);
    splat_keep_rows(points->colors, 4, n, keep, threads);
    if (points->weights) splat_keep_rows(points->weights, 4, n, keep, threads);
    if (points->sizes) splat_keep_rows(points->sizes, 4, n, keep, threads);
}

size_t splat_surface_share(const splat_scene *scene, const splat_mesh_extract_options *options, size_t number)
{
    size_t n = scene->dataset.n_train, each = options->n_points / n, more = options->n_points % n;
    return each + (number < more);
}
