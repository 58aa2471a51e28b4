/* The first Gaussians, one on each point (docs/method.md 3). */
#include "model/model.h"

#include "ops/knn/knn.h"

#include <math.h>
#include <stdlib.h>

#define SH_C0 0.28209479177387814f
#define INITIAL_OPACITY 0.1f
#define MIN_DISTANCE2 1e-7f /* of the squared mean, as the published code clamps it */

static void fill(splat_ply_gaussians *host, const splat_point *points, size_t n_points)
{
    float logit = logf(INITIAL_OPACITY / (1.0f - INITIAL_OPACITY));
    for (size_t i = 0; i < host->n; i++) {
        /* evenly spread over the list when there are fewer Gaussians than points */
        const splat_point *point = &points[(size_t)((unsigned __int128)i * n_points / host->n)];
        for (int k = 0; k < 3; k++) {
            host->means[3 * i + k] = point->position[k];
            host->sh_dc[3 * i + k] = ((float)point->color[k] / 255.0f - 0.5f) / SH_C0;
        }
        host->opacities[i] = logit;
        host->rotations[4 * i] = 1.0f;
    }
}

/* Standard deviation: root mean square distance of the three nearest neighbours, the same on all axes. */
static splat_status fill_scales(splat_model *model, splat_ply_gaussians *host, splat_error *error)
{
    splat_backend *backend = model->backend;
    splat_block distances = {0};
    size_t bytes = 3 * host->n * sizeof(float);
    float *nearest = malloc(bytes);
    splat_status status = nearest ? SPLAT_OK
                                  : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points", host->n);
    if (status == SPLAT_OK)
        status = splat_block_resize(backend, &distances, "knn distances", SPLAT_OWNER_TRANSIENTS, bytes, error);
    if (status == SPLAT_OK) {
        struct splat_knn_args args = {(uint32_t)host->n, model->gaussians.p.means, 3, distances.data, NULL};
        status = backend->functions->ops.knn(backend, &args, error);
    }
    if (status == SPLAT_OK) status = backend->functions->download(backend, nearest, distances.data, bytes, error);
    for (size_t i = 0; status == SPLAT_OK && i < host->n; i++) {
        float mean = (nearest[3 * i] + nearest[3 * i + 1] + nearest[3 * i + 2]) / 3.0f;
        float scale = 0.5f * logf(mean > MIN_DISTANCE2 ? mean : MIN_DISTANCE2);
        for (int k = 0; k < 3; k++) host->scales[3 * i + k] = scale;
    }
    if (status == SPLAT_OK)
        status = backend->functions->upload(backend, model->gaussians.p.scales, host->scales, bytes, error);
    splat_block_free(backend, &distances);
    free(nearest);
    return status;
}

splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          size_t max_count, splat_error *error)
{
    splat_backend *backend = model->backend;
    size_t n = max_count && max_count < n_points ? max_count : n_points;
    if (n < 4)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the scene has %zu points; training needs at least 4 to start from", n);
    if (n > UINT32_MAX / 2) return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "%zu points are more than 2^31", n);
    splat_ply_gaussians host = {.n = n, .sh_degree = model->gaussians.sh_degree};
    host.means = calloc(3 * n, sizeof(float));
    host.sh_dc = calloc(3 * n, sizeof(float));
    host.opacities = calloc(n, sizeof(float));
    host.scales = calloc(3 * n, sizeof(float));
    host.rotations = calloc(4 * n, sizeof(float));
    splat_status status = SPLAT_OK;
    if (!host.means || !host.sh_dc || !host.opacities || !host.scales || !host.rotations)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points", n);
    if (status == SPLAT_OK) {
        fill(&host, points, n_points);
        status = splat_model_resize(model, (uint32_t)n, error);
    }
    const splat_backend_functions *f = backend->functions;
    splat_tensors *p = &model->gaussians.p;
    if (status == SPLAT_OK) status = f->upload(backend, p->means, host.means, 3 * n * sizeof(float), error);
    if (status == SPLAT_OK) status = f->upload(backend, p->sh_dc, host.sh_dc, 3 * n * sizeof(float), error);
    if (status == SPLAT_OK) status = f->upload(backend, p->opacities, host.opacities, n * sizeof(float), error);
    if (status == SPLAT_OK) status = f->upload(backend, p->rotations, host.rotations, 4 * n * sizeof(float), error);
    if (status == SPLAT_OK) status = fill_scales(model, &host, error); /* sh_rest stays zero, as new blocks are */
    splat_ply_gaussians_free(&host);
    return status;
}
