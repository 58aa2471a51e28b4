/* Defaults and ranges, from include/splatsmith/sample_options.def. */
#include "sample/sample_options.h"

#include "io/option_text.h"
#include "sample/sample_designs.h"

#define SPLAT_ROW_SAMPLE_SCENE(type, name, field)                                                                      \
    SPLAT_ROW_CHOICE(type, name, field, splat_sample_scene, SPLAT_WORDS_SAMPLE_SCENE)
#define SPLAT_ROW_SAMPLE_DISTORTION(type, name, field)                                                                 \
    SPLAT_ROW_CHOICE(type, name, field, splat_sample_distortion, SPLAT_WORDS_SAMPLE_DISTORTION)

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, other, range) SPLAT_OPTION_OF(splat_sample_options, field, kind, start, range)
#include "splatsmith/sample_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_sample_options, rows);

void splat_sample_options_init_sized(splat_sample_options *options, size_t size)
{
    splat_option_defaults(&table, options, size);
}

splat_status splat_sample_options_set(splat_sample_options *options, const char *name, const char *text,
                                      splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
}

void splat_sample_options_choose(splat_sample_options *options, splat_sample_scene scene)
{
    const bool is_basic = scene == SPLAT_SAMPLE_SCENE_BASIC;
#define CHOOSE(field, start, other) if ((start) != (other)) options->field = is_basic ? (start) : (other);
#define CHOOSE_INT CHOOSE
#define CHOOSE_U64 CHOOSE
#define CHOOSE_REAL CHOOSE
#define CHOOSE_FLAG CHOOSE
#define CHOOSE_SAMPLE_SCENE CHOOSE
#define CHOOSE_SAMPLE_DISTORTION CHOOSE
#define CHOOSE_FILE(field, start, other) /* a text is the caller's */
#define SPLAT_OPTION(field, kind, start, other, range) CHOOSE_##kind(field, start, other)
#include "splatsmith/sample_options.def"
    options->scene = scene;
}

splat_status splat_sample_options_check(const splat_sample_options *o, splat_error *error)
{
    SPLAT_TRY(splat_option_check_all(&table, o, error));
    if (o->scene && o->n_cameras < 3)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "n_cameras of the sample is %d; 3 to 999 are possible",
                          o->n_cameras);
    if (o->things && o->things[0] && splat_sample_largest_thing(o->scene) == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`things` belong to the scenes table, product, place and flight, and this sample is another");
    return SPLAT_OK;
}
