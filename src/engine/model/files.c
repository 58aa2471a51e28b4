/* A model from a file and to one, by way of a cloud in host memory; io/splat/formats.h has the formats. */
#include "model/files.h"

#include "base/file.h"
#include "base/options.h"
#include "io/splat/formats.h"
#include "model/dome.h"
#include "model/rest.h"
#include "ops/bind/bind.h"

#include <string.h>

/* ---------------------------------------------------------------- between device and host */

/* A tensor between host floats and its storage. */
static splat_status upload_tensor(splat_model *model, int tensor, const float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    size_t bytes = (size_t)g->n * splat_tensor_channels(tensor, g->sh_degree) * sizeof *host;
    if (tensor == SPLAT_TENSOR_sh_rest) return splat_rest_write(model, 0, g->n, host, error);
    return splat_backend_upload(model->backend, model->parameters.blocks[tensor].data, host, bytes, error);
}

static splat_status download_tensor(const splat_model *model, int tensor, float *host, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    size_t bytes = (size_t)g->n * splat_tensor_channels(tensor, g->sh_degree) * sizeof *host;
    if (tensor == SPLAT_TENSOR_sh_rest) return splat_rest_read(model, 0, g->n, host, error);
    return splat_backend_download(model->backend, host, model->parameters.blocks[tensor].data, bytes, error);
}

splat_status splat_model_upload(splat_model *model, const splat_cloud *cloud, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
#define SPLAT_TENSOR(name, ...) SPLAT_TRY(upload_tensor(model, SPLAT_TENSOR_##name, cloud->name, error));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (!cloud->filter_3d) return SPLAT_OK;
    return splat_backend_upload(model->backend, g->filter_3d, cloud->filter_3d, (size_t)g->n * sizeof(float), error);
}

/* True for a triangle without area: op bind hides its Gaussian by the 3D filter, which files of bound Gaussians
 * lack. */
static bool is_hidden(const float scales[3])
{
    return scales[0] == SPLAT_HIDDEN_SCALE && scales[1] == SPLAT_HIDDEN_SCALE && scales[2] == SPLAT_HIDDEN_SCALE;
}

static splat_status download_arrays(const splat_model *model, splat_cloud *cloud, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
#define SPLAT_TENSOR(name, ...) SPLAT_TRY(download_tensor(model, SPLAT_TENSOR_##name, cloud->name, error));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (cloud->filter_3d)
        return splat_backend_download(model->backend, cloud->filter_3d, g->filter_3d, (size_t)g->n * sizeof(float),
                                      error);
    for (size_t i = 0; i < cloud->n; i++)
        if (is_hidden(cloud->scales + 3 * i)) cloud->opacities[i] = SPLAT_HIDDEN_OPACITY;
    return SPLAT_OK;
}

/* CLASSIC is what readers take without a mark, and none is written where the file that was loaded had none. */
splat_status splat_model_make_cloud(const splat_model *model, size_t n, splat_cloud *cloud, splat_error *error)
{
    SPLAT_TRY(splat_cloud_make(cloud, n, model->gaussians.sh_degree, model->has_filter_3d, error));
    cloud->sh_is_half = model->sh_storage == SPLAT_SH_FLOAT16;
    cloud->render_mode = model->render_mode == SPLAT_RENDER_MIP ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO;
    cloud->kernel_size = model->kernel_size;
    return SPLAT_OK;
}

splat_status splat_model_download(const splat_model *model, splat_cloud *cloud, splat_error *error)
{
    SPLAT_TRY(splat_model_make_cloud(model, model->gaussians.n, cloud, error));
    splat_status status = download_arrays(model, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

/* ---------------------------------------------------------------- loading */

/* How a file is rendered that does not say so. */
static splat_render_mode mode_of(splat_render_mode mode, bool has_filter)
{
    if (mode != SPLAT_RENDER_AUTO) return mode;
    return has_filter ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
}

static splat_status make_model(splat_context *context, const char *path, const splat_cloud *cloud, splat_model **model,
                               splat_error *error)
{
    bool has_filter = cloud->filter_3d != NULL;
    splat_sh_storage storage = cloud->sh_is_half ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32;
    if (cloud->n > UINT32_MAX / 2)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "%zu Gaussians are more than 2^31", cloud->n);
    SPLAT_TRY(splat_model_create(context, cloud->sh_degree, storage, SPLAT_ON_DEVICE, model, error));
    SPLAT_TRY(splat_model_resize(*model, (uint32_t)cloud->n, error));
    SPLAT_TRY(splat_model_upload(*model, cloud, error));
    (*model)->has_filter_3d = has_filter;
    return splat_model_set_render_mode(*model, mode_of(cloud->render_mode, has_filter), cloud->kernel_size, error);
}

splat_status splat_model_from_cloud(splat_context *context, const char *path, const splat_cloud *cloud,
                                    splat_model **result, splat_error *error)
{
    splat_model *model = NULL;
    splat_status status = make_model(context, path, cloud, &model, error);
    *result = status == SPLAT_OK ? model : NULL;
    if (status != SPLAT_OK) splat_model_destroy(model);
    return status;
}

splat_status splat_model_load(splat_context *context, const char *path, splat_model **model, splat_error *error)
{
    splat_cloud cloud;
    *model = NULL;
    SPLAT_TRY(splat_cloud_read(path, &cloud, error));
    size_t counted = splat_cloud_bytes(cloud.n, cloud.sh_degree, cloud.filter_3d != NULL);
    splat_host_memory_add(&context->host_memory, SPLAT_HOST_FILES, counted);
    splat_status status = splat_model_from_cloud(context, path, &cloud, model, error);
    if (status == SPLAT_OK) status = splat_model_load_dome(*model, path, error);
    if (status != SPLAT_OK) {
        splat_model_destroy(*model);
        *model = NULL;
    }
    splat_host_memory_remove(&context->host_memory, SPLAT_HOST_FILES, counted);
    splat_cloud_free(&cloud);
    return status;
}

splat_status splat_model_describe(const char *path, splat_model_info *info, splat_error *error)
{
    splat_cloud_shape shape;
    memset(info, 0, sizeof *info);
    SPLAT_TRY(splat_cloud_describe(path, &shape, error));
    splat_render_mode mode = mode_of(shape.render_mode, shape.has_filter);
    float kernel_size = shape.kernel_size > 0 ? shape.kernel_size : splat_default_kernel_size(mode);
    *info = (splat_model_info){shape.n, shape.sh_degree, shape.has_filter, mode, kernel_size};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- saving */

bool splat_model_get_format(size_t index, splat_file_format *format)
{
    splat_file_formats formats = splat_cloud_formats();
    if (index >= formats.n) return false;
    *format = formats.rows[index];
    return true;
}

splat_status splat_model_check_path(const char *path, splat_error *error)
{
    splat_file_formats formats = splat_cloud_formats();
    size_t row;
    return splat_file_format_to_write(&formats, path, &row, error);
}

void splat_save_options_init_sized(splat_save_options *options, size_t size)
{
    const splat_save_options defaults = {.sh_degree = SPLAT_MAX_SH_DEGREE, .spz_version = 3};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_model_save(const splat_model *model, const char *path, const splat_save_options *options,
                              splat_error *error)
{
    splat_cloud cloud;
    splat_save_options own;
    splat_host_memory *counter = &model->context->host_memory;
    const splat_gaussians *g = &model->gaussians;
    size_t counted = splat_cloud_bytes(g->n, g->sh_degree, model->has_filter_3d);
    splat_save_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_save_options", error));
    SPLAT_TRY(splat_model_check_path(path, error)); /* before the copy, which takes its time */
    splat_host_memory_add(counter, SPLAT_HOST_FILES, counted);
    splat_status status = splat_model_download(model, &cloud, error);
    if (status == SPLAT_OK) {
        status = splat_folder_create_for(path, error);
        if (status == SPLAT_OK) status = splat_cloud_write(path, &cloud, &own, error);
        splat_cloud_free(&cloud);
    }
    splat_host_memory_remove(counter, SPLAT_HOST_FILES, counted);
    return status;
}
