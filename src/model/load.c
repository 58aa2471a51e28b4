/* Loading a model: from a PLY, or the parameters alone from a checkpoint. */
#include "io/tensor_file.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- PLY */

static splat_render_mode mode_of(const splat_ply_gaussians *splat, bool has_filter)
{
    return (has_filter || splat->tagged_mip) && !splat->tagged_default ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
}

static splat_status load_ply(splat_context *context, const char *path, splat_model **result, splat_error *error)
{
    splat_ply_gaussians host;
    SPLAT_TRY(splat_ply_read_gaussians(path, &host, error));
    size_t counted = splat_model_file_bytes(host.n, host.sh_degree);
    splat_host_memory_add(&context->host_memory, SPLAT_HOST_FILES, counted);
    splat_model *model = NULL;
    splat_status status = SPLAT_OK;
    if (host.n > UINT32_MAX / 2)
        status = splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                               "%zu Gaussians are more than 2^31", host.n);
    if (status == SPLAT_OK)
        status = splat_model_create(context, host.sh_degree, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, error);
    if (status == SPLAT_OK) status = splat_model_resize(model, (uint32_t)host.n, error);
    if (status == SPLAT_OK) status = splat_model_upload(model, &host, error);
    if (status == SPLAT_OK) {
        model->has_filter_3d = host.filter_3d != NULL;
        status = splat_model_set_render_mode(model, mode_of(&host, host.filter_3d != NULL), 0, error);
    }
    splat_host_memory_remove(&context->host_memory, SPLAT_HOST_FILES, counted);
    splat_ply_gaussians_free(&host);
    if (status != SPLAT_OK) {
        splat_model_destroy(model);
        return status;
    }
    *result = model;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- checkpoint */

static const char *const names[SPLAT_N_TENSORS + 1] = {
#define SPLAT_TENSOR(name, channels) #name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    "filter_3d"};

/* What the header says of the parameters. */
typedef struct checkpoint_model {
    uint32_t n;
    int sh_degree;
    splat_sh_storage storage;
    float kernel_size;
    splat_render_mode mode;
} checkpoint_model;

/* The entry of a parameter, of the shape that the header promises; NULL otherwise. */
static const splat_tensor_entry *find_parameter(const splat_tensor_reader *file, int i, const checkpoint_model *m)
{
    const splat_tensor_entry *e = splat_tensor_reader_find(file, names[i]);
    uint32_t words = i == SPLAT_N_TENSORS ? 1 : splat_parameter_words(i, m->sh_degree, m->storage);
    bool half = i == SPLAT_TENSOR_sh_rest && m->storage == SPLAT_SH_FLOAT16;
    return e && strcmp(e->type, half ? "F16" : "F32") == 0 && e->rows == m->n && e->words == words ? e : NULL;
}

static splat_status read_header(const splat_tensor_reader *file, checkpoint_model *m, splat_error *error)
{
    const json_t *n = json_object_get(file->header, "n_gaussians");
    const json_t *degree = json_object_get(file->header, "sh_degree");
    const json_t *kernel = json_object_get(json_object_get(file->header, "render"), "kernel_size");
    const splat_tensor_entry *rest = splat_tensor_reader_find(file, names[SPLAT_TENSOR_sh_rest]);
    if (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > UINT32_MAX / 2 ||
        !json_is_integer(degree) || json_integer_value(degree) < 0 ||
        json_integer_value(degree) > SPLAT_MAX_SH_DEGREE || !json_is_number(kernel) || !rest)
        return splat_tensor_reader_damaged(file, SPLAT_TENSOR_FILE_HEAD, "its header does not describe a model", error);
    m->n = (uint32_t)json_integer_value(n);
    m->sh_degree = (int)json_integer_value(degree);
    m->storage = strcmp(rest->type, "F16") == 0 ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32;
    m->kernel_size = (float)json_number_value(kernel);
    const char *mode = json_string_value(json_object_get(json_object_get(file->header, "render"), "mode"));
    m->mode = mode && strcmp(mode, "classic") == 0 ? SPLAT_RENDER_CLASSIC : SPLAT_RENDER_MIP;
    return SPLAT_OK;
}

/* Reads the header and the checksums of the parameters. */
static splat_status check_checkpoint(const splat_tensor_reader *file, checkpoint_model *m, splat_error *error)
{
    SPLAT_TRY(read_header(file, m, error));
    for (int i = 0; i <= SPLAT_N_TENSORS; i++) {
        const splat_tensor_entry *e = find_parameter(file, i, m);
        if (!e)
            return splat_tensor_reader_damaged(file, SPLAT_TENSOR_FILE_HEAD, "a tensor is missing or has another shape",
                                               error);
        SPLAT_TRY(splat_tensor_reader_check(file, e, error));
    }
    return SPLAT_OK;
}

static splat_status upload_entry(splat_model *model, const splat_tensor_reader *file, int i, const checkpoint_model *m,
                                 void *piece, splat_error *error)
{
    const splat_backend_functions *f = model->backend->functions;
    const splat_tensor_entry *e = find_parameter(file, i, m);
    size_t total = (size_t)e->bytes, room = SPLAT_TENSOR_FILE_PIECE;
    for (size_t at = 0; at < total; at += room) {
        size_t size = total - at < room ? total - at : room;
        SPLAT_TRY(splat_tensor_reader_read(file, e, at, piece, size, error));
        SPLAT_TRY(f->upload(model->backend, (char *)model->parameters.blocks[i].data + at, piece, size, error));
        SPLAT_TRY(f->synchronize(model->backend, error)); /* the piece is written again */
    }
    return SPLAT_OK;
}

static splat_status fill_model(splat_context *context, const splat_tensor_reader *file, const checkpoint_model *m,
                               splat_model **model, splat_error *error)
{
    SPLAT_TRY(splat_model_create(context, m->sh_degree, m->storage, SPLAT_ON_DEVICE, model, error));
    SPLAT_TRY(splat_model_resize(*model, m->n, error));
    (*model)->has_filter_3d = true;
    SPLAT_TRY(splat_model_set_render_mode(*model, m->mode, m->kernel_size, error));
    void *piece = malloc(SPLAT_TENSOR_FILE_PIECE);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a checkpoint");
    splat_status status = SPLAT_OK;
    for (int i = 0; i <= SPLAT_N_TENSORS && status == SPLAT_OK; i++)
        status = upload_entry(*model, file, i, m, piece, error);
    free(piece);
    return status;
}

static splat_status load_checkpoint(splat_context *context, const char *path, splat_model **result, splat_error *error)
{
    splat_tensor_reader file;
    checkpoint_model m;
    splat_model *model = NULL;
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = check_checkpoint(&file, &m, error);
    if (status == SPLAT_OK) status = fill_model(context, &file, &m, &model, error);
    splat_tensor_reader_close(&file);
    if (status == SPLAT_OK)
        *result = model;
    else
        splat_model_destroy(model);
    return status;
}

splat_status splat_model_load(splat_context *context, const char *path, splat_model **result, splat_error *error)
{
    *result = NULL;
    return splat_tensor_file_is(path) ? load_checkpoint(context, path, result, error)
                                      : load_ply(context, path, result, error);
}

/* ---------------------------------------------------------------- without loading */

static splat_status describe_checkpoint(const char *path, splat_model_info *info, splat_error *error)
{
    splat_tensor_reader file;
    checkpoint_model m;
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = read_header(&file, &m, error);
    if (status == SPLAT_OK) *info = (splat_model_info){m.n, m.sh_degree, true, m.mode, m.kernel_size};
    splat_tensor_reader_close(&file);
    return status;
}

splat_status splat_model_describe(const char *path, splat_model_info *info, splat_error *error)
{
    splat_ply_gaussians shape;
    bool has_filter;
    memset(info, 0, sizeof *info);
    if (splat_tensor_file_is(path)) return describe_checkpoint(path, info, error);
    SPLAT_TRY(splat_ply_read_shape(path, &shape, &has_filter, error));
    splat_render_mode mode = mode_of(&shape, has_filter);
    *info = (splat_model_info){shape.n, shape.sh_degree, has_filter, mode, mode == SPLAT_RENDER_MIP ? 0.1f : 0.3f};
    return SPLAT_OK;
}
