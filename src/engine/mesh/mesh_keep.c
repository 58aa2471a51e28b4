/* Keeping some of the faces or vertices of a mesh. */
#include "mesh/mesh_clean.h"

#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_keep_faces(splat_mesh *mesh, const uint8_t *keep, int threads)
{
    size_t n = mesh->n_faces;
    mesh->n_faces = splat_keep_rows(mesh->faces, 12, n, keep, threads);
    if (mesh->uvs) splat_keep_rows(mesh->uvs, 24, n, keep, threads);
    if (mesh->face_pages) splat_keep_rows(mesh->face_pages, 1, n, keep, threads);
}

/* moved[i]: the vertices up to and with i that are kept. */
static void count_kept(size_t n, const uint8_t *keep, int threads, uint32_t *moved)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) moved[i] = keep[i] != 0;
    splat_add_up(moved, n, threads);
}

/* keep_faces[i] = 0 where a corner goes; the others name their corners by where those go. */
static void rename_corners(splat_mesh *mesh, const uint8_t *keep, const uint32_t *moved, int threads,
                           uint8_t *keep_faces)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < mesh->n_faces; i++) {
        uint32_t *f = mesh->faces + 3 * i;
        keep_faces[i] = keep[f[0]] && keep[f[1]] && keep[f[2]];
        for (size_t k = 0; k < 3 && keep_faces[i]; k++) f[k] = moved[f[k]] - 1;
    }
}

splat_status splat_mesh_keep_vertices(splat_mesh *mesh, const uint8_t *keep, int threads, splat_error *error)
{
    size_t n = mesh->n_vertices;
    if (!memchr(keep, 0, n)) return SPLAT_OK; /* the usual case */
    uint32_t *moved = malloc(n * sizeof *moved);
    uint8_t *keep_faces = malloc(mesh->n_faces + 1);
    if (!moved || !keep_faces) {
        free(moved);
        free(keep_faces);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu vertices", n);
    }
    count_kept(n, keep, threads, moved);
    rename_corners(mesh, keep, moved, threads, keep_faces);
    splat_mesh_keep_faces(mesh, keep_faces, threads);
    mesh->n_vertices = splat_keep_rows(mesh->vertices, 12, n, keep, threads);
    if (mesh->normals) splat_keep_rows(mesh->normals, 12, n, keep, threads);
    if (mesh->colors) splat_keep_rows(mesh->colors, 4, n, keep, threads);
    free(moved);
    free(keep_faces);
    return SPLAT_OK;
}
