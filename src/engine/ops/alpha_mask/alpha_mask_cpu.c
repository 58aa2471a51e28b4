/* alpha_mask on the CPU: rows in parallel. */
#include "ops/alpha_mask/alpha_mask.h"

#include "backend/backend.h"

splat_status splat_alpha_mask_cpu(splat_backend *backend, const struct splat_alpha_mask_args *args, splat_error *error)
{
    SPLAT_TRY(splat_alpha_mask_check(args, error));
    const float scale = splat_alpha_mask_scale(args);
    const size_t width = (size_t)args->width, plane = width * (size_t)args->height;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int64_t y = 0; y < (args->grad_alpha || args->photo_f32 ? args->height : 0); y++)
        for (size_t i = (size_t)y * width; i < ((size_t)y + 1) * width; i++) {
            uint8_t mask = args->mask[i];
            if (args->grad_alpha)
                args->grad_alpha[i] = splat_alpha_mask_gradient(mask, args->is_soft, args->transmittance[i], scale);
            for (size_t c = 0; c < 3 && args->photo_f32; c++) {
                float *at = &args->photo_f32[c * plane + i];
                float photo = args->photo_u8 ? (float)args->photo_u8[3 * i + c] / 255.0f : *at;
                *at = photo + splat_alpha_mask_shift(mask, args->background[c] - args->composited);
            }
        }
    const size_t n_maps = args->maps ? (size_t)args->maps_width * (size_t)args->maps_height : 0;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < n_maps; i++)
        if (splat_alpha_mask_hides(args, i))
            for (size_t c = 0; c < (size_t)args->n_channels; c++) args->maps[c * n_maps + i] = args->maps_value;
    return SPLAT_OK;
}
