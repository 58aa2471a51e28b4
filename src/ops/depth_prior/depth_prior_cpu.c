/* The ops of known depth on the CPU: Gaussians, rows or points in parallel, sums in order. */
#include "backend/backend.h"
#include "ops/depth_prior/depth_prior_math.h"
#include "ops/geometry/geometry_math.h"

splat_status splat_depth_features_cpu(splat_backend *backend, const struct splat_depth_features_args *args,
                                      splat_error *error)
{
    const splat_frame *frame = args->frame;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        float *feature = args->features + SPLAT_GEOMETRY_CHANNELS * (size_t)v, z = frame->depth[v];
        for (int k = 0; k < SPLAT_GEOMETRY_CHANNELS; k++) feature[k] = 0.0f;
        feature[SPLAT_DEPTH_INVERSE] = 1.0f / z;
        feature[SPLAT_DEPTH_ALONG] = z;
    }
    return SPLAT_OK;
}

splat_status splat_depth_features_backward_cpu(splat_backend *backend,
                                               const struct splat_depth_features_backward_args *args,
                                               splat_error *error)
{
    const splat_frame *frame = args->frame;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        const splat_grad2d *g = &args->gradients[v];
        float *mean = args->grad_means + 3 * (size_t)frame->ids[v];
        float along = splat_depth_along_backward(frame->depth[v], g->channel);
        splat_geometry_screen_add(&frame->grad2d[v], g);
        for (int k = 0; k < 3; k++) mean[k] += frame->camera.rotation[6 + k] * along;
    }
    return SPLAT_OK;
}

splat_status splat_depth_map_cpu(splat_backend *backend, const struct splat_depth_map_args *args, splat_error *error)
{
    SPLAT_TRY(splat_depth_prior_check(args->width, args->height, error));
    const size_t width = (size_t)args->width, plane = width * (size_t)args->height;
    void *rows;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_depth_map_scratch_bytes(false, width, (size_t)args->height), &rows,
                                 error));
    double *sums = rows, sum = 0;
    const float scale = args->weight / (float)plane;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int32_t y = 0; y < args->height; y++) {
        double row = 0;
        for (size_t i = (size_t)y * width; i < ((size_t)y + 1) * width; i++) {
            float sign;
            row += (double)splat_depth_map_pixel(args, i, &sign);
            args->gradient[i] = scale * sign;
        }
        sums[y] = row;
    }
    for (int32_t y = 0; y < args->height; y++) sum += sums[y];
    *args->result = sum / (double)plane;
    return SPLAT_OK;
}

/* A few thousand points at most: not worth threads, which would need an order for the sum. */
splat_status splat_depth_points_cpu(splat_backend *backend, const struct splat_depth_points_args *args,
                                    splat_error *error)
{
    double sum = 0, count = 0;
    (void)backend;
    SPLAT_TRY(splat_depth_prior_check(args->width, args->height, error));
    for (uint32_t i = 0; i < args->n; i++) {
        int counts;
        sum += (double)splat_depth_points_one(args, i, &counts);
        count += counts;
    }
    args->result[0] = sum;
    args->result[1] = count;
    return SPLAT_OK;
}
