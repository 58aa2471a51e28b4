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

static splat_status check_side(int side, const char *name, splat_error *error)
{
    if (side >= 64 && side <= 65500) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` is 64 to 65500 texels, not %d", name, side);
}

splat_status splat_texture_options_check(const splat_texture_options *options, splat_error *error)
{
    splat_texture_options o;
    splat_texture_options_init(&o);
    SPLAT_TRY(splat_options_take(&o, options, "splat_texture_options", error));
    SPLAT_TRY(check_side(o.max_texture, "max_texture", error));
    if (o.texture_size) SPLAT_TRY(check_side(o.texture_size, "texture_size", error));
    if (o.texture_size > o.max_texture)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`texture_size` %d is above `max_texture` %d", o.texture_size,
                          o.max_texture);
    if (!(o.texel_density > 0 && o.texel_density <= 16))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`texel_density` is above 0 and at most 16, not %g",
                          o.texel_density);
    if (o.square_size && (o.square_size < 5 || o.square_size > 1000))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`square_size` is 5 to 1000 texels, not %d: below 5 nothing is left of the triangles",
                          o.square_size);
    if (o.square_size && o.texture_size)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`square_size` sets the size of the texture itself; leave `texture_size` out");
    if (o.polish_steps < 0 || o.polish_steps > 100000)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`texture_polish` is 0 to 100000 steps, not %d", o.polish_steps);
    if (o.gaussians_per_triangle && !splat_bound_is_per_face(o.gaussians_per_triangle))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gaussians_per_triangle` is 1, 3, 4 or 6, not %d",
                          o.gaussians_per_triangle);
    if (!(o.postprocess_density_threshold >= 0) || o.postprocess_iterations < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`postprocess_density_threshold` and `postprocess_iterations` are 0 and more");
    if (o.jpeg_quality < 0 || o.jpeg_quality > 100)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`jpeg_quality` is 1 to 100, or 0 for PNG, not %d",
                          o.jpeg_quality);
    if (o.bake != SPLAT_BAKE_PHOTOS && o.bake != SPLAT_BAKE_GAUSSIANS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no way %d to bake a texture", (int)o.bake);
    return SPLAT_OK;
}
