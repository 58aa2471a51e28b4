/* Bound Gaussians follow an edited mesh: from the files of a refinement to that of a splat. Nothing but files and host
 * memory is needed: index and turn of a Gaussian say where on its triangle it sits. */
#include "base/file.h"
#include "base/options.h"
#include "io/splat/formats.h"
#include "mesh/files/mesh_io.h"
#include "surface/refine/refine_parts.h"

#include <math.h>
#include <stdlib.h>

#define THICKNESS 1e-6 /* of the scene's extent */

typedef struct editing {
    splat_cloud cloud;
    splat_mesh reference, edited;
    splat_bound_mesh bound;
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

/* All Gaussians are as thick; the extent of the scene, of which degenerate faces are told, follows from that. */
static splat_status describe(editing *e, const char *splat_path, const char *mesh_path, splat_error *error)
{
    size_t n_faces = e->reference.n_faces, per_face = n_faces ? e->cloud.n / n_faces : 0;
    double thickness = 0;
    if (!n_faces || e->cloud.n != per_face * n_faces || !splat_bound_is_per_face((int)per_face))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_path, SPLAT_NO_OFFSET,
                             "its %zu Gaussians are not bound to the %zu triangles of %s: these are no files of one "
                             "refinement",
                             e->cloud.n, n_faces, mesh_path);
    for (size_t i = 0; i < e->cloud.n; i++) thickness = fmax(thickness, exp((double)e->cloud.scales[3 * i]));
    return splat_bound_mesh_describe(&e->reference, (int)per_face, (float)(thickness / THICKNESS),
                                     &e->bound, error);
}

static splat_status follow(editing *e, const char *edited_path, splat_error *error)
{
    splat_cloud *cloud = &e->cloud;
    e->plane_scales = malloc(2 * cloud->n * sizeof *e->plane_scales);
    e->plane_rotations = malloc(2 * cloud->n * sizeof *e->plane_rotations);
    e->hidden = malloc(cloud->n * sizeof *e->hidden);
    if (!e->plane_scales || !e->plane_rotations || !e->hidden)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", cloud->n);
    for (size_t i = 0; i < cloud->n; i++)
        for (size_t k = 0; k < 2; k++) e->plane_scales[2 * i + k] = cloud->scales[3 * i + 1 + k];
    splat_bound_turns_of(&e->bound, &e->reference, cloud->rotations, e->plane_rotations);
    splat_error reason;
    if (splat_bound_deform(&e->bound, &e->reference, &e->edited, e->plane_scales, e->plane_rotations, NULL, &reason) !=
        SPLAT_OK)
        return splat_fail_at(error, reason.status, edited_path, SPLAT_NO_OFFSET, "%s", reason.message);
    splat_bound_turn_colors(&e->bound, &e->reference, &e->edited, cloud->sh_degree, cloud->sh_rest);
    splat_bound_place(&e->bound, &e->edited, e->plane_scales, e->plane_rotations, cloud->means, cloud->scales,
                      cloud->rotations, e->hidden);
    for (size_t i = 0; i < cloud->n; i++)
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
