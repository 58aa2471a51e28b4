/* polish_draw and polish_step on the CPU. */
#include "ops/polish/polish.h"

#include "backend/backend.h"
#include "ops/polish/polish_math.h"

splat_status splat_polish_draw_cpu(splat_backend *backend, const struct splat_polish_draw_args *args,
                                   splat_error *error)
{
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < args->n_pixels; i++) splat_polish_draw_one(args, i);
    return SPLAT_OK;
}

static void add_pixel(const struct splat_polish_step_args *args, size_t pixel)
{
    size_t at[4];
    float weight[4];
    if (args->places[pixel].left[0] == SPLAT_POLISH_NO_TEXEL) return;
    splat_polish_taps(&args->places[pixel], at, weight);
    for (size_t c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++) {
            int32_t share = splat_polish_share(args->grad_image[c * args->n_pixels + pixel], weight[k], args->n_pixels);
            int32_t *sum = &args->sums[3 * at[k] + c];
            if (!share) continue;
#pragma omp atomic
            *sum += share;
        }
}

splat_status splat_polish_step_cpu(splat_backend *backend, const struct splat_polish_step_args *args,
                                   splat_error *error)
{
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < args->n_pixels; i++) add_pixel(args, i);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < args->n_texels; i++) splat_polish_step_one(args, i);
    return SPLAT_OK;
}
