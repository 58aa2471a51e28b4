/* The refined mesh as a file beside its splat. */
#include "base/file.h"
#include "io/picture/image.h"
#include "math/gaussian.h"
#include "math/sh.h"
#include "mesh/files/mesh_io.h"
#include "surface/refine/refine_parts.h"

#include <stdlib.h>
#include <string.h>

/* The colour of a vertex is that of the Gaussians around, by their share of the corner and by their opacity: those that
 * are faint were never asked for a colour. */
static splat_status color_vertices(splat_mesh *mesh, int per_face, const float *sh_dc, const float *opacities,
                                   splat_error *error)
{
    float *sums = calloc(4 * mesh->n_vertices + 1, sizeof *sums);
    if (!sums) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to color %zu vertices", mesh->n_vertices);
    for (size_t i = 0; i < mesh->n_faces * (size_t)per_face; i++) {
        float opacity = splat_sigmoid(opacities[i]);
        for (int k = 0; k < 3; k++) {
            float *sum = sums + 4 * (size_t)mesh->faces[3 * (i / (size_t)per_face) + (size_t)k];
            float weight = opacity * splat_bound_barycentric(per_face, (int)(i % (size_t)per_face), k);
            for (int c = 0; c < 3; c++) {
                float color = 0.5f + SPLAT_SH_C0 * sh_dc[3 * i + (size_t)c];
                sum[c] += weight * (color > 1 ? 1 : color > 0 ? color : 0);
            }
            sum[3] += weight;
        }
    }
    for (size_t v = 0; v < mesh->n_vertices; v++)
        for (size_t c = 0; c < 3; c++)
            mesh->colors[4 * v + c] = sums[4 * v + 3] > 0 ? splat_image_byte(sums[4 * v + c] / sums[4 * v + 3]) : 128;
    free(sums);
    return SPLAT_OK;
}

/* values: room for the base colours and the opacities. */
static splat_status download_mesh(const splat_trainer *t, splat_mesh *mesh, float *values, splat_error *error)
{
    const splat_gaussians *g = &t->model->gaussians;
    float *opacities = values + 3 * (size_t)g->n;
    size_t n_vertices = t->bound.rows[SPLAT_BOUND_vertices], n_faces = t->bound.rows[SPLAT_REFINE_FACES];
    SPLAT_TRY(splat_mesh_reserve(mesh, n_vertices, n_faces, error));
    mesh->n_vertices = n_vertices;
    mesh->n_faces = n_faces;
    SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    SPLAT_TRY(splat_backend_download(t->backend, mesh->vertices, t->bound.arrays[SPLAT_BOUND_vertices].data,
                                     3 * n_vertices * sizeof *mesh->vertices, error));
    SPLAT_TRY(splat_backend_download(t->backend, mesh->faces, t->bound.arrays[SPLAT_REFINE_FACES].data,
                                     3 * n_faces * sizeof *mesh->faces, error));
    SPLAT_TRY(splat_backend_download(t->backend, values, g->p.sh_dc, 3 * (size_t)g->n * sizeof *values, error));
    SPLAT_TRY(splat_backend_download(t->backend, opacities, g->p.opacities, g->n * sizeof *values, error));
    SPLAT_TRY(color_vertices(mesh, t->options.refine.gaussians_per_triangle, values, opacities, error));
    return splat_mesh_compute_normals(mesh, t->model->context->threads, error);
}

splat_status splat_refine_save(const splat_trainer *t, const char *folder, splat_error *error)
{
    splat_mesh mesh = {0};
    char *path = splat_format("%s/mesh.ply", folder);
    float *values = malloc(4 * (size_t)t->model->gaussians.n * sizeof *values + 1);
    splat_status status = path && values ? download_mesh(t, &mesh, values, error)
                                         : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to save the mesh");
    if (status == SPLAT_OK) status = splat_mesh_write(path, &mesh, error);
    splat_mesh_free(&mesh);
    free(path);
    free(values);
    return status;
}
