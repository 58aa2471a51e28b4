/* A model's numbers as arrays: borrowed where they lie, and a model made of them. */
#include "base/options.h"
#include "io/picture/image.h"
#include "io/picture/image_write.h"
#include "math/camera.h"
#include "model/files.h"
#include "model/render.h"
#include "model/rest.h"

#include <stdlib.h>
#include <string.h>

static int gpu_of(const splat_backend *backend)
{
    return backend->device_bytes ? backend->gpu : -1;
}

/* [n], [n][a] or [n][a][b] without gaps but after rows, which are row_bytes apart. a, b 0: one dimension less. */
static splat_array describe(void *data, int gpu, splat_array_type type, size_t n, size_t a, size_t b, size_t row_bytes)
{
    const size_t element = type == SPLAT_ARRAY_FLOAT16 ? 2 : 4;
    splat_array array = {.data = data, .gpu = gpu, .type = type, .n_dimensions = b ? 3 : a ? 2 : 1,
                         .shape = {n, a, b}, .strides = {row_bytes}};
    if (b) {
        array.strides[1] = b * element;
        array.strides[2] = element;
    } else if (a) {
        array.strides[1] = element;
    }
    return array;
}

static splat_array describe_rest(const splat_model *model, const splat_rest_rows *rows)
{
    const splat_gaussians *g = &rows->gaussians;
    const bool is_half = model->sh_storage == SPLAT_SH_FLOAT16;
    const size_t channels = splat_sh_rest_floats(g->sh_degree);
    splat_array array = describe(rows->data, g->rest_on_host ? -1 : gpu_of(model->backend),
                                 is_half ? SPLAT_ARRAY_FLOAT16 : SPLAT_ARRAY_FLOAT32, g->n, channels / 3, 3,
                                 rows->words * sizeof(uint32_t));
    if (channels) return array;
    array.strides[0] = array.strides[1] = is_half ? 6 : 12; /* of nothing */
    return array;
}

splat_status splat_model_get_arrays(splat_model *model, splat_model_arrays *arrays, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    const int gpu = gpu_of(model->backend);
    const splat_array_type floats = SPLAT_ARRAY_FLOAT32;
    splat_rest_rows rows;
    memset(arrays, 0, sizeof *arrays);
    SPLAT_TRY(splat_rest_open(model, SPLAT_REST_ROWS, &rows, error));
    SPLAT_TRY(splat_backend_synchronize(model->backend, error));
    arrays->means = describe(g->p.means, gpu, floats, g->n, 3, 0, 12);
    arrays->sh_dc = describe(g->p.sh_dc, gpu, floats, g->n, 3, 0, 12);
    arrays->sh_rest = describe_rest(model, &rows);
    arrays->opacities = describe(g->p.opacities, gpu, floats, g->n, 0, 0, 4);
    arrays->scales = describe(g->p.scales, gpu, floats, g->n, 3, 0, 12);
    arrays->rotations = describe(g->p.rotations, gpu, floats, g->n, 4, 0, 16);
    arrays->filter_3d = describe(model->has_filter_3d ? g->filter_3d : NULL, gpu, floats, g->n, 0, 0, 4);
    return SPLAT_OK;
}

splat_status splat_model_render_array(splat_model *model, const splat_camera *camera, const float background[3],
                                      splat_array *rgb, splat_error *error)
{
    const size_t width = (size_t)camera->width, height = (size_t)camera->height;
    memset(rgb, 0, sizeof *rgb);
    SPLAT_TRY(splat_model_rasterize(model, &model->frame, camera, background, false, error));
    SPLAT_TRY(splat_backend_synchronize(model->backend, error));
    *rgb = describe(model->frame.image, gpu_of(model->backend), SPLAT_ARRAY_FLOAT32, 3, height, width,
                    width * height * sizeof(float));
    return SPLAT_OK;
}

splat_status splat_picture_write(const char *path, const float *rgb, int width, int height, splat_error *error)
{
    if (width < 1 || height < 1 || width > SPLAT_IMAGE_MAX_SIDE || height > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %d x %d pixels; each side must be 1 to %d", width,
                          height, SPLAT_IMAGE_MAX_SIDE);
    uint8_t *bytes = malloc(3 * (size_t)width * (size_t)height);
    if (!bytes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture");
    splat_image_from_planar(rgb, width, height, bytes);
    splat_status status = splat_png_write(path, width, height, 3, 8, bytes, error);
    free(bytes);
    return status;
}

/* ---------------------------------------------------------------- from arrays */

void splat_model_values_init_sized(splat_model_values *values, size_t size)
{
    const splat_model_values defaults = {0};
    splat_options_give(values, size, &defaults, sizeof defaults);
}

static splat_status check_values(const splat_model_values *values, splat_error *error)
{
    const float *const arrays[] = {values->means, values->sh_dc, values->opacities, values->scales, values->rotations};
    static const char *const names[] = {"means", "sh_dc", "opacities", "scales", "rotations"};
    if (values->n < 1 || values->n > UINT32_MAX / 2)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a model of %zu Gaussians; it must have 1 to 2^31", values->n);
    if (values->sh_degree < 0 || values->sh_degree > SPLAT_MAX_SH_DEGREE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "sh_degree must be between 0 and %d, not %d",
                          SPLAT_MAX_SH_DEGREE, values->sh_degree);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (!arrays[i])
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a model needs `%s`; give an array", names[i]);
    if ((unsigned)values->render_mode > SPLAT_RENDER_CLASSIC)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown render mode %d", (int)values->render_mode);
    return SPLAT_OK;
}

splat_status splat_model_from_values(splat_context *context, const splat_model_values *caller, splat_model **model,
                                     splat_error *error)
{
    splat_model_values values;
    *model = NULL;
    splat_model_values_init(&values);
    SPLAT_TRY(splat_options_take(&values, caller, "splat_model_values", error));
    SPLAT_TRY(check_values(&values, error));
    float *zeros = NULL;
    if (!values.sh_rest) {
        zeros = calloc(values.n * splat_sh_rest_floats(values.sh_degree) + 1, sizeof *zeros);
        if (!zeros) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the SH of %zu Gaussians", values.n);
    }
    /* borrowed, and only read */
    const splat_cloud cloud = {.n = values.n,
                               .sh_degree = values.sh_degree,
                               .means = (float *)values.means,
                               .sh_dc = (float *)values.sh_dc,
                               .sh_rest = zeros ? zeros : (float *)values.sh_rest,
                               .opacities = (float *)values.opacities,
                               .scales = (float *)values.scales,
                               .rotations = (float *)values.rotations,
                               .filter_3d = (float *)values.filter_3d,
                               .render_mode = values.render_mode,
                               .kernel_size = values.kernel_size};
    splat_status status = splat_model_from_cloud(context, "", &cloud, model, error);
    /* uploads may still read the caller's arrays */
    if (status == SPLAT_OK) status = splat_backend_synchronize((*model)->backend, error);
    if (status != SPLAT_OK) {
        splat_model_destroy(*model);
        *model = NULL;
    }
    free(zeros);
    return status;
}
