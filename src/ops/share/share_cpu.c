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
        const uint32_t begin = args->rows ? args->rows[view] : 0, end = args->rows ? args->rows[view + 1] : UINT16_MAX;
        uint32_t n = 0;
        for (uint32_t v = 0; v < frame->n_visible; v++)
            if (splat_share_touches(frame->tile_rect + 4 * (size_t)v, begin, end)) args->entries[view][n++] = v;
        args->counts[view] = n;
    }
    return SPLAT_OK;
}

splat_status splat_share_pack_cpu(splat_backend *backend, const struct splat_share_pack_args *args, splat_error *error)
{
    (void)error;
    const splat_share_arrays arrays = splat_share_arrays_of(args->frame);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t k = 0; k < args->n; k++) {
        args->rows[k] = splat_share_row_of(&arrays, args->entries[k]);
        if (args->row_end) splat_share_cut(&args->rows[k], args->row_begin, args->row_end);
        if (args->ids) args->ids[k] = arrays.ids[args->entries[k]];
    }
    return SPLAT_OK;
}

splat_status splat_share_order_cpu(splat_backend *backend, const struct splat_share_order_args *args,
                                   splat_error *error)
{
    uint64_t next[SPLAT_SHARE_MAX_RANKS], end[SPLAT_SHARE_MAX_RANKS], total = 0;
    (void)backend;
    SPLAT_TRY(splat_share_order_check(args, error));
    for (uint32_t r = 0; r < args->n_ranks; r++) {
        next[r] = total;
        end[r] = total += args->counts[r];
    }
    for (uint64_t v = 0; v < total; v++) {
        uint32_t least = args->n_ranks;
        for (uint32_t r = 0; r < args->n_ranks; r++)
            if (next[r] < end[r] && (least == args->n_ranks || args->ids[next[r]] < args->ids[next[least]])) least = r;
        args->order[v] = (uint32_t)next[least]++;
    }
    return SPLAT_OK;
}

splat_status splat_share_unpack_cpu(splat_backend *backend, const struct splat_share_unpack_args *args,
                                    splat_error *error)
{
    (void)error;
    const splat_share_arrays arrays = splat_share_arrays_of(args->frame);
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < args->n; v++) {
        splat_share_row_put(&arrays, v, &args->rows[args->order ? args->order[v] : v]);
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
        float *to = &args->gradients[args->entries[k]].mean_x;
        const float *from = &args->rows[k].mean_x;
        for (size_t i = 0; i < sizeof *args->rows / sizeof *to; i++) to[i] = args->adds ? to[i] + from[i] : from[i];
        float *depth = args->depths ? &args->grad_depth[args->entries[k]] : NULL;
        if (depth) *depth = args->adds ? *depth + args->depths[k] : args->depths[k];
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
