/* The options of the built-in scene: defaults and ranges, from include/splatsmith/sample_options.def. */
#include "base/option_table.h"
#include "base/options.h"
#include "sample/sample_scene.h"

#define SPLAT_ROW_SAMPLE_SCENE(type, name, field)                                                                      \
    SPLAT_ROW_CHOICE(type, name, field, splat_sample_scene, SPLAT_WORDS_SAMPLE_SCENE)
#define SPLAT_ROW_SAMPLE_DISTORTION(type, name, field)                                                                 \
    SPLAT_ROW_CHOICE(type, name, field, splat_sample_distortion, SPLAT_WORDS_SAMPLE_DISTORTION)

static const splat_option options_table[] = {
#define SPLAT_OPTION(field, kind, start, other, range)                                                                 \
    {SPLAT_ROW_##kind(splat_sample_options, field, field), (double)(start), SPLAT_LIMITS_##range, SPLAT_SAVED_NOWHERE},
#include "splatsmith/sample_options.def"
};
static const size_t n_options = sizeof options_table / sizeof options_table[0];

void splat_sample_options_init_sized(splat_sample_options *options, size_t size)
{
    splat_sample_options defaults = {0};
    splat_option_defaults(options_table, n_options, &defaults);
    splat_options_give(options, size, &defaults, sizeof defaults);
}

void splat_sample_options_choose(splat_sample_options *options, splat_sample_scene scene)
{
    const bool is_basic = scene == SPLAT_SAMPLE_SCENE_BASIC;
#define SPLAT_OPTION(field, kind, start, other, range)                                                                 \
    if ((start) != (other)) options->field = is_basic ? (start) : (other);
#include "splatsmith/sample_options.def"
    options->scene = scene;
}

splat_status splat_sample_options_check(const splat_sample_options *o, splat_error *error)
{
    SPLAT_TRY(splat_option_check_all(options_table, n_options, o, error));
    if (o->scene && o->n_cameras < 3)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "n_cameras of the sample is %d; 3 to 999 are possible",
                          o->n_cameras);
    return SPLAT_OK;
}
