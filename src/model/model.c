/* A set of Gaussians in device memory: growing, loading, saving, rendering. */
#include "model/model.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

static const char *const parameter_names[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels) #name,
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
};

static size_t tensor_bytes(int tensor, int sh_degree, uint32_t n)
{
    return (size_t)n * splat_tensor_channels(tensor, sh_degree) * sizeof(float);
}

static void refresh(splat_tensor_blocks *tensors)
{
    int i = 0;
#define SPLAT_TENSOR(name, channels) tensors->tensors.name = tensors->blocks[i++].data;
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
}

splat_status splat_tensor_blocks_resize(splat_backend *backend, splat_tensor_blocks *tensors,
                                        const char *const names[SPLAT_N_TENSORS], splat_owner owner, uint32_t old_n,
                                        uint32_t n, int sh_degree, splat_error *error)
{
    splat_status status = SPLAT_OK;
    int i = 0;
    for (; i < SPLAT_N_TENSORS && status == SPLAT_OK; i++)
        status = splat_block_resize(backend, &tensors->blocks[i], names[i], owner, tensor_bytes(i, sh_degree, n),
                                    error);
    if (status != SPLAT_OK) /* the one that failed is unchanged; the ones before it go back */
        for (i -= 2; i >= 0; i--)
            splat_block_resize(backend, &tensors->blocks[i], names[i], owner, tensor_bytes(i, sh_degree, old_n), NULL);
    refresh(tensors);
    return status;
}

void splat_tensor_blocks_free(splat_backend *backend, splat_tensor_blocks *tensors)
{
    for (int i = 0; i < SPLAT_N_TENSORS; i++) splat_block_free(backend, &tensors->blocks[i]);
    refresh(tensors);
}

splat_status splat_model_create(splat_context *context, int sh_degree, splat_model **result, splat_error *error)
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
    model->render_mode = SPLAT_RENDER_MIP;
    model->kernel_size = 0.1f;
    *result = model;
    return SPLAT_OK;
}

void splat_model_destroy(splat_model *model)
{
    if (!model) return;
    splat_frame_free(model->backend, &model->frame);
    splat_tensor_blocks_free(model->backend, &model->parameters);
    splat_block_free(model->backend, &model->filter_3d);
    free(model);
}

splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error)
{
    splat_gaussians *g = &model->gaussians;
    splat_status status = splat_tensor_blocks_resize(model->backend, &model->parameters, parameter_names,
                                                     SPLAT_OWNER_PARAMETERS, g->n, n, g->sh_degree, error);
    if (status == SPLAT_OK) {
        status = splat_block_resize(model->backend, &model->filter_3d, "filter_3d", SPLAT_OWNER_PARAMETERS,
                                    (size_t)n * sizeof(float), error);
        if (status != SPLAT_OK)
            splat_tensor_blocks_resize(model->backend, &model->parameters, parameter_names, SPLAT_OWNER_PARAMETERS, n,
                                       g->n, g->sh_degree, NULL);
    }
    g->p = model->parameters.tensors;
    g->filter_3d = model->filter_3d.data;
    if (status == SPLAT_OK) g->n = n;
    return status;
}

/* Host arrays into the device tensors, and back; the order is that of gaussians.def. */
static splat_status upload_all(splat_model *model, const splat_ply_gaussians *host, splat_error *error)
{
    const splat_backend_functions *f = model->backend->functions;
    splat_gaussians *g = &model->gaussians;
#define SPLAT_TENSOR(name, channels)                                                                                   \
    SPLAT_TRY(f->upload(model->backend, g->p.name, host->name, tensor_bytes(SPLAT_TENSOR_##name, g->sh_degree, g->n),  \
                        error));
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    if (host->filter_3d)
        SPLAT_TRY(f->upload(model->backend, g->filter_3d, host->filter_3d, (size_t)g->n * sizeof(float), error));
    return SPLAT_OK;
}

splat_status splat_model_load(splat_context *context, const char *path, splat_model **result, splat_error *error)
{
    *result = NULL;
    splat_ply_gaussians host;
    SPLAT_TRY(splat_ply_read_gaussians(path, &host, error));
    splat_model *model = NULL;
    splat_status status = SPLAT_OK;
    if (host.n > UINT32_MAX / 2)
        status = splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                               "%zu Gaussians are more than 2^31", host.n);
    if (status == SPLAT_OK) status = splat_model_create(context, host.sh_degree, &model, error);
    if (status == SPLAT_OK) status = splat_model_resize(model, (uint32_t)host.n, error);
    if (status == SPLAT_OK) status = upload_all(model, &host, error);
    if (status == SPLAT_OK) {
        model->has_filter_3d = host.filter_3d != NULL;
        bool mip = (host.filter_3d || host.tagged_mip) && !host.tagged_default;
        status = splat_model_set_render_mode(model, mip ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC, 0, error);
    }
    splat_ply_gaussians_free(&host);
    if (status != SPLAT_OK) {
        splat_model_destroy(model);
        return status;
    }
    *result = model;
    return SPLAT_OK;
}

splat_status splat_model_save(const splat_model *model, const char *path, bool fused, splat_error *error)
{
    const splat_backend_functions *f = model->backend->functions;
    const splat_gaussians *g = &model->gaussians;
    splat_ply_gaussians host = {.n = g->n, .sh_degree = g->sh_degree};
    splat_status status = SPLAT_OK;
#define SPLAT_TENSOR(name, channels)                                                                                   \
    if (status == SPLAT_OK) {                                                                                          \
        size_t bytes = tensor_bytes(SPLAT_TENSOR_##name, g->sh_degree, g->n);                                          \
        host.name = malloc(bytes + 1);                                                                                 \
        status = host.name ? f->download(model->backend, host.name, g->p.name, bytes, error)                           \
                           : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to save %u Gaussians", g->n);            \
    }
#include "ops/gaussians.def"
#undef SPLAT_TENSOR
    if (status == SPLAT_OK && model->has_filter_3d) {
        host.filter_3d = malloc((size_t)g->n * sizeof(float) + 1);
        status = host.filter_3d
                     ? f->download(model->backend, host.filter_3d, g->filter_3d, (size_t)g->n * sizeof(float), error)
                     : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to save %u Gaussians", g->n);
    }
    if (status == SPLAT_OK) {
        host.tagged_mip = model->render_mode == SPLAT_RENDER_MIP;
        status = splat_ply_write_gaussians(path, &host, fused, NULL, error);
    }
    splat_ply_gaussians_free(&host);
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

splat_status splat_model_rasterize(splat_model *model, const splat_camera *camera, const float background[3],
                                   bool training, splat_error *error)
{
    splat_frame *frame = &model->frame;
    const splat_ops *ops = &model->backend->functions->ops;
    SPLAT_TRY(splat_frame_reserve(model->backend, frame, model->gaussians.n, camera, training, error));
    frame->filter = splat_model_screen_filter(model);
    frame->jitter = NULL;
    frame->n_instances_hint = 0; /* a view on its own: the backend counts before it sizes its arrays */
    frame->n_visible_hint = 0;
    memcpy(frame->background, background, sizeof frame->background);
    SPLAT_TRY(ops->project(model->backend, &(struct splat_project_args){&model->gaussians, frame}, error));
    SPLAT_TRY(ops->bin(model->backend, &(struct splat_bin_args){frame}, error));
    return ops->raster(model->backend, &(struct splat_raster_args){frame}, error);
}

splat_status splat_model_render(splat_model *model, const splat_camera *camera, const float background[3], float *rgb,
                                splat_error *error)
{
    SPLAT_TRY(splat_model_rasterize(model, camera, background, false, error));
    size_t bytes = 3 * (size_t)camera->width * (size_t)camera->height * sizeof(float);
    return model->backend->functions->download(model->backend, rgb, model->frame.image, bytes, error);
}
