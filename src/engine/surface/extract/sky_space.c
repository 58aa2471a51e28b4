/* Gaussians before the sky; maps with the sky as free space (docs/method.md 16). */
#include "surface/extract/sky_space.h"

#include "base/context.h"
#include "math/camera.h"
#include "model/model.h"
#include "surface/extract/free_space.h"

#include <stdlib.h>

splat_status splat_model_remove_before_sky(splat_scene *scene, splat_model *model, size_t *n_removed,
                                           splat_error *error)
{
    const splat_sky *sky;
    *n_removed = 0;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    if (!sky->is_found || model->gaussians.n == 0) return SPLAT_OK;
    splat_free_space space;
    SPLAT_TRY(splat_free_space_from_sky(scene, sky, &space, error));
    splat_status status = splat_free_space_remove_gaussians(
        &space, SPLAT_FREE_BY_SKY, SPLAT_FREE_TOLERANCE,
        "all Gaussians stand before the sky of the photos; say `sky none` if it is none", model, n_removed, error);
    splat_free_space_free(&space);
    return status;
}

splat_status splat_sky_clear_map(const splat_sky *sky, size_t number, splat_view_map *map, splat_error *error)
{
    uint8_t *trusted;
    SPLAT_TRY(splat_sky_take_trusted(sky, number, map->camera.width, map->camera.height, &trusted, error));
    for (size_t i = 0; trusted && i < splat_camera_pixels(&map->camera); i++) {
        if (!trusted[i]) continue;
        map->depth[i] = 0;
        map->alpha[i] = 0;
        map->state[i] = SPLAT_PIXEL_SKY;
    }
    free(trusted);
    return SPLAT_OK;
}
