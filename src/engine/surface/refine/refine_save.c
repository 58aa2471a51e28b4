/* Writes the refined mesh next to its splat. */
#include "surface/refine/refine_save.h"

#include "base/file.h"
#include "base/options.h"
#include "io/picture/image_write.h"
#include "io/splat/formats.h"
#include "math/gaussian.h"
#include "math/sh.h"
#include "mesh/files/mesh_io.h"
#include "surface/bound/bound.h"
#include "surface/bound/bound_deform.h"
#include "surface/refine/refine_arrays.h"
#include "train/state.h"

#include <math.h>
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

/* ---------------------------------------------------------------- an edited mesh
 * Bound Gaussians follow an edited mesh: from the files of a refinement to that of a splat. Nothing but files and host
 * memory is needed: index and turn of a Gaussian say where on its triangle it sits. */

#define THICKNESS 1e-6 /* of the scene's extent */

typedef struct editing {
    splat_cloud cloud;
    splat_mesh reference, edited;
    splat_bound_mesh bound;
    size_t n; /* bound Gaussians; those behind stay as they are */
    float *plane_scales, *plane_rotations, *hidden;
} editing;

static void editing_free(editing *e)
{
    splat_cloud_free(&e->cloud);
    splat_mesh_free(&e->reference);
    splat_mesh_free(&e->edited);
    free(e->plane_scales);
    free(e->plane_rotations);
    free(e->hidden);
}

static double square_between(const float a[3], const float b[3])
{
    double square = 0;
    for (int k = 0; k < 3; k++) square += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return square;
}

/* True if no bound Gaussian is farther from a corner of its triangle than the longest edge. Hidden ones lie there. */
static bool lies_on_mesh(const editing *e, size_t per_face)
{
    const float *v = e->reference.vertices;
    for (size_t i = 0; i < e->n; i++) {
        const uint32_t *corners = e->reference.faces + 3 * (i / per_face);
        double longest = 0;
        for (size_t k = 0; k < 3; k++)
            longest = fmax(longest, square_between(v + 3 * (size_t)corners[k], v + 3 * (size_t)corners[(k + 1) % 3]));
        if (square_between(e->cloud.means + 3 * i, v + 3 * (size_t)corners[0]) > 1.01 * longest) return false;
    }
    return true;
}

/* Describes the binding of a refinement's files. All Gaussians have the same thickness; the extent of the scene follows
 * from it, and the extent is the measure of degenerate faces. */
static splat_status describe(editing *e, const char *splat_path, const char *mesh_path, splat_error *error)
{
    const size_t n_faces = e->reference.n_faces;
    const int per_face = splat_bound_per_face_of(e->cloud.n, n_faces);
    double thickness = 0;
    e->n = (size_t)per_face * n_faces;
    /* free Gaussians make numbers fit that do not belong together */
    if (!per_face || (e->n != e->cloud.n && !lies_on_mesh(e, (size_t)per_face)))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_path, SPLAT_NO_OFFSET,
                             "its %zu Gaussians are not bound to the %zu triangles of %s: these are no files of one "
                             "refinement",
                             e->cloud.n, n_faces, mesh_path);
    for (size_t i = 0; i < e->n; i++) thickness = fmax(thickness, exp((double)e->cloud.scales[3 * i]));
    return splat_bound_mesh_describe(&e->reference, per_face, (float)(thickness / THICKNESS),
                                     &e->bound, error);
}

static splat_status follow(editing *e, const char *edited_path, splat_error *error)
{
    splat_cloud *cloud = &e->cloud;
    e->plane_scales = malloc(2 * e->n * sizeof *e->plane_scales);
    e->plane_rotations = malloc(2 * e->n * sizeof *e->plane_rotations);
    e->hidden = malloc(e->n * sizeof *e->hidden);
    if (!e->plane_scales || !e->plane_rotations || !e->hidden)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", e->n);
    for (size_t i = 0; i < e->n; i++)
        for (size_t k = 0; k < 2; k++) e->plane_scales[2 * i + k] = cloud->scales[3 * i + 1 + k];
    splat_bound_turns_of(&e->bound, &e->reference, cloud->rotations, e->plane_rotations);
    splat_error reason;
    if (splat_bound_deform(&e->bound, &e->reference, &e->edited, e->plane_scales, e->plane_rotations, NULL, &reason) !=
        SPLAT_OK)
        return splat_fail_at(error, reason.status, edited_path, SPLAT_NO_OFFSET, "%s", reason.message);
    splat_bound_turn_colors(&e->bound, &e->reference, &e->edited, cloud->sh_degree, cloud->sh_rest);
    splat_bound_place(&e->bound, &e->edited, e->plane_scales, e->plane_rotations, cloud->means, cloud->scales,
                      cloud->rotations, e->hidden);
    for (size_t i = 0; i < e->n; i++)
        if (e->hidden[i] > 0) cloud->opacities[i] = SPLAT_HIDDEN_OPACITY;
    return SPLAT_OK;
}

splat_status splat_refine_deform(const char *splat_path, const char *mesh_path, const char *edited_path,
                                 const char *out_path, const splat_save_options *options, splat_error *error)
{
    editing e = {0};
    splat_save_options own;
    splat_save_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_save_options", error));
    splat_status status = splat_cloud_read(splat_path, &e.cloud, error);
    if (status == SPLAT_OK) status = splat_mesh_read(mesh_path, &e.reference, error);
    if (status == SPLAT_OK) status = describe(&e, splat_path, mesh_path, error);
    if (status == SPLAT_OK) status = splat_mesh_read(edited_path, &e.edited, error);
    if (status == SPLAT_OK) status = follow(&e, edited_path, error);
    if (status == SPLAT_OK) status = splat_folder_create_for(out_path, error);
    if (status == SPLAT_OK) status = splat_cloud_write(out_path, &e.cloud, &own, error);
    editing_free(&e);
    return status;
}
