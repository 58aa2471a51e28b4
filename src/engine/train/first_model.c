/* The splat that a training starts from, without a training: for who only looks at it. */
#include "model/init_points.h"
#include "scene/scene.h"
#include "splatsmith/train.h"

#include "base/options.h"

splat_status splat_model_from_scene(splat_context *context, const splat_scene *scene,
                                    const splat_train_options *options, splat_model **model, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    splat_train_options own;
    splat_train_options_init(&own);
    *model = NULL;
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_train_options", error));
    const splat_first_gaussians first = {.most = own.target_gaussian_count,
                                         .opacity = own.init_opacity,
                                         .scale = own.init_scale};
    SPLAT_TRY(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, model, error));
    splat_status status = splat_model_set_render_mode(*model, SPLAT_RENDER_MIP, own.kernel_size, error);
    if (status == SPLAT_OK)
        status = splat_model_init_from_points(*model, dataset->points, dataset->n_points, &first, error);
    if (status == SPLAT_OK) return SPLAT_OK;
    splat_model_destroy(*model);
    *model = NULL;
    return status;
}
