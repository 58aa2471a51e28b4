/* A set of Gaussians in device memory, which grows and shrinks. */
#include "model/model.h"

#include "ops/summary/summary.h"

#include <stdlib.h>

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
    splat_block_free(model->backend, &model->dome_block);
    splat_region_free(model->backend, &model->backend->scratch); /* made again when another model needs it */
    free(model);
}

splat_status splat_model_resize(splat_model *model, uint32_t n, splat_error *error)
{
    splat_gaussians *g = &model->gaussians;
    SPLAT_TRY(splat_row_blocks_resize(model->backend, &model->parameters, g->n, n, error));
    g->p = splat_row_blocks_tensors(&model->parameters);
    g->p.sh_rest = NULL; /* splat_rest_open has it */
    g->filter_3d = model->parameters.blocks[SPLAT_N_TENSORS].data;
    g->rest_on_host = model->parameters.blocks[SPLAT_TENSOR_sh_rest].placement == SPLAT_ON_HOST;
    g->n = n;
    return SPLAT_OK;
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
