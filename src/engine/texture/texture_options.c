/* Options of a texture: defaults and ranges. */
#include "splatsmith/texture.h"

#include "base/options.h"
#include "io/option_text.h"
#include "math/bound.h"

#define SPLAT_ROW_TEXTURE_BAKE(type, name, field)                                                                      \
    SPLAT_ROW_CHOICE(type, name, field, splat_texture_bake, SPLAT_WORDS_TEXTURE_BAKE)

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range) SPLAT_OPTION_OF(splat_texture_options, field, kind, start, range)
#include "splatsmith/texture_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_texture_options, rows);

void splat_texture_options_init_sized(splat_texture_options *options, size_t size)
{
    splat_option_defaults(&table, options, size);
}

splat_status splat_texture_options_set(splat_texture_options *options, const char *name, const char *text,
                                       splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
}

splat_status splat_texture_options_check(const splat_texture_options *options, splat_error *error)
{
    splat_texture_options o;
    splat_texture_options_init(&o);
    SPLAT_TRY(splat_options_take(&o, options, "splat_texture_options", error));
    SPLAT_TRY(splat_option_check_all(&table, &o, error));
    if (o.texture_size > o.max_texture)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`texture_size` %d is above `max_texture` %d", o.texture_size,
                          o.max_texture);
    if (o.square_size && o.texture_size)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`square_size` sets the size of the texture itself; leave `texture_size` out");
    if (o.lods && o.bake == SPLAT_BAKE_GAUSSIANS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`lods` needs `bake photos`: no Gaussians are bound to the faces of coarser levels");
    if (o.gaussians_per_triangle && !splat_bound_is_per_face(o.gaussians_per_triangle))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gaussians_per_triangle` is 1, 3, 4 or 6, not %d",
                          o.gaussians_per_triangle);
    return SPLAT_OK;
}
