/* A set of Gaussians in device memory: growing, loading, saving, rendering. */
#include "model/model.h"

#include "base/checked.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static const char *const parameter_names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels) #name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
};

splat_status splat_row_blocks_resize(splat_backend *backend, splat_row_blocks *rows, uint32_t old_n, uint32_t n,
                                     splat_error *error)
{
    splat_status status = SPLAT_OK;
    int i = 0;
    for (; i < rows->n_arrays && status == SPLAT_OK; i++)
        status = splat_block_resize(backend, &rows->blocks[i], rows->names[i], rows->owner,
                                    (size_t)n * rows->words[i] * sizeof(uint32_t), error);
    if (status != SPLAT_OK) /* the one that failed is unchanged; the ones before it go back */
        for (i -= 2; i >= 0; i--)
            splat_block_resize(backend, &rows->blocks[i], rows->names[i], rows->owner,
                               (size_t)old_n * rows->words[i] * sizeof(uint32_t), NULL);
    return status;
}

void splat_row_blocks_free(splat_backend *backend, splat_row_blocks *rows)
{
    for (int i = 0; i < rows->n_arrays; i++) splat_block_free(backend, &rows->blocks[i]);
}

splat_tensors splat_row_blocks_tensors(const splat_row_blocks *rows)
{
    return (splat_tensors){
#define SPLAT_TENSOR(name, channels) .name = rows->blocks[SPLAT_TENSOR_##name].data,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    };
}

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
    splat_row_blocks *rows = &model->parameters;
    rows->owner = SPLAT_OWNER_PARAMETERS;
    rows->n_arrays = SPLAT_N_TENSORS + 1;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        rows->names[i] = parameter_names[i];
        rows->words[i] = splat_parameter_words(i, sh_degree, storage);
    }
    rows->blocks[SPLAT_TENSOR_sh_rest].placement = rest;
    rows->names[SPLAT_N_TENSORS] = "filter_3d";
    rows->words[SPLAT_N_TENSORS] = 1;
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

#define REST_PIECE 65536u /* rows that are converted at a time */

static void *rest_row(const splat_model *model, uint32_t row)
{
    return (uint32_t *)model->parameters.blocks[SPLAT_TENSOR_sh_rest].data +
           (size_t)row * model->parameters.words[SPLAT_TENSOR_sh_rest];
}

splat_status splat_model_read_rest(const splat_model *model, uint32_t first, uint32_t n, float *rest,
                                   splat_error *error)
{
    const splat_backend_functions *f = model->backend->functions;
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    if (n == 0 || channels == 0) return SPLAT_OK;
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return f->download(model->backend, rest, rest_row(model, first), (size_t)n * channels * sizeof(float), error);
    uint16_t *piece = malloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row * sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        status = f->download(model->backend, piece, rest_row(model, first + begin), (size_t)count * row * 2, error);
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
    const splat_backend_functions *f = model->backend->functions;
    uint32_t channels = splat_sh_rest_floats(model->gaussians.sh_degree), row = splat_half_row(channels);
    if (n == 0 || channels == 0) return SPLAT_OK;
    if (model->sh_storage == SPLAT_SH_FLOAT32)
        return f->upload(model->backend, rest_row(model, first), rest, (size_t)n * channels * sizeof(float), error);
    uint16_t *piece = calloc((size_t)(n < REST_PIECE ? n : REST_PIECE) * row, sizeof *piece);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to convert %u Gaussians", n);
    splat_status status = SPLAT_OK;
    for (uint32_t begin = 0; begin < n && status == SPLAT_OK; begin += REST_PIECE) {
        uint32_t count = n - begin < REST_PIECE ? n - begin : REST_PIECE;
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < channels; c++)
                piece[i * row + c] = splat_half_encode(rest[(begin + i) * channels + c], SPLAT_ROUND_NEAREST);
        status = f->upload(model->backend, rest_row(model, first + begin), piece, (size_t)count * row * 2, error);
        if (status == SPLAT_OK) status = f->synchronize(model->backend, error); /* the piece is written again */
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
    if (status == SPLAT_OK) status = model->backend->functions->synchronize(model->backend, error);
    free(rest);
    return status;
}

/* ---------------------------------------------------------------- files */

static size_t tensor_bytes(int tensor, int sh_degree, uint32_t n)
{
    return (size_t)n * splat_tensor_channels(tensor, sh_degree) * sizeof(float);
}

/* A tensor between host floats and its storage. */
static splat_status upload_tensor(splat_model *model, int tensor, const float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    if (tensor == SPLAT_TENSOR_sh_rest) return splat_model_write_rest(model, 0, g->n, host, error);
    return model->backend->functions->upload(model->backend, model->parameters.blocks[tensor].data, host,
                                             tensor_bytes(tensor, g->sh_degree, g->n), error);
}

static splat_status download_tensor(const splat_model *model, int tensor, float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    if (tensor == SPLAT_TENSOR_sh_rest) return splat_model_read_rest(model, 0, g->n, host, error);
    return model->backend->functions->download(model->backend, host, model->parameters.blocks[tensor].data,
                                               tensor_bytes(tensor, g->sh_degree, g->n), error);
}

splat_status splat_model_upload(splat_model *model, const splat_ply_gaussians *host, splat_error *error)
{
#define SPLAT_TENSOR(name, channels) SPLAT_TRY(upload_tensor(model, SPLAT_TENSOR_##name, host->name, error));
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    const splat_gaussians *g = &model->gaussians;
    if (!host->filter_3d) return SPLAT_OK;
    return model->backend->functions->upload(model->backend, g->filter_3d, host->filter_3d,
                                             (size_t)g->n * sizeof(float), error);
}

size_t splat_model_file_bytes(size_t n, int sh_degree)
{
    return n * sizeof(float) * (15 + splat_sh_rest_floats(sh_degree));
}

splat_status splat_model_download(const splat_model *model, splat_ply_gaussians *host, splat_error *error)
{
    const splat_backend_functions *f = model->backend->functions;
    const splat_gaussians *g = &model->gaussians;
    splat_status status = SPLAT_OK;
    *host = (splat_ply_gaussians){.n = g->n, .sh_degree = g->sh_degree,
                                  .tagged_mip = model->render_mode == SPLAT_RENDER_MIP};
#define SPLAT_TENSOR(name, channels)                                                                                   \
    if (status == SPLAT_OK) {                                                                                          \
        size_t bytes = tensor_bytes(SPLAT_TENSOR_##name, g->sh_degree, g->n);                                          \
        host->name = malloc(bytes + 1);                                                                                \
        status = host->name ? download_tensor(model, SPLAT_TENSOR_##name, host->name, error)                           \
                            : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a copy of %u Gaussians", g->n);     \
    }
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    if (status == SPLAT_OK && model->has_filter_3d) {
        host->filter_3d = malloc((size_t)g->n * sizeof(float) + 1);
        status = host->filter_3d
                     ? f->download(model->backend, host->filter_3d, g->filter_3d, (size_t)g->n * sizeof(float), error)
                     : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a copy of %u Gaussians", g->n);
    }
    if (status != SPLAT_OK) splat_ply_gaussians_free(host);
    return status;
}

splat_status splat_model_save(const splat_model *model, const char *path, bool fused, splat_error *error)
{
    splat_ply_gaussians host;
    splat_host_memory *counter = &model->context->host_memory;
    size_t counted = splat_model_file_bytes(model->gaussians.n, model->gaussians.sh_degree);
    splat_host_memory_add(counter, SPLAT_HOST_FILES, counted);
    splat_status status = splat_model_download(model, &host, error);
    if (status == SPLAT_OK) {
        status = splat_folder_create_for(path, error);
        if (status == SPLAT_OK) status = splat_ply_write_gaussians(path, &host, fused, NULL, error);
        splat_ply_gaussians_free(&host);
    }
    splat_host_memory_remove(counter, SPLAT_HOST_FILES, counted);
    return status;
}

void splat_model_get_info(const splat_model *model, splat_model_info *info)
{
    *info = (splat_model_info){model->gaussians.n, model->gaussians.sh_degree, model->has_filter_3d, model->render_mode,
                               model->kernel_size};
}

splat_status splat_model_set_render_mode(splat_model *model, splat_render_mode mode, float kernel_size,
                                         splat_error *error)
{
    if (mode == SPLAT_RENDER_AUTO) mode = model->render_mode;
    if (mode != SPLAT_RENDER_MIP && mode != SPLAT_RENDER_CLASSIC)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown render mode %d", (int)mode);
    model->render_mode = mode;
    model->kernel_size = kernel_size > 0 ? kernel_size : mode == SPLAT_RENDER_MIP ? 0.1f : 0.3f;
    return SPLAT_OK;
}

splat_screen_filter splat_model_screen_filter(const splat_model *model)
{
    return (splat_screen_filter){model->kernel_size, model->render_mode == SPLAT_RENDER_MIP};
}

splat_status splat_model_begin_view(splat_model *model, const splat_camera *camera, const float background[3],
                                    splat_error *error)
{
    splat_frame *frame = &model->frame;
    SPLAT_TRY(splat_frame_reserve(model->backend, frame, model->gaussians.n, camera, error));
    frame->filter = splat_model_screen_filter(model);
    frame->jitter = NULL;
    frame->n_instances_hint = 0; /* a view on its own: the backend counts before it sizes its arrays */
    frame->n_visible_hint = 0;
    memcpy(frame->background, background, sizeof frame->background);
    return SPLAT_OK;
}

/* Their list, its sort, and on the CPU nothing more; a Gaussian's share of bin's lists is taken off first. */
uint64_t splat_model_instances_that_fit(const splat_model *model)
{
    const splat_memory *memory = &model->backend->memory;
    const size_t each = 24, of_gaussian = 40, least = 1 << 14;
    if (!memory->limit) return 0;
    size_t held = memory->device.reserved - model->backend->scratch.block.reserved;
    size_t taken = held + of_gaussian * model->gaussians.n + 8 * model->backend->granularity;
    size_t left = memory->limit > taken ? memory->limit - taken : 0;
    return left / each > least ? left / each : least;
}

static splat_status rasterize(splat_model *model, const splat_camera *camera, const float background[3], bool counted,
                              splat_error *error)
{
    splat_frame *frame = &model->frame;
    const splat_ops *ops = &model->backend->functions->ops;
    uint64_t planned = frame->max_instances;
    size_t count_bytes = (size_t)camera->width * (size_t)camera->height * sizeof *frame->blended;
    SPLAT_TRY(splat_model_begin_view(model, camera, background, error));
    if (counted) SPLAT_TRY(splat_frame_take(model->backend, frame, count_bytes, (void **)&frame->blended, error));
    if (!planned) frame->max_instances = splat_model_instances_that_fit(model);
    splat_status status = ops->project(model->backend, &(struct splat_project_args){&model->gaussians, frame}, error);
    for (; status == SPLAT_OK && frame->row_begin < frame->tiles_y; frame->row_begin = frame->row_end) {
        status = ops->bin(model->backend, &(struct splat_bin_args){frame}, error);
        if (status == SPLAT_OK) status = ops->raster(model->backend, &(struct splat_raster_args){frame}, error);
    }
    frame->max_instances = planned; /* the trainer's, which goes on after a picture that was refused */
    return status;
}

splat_status splat_model_rasterize(splat_model *model, const splat_camera *camera, const float background[3],
                                   splat_error *error)
{
    return rasterize(model, camera, background, false, error);
}

splat_status splat_model_rasterize_counted(splat_model *model, const splat_camera *camera, const float background[3],
                                           uint32_t **blended, splat_error *error)
{
    SPLAT_TRY(rasterize(model, camera, background, true, error));
    *blended = model->frame.blended;
    return SPLAT_OK;
}

splat_status splat_model_render(splat_model *model, const splat_camera *camera, const float background[3], float *rgb,
                                splat_error *error)
{
    SPLAT_TRY(splat_model_rasterize(model, camera, background, error));
    size_t bytes = 3 * (size_t)camera->width * (size_t)camera->height * sizeof(float);
    return model->backend->functions->download(model->backend, rgb, model->frame.image, bytes, error);
}
