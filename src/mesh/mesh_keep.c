/* Keeping some of the faces or vertices of a mesh. */
#include "mesh/mesh_clean.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_keep_faces(splat_mesh *mesh, const uint8_t *keep)
{
    size_t n = mesh->n_faces;
    const uint8_t *first = memchr(keep, 0, n);
    if (!first) return; /* the usual case */
    n = (size_t)(first - keep);
    for (size_t i = n; i < mesh->n_faces; i++)
        if (keep[i]) splat_mesh_move_face(mesh, n++, i);
    mesh->n_faces = n;
}

/* keep_faces[i] = 0 where a corner goes; the others name their corners by where those go. */
static void rename_corners(splat_mesh *mesh, const uint8_t *keep, const uint32_t *moved, int threads,
                           uint8_t *keep_faces)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < mesh->n_faces; i++) {
        uint32_t *f = mesh->faces + 3 * i;
        keep_faces[i] = keep[f[0]] && keep[f[1]] && keep[f[2]];
        for (size_t k = 0; k < 3 && keep_faces[i]; k++) f[k] = moved[f[k]];
    }
}

splat_status splat_mesh_keep_vertices(splat_mesh *mesh, const uint8_t *keep, int threads, splat_error *error)
{
    if (!memchr(keep, 0, mesh->n_vertices)) return SPLAT_OK; /* the usual case */
    uint32_t *moved = malloc(mesh->n_vertices * sizeof *moved);
    uint8_t *keep_faces = malloc(mesh->n_faces + 1);
    size_t n = 0;
    if (!moved || !keep_faces) {
        free(moved);
        free(keep_faces);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu vertices", mesh->n_vertices);
    }
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        if (!keep[i]) continue;
        moved[i] = (uint32_t)n;
        memmove(mesh->vertices + 3 * n, mesh->vertices + 3 * i, 12);
        if (mesh->normals) memmove(mesh->normals + 3 * n, mesh->normals + 3 * i, 12);
        if (mesh->colors) memmove(mesh->colors + 4 * n, mesh->colors + 4 * i, 4);
        n++;
    }
    rename_corners(mesh, keep, moved, threads, keep_faces);
    splat_mesh_keep_faces(mesh, keep_faces);
    mesh->n_vertices = n;
    free(moved);
    free(keep_faces);
    return SPLAT_OK;
}
