/* In how many views each Gaussian of a model shows. */
#include "model/shown.h"

#include "ops/project/project.h"
#include "ops/view.h"

splat_status splat_model_count_shown(splat_model *model, const splat_camera *cameras, size_t n, uint64_t max_instances,
                                     struct splat_foremost_args args, splat_shown_mask mask, void *user,
                                     splat_error *error)
{
    static const float black[3];
    splat_frame *frame = &model->frame;
    const splat_view_blend blend = {.max_instances = max_instances, .foremost = &args};
    args.frame = frame;
    args.stamp = 1;
    for (size_t i = 0; i < n; i++, args.stamp++) {
        args.mask = NULL;
        if (mask) SPLAT_TRY(mask(user, i, &args.mask, error));
        SPLAT_TRY(splat_model_begin_view(model, frame, &cameras[i], black, error));
        const struct splat_project_args project = {.gaussians = &model->gaussians, .frame = frame};
        SPLAT_TRY(splat_op_project(model->backend, &project, error));
        SPLAT_TRY(splat_view_forward(model->backend, frame, &blend, error));
    }
    return SPLAT_OK;
}
