/* SuGaR's post-processing of a mesh, by faces: its thin rim goes. */
#include "texture/bake_rim.h"

#include "mesh/mesh_clean_vertices.h"
#include "texture/bake_gaussians.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"

#include <stdlib.h>
#include <string.h>

/* One round: all faces that had a free side when it began go. */
static void peel(const uint32_t *neighbors, size_t n, uint8_t *keep, uint8_t *next)
{
    memcpy(next, keep, n);
    for (size_t f = 0; f < n; f++)
        for (size_t side = 0; keep[f] && side < 3; side++) {
            uint32_t other = neighbors[3 * f + side];
            if (other == SPLAT_BAKE_NO_FACE || !keep[other]) next[f] = 0;
        }
    memcpy(keep, next, n);
}

static void restore(const splat_mesh *mesh, const splat_bake_gaussians *g, double threshold, uint8_t *keep)
{
    for (size_t f = 0; f < mesh->n_faces; f++) {
        float centroid[3] = {0, 0, 0};
        if (keep[f]) continue;
        for (size_t k = 0; k < 9; k++)
            centroid[k % 3] += mesh->vertices[3 * (size_t)mesh->faces[3 * f + k / 3] + k % 3] / 3;
        keep[f] = splat_bake_gaussians_at(g, f, centroid, NULL) > threshold;
    }
}

splat_status splat_bake_remove_rim(splat_mesh *mesh, splat_bake_gaussians *g, int rounds, double threshold,
                                   size_t *n_removed, splat_error *error)
{
    size_t n = mesh->n_faces, left = 0;
    uint32_t *neighbors = splat_bake_neighbors(mesh, 1, error);
    if (!neighbors) return SPLAT_ERROR_MEMORY;
    uint8_t *keep = malloc(2 * n);
    uint32_t *source = malloc(n * sizeof *source);
    if (!keep || !source) {
        free(neighbors);
        free(keep);
        free(source);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", n);
    }
    memset(keep, 1, n);
    for (int i = 0; i < rounds; i++) peel(neighbors, n, keep, keep + n);
    restore(mesh, g, threshold, keep);
    for (size_t f = 0; f < n; f++)
        if (keep[f]) source[left++] = (uint32_t)f;
    g->source = source;
    *n_removed = n - left;
    if (left > 0) splat_mesh_keep_faces(mesh, keep, 1);
    free(neighbors);
    free(keep);
    if (left == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "nothing would be left of the mesh; give a lower `postprocess_density_threshold`");
    return SPLAT_OK;
}
