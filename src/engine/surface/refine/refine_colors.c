/* Colours of the nearest Gaussians of a splat. */
#include "surface/refine/refine_colors.h"

#include "io/picture/image_write.h"
#include "io/splat/formats.h"
#include "math/sh.h"
#include "surface/bound/bound.h"

#include <stdlib.h>
#include <string.h>

#define OPAQUE 0.0f /* a logit: Gaussians of less than 1/2 tell little of what is to be seen */

static size_t words_of(const splat_cloud *cloud)
{
    return 3 * ((size_t)(cloud->sh_degree + 1) * (size_t)(cloud->sh_degree + 1) - 1);
}

/* The opaque Gaussians first, in their order; returns how many count. */
static size_t keep_opaque(splat_cloud *cloud)
{
    const size_t words = words_of(cloud);
    size_t n = 0;
    for (size_t i = 0; i < cloud->n; i++) {
        if (cloud->opacities[i] < OPAQUE) continue;
        memmove(cloud->means + 3 * n, cloud->means + 3 * i, 3 * sizeof *cloud->means);
        memmove(cloud->sh_dc + 3 * n, cloud->sh_dc + 3 * i, 3 * sizeof *cloud->sh_dc);
        if (words) memmove(cloud->sh_rest + words * n, cloud->sh_rest + words * i, words * sizeof *cloud->sh_rest);
        n++;
    }
    return n ? n : cloud->n;
}

splat_status splat_color_lender_open(const char *path, int sh_degree, int threads, splat_color_lender *lender,
                                     splat_error *error)
{
    memset(lender, 0, sizeof *lender);
    SPLAT_TRY(splat_cloud_read(path, &lender->cloud, error));
    splat_status status = lender->cloud.n
                              ? splat_cloud_set_degree(&lender->cloud, sh_degree, error)
                              : splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                              "the splat has no Gaussians that the mesh could take colours from");
    if (status == SPLAT_OK)
        status = splat_point_tree_make(&lender->tree, lender->cloud.means, keep_opaque(&lender->cloud), threads, error);
    if (status != SPLAT_OK) splat_cloud_free(&lender->cloud);
    return status;
}

void splat_color_lender_free(splat_color_lender *lender)
{
    splat_point_tree_free(&lender->tree);
    splat_cloud_free(&lender->cloud);
}

splat_status splat_color_lender_color(const splat_color_lender *lender, int threads, splat_mesh *mesh,
                                      splat_error *error)
{
    uint32_t *nearest = malloc(mesh->n_vertices * sizeof *nearest + 1);
    if (!nearest) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to color %zu vertices", mesh->n_vertices);
    splat_status status =
        splat_point_tree_query(&lender->tree, mesh->vertices, mesh->n_vertices, 1, threads, NULL, nearest, error);
    for (size_t v = 0; v < mesh->n_vertices && status == SPLAT_OK; v++)
        for (size_t c = 0; c < 3; c++)
            mesh->colors[4 * v + c] =
                splat_image_byte(0.5f + SPLAT_SH_C0 * lender->cloud.sh_dc[3 * (size_t)nearest[v] + c]);
    free(nearest);
    return status;
}

static void find_center(const splat_mesh *mesh, size_t face, int per_face, int j, float center[3])
{
    for (size_t c = 0; c < 3; c++) {
        center[c] = 0;
        for (int k = 0; k < 3; k++)
            center[c] += splat_bound_barycentric(per_face, j, k) *
                         mesh->vertices[3 * (size_t)mesh->faces[3 * face + (size_t)k] + c];
    }
}

void splat_color_lender_give_bands(const splat_color_lender *lender, const splat_mesh *mesh, int per_face, int threads,
                                   splat_cloud *bound)
{
    const size_t words = words_of(&lender->cloud), n = words ? mesh->n_faces * (size_t)per_face : 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024)
    for (size_t i = 0; i < n; i++) {
        float center[3], distance2;
        uint32_t nearest;
        find_center(mesh, i / (size_t)per_face, per_face, (int)(i % (size_t)per_face), center);
        splat_point_tree_nearest(&lender->tree, center, 1, SPLAT_NO_POINT, &distance2, &nearest);
        if (nearest == SPLAT_NO_POINT) continue; /* the place is not finite */
        memcpy(bound->sh_rest + words * i, lender->cloud.sh_rest + words * nearest, words * sizeof *bound->sh_rest);
    }
}
