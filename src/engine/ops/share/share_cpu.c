/* The share ops on the CPU. */
#include "backend/backend.h"
#include "ops/share/share_row.h"

#include <math.h>
#include <string.h>

splat_status splat_share_find_cpu(splat_backend *backend, const struct splat_share_find_args *args, splat_error *error)
{
    (void)backend;
    (void)error;
    for (uint32_t view = 0; view < args->n_views; view++) {
        const splat_frame *frame = args->frames[view];
        uint32_t n = 0;
        for (uint32_t v = 0; v < frame->n_visible; v++)
            if (splat_share_has_tiles(frame->tile_rect + 4 * (size_t)v)) args->entries[view][n++] = v;
        args->counts[view] = n;
    }
    return SPLAT_OK;
}

splat_status splat_share_pack_cpu(splat_backend *backend, const struct splat_share_pack_args *args, splat_error *error)
{
    (void)error;
    const splat_share_arrays arrays = splat_share_arrays_of(args->frame);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t k = 0; k < args->n; k++) args->rows[k] = splat_share_row_of(&arrays, args->entries[k]);
    return SPLAT_OK;
}

splat_status splat_share_unpack_cpu(splat_backend *backend, const struct splat_share_unpack_args *args,
                                    splat_error *error)
{
    (void)error;
    const splat_share_arrays arrays = splat_share_arrays_of(args->frame);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < args->n; v++) {
        splat_share_row_put(&arrays, v, &args->rows[v]);
        arrays.ids[v] = v;
    }
    args->frame->n_visible = args->n;
    return SPLAT_OK;
}

splat_status splat_share_colors_cpu(splat_backend *backend, const struct splat_share_colors_args *args,
                                    splat_error *error)
{
    (void)error;
    const size_t channels = args->channels;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t k = 0; k < args->n; k++)
        memcpy(args->colors + channels * k, args->rgb + channels * args->entries[k], channels * sizeof(float));
    return SPLAT_OK;
}

splat_status splat_share_hide_cpu(splat_backend *backend, const struct splat_share_hide_args *args, splat_error *error)
{
    (void)error;
    const splat_frame *frame = args->frame;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        const float *mean = frame->mean2d + 2 * (size_t)v;
        const size_t pixel = splat_pixel_under(mean[0], mean[1], frame->camera.width, frame->camera.height);
        if (args->mask[pixel] < SPLAT_LOSS_KEPT) frame->grad2d[v].mean_abs = NAN;
    }
    return SPLAT_OK;
}

splat_status splat_share_put_cpu(splat_backend *backend, const struct splat_share_put_args *args, splat_error *error)
{
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t k = 0; k < args->n; k++) {
        args->gradients[args->entries[k]] = args->rows[k];
        if (args->depths) args->grad_depth[args->entries[k]] = args->depths[k];
    }
    return SPLAT_OK;
}

splat_status splat_share_rows_cpu(splat_backend *backend, const struct splat_share_rows_args *args, splat_error *error)
{
    (void)error;
    const size_t words = args->words;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t k = 0; k < args->n; k++)
        memcpy(args->to + (args->to_first + k * args->to_stride) * words,
               args->from + (args->from_first + k * args->from_stride) * words, words * sizeof(uint32_t));
    return SPLAT_OK;
}
