/* Colours for a mesh that has none: those of the nearest Gaussians of a splat. */
#include "base/point_tree.h"
#include "io/picture/image.h"
#include "io/splat/formats.h"
#include "math/sh.h"
#include "surface/refine/refine_parts.h"

#include <stdlib.h>
#include <string.h>

#define OPAQUE 0.0f /* a logit: Gaussians of less than 1/2 tell little of what is to be seen */

/* The opaque Gaussians first, in their order; returns how many there are. All count where none is opaque. */
static size_t keep_opaque(splat_cloud *cloud)
{
    size_t n = 0;
    for (size_t i = 0; i < cloud->n; i++) {
        if (cloud->opacities[i] < OPAQUE) continue;
        memmove(cloud->means + 3 * n, cloud->means + 3 * i, 3 * sizeof *cloud->means);
        memmove(cloud->sh_dc + 3 * n++, cloud->sh_dc + 3 * i, 3 * sizeof *cloud->sh_dc);
    }
    return n ? n : cloud->n;
}

static splat_status take_nearest(const splat_cloud *cloud, size_t n, int threads, splat_mesh *mesh, splat_error *error)
{
    splat_point_tree tree;
    uint32_t *nearest = malloc(mesh->n_vertices * sizeof *nearest + 1);
    if (!nearest) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to color %zu vertices", mesh->n_vertices);
    splat_status status = splat_point_tree_make(&tree, cloud->means, n, threads, error);
    if (status == SPLAT_OK) {
        status = splat_point_tree_query(&tree, mesh->vertices, mesh->n_vertices, 1, threads, NULL, nearest, error);
        splat_point_tree_free(&tree);
    }
    for (size_t v = 0; v < mesh->n_vertices && status == SPLAT_OK; v++)
        for (size_t c = 0; c < 3; c++)
            mesh->colors[4 * v + c] =
                splat_image_byte(0.5f + SPLAT_SH_C0 * cloud->sh_dc[3 * (size_t)nearest[v] + c]);
    free(nearest);
    return status;
}

splat_status splat_refine_color(const splat_trainer *t, const char *splat_path, splat_mesh *mesh, splat_error *error)
{
    splat_cloud cloud;
    SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    if (!splat_path) {
        splat_log(t->context, SPLAT_LOG_NOTICE,
                  "the mesh has no colours and begins grey; a splat, `gs_output_dir`, would lend it its own");
        for (size_t i = 0; i < 4 * mesh->n_vertices; i++) mesh->colors[i] = i % 4 == 3 ? 255 : 128;
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_cloud_read(splat_path, &cloud, error));
    splat_status status = cloud.n ? take_nearest(&cloud, keep_opaque(&cloud), t->context->threads, mesh, error)
                                  : splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_path, SPLAT_NO_OFFSET,
                                                  "the splat has no Gaussians that the mesh could take colours from");
    splat_cloud_free(&cloud);
    return status;
}
