/* exposure on the CPU: rows of pixels, their sums added in order. */
#include "backend/backend.h"
#include "ops/exposure/exposure_math.h"

#include <string.h>

static float photo_at(const struct splat_exposure_args *args, size_t n, size_t pixel, size_t c)
{
    if (args->photo_u8) return (float)args->photo_u8[3 * pixel + c] / 255.0f;
    return args->photo_f32 ? args->photo_f32[c * n + pixel] : 0.0f;
}

static float inverse_side2(const struct splat_exposure_args *args)
{
    float side = (float)(args->width > args->height ? args->width : args->height);
    return 1.0f / (side * side);
}

static splat_exposure_gains gains_of(const struct splat_exposure_args *args)
{
    float moments[3];
    splat_exposure_moments(args->width, args->height, args->cx, args->cy, moments);
    return splat_exposure_gains_of(args->photo_row, args->camera_row, moments);
}

static float radius2_at(const struct splat_exposure_args *args, size_t pixel, float inverse)
{
    size_t width = (size_t)args->width;
    return splat_exposure_radius2((int)(pixel % width), (int)(pixel / width), args->cx, args->cy, inverse);
}

splat_status splat_exposure_cpu(splat_backend *backend, const struct splat_exposure_args *args, splat_error *error)
{
    SPLAT_TRY(splat_exposure_check(args, error));
    const splat_exposure_gains g = gains_of(args);
    const size_t width = (size_t)args->width, n = width * (size_t)args->height;
    const float inverse = inverse_side2(args);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int32_t row = 0; row < args->height; row++) {
        for (size_t i = (size_t)row * width; i < (size_t)(row + 1) * width; i++) {
            float v = splat_exposure_clamped(splat_exposure_falloff(&g, radius2_at(args, i, inverse)));
            for (size_t c = 0; c < 3; c++) {
                float z = g.gain[c] * v * args->image[c * n + i], y = photo_at(args, n, i, c);
                args->exposed[c * n + i] = splat_exposure_is_beyond(y, z) ? y : z;
            }
        }
    }
    return SPLAT_OK;
}

/* One pixel: dL/dz becomes 2^-e dL/dx, and its part of the sums. */
static void pixel_backward(const struct splat_exposure_backward_args *args, const splat_exposure_gains *g,
                           float inverse, size_t n, size_t pixel, double sums[SPLAT_EXPOSURE_SUMS])
{
    float r2 = radius2_at(&args->forward, pixel, inverse), falloff = splat_exposure_falloff(g, r2);
    float v = splat_exposure_clamped(falloff), by_falloff = 0.0f, by_scale = 0.0f;
    const float world = args->sky ? 1.0f - args->sky[pixel] : 1.0f;
    for (size_t c = 0; c < 3; c++) {
        float scale = g->gain[c] * v, x = args->forward.image[c * n + pixel], z = scale * x;
        float gradient = args->grad[c * n + pixel];
        if (splat_exposure_is_beyond(photo_at(&args->forward, n, pixel, c), z)) gradient = 0.0f;
        const float seen = world * gradient;
        sums[c] += (double)(seen * z);
        by_scale += seen * z;
        by_falloff += seen * g->gain[c] * x;
        args->grad[c * n + pixel] = gradient * scale * g->weight;
    }
    if (!(falloff > 0.0f && falloff <= 1.0f)) by_falloff = 0.0f;
    for (int j = 0; j < 3; j++) sums[3 + j] += (double)((by_falloff *= r2) - by_scale * g->pull[j]);
}

splat_status splat_exposure_backward_cpu(splat_backend *backend, const struct splat_exposure_backward_args *args,
                                         splat_error *error)
{
    SPLAT_TRY(splat_exposure_check(&args->forward, error));
    const splat_exposure_gains g = gains_of(&args->forward);
    const size_t width = (size_t)args->forward.width, n = width * (size_t)args->forward.height;
    const float inverse = inverse_side2(&args->forward);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int32_t row = 0; row < args->forward.height; row++) {
        const size_t begin = (size_t)row * width;
        double sums[SPLAT_EXPOSURE_SUMS] = {0};
        for (size_t i = begin; i < begin + width; i++) pixel_backward(args, &g, inverse, n, i, sums);
        memcpy(args->sums + (size_t)row * SPLAT_EXPOSURE_SUMS, sums, sizeof sums);
    }
    return SPLAT_OK;
}

splat_status splat_exposure_step_cpu(splat_backend *backend, const struct splat_exposure_step_args *args,
                                     splat_error *error)
{
    (void)backend;
    SPLAT_TRY(splat_exposure_step_check(args, error));
    double sums[SPLAT_EXPOSURE_SUMS] = {0}, means[SPLAT_EXPOSURE_ROW] = {0};
    for (size_t row = 0; row < args->n_rows; row++)
        for (size_t j = 0; j < SPLAT_EXPOSURE_SUMS; j++) sums[j] += args->sums[row * SPLAT_EXPOSURE_SUMS + j];
    for (uint32_t i = 0; i < args->n_photos; i++)
        for (uint32_t k = 0; k < SPLAT_EXPOSURE_ROW; k++) means[k] += (double)args->values[SPLAT_EXPOSURE_ROW * i + k];
    for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) means[k] /= args->n_photos;
    const uint32_t n = SPLAT_EXPOSURE_ROW * (args->n_photos + args->n_cameras);
    for (uint32_t i = 0; i < n; i++) splat_exposure_step_number(args, i, sums, means);
    return SPLAT_OK;
}
