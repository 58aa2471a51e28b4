/* A pair of pictures through the network, band by band. */
#include "measure/lpips/lpips.h"

#include "backend/backend.h"
#include "ops/lpips/lpips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- one pass */

typedef struct pass {
    splat_lpips *lpips;
    splat_backend *backend;
    const float *image;
    const uint8_t *photo, *mask;
    double *sums; /* on the device */
    float *kept[2], *band[2];
    splat_maps maps[SPLAT_LPIPS_MAX_LAYERS]; /* of the band in work */
} pass;

static splat_maps maps_at(const pass *p, int layer, float *data, splat_lpips_rows rows)
{
    const splat_lpips_plan *plan = &p->lpips->plan;
    int channels = plan->network->layers[layer].channels;
    size_t channel_stride = splat_lpips_channel_floats(plan, layer, rows.end - rows.begin);
    return (splat_maps){data, channels, plan->width[layer], rows.begin, rows.end, channel_stride,
                        (size_t)channels * channel_stride};
}

/* Rows of maps that hold more. */
static splat_maps rows_of(splat_maps maps, splat_lpips_rows rows)
{
    maps.data += (size_t)(rows.begin - maps.row_begin) * (size_t)maps.width;
    maps.row_begin = rows.begin;
    maps.row_end = rows.end;
    return maps;
}

static splat_status run_conv(pass *p, int layer, int which, splat_maps output, int kernel, int stride, int pad,
                             splat_error *error)
{
    splat_lpips *lpips = p->lpips;
    const float *weights = lpips->weights.data;
    const size_t *offsets = lpips->offsets[layer];
    int weight = which ? SPLAT_LPIPS_SECOND_WEIGHT : SPLAT_LPIPS_WEIGHT;
    int bias = which ? SPLAT_LPIPS_SECOND_BIAS : SPLAT_LPIPS_BIAS;
    struct splat_conv_args args = {
        SPLAT_LPIPS_IMAGES, p->maps[layer - 1], output, lpips->plan.height[layer - 1], kernel, stride, pad,
        weights + offsets[weight], weights + offsets[bias], &lpips->scratch};
    return splat_op_conv(p->backend, &args, error);
}

/* The rows of p->maps[layer], from those of the layer before. */
static splat_status run_layer(pass *p, int layer, splat_error *error)
{
    const splat_lpips_plan *plan = &p->lpips->plan;
    const splat_lpips_layer *l = &plan->network->layers[layer];
    splat_maps output = p->maps[layer];
    if (l->kind == SPLAT_LPIPS_INPUT) {
        struct splat_lpips_input_args args = {plan->width[0], plan->height[0], p->image, p->photo, p->mask,
                                              p->lpips->normalize,
                                              output};
        return splat_op_lpips_input(p->backend, &args, error);
    }
    if (l->kind == SPLAT_LPIPS_POOL) {
        struct splat_pool_args args = {SPLAT_LPIPS_IMAGES, p->maps[layer - 1], output, plan->height[layer - 1],
                                       l->kernel, l->stride};
        return splat_op_pool(p->backend, &args, error);
    }
    if (l->kind == SPLAT_LPIPS_CONV) return run_conv(p, layer, 0, output, l->kernel, l->stride, l->pad, error);
    output.channels /= 2;
    SPLAT_TRY(run_conv(p, layer, 0, output, 1, 1, 0, error));
    output.data += (size_t)output.channels * output.channel_stride;
    return run_conv(p, layer, 1, output, 3, 1, 1, error);
}

static splat_status compare_layer(pass *p, int layer, int tap, splat_lpips_rows owned, splat_error *error)
{
    if (owned.begin == owned.end) return SPLAT_OK;
    splat_lpips *lpips = p->lpips;
    const float *head = (const float *)lpips->weights.data + lpips->offsets[layer][SPLAT_LPIPS_HEAD];
    struct splat_lpips_distance_args args = {p->maps[layer], owned.begin, owned.end, head, &lpips->scratch,
                                             p->sums + tap};
    return splat_op_lpips_distance(p->backend, &args, error);
}

static splat_status run_band(pass *p, int s, int b, int first_tap, splat_error *error)
{
    const splat_lpips_plan *plan = &p->lpips->plan;
    const splat_lpips_segment *segment = &plan->segments[s];
    splat_lpips_rows computed[SPLAT_LPIPS_MAX_LAYERS], owned[SPLAT_LPIPS_MAX_LAYERS];
    splat_lpips_band_rows(plan, segment, b, computed, owned);
    for (int l = segment->first, tap = first_tap; l <= segment->last; l++) {
        bool is_kept = l == segment->last && s + 1 < plan->n_segments;
        if (is_kept) {
            splat_maps whole = maps_at(p, l, p->kept[s % 2], (splat_lpips_rows){0, plan->height[l]});
            p->maps[l] = rows_of(whole, computed[l]);
        } else {
            p->maps[l] = maps_at(p, l, p->band[l % 2], computed[l]);
        }
        SPLAT_TRY(run_layer(p, l, error));
        if (plan->network->layers[l].tap) SPLAT_TRY(compare_layer(p, l, tap++, owned[l], error));
    }
    return SPLAT_OK;
}

static splat_status run_segments(pass *p, splat_error *error)
{
    const splat_lpips_plan *plan = &p->lpips->plan;
    int tap = 0;
    for (int s = 0; s < plan->n_segments; s++) {
        const splat_lpips_segment *segment = &plan->segments[s];
        for (int b = 0; b < segment->n_bands; b++) SPLAT_TRY(run_band(p, s, b, tap, error));
        for (int l = segment->first; l <= segment->last; l++) tap += plan->network->layers[l].tap;
        if (s + 1 == plan->n_segments) break;
        splat_lpips_rows all = {0, plan->height[segment->last]};
        p->maps[segment->last] = maps_at(p, segment->last, p->kept[s % 2], all);
    }
    return SPLAT_OK;
}

/* Plans for a picture's size, unless it is that of the last one, and makes room. */
static splat_status prepare(splat_lpips *lpips, int width, int height, splat_error *error)
{
    splat_backend *b = lpips->context->backend;
    if (lpips->plan.width[0] != width || lpips->plan.height[0] != height) {
        double pixels = (double)width * height;
        double bytes = SPLAT_LPIPS_BYTES * (pixels > SPLAT_LPIPS_PIXELS ? pixels / SPLAT_LPIPS_PIXELS : 1);
        double patches = b->device_bytes ? 0 : (double)splat_conv_cpu_scratch_bytes(b->threads);
        double left = bytes - (double)lpips->weights.bytes - fmax(patches - SPLAT_LPIPS_PATCHES, 0);
        size_t max_floats = (size_t)fmax(left / sizeof(float), 0);
        splat_lpips_plan plan;
        SPLAT_TRY(splat_lpips_plan_make(lpips->network, lpips->n_layers, width, height, max_floats, &plan, error));
        lpips->plan = plan;
    }
    size_t bytes = splat_lpips_plan_floats(&lpips->plan) * sizeof(float);
    if (bytes > lpips->maps.bytes)
        SPLAT_TRY(splat_block_resize(b, &lpips->maps, "lpips maps", SPLAT_OWNER_EVALUATION, bytes, error));
    return splat_block_ensure(b, &lpips->sums, "lpips distances", SPLAT_OWNER_EVALUATION,
                              SPLAT_LPIPS_MAX_TAPS * sizeof(double), error);
}

splat_status splat_lpips_run(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                             const uint8_t *mask, double *per_tap, splat_error *error)
{
    splat_backend *b = lpips->context->backend;
    const splat_lpips_plan *plan = &lpips->plan;
    SPLAT_TRY(prepare(lpips, width, height, error));
    pass p = {.lpips = lpips, .backend = b, .image = image, .photo = photo, .mask = mask, .sums = lpips->sums.data};
    p.kept[0] = lpips->maps.data;
    p.kept[1] = p.kept[0] + plan->kept[0];
    p.band[0] = p.kept[1] + plan->kept[1];
    p.band[1] = p.band[0] + plan->band[0];
    SPLAT_TRY(splat_backend_zero(b, p.sums, SPLAT_LPIPS_MAX_TAPS * sizeof(double), error));
    SPLAT_TRY(run_segments(&p, error));
    SPLAT_TRY(splat_backend_download(b, per_tap, p.sums, (size_t)lpips->n_taps * sizeof(double), error));
    for (int l = 0, tap = 0; l < lpips->n_layers; l++)
        if (plan->network->layers[l].tap) per_tap[tap++] /= (double)plan->width[l] * plan->height[l];
    return SPLAT_OK;
}

void splat_lpips_release(splat_lpips *lpips)
{
    splat_backend *b = lpips->context->backend;
    splat_block_free(b, &lpips->maps);
    splat_block_free(b, &lpips->scratch);
    splat_block_free(b, &lpips->sums);
}

/* ---------------------------------------------------------------- the public handle */

const char *splat_lpips_label(const splat_lpips *lpips)
{
    return lpips->normalize ? lpips->network->normalized_name : lpips->network->name;
}

void splat_lpips_destroy(splat_lpips *lpips)
{
    if (!lpips) return;
    splat_lpips_release(lpips);
    splat_block_free(lpips->context->backend, &lpips->weights);
    free(lpips);
}

splat_status splat_lpips_measure(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                                 double *distance, double *per_layer, splat_error *error)
{
    if (width < 1 || height < 1 || width > 65500 || height > 65500)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "LPIPS cannot measure a picture of %dx%d", width, height);
    splat_backend *b = lpips->context->backend;
    size_t n = 3 * (size_t)width * (size_t)height;
    double taps[SPLAT_LPIPS_MAX_TAPS];
    splat_block pictures[2] = {{0}};
    splat_status status = splat_block_resize(b, &pictures[0], "lpips picture", SPLAT_OWNER_EVALUATION,
                                             n * sizeof *image, error);
    if (status == SPLAT_OK)
        status = splat_block_resize(b, &pictures[1], "lpips photo", SPLAT_OWNER_EVALUATION, n, error);
    if (status == SPLAT_OK) status = splat_backend_upload(b, pictures[0].data, image, n * sizeof *image, error);
    if (status == SPLAT_OK) status = splat_backend_upload(b, pictures[1].data, photo, n, error);
    if (status == SPLAT_OK)
        status = splat_lpips_run(lpips, width, height, pictures[0].data, pictures[1].data, NULL, taps, error);
    splat_block_free(b, &pictures[0]);
    splat_block_free(b, &pictures[1]);
    splat_lpips_release(lpips);
    if (status != SPLAT_OK) return status;
    *distance = 0;
    for (int i = 0; i < lpips->n_taps; i++) *distance += taps[i];
    if (per_layer) memcpy(per_layer, taps, (size_t)lpips->n_taps * sizeof *taps);
    return SPLAT_OK;
}
