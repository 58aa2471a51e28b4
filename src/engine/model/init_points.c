/* The first Gaussians, one on each point (docs/method.md 3). */
#include "model/init_points.h"

#include "math/sh.h"
#include "ops/knn/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_DISTANCE2 1e-7f /* of the squared mean, as the published code clamps it */

static void fill(splat_cloud *host, const splat_point *points, size_t n_points, float opacity)
{
    float logit = logf(opacity / (1.0f - opacity));
    for (size_t i = 0; i < host->n; i++) {
        /* evenly spread over the list when there are fewer Gaussians than points */
        const splat_point *point = &points[(size_t)((unsigned __int128)i * n_points / host->n)];
        for (int k = 0; k < 3; k++) {
            host->means[3 * i + k] = point->position[k];
            host->sh_dc[3 * i + k] = ((float)point->color[k] / 255.0f - 0.5f) / SPLAT_SH_C0;
        }
        host->opacities[i] = logit;
        host->rotations[4 * i] = 1.0f;
    }
}

/* Standard deviation: `factor` times the root mean square distance of the three nearest neighbours, on all axes.
 * means: those of host, on the device. */
static splat_status fill_scales(splat_backend *backend, splat_cloud *host, const float *means, float factor,
                                splat_error *error)
{
    splat_block distances = {0};
    size_t bytes = 3 * host->n * sizeof(float);
    float *nearest = malloc(bytes);
    splat_status status = nearest ? SPLAT_OK
                                  : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points", host->n);
    if (status == SPLAT_OK)
        status = splat_block_resize(backend, &distances, "knn distances", SPLAT_OWNER_LISTS, bytes, error);
    if (status == SPLAT_OK) {
        struct splat_knn_args args = {(uint32_t)host->n, means, 3, distances.data, NULL};
        status = splat_op_knn(backend, &args, error);
    }
    if (status == SPLAT_OK) status = splat_backend_download(backend, nearest, distances.data, bytes, error);
    for (size_t i = 0; status == SPLAT_OK && i < host->n; i++) {
        float mean = (nearest[3 * i] + nearest[3 * i + 1] + nearest[3 * i + 2]) / 3.0f;
        float scale = 0.5f * logf(mean > MIN_DISTANCE2 ? mean : MIN_DISTANCE2) + logf(factor);
        for (int k = 0; k < 3; k++) host->scales[3 * i + k] = scale;
    }
    splat_block_free(backend, &distances);
    free(nearest);
    return status;
}

/* The scales of all, of which the model will have some. */
static splat_status fill_scales_apart(splat_backend *backend, splat_cloud *host, float factor, splat_error *error)
{
    splat_block means = {0};
    const size_t bytes = 3 * host->n * sizeof(float);
    SPLAT_TRY(splat_block_resize(backend, &means, "knn points", SPLAT_OWNER_LISTS, bytes, error));
    splat_status status = splat_backend_upload(backend, means.data, host->means, bytes, error);
    if (status == SPLAT_OK) status = fill_scales(backend, host, means.data, factor, error);
    splat_block_free(backend, &means);
    return status;
}

static void keep_row(float *values, size_t channels, size_t to, size_t from)
{
    memmove(values + to * channels, values + from * channels, channels * sizeof *values);
}

static void keep_every(splat_cloud *host, size_t first, size_t stride)
{
    size_t n = 0;
    for (size_t i = first; i < host->n; i += stride, n++) {
#define SPLAT_SMALL_TENSOR(name, channels) keep_row(host->name, channels, n, i);
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    }
    host->n = n;
}

static splat_status upload(const splat_model *model, const splat_cloud *host, splat_error *error)
{
    const splat_tensors *p = &model->gaussians.p;
    const size_t bytes = host->n * sizeof(float);
#define SPLAT_SMALL_TENSOR(name, channels)                                                                             \
    SPLAT_TRY(splat_backend_upload(model->backend, p->name, host->name, (channels) * bytes, error));
#include "math/small_tensors.def"
#undef SPLAT_SMALL_TENSOR
    return SPLAT_OK;
}

/* All of host, or of several ranks the own ones. */
static splat_status take(splat_model *model, splat_cloud *host, const splat_first_gaussians *first,
                         splat_error *error)
{
    const bool is_part = first->row_stride > 1;
    splat_backend *backend = model->backend;
    if (is_part) {
        SPLAT_TRY(fill_scales_apart(backend, host, first->scale, error));
        keep_every(host, first->first_row, first->row_stride);
    }
    SPLAT_TRY(splat_model_resize(model, (uint32_t)host->n, error));
    SPLAT_TRY(upload(model, host, error));
    const splat_tensors *p = &model->gaussians.p;
    if (!is_part) {
        SPLAT_TRY(fill_scales(backend, host, p->means, first->scale, error));
        SPLAT_TRY(splat_backend_upload(backend, p->scales, host->scales, 3 * host->n * sizeof(float), error));
    }
    return splat_backend_synchronize(backend, error);
}

splat_status splat_model_init_from_points(splat_model *model, const splat_point *points, size_t n_points,
                                          const splat_first_gaussians *first, splat_error *error)
{
    size_t n = first->most && first->most < n_points ? first->most : n_points;
    if (n < 4 && n < n_points)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "training needs at least 4 Gaussians to start from, not %zu", n);
    if (n < 4)
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "the scene has %zu points; training needs at least 4 to start from", n);
    if (n > UINT32_MAX / 2) return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "%zu points are more than 2^31", n);
    splat_cloud host; /* without sh_rest, which stays zero, as new blocks are */
    splat_status status = splat_cloud_make(&host, n, 0, false, error);
    if (status == SPLAT_OK) {
        fill(&host, points, n_points, first->opacity);
        status = take(model, &host, first, error);
    }
    splat_cloud_free(&host);
    return status;
}
