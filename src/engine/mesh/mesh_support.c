/* Most vertices have a point within a cell's reach, which is quickly seen; only the others ask for spacings. */
#include "mesh/mesh_support.h"

#include "base/point_tree.h"

#include <math.h>

#define BLOCK ((size_t)1 << 18) /* vertices between two calls of the progress */

void splat_mesh_support_options_init(splat_mesh_support_options *options)
{
    *options = (splat_mesh_support_options){.reach = 1.5, .threads = 1};
}

static splat_status check(const splat_mesh_support_options *options, splat_error *error)
{
    if (!(options->reach > 0) || !isfinite(options->reach))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "points must support surface within more than 0 cells, not %g",
                          options->reach);
    if (!(options->cell >= 0) || !isfinite(options->cell))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the cell of a reconstruction cannot be %g wide", options->cell);
    if (options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "looking for support needs a thread, not %d", options->threads);
    return SPLAT_OK;
}

/* Mean distance of a point to its nearest others; 0 for a lone one. */
static double spacing(const splat_point_tree *tree, const float *position, uint32_t index)
{
    float distances2[SPLAT_SUPPORT_NEIGHBORS];
    uint32_t indices[SPLAT_SUPPORT_NEIGHBORS], n = 0;
    double sum = 0;
    splat_point_tree_nearest(tree, position, SPLAT_SUPPORT_NEIGHBORS, index, distances2, indices);
    while (n < SPLAT_SUPPORT_NEIGHBORS && indices[n] != SPLAT_NO_POINT) sum += sqrt((double)distances2[n++]);
    return n ? sum / n : 0;
}

static bool is_supported(const splat_point_tree *tree, const float *positions, const float *vertex,
                         const splat_mesh_support_options *options)
{
    float distance2;
    uint32_t nearest;
    double reach = options->reach * options->cell;
    if (splat_point_tree_has_within(tree, vertex, (float)(reach * reach))) return true;
    splat_point_tree_nearest(tree, vertex, 1, SPLAT_NO_POINT, &distance2, &nearest);
    if (nearest == SPLAT_NO_POINT) return false;
    return sqrt((double)distance2) <= options->reach * spacing(tree, positions + 3 * (size_t)nearest, nearest);
}

splat_status splat_mesh_support(const splat_mesh *mesh, const float *positions, size_t n_points,
                                const splat_mesh_support_options *options, uint8_t *out, splat_error *error)
{
    splat_point_tree tree;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(check(options, error));
    SPLAT_TRY(splat_point_tree_make(&tree, positions, n_points, options->threads, error));
    for (size_t first = 0; first < mesh->n_vertices && status == SPLAT_OK; first += BLOCK) {
        size_t end = mesh->n_vertices - first < BLOCK ? mesh->n_vertices : first + BLOCK;
        if (options->progress && !options->progress(options->progress_user, (double)first / (double)mesh->n_vertices))
            status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while looking for support of a mesh");
#pragma omp parallel for num_threads(options->threads) schedule(dynamic, 256)
        for (size_t i = first; i < end; i++)
            out[i] = status == SPLAT_OK && is_supported(&tree, positions, mesh->vertices + 3 * i, options);
    }
    splat_point_tree_free(&tree);
    return status;
}
