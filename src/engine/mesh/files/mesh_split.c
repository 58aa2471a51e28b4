/* Splitting vertices at the seams of a texture. */
#include "mesh/files/mesh_split.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_split_free(splat_mesh_split *split)
{
    free(split->vertices);
    free(split->uvs);
    free(split->corners);
    memset(split, 0, sizeof *split);
}

splat_status splat_mesh_split_make(const splat_mesh *mesh, splat_mesh_split *split, splat_error *error)
{
    size_t n_corners = 3 * mesh->n_faces;
    memset(split, 0, sizeof *split);
    /* the corners of each vertex, in their order */
    size_t *starts = calloc(mesh->n_vertices + 2, sizeof *starts);
    uint32_t *around = malloc((n_corners + 1) * sizeof *around);
    split->vertices = malloc((n_corners + 1) * sizeof *split->vertices);
    split->uvs = malloc((n_corners + 1) * sizeof *split->uvs);
    split->corners = malloc((n_corners + 1) * sizeof *split->corners);
    bool had_memory = starts && around && split->vertices && split->uvs && split->corners && n_corners <= UINT32_MAX;
    if (had_memory) {
        for (size_t i = 0; i < n_corners; i++) starts[(size_t)mesh->faces[i] + 2]++;
        for (size_t v = 0; v < mesh->n_vertices; v++) starts[v + 2] += starts[v + 1];
        for (size_t i = 0; i < n_corners; i++) around[starts[(size_t)mesh->faces[i] + 1]++] = (uint32_t)i;
        for (size_t v = 0; v < mesh->n_vertices; v++) {
            size_t first = split->n;
            for (size_t i = starts[v]; i < starts[v + 1]; i++) {
                const float *uv = mesh->uvs + 2 * (size_t)around[i];
                size_t k = first;
                while (k < split->n && memcmp(split->uvs[k], uv, sizeof split->uvs[k]) != 0) k++;
                if (k == split->n) {
                    memcpy(split->uvs[k], uv, sizeof split->uvs[k]);
                    split->vertices[split->n++] = (uint32_t)v;
                }
                split->corners[around[i]] = (uint32_t)k;
            }
        }
    }
    free(starts);
    free(around);
    if (had_memory) return SPLAT_OK;
    splat_mesh_split_free(split);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the texture coordinates of %zu faces", mesh->n_faces);
}
