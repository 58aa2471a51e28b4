/* Coarse training begins with a splat: where it comes from, and whether it belongs to the scene. */
#include "math/projection.h"
#include "model/files.h"
#include "model/transform.h"
#include "surface/coarse/coarse.h"
#include "surface/coarse/coarse_prune.h"
#include "train/start.h"
#include "train/state.h"

/* The splat as others would read it, in host memory: its filter is part of scales and opacities. It is on the device
 * only before the trainer's own arrays grow. */
static splat_status read_fused(splat_trainer *t, const char *path, splat_cloud *host, splat_error *error)
{
    splat_model *source;
    splat_model_info info;
    SPLAT_TRY(splat_model_load(t->context, path, &source, error));
    splat_status status = splat_model_fuse_filter(source, error);
    splat_model_get_info(source, &info);
    if (status == SPLAT_OK) status = splat_model_download(source, host, error);
    splat_model_destroy(source);
    if (status != SPLAT_OK) return status;
    bool is_mip = info.render_mode == SPLAT_RENDER_MIP;
    return splat_model_set_render_mode(t->model, info.render_mode, is_mip ? t->options.kernel_size : 0, error);
}

static bool sees(const splat_camera *c, const float *mean)
{
    float p[3];
    for (int k = 0; k < 3; k++)
        p[k] = c->rotation[3 * k] * mean[0] + c->rotation[3 * k + 1] * mean[1] + c->rotation[3 * k + 2] * mean[2] +
               c->translation[k];
    if (!(p[2] > SPLAT_NEAR)) return false;
    float u = c->fx * p[0] / p[2] + c->cx, v = c->fy * p[1] / p[2] + c->cy;
    return u >= 0 && v >= 0 && u <= (float)c->width && v <= (float)c->height;
}

#define LOOKED_AT 4096 /* Gaussians, evenly over the splat */

/* A splat of another scene would be trained to nothing. */
static splat_status check_seen(const splat_trainer *t, const splat_cloud *host, const char *path,
                               splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    size_t stride = host->n / LOOKED_AT + 1;
    for (size_t i = 0; i < host->n; i += stride)
        for (size_t v = 0; v < dataset->n_train; v++)
            if (sees(&dataset->views[dataset->train[v]].camera, host->means + 3 * i)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "no training view of %s sees this splat; was it trained on this scene?",
                         t->scene->options.source_path);
}

splat_status splat_trainer_start_coarse(splat_trainer *t, const char *path, splat_error *error)
{
    splat_cloud host;
    const float before = t->regularizer_constant;
    if (t->options.regularizer != &splat_coarse_regularizer)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the trainer was made without coarse options");
    if (t->scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_FORMAT, "a surface needs at least two training views; the scene has %zu",
                          t->scene->dataset.n_train);
    SPLAT_TRY(read_fused(t, path, &host, error));
    splat_status status = host.n ? check_seen(t, &host, path, error) : SPLAT_OK; /* none at all is reported below */
    if (status == SPLAT_OK)
        status = splat_coarse_find_pivot(host.opacities, host.n, t->options.prune_keep, &t->regularizer_constant,
                                         error);
    if (status == SPLAT_OK) status = splat_trainer_begin_with(t, &host, path, t->options.coarse.first_iteration, error);
    if (status != SPLAT_OK) t->regularizer_constant = before;
    splat_cloud_free(&host);
    return status == SPLAT_OK ? splat_coarse_check_surface(t, path, error) : status;
}
