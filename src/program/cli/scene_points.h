/* The points of a scene as a splat that `view` shows. */
#ifndef SPLAT_CLI_SCENE_POINTS_H
#define SPLAT_CLI_SCENE_POINTS_H

#include <splatsmith/model.h>

/* *model: a Gaussian for each point, in its colour; owned by the caller (splat_model_destroy). Errors: MEMORY, DEVICE,
 * ARGUMENT (no points). */
splat_status cli_scene_points_model(splat_context *context, const splat_scene *scene, splat_model **model,
                                    splat_error *error);

#endif
