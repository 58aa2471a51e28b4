/* What the options of a texture are, and which values they take. */
#include "splatsmith/texture.h"

#include "base/options.h"
#include "math/bound.h"

void splat_texture_options_init_sized(splat_texture_options *options, size_t size)
{
    const splat_texture_options defaults = {.bake = SPLAT_BAKE_PHOTOS,
                                            .texel_density = 1,
                                            .max_texture = 8192,
                                            .polish_steps = 150,
                                            .postprocess_density_threshold = 0.1f,
                                            .postprocess_iterations = 5,
                                            .reject_outliers = true,
                                            .level_exposure = true,
                                            .two_bands = true};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_texture_options_check(const splat_texture_options *options, splat_error *error)
{
    splat_texture_options o;
    splat_texture_options_init(&o);
    SPLAT_TRY(splat_options_take(&o, options, "splat_texture_options", error));
#define SPLAT_TEXTURE_RANGE(field, zero, low, high) SPLAT_OPTION_CHECK(&o, field, zero, low, high)
#include "splatsmith/option_ranges.def"
    if (o.texture_size > o.max_texture)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`texture_size` %d is above `max_texture` %d", o.texture_size,
                          o.max_texture);
    if (o.square_size && o.texture_size)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`square_size` sets the size of the texture itself; leave `texture_size` out");
    if (o.gaussians_per_triangle && !splat_bound_is_per_face(o.gaussians_per_triangle))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gaussians_per_triangle` is 1, 3, 4 or 6, not %d",
                          o.gaussians_per_triangle);
    if (o.bake != SPLAT_BAKE_PHOTOS && o.bake != SPLAT_BAKE_GAUSSIANS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no way %d to bake a texture", (int)o.bake);
    return SPLAT_OK;
}
