/* The options of a scene: defaults, ranges, copies. */
#include "scene/scene_options.h"

#include "io/option_text.h"
#include "math/lens_views.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SPLAT_ROW_MASK_MODE(type, name, field)                                                                         \
    SPLAT_ROW_CHOICE(type, name, field, splat_mask_mode, SPLAT_WORDS_MASK_MODE)
#define SPLAT_ROW_UNDISTORT(type, name, field)                                                                         \
    SPLAT_ROW_CHOICE(type, name, field, splat_undistort, SPLAT_WORDS_UNDISTORT)
#define SPLAT_ROW_SPLIT_RULE(type, name, field)                                                                        \
    SPLAT_ROW_CHOICE(type, name, field, splat_split_rule, SPLAT_WORDS_SPLIT_RULE)

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range, saved)                                                                 \
    {SPLAT_ROW_##kind(splat_scene_options, field, field), (double)(start), SPLAT_LIMITS_##range, SPLAT_SAVED_##saved},
#include "splatsmith/scene_options.def"
};
const splat_option_table splat_scene_options_table = SPLAT_OPTION_TABLE(splat_scene_options, rows);

void splat_scene_options_init_sized(splat_scene_options *options, size_t size)
{
    splat_option_defaults(&splat_scene_options_table, options, size);
}

splat_status splat_scene_options_set(splat_scene_options *options, const char *name, const char *text,
                                     splat_error *error)
{
    return splat_option_set_text(&splat_scene_options_table, options, name, text, error);
}

splat_status splat_scene_options_check(const splat_scene_options *o, splat_error *error)
{
    SPLAT_TRY(splat_option_check_all(&splat_scene_options_table, o, error));
    if (o->resolution == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "resolution is 0; it must be -1 (automatic), a divisor (1, 2, "
                          "4, 8, 16, 32, 64) or a width in pixels");
    return SPLAT_OK;
}

const char *splat_scene_options_images(const splat_scene_options *options)
{
    return options->images ? options->images : "images";
}

splat_status splat_scene_options_copy(splat_scene_options *copy, const splat_scene_options *options,
                                      splat_error *error)
{
    bool failed = false;
    *copy = *options;
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option_row *row = &splat_scene_options_table.rows[i].row;
        if (row->kind != SPLAT_OPTION_TEXT || !*splat_option_text(row, options)) continue;
        char **text = splat_option_text(row, copy);
        *text = strdup(*text);
        failed = failed || !*text;
    }
    return failed ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the options of a scene") : SPLAT_OK;
}

void splat_scene_options_free(splat_scene_options *options)
{
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option_row *row = &splat_scene_options_table.rows[i].row;
        if (row->kind != SPLAT_OPTION_TEXT) continue;
        free(*splat_option_text(row, options));
        *splat_option_text(row, options) = NULL;
    }
}
