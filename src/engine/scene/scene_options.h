/* The options of a scene as data, from include/splatsmith/scene_options.def. */
#ifndef SPLAT_SCENE_SCENE_OPTIONS_H
#define SPLAT_SCENE_SCENE_OPTIONS_H

#include "base/option_table.h"
#include "splatsmith/scene.h"

extern const splat_option_table splat_scene_options_table;

/* Checks the range of every number. Errors: ARGUMENT (names the first that is out of range). */
splat_status splat_scene_options_check(const splat_scene_options *options, splat_error *error);
/* A copy with texts of its own, which splat_scene_options_free takes back, also after MEMORY. */
splat_status splat_scene_options_copy(splat_scene_options *copy, const splat_scene_options *options,
                                      splat_error *error);
void splat_scene_options_free(splat_scene_options *options);
/* The folder of the photos inside the scene; "images" where none is named. */
const char *splat_scene_options_images(const splat_scene_options *options);

#endif
