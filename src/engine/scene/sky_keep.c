/* A sky that one opening of a scene leaves to the next. */
#include "scene/sky_keep.h"

#include "base/option_table.h"
#include "scene/scene.h"
#include "scene/scene_options.h"
#include "scene/sky_masks.h"

#include <stdlib.h>
#include <string.h>

static bool is_equal(const splat_option_row *row, const void *a, const void *b)
{
    if (row->kind != SPLAT_OPTION_TEXT) return splat_option_get(row, a) == splat_option_get(row, b);
    const char *x = *splat_option_text(row, a), *y = *splat_option_text(row, b);
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* A model folder names the folder of the photos where the options of its training leave it out. */
static splat_scene_options with_images(const splat_scene_options *options)
{
    splat_scene_options named = *options;
    named.images = splat_scene_options_images(options);
    return named;
}

/* True if the options name the same photos and masks: those that a model folder saves. The cameras tell the split and
 * the size. */
static bool is_of_same_photos(const splat_scene *scene, const splat_kept_sky *kept)
{
    const splat_scene_options options = with_images(&scene->options);
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option *option = &splat_scene_options_table.rows[i];
        const bool is_saved = option->saved == SPLAT_SAVED_CFG_ARGS || option->saved == SPLAT_SAVED_PUBLISHED;
        if (is_saved && !is_equal(&option->row, &options, &kept->options)) return false;
    }
    return scene->dataset.n_train == kept->n &&
           memcmp(scene->train_cameras, kept->cameras, kept->n * sizeof *kept->cameras) == 0;
}

void splat_scene_keep_sky(splat_scene *scene, splat_kept_sky *kept)
{
    splat_error error;
    if (!kept || !scene || !scene->sky) return;
    splat_kept_sky_free(kept);
    const size_t bytes = scene->dataset.n_train * sizeof *kept->cameras;
    const splat_scene_options options = with_images(&scene->options);
    kept->cameras = malloc(bytes + 1);
    const splat_status status = splat_scene_options_copy(&kept->options, &options, &error);
    if (!kept->cameras || status != SPLAT_OK) {
        splat_kept_sky_free(kept);
        return;
    }
    memcpy(kept->cameras, scene->train_cameras, bytes);
    kept->n = scene->dataset.n_train;
    kept->sky = scene->sky;
    scene->sky = NULL;
}

void splat_scene_use_sky(splat_scene *scene, splat_kept_sky *kept)
{
    if (!kept || !kept->sky || scene->sky || !is_of_same_photos(scene, kept)) return;
    scene->sky = kept->sky;
    kept->sky = NULL;
}

void splat_kept_sky_free(splat_kept_sky *kept)
{
    splat_sky_free(kept->sky);
    splat_scene_options_free(&kept->options);
    free(kept->cameras);
    memset(kept, 0, sizeof *kept);
}
