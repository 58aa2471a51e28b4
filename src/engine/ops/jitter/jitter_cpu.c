/* jitter on the CPU: offsets within a pixel, and the photo sampled at them. */
#include "ops/jitter/jitter.h"

#include "backend/backend.h"
#include "base/rng.h"

#include <math.h>

/* Two neighbours and the weight of the second, for a coordinate clamped to [0, size - 1]. */
typedef struct tap {
    size_t low, high;
    float weight;
} tap;

static tap tap_at(int32_t pixel, float offset, int32_t size)
{
    /* The clamp is on the sum (pixel + offset), but floor and weight come from the offset alone: no digit is lost to a
     * large pixel index. */
    int32_t low = offset < 0.0f ? pixel - 1 : pixel;
    float weight = offset < 0.0f ? offset + 1.0f : offset;
    if (low < 0) return (tap){0, 0, 0.0f};
    if (low >= size - 1) return (tap){(size_t)size - 1, (size_t)size - 1, 0.0f};
    return (tap){(size_t)low, (size_t)low + 1, weight};
}

static void sample_photo(const struct splat_jitter_args *args, int32_t x, int32_t y, float offset_x, float offset_y)
{
    size_t width = (size_t)args->width, pixel = (size_t)y * width + (size_t)x, n = width * (size_t)args->height;
    tap tx = tap_at(x, offset_x, args->width), ty = tap_at(y, offset_y, args->height);
    const uint8_t *top = args->photo_u8 + 3 * ty.low * width, *bottom = args->photo_u8 + 3 * ty.high * width;
    for (size_t c = 0; c < 3; c++) {
        float a = top[3 * tx.low + c], b = top[3 * tx.high + c], d = bottom[3 * tx.low + c],
              e = bottom[3 * tx.high + c];
        float upper = a + tx.weight * (b - a), lower = d + tx.weight * (e - d);
        args->photo_f32[c * n + pixel] = (upper + ty.weight * (lower - upper)) / 255.0f;
    }
}

/* Apart from the sampling, so that the compiler vectorises it. */
static void draw_offsets(const struct splat_jitter_args *args, size_t first, float *restrict x, float *restrict y)
{
    uint64_t seed = args->seed;
    uint32_t step = args->step, n = (uint32_t)args->width;
    for (uint32_t i = 0; i < n; i++) {
        splat_random4 r = splat_random(seed, SPLAT_STREAM_RAY_JITTER, step, first + i);
        x[i] = splat_uniform(r.x[0]) - 0.5f;
        y[i] = splat_uniform(r.x[1]) - 0.5f;
    }
}

splat_status splat_jitter_cpu(splat_backend *backend, const struct splat_jitter_args *args, splat_error *error)
{
    SPLAT_TRY(splat_jitter_check(args, error));
    int32_t width = args->width, height = args->height;
    size_t n = (size_t)width * (size_t)height;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int32_t y = 0; y < height; y++) {
        size_t row = (size_t)y * (size_t)width;
        float *offset_x = args->offsets + row, *offset_y = args->offsets + n + row;
        draw_offsets(args, row, offset_x, offset_y);
        for (int32_t x = 0; args->photo_f32 && x < width; x++) sample_photo(args, x, y, offset_x[x], offset_y[x]);
    }
    return SPLAT_OK;
}
