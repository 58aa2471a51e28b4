/* A set of Gaussians in device memory: growing, the storage of its SH. */
#include "model/model.h"

#include "base/checked.h"
#include "math/camera.h"
#include "ops/shrink/shrink.h"
#include "ops/summary/summary.h"

#include <stdlib.h>
#include <string.h>

splat_status splat_model_create(splat_context *context, int sh_degree, splat_sh_storage storage, splat_placement rest,
                                splat_model **result, splat_error *error)
{
    *result = NULL;
    if (sh_degree < 0 || sh_degree > SPLAT_MAX_SH_DEGREE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "sh_degree must be between 0 and %d, not %d",
                          SPLAT_MAX_SH_DEGREE, sh_degree);
    splat_model *model = calloc(1, sizeof *model);
    if (!model) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a model");
    model->context = context;
    model->backend = context->backend;
    model->gaussians.sh_degree = model->gaussians.active_sh_degree = sh_degree;
    model->sh_storage = storage;
    model->render_mode = SPLAT_RENDER_MIP;
    model->kernel_size = 0.1f;
    model->tensors = &splat_gaussian_tensors;
    splat_row_blocks_describe_parameters(&model->parameters, model->tensors, sh_degree, storage, rest);
    *result = model;
    return SPLAT_OK;
}

void splat_model_destroy(splat_model *model)
{
    if (!model) return;
    splat_frame_free(model->backend, &model->frame);
    splat_row_blocks_free(model->backend, &model->parameters);
    splat_region_free(model->backend, &model->backend->scratch); /* made again when another model needs it */
    free(model);
}

splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error)
{
    splat_gaussians *g = &model->gaussians;
    SPLAT_TRY(splat_row_blocks_resize(model->backend, &model->parameters, g->n, n, error));
    g->p = splat_row_blocks_tensors(&model->parameters);
    g->filter_3d = model->parameters.blocks[SPLAT_N_TENSORS].data;
    g->rest_on_host = model->parameters.blocks[SPLAT_TENSOR_sh_rest].placement == SPLAT_ON_HOST;
    if (model->sh_storage == SPLAT_SH_FLOAT16) {
        g->sh_rest_half = (uint16_t *)g->p.sh_rest;
        g->p.sh_rest = NULL;
    }
    g->n = n;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- sh_rest in its storage */

splat_status splat_model_halve_rest(splat_model *model, splat_error *error)
{
    splat_row_blocks *rows = &model->parameters;
    splat_gaussians *g = &model->gaussians;
    struct splat_shrink_args args = {.storage = SPLAT_STORED_HARMONICS,
                                     .n = g->n,
                                     .channels = splat_sh_rest_floats(g->sh_degree),
                                     .m = rows->blocks[SPLAT_TENSOR_sh_rest].data};
    if (model->sh_storage == SPLAT_SH_FLOAT16) return SPLAT_OK;
    SPLAT_TRY(splat_op_shrink(model->backend, &args, error));
    model->sh_storage = SPLAT_SH_FLOAT16;
    rows->blocks[SPLAT_TENSOR_sh_rest].type = SPLAT_TYPE_FLOAT16;
    rows->words[SPLAT_TENSOR_sh_rest] = splat_parameter_words(SPLAT_TENSOR_sh_rest, g->sh_degree, SPLAT_SH_FLOAT16);
    return splat_model_resize(model, g->n, error); /* smaller: cannot fail */
}

splat_status splat_model_place_rest(splat_model *model, splat_placement placement, splat_error *error)
{
    SPLAT_TRY(splat_row_blocks_place(model->backend, &model->parameters, SPLAT_TENSOR_sh_rest, placement, error));
    return splat_model_resize(model, model->gaussians.n, error);
}

#define REST_PIECE 65536u /* rows that are converted at a time */

static void *rest_row(const splat_model *model, uint32_t row)
{
    return (uint32_t *)model->parameters.blocks[SPLAT_TENSOR_sh_rest].data +
           (size_t)row * model->parameters.words[SPLAT_TENSOR_sh_rest];
}

splat_status splat_model_settle(const splat_model *model, splat_error *error)
{
    return splat_op_settle_rest(model->backend, &(struct splat_settle_rest_args){&model->gaussians}, error);
}

splat_status splat_model_read_rest(const splat_model *model, uint32_t first, uint32_t n, float *rest,
                                   splat_error *error)
{
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    if (n == 0 || channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_model_settle(model, error));
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return splat_backend_download(model->backend, rest, rest_row(model, first),
                                      (size_t)n * channels * sizeof(float), error);
    uint16_t *piece = malloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row * sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        status = splat_backend_download(model->backend, piece, rest_row(model, first + begin), (size_t)count * row * 2,
                                        error);
        for (size_t i = 0; status == SPLAT_OK && i < count; i++)
            for (size_t c = 0; c < channels; c++)
                rest[(begin + i) * channels + c] = splat_half_decode(piece[i * row + c]);
    }
    free(piece);
    return status;
}

splat_status splat_model_write_rest(splat_model *model, uint32_t first, uint32_t n, const float *rest,
                                    splat_error *error)
{
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    if (n == 0 || channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_model_settle(model, error));
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return splat_backend_upload(model->backend, rest_row(model, first), rest, (size_t)n * channels * sizeof(float),
                                    error);
    uint16_t *piece = calloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row, sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < channels; c++)
                piece[i * row + c] = splat_half_encode(rest[(begin + i) * channels + c], SPLAT_ROUND_NEAREST);
        status = splat_backend_upload(model->backend, rest_row(model, first + begin), piece, (size_t)count * row * 2,
                                      error);
        /* the piece is written again */
        if (status == SPLAT_OK) status = splat_backend_synchronize(model->backend, error);
    }
    free(piece);
    return status;
}

splat_status splat_model_reduce_sh(splat_model *model, int sh_degree, splat_error *error)
{
    splat_gaussians *g = &model->gaussians;
    splat_row_blocks *rows = &model->parameters;
    if (sh_degree < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "sh_degree must be at least 0, not %d", sh_degree);
    if (sh_degree >= g->sh_degree) return SPLAT_OK;
    size_t from = splat_sh_rest_floats(g->sh_degree), to = splat_sh_rest_floats(sh_degree);
    float *rest = malloc((size_t)g->n * from * sizeof *rest + 1);
    if (!rest) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the SH of %u Gaussians", g->n);
    splat_status status = splat_model_read_rest(model, 0, g->n, rest, error);
    for (size_t i = 0; i < g->n; i++) memmove(rest + i * to, rest + i * from, to * sizeof *rest);
    if (status == SPLAT_OK) {
        rows->words[SPLAT_TENSOR_sh_rest] = splat_parameter_words(SPLAT_TENSOR_sh_rest, sh_degree, model->sh_storage);
        g->sh_degree = sh_degree;
        if (g->active_sh_degree > sh_degree) g->active_sh_degree = sh_degree;
        status = splat_model_resize(model, g->n, error); /* smaller: cannot fail */
    }
    if (status == SPLAT_OK) status = splat_model_write_rest(model, 0, g->n, rest, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(model->backend, error);
    free(rest);
    return status;
}

/* ---------------------------------------------------------------- what it is, and how it is rendered */

void splat_model_get_info(const splat_model *model, splat_model_info *info)
{
    *info = (splat_model_info){.n_gaussians = model->gaussians.n,
                               .sh_degree = model->gaussians.sh_degree,
                               .has_filter_3d = model->has_filter_3d,
                               .render_mode = model->render_mode,
                               .kernel_size = model->kernel_size};
}

splat_status splat_model_get_mean_opacity(const splat_model *model, double *mean, splat_error *error)
{
    const double edges[2] = {0, 1};
    uint32_t counts[SPLAT_SUMMARY_N];
    splat_block scratch = {0};
    splat_summary summary;
    struct splat_summary_args args = {.gaussians = &model->gaussians, .edges = edges, .n_edges = 2, .max_samples = 1,
                                      .scratch = &scratch, .result = &summary, .counts = counts};
    splat_status status = splat_op_summary(model->backend, &args, error);
    splat_block_free(model->backend, &scratch);
    *mean = status == SPLAT_OK ? summary.opacity.mean : 0;
    return status;
}

splat_status splat_model_set_render_mode(splat_model *model, splat_render_mode mode, float kernel_size,
                                         splat_error *error)
{
    if (mode == SPLAT_RENDER_AUTO) mode = model->render_mode;
    if (mode != SPLAT_RENDER_MIP && mode != SPLAT_RENDER_CLASSIC)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown render mode %d", (int)mode);
    model->render_mode = mode;
    model->kernel_size = kernel_size > 0 ? kernel_size : splat_default_kernel_size(mode);
    return SPLAT_OK;
}
