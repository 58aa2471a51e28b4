/* Keeping some of the faces or vertices of a mesh. */
#include "mesh/mesh_clean.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_keep_faces(splat_mesh *mesh, const uint8_t *keep)
{
    size_t n = 0;
    for (size_t i = 0; i < mesh->n_faces; i++)
        if (keep[i]) splat_mesh_move_face(mesh, n++, i);
    mesh->n_faces = n;
}

splat_status splat_mesh_keep_vertices(splat_mesh *mesh, const uint8_t *keep, splat_error *error)
{
    uint32_t *moved = malloc((mesh->n_vertices ? mesh->n_vertices : 1) * sizeof *moved);
    size_t n = 0, m = 0;
    if (!moved)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu vertices", mesh->n_vertices);
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        if (!keep[i]) continue;
        moved[i] = (uint32_t)n;
        memmove(mesh->vertices + 3 * n, mesh->vertices + 3 * i, 12);
        if (mesh->normals) memmove(mesh->normals + 3 * n, mesh->normals + 3 * i, 12);
        if (mesh->colors) memmove(mesh->colors + 4 * n, mesh->colors + 4 * i, 4);
        n++;
    }
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        if (!keep[f[0]] || !keep[f[1]] || !keep[f[2]]) continue;
        const uint32_t corners[3] = {moved[f[0]], moved[f[1]], moved[f[2]]};
        splat_mesh_move_face(mesh, m, i);
        memcpy(mesh->faces + 3 * m++, corners, sizeof corners);
    }
    mesh->n_vertices = n;
    mesh->n_faces = m;
    free(moved);
    return SPLAT_OK;
}
