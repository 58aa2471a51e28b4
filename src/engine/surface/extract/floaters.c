/* Floaters: Gaussians of a splat in free space. */
#include "base/context.h"
#include "base/options.h"
#include "model/model.h"
#include "surface/extract/free_space.h"
#include "surface/extract/view_agreement.h"

#define BEFORE 0.1f /* of the depth: Gaussians of a surface lie around it */

/* Finds the space that views of the splat look through. */
static splat_status find_space(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                               splat_free_space *space, splat_error *error)
{
    splat_view_maps maps;
    SPLAT_TRY(splat_view_maps_make(scene, model, options, &maps, error));
    splat_view_maps_mark_agreed(&maps, model->context->threads);
    splat_status status = splat_free_space_begin(&maps, model->context->threads, space, error);
    if (status == SPLAT_OK) {
        status = splat_free_space_finish(&maps, model->context->threads, space, error);
        if (status != SPLAT_OK) splat_free_space_free(space);
    }
    splat_view_maps_free(&maps);
    return status;
}

splat_status splat_model_remove_floaters(splat_scene *scene, splat_model *model,
                                         const splat_mesh_extract_options *options, size_t *n_removed,
                                         splat_error *error)
{
    splat_mesh_extract_options own;
    splat_free_space space;
    *n_removed = 0;
    splat_mesh_extract_options_init(&own);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_mesh_extract_options", error));
    SPLAT_TRY(splat_mesh_extract_options_check(&own, error));
    if (model->gaussians.n == 0) return SPLAT_OK;
    SPLAT_TRY(find_space(scene, model, &own, &space, error));
    splat_status status = splat_free_space_remove_gaussians(
        &space, SPLAT_FREE_BY_ALL, BEFORE, "all Gaussians would be floaters; is it a splat of this scene?", model,
        n_removed, error);
    splat_free_space_free(&space);
    return status;
}
