/* Access to sh_rest: settled rows, as floats, in another storage or place, with fewer bands. */
#include "model/rest.h"

#include "ops/shrink/shrink.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- access */

splat_status splat_rest_open(const splat_model *model, splat_rest_how how, splat_rest_rows *rows, splat_error *error)
{
    const int rest = SPLAT_TENSOR_sh_rest;
    const splat_rest_state waiting = {model->rest.deferred, how == SPLAT_REST_ROWS ? model->rest.cache : NULL};
    *rows = (splat_rest_rows){.gaussians = model->gaussians,
                              .data = model->parameters.blocks[rest].data,
                              .words = model->parameters.words[rest],
                              .state = how == SPLAT_REST_ROWS ? NULL : &model->rest};
    if (model->sh_storage == SPLAT_SH_FLOAT16)
        rows->gaussians.sh_rest_half = rows->data;
    else
        rows->gaussians.p.sh_rest = rows->data;
    if (how == SPLAT_REST_STEP || (!waiting.deferred && !waiting.cache)) return SPLAT_OK;
    const struct splat_settle_rest_args args = {&rows->gaussians, &waiting};
    return splat_op_settle_rest(model->backend, &args, error);
}

/* ---------------------------------------------------------------- as floats */

#define REST_PIECE 65536u /* rows that are converted at a time */

static void *row_of(const splat_rest_rows *rows, uint32_t row)
{
    return (uint32_t *)rows->data + (size_t)row * rows->words;
}

splat_status splat_rest_read(const splat_model *model, uint32_t first, uint32_t n, float *rest, splat_error *error)
{
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    splat_rest_rows rows;
    if (n == 0 || channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return splat_backend_download(model->backend, rest, row_of(&rows, first),
                                      (size_t)n * channels * sizeof(float), error);
    uint16_t *piece = malloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row * sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        status = splat_backend_download(model->backend, piece, row_of(&rows, first + begin), (size_t)count * row * 2,
                                        error);
        for (size_t i = 0; status == SPLAT_OK && i < count; i++)
            for (size_t c = 0; c < channels; c++)
                rest[(begin + i) * channels + c] = splat_half_decode(piece[i * row + c]);
    }
    free(piece);
    return status;
}

splat_status splat_rest_write(splat_model *model, uint32_t first, uint32_t n, const float *rest, splat_error *error)
{
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    splat_rest_rows rows;
    if (n == 0 || channels == 0) return SPLAT_OK;
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return splat_backend_upload(model->backend, row_of(&rows, first), rest,
                                    (size_t)n * channels * sizeof(float), error);
    uint16_t *piece = calloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row, sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < channels; c++)
                piece[i * row + c] = splat_half_encode(rest[(begin + i) * channels + c], SPLAT_ROUND_NEAREST);
        status = splat_backend_upload_and_wait(model->backend, row_of(&rows, first + begin), piece,
                                               (size_t)count * row * 2, error);
    }
    free(piece);
    return status;
}

/* ---------------------------------------------------------------- another storage or place */

splat_status splat_rest_halve(splat_model *model, splat_error *error)
{
    const int rest = SPLAT_TENSOR_sh_rest, degree = model->gaussians.sh_degree;
    splat_row_blocks *parameters = &model->parameters;
    splat_rest_rows rows;
    if (model->sh_storage == SPLAT_SH_FLOAT16) return SPLAT_OK;
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    const struct splat_shrink_args args = {.storage = SPLAT_STORED_HARMONICS,
                                           .n = rows.gaussians.n,
                                           .channels = splat_sh_rest_floats(degree),
                                           .m = rows.data};
    SPLAT_TRY(splat_op_shrink(model->backend, &args, error));
    model->sh_storage = SPLAT_SH_FLOAT16;
    parameters->blocks[rest].type = SPLAT_TYPE_FLOAT16;
    parameters->words[rest] = splat_parameter_words(rest, degree, SPLAT_SH_FLOAT16);
    return splat_model_resize(model, rows.gaussians.n, error); /* smaller: cannot fail */
}

splat_status splat_rest_place(splat_model *model, splat_placement placement, splat_error *error)
{
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    SPLAT_TRY(splat_row_blocks_place(model->backend, &model->parameters, SPLAT_TENSOR_sh_rest, placement, error));
    return splat_model_resize(model, model->gaussians.n, error);
}

/* ---------------------------------------------------------------- fewer bands */

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
    splat_status status = splat_rest_read(model, 0, g->n, rest, error);
    for (size_t i = 0; i < g->n; i++) memmove(rest + i * to, rest + i * from, to * sizeof *rest);
    if (status == SPLAT_OK) {
        rows->words[SPLAT_TENSOR_sh_rest] = splat_parameter_words(SPLAT_TENSOR_sh_rest, sh_degree, model->sh_storage);
        g->sh_degree = sh_degree;
        if (g->active_sh_degree > sh_degree) g->active_sh_degree = sh_degree;
        status = splat_model_resize(model, g->n, error); /* smaller: cannot fail */
    }
    if (status == SPLAT_OK) status = splat_rest_write(model, 0, g->n, rest, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(model->backend, error);
    free(rest);
    return status;
}
