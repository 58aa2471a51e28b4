/* A splat's numbers without copies: what the arrays show is what is saved and rendered, and a model made of them is the
 * same model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "model/files.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = WIDTH * HEIGHT };

static splat_trainer *trained(splat_context *context, splat_scene **scene, splat_sh_storage storage, int steps)
{
    splat_train_options options = busy_options(steps);
    options.sh_storage = storage;
    *scene = open_scene(context);
    splat_trainer *trainer = new_trainer(context, *scene, &options);
    run_steps(trainer, steps);
    return trainer;
}

static float element(const splat_array *a, size_t i, size_t j, size_t k)
{
    const char *at = (const char *)a->data + i * a->strides[0] + j * a->strides[1] + k * a->strides[2];
    if (a->type == SPLAT_ARRAY_FLOAT16) return splat_half_decode(*(const uint16_t *)(const void *)at);
    return *(const float *)(const void *)at;
}

/* Every element by shape and strides, against the rows that files get. */
static void assert_shows(const splat_array *a, const float *rows, size_t n, size_t channels)
{
    assert_int_equal(a->gpu, -1);
    assert_int_equal(a->shape[0], n);
    size_t across = a->n_dimensions > 1 ? a->shape[1] : 1, deep = a->n_dimensions > 2 ? a->shape[2] : 1;
    assert_int_equal(across * deep, channels);
    for (size_t i = 0; i < n * channels; i++) {
        float shown = element(a, i / channels, i % channels / deep, i % deep);
        if (shown != rows[i]) fail_msg("element %zu is %g, not %g", i, (double)shown, (double)rows[i]);
    }
}

static void arrays_show_what_is_saved(void **state)
{
    for (int storage = 0; storage < 2; storage++) {
        splat_scene *scene;
        splat_trainer *trainer = trained(*state, &scene, (splat_sh_storage)storage, 40);
        splat_model *model = splat_trainer_get_model(trainer);
        splat_model_arrays arrays;
        splat_cloud cloud;
        splat_error error;
        must(splat_model_get_arrays(model, &arrays, &error), &error);
        must(splat_model_download(model, &cloud, &error), &error);
        size_t n = cloud.n;
        assert_shows(&arrays.means, cloud.means, n, 3);
        assert_shows(&arrays.sh_dc, cloud.sh_dc, n, 3);
        assert_shows(&arrays.sh_rest, cloud.sh_rest, n, 45);
        assert_shows(&arrays.opacities, cloud.opacities, n, 1);
        assert_shows(&arrays.scales, cloud.scales, n, 3);
        assert_shows(&arrays.rotations, cloud.rotations, n, 4);
        assert_shows(&arrays.filter_3d, cloud.filter_3d, n, 1);
        assert_int_equal(arrays.sh_rest.type, storage == 1 ? SPLAT_ARRAY_FLOAT16 : SPLAT_ARRAY_FLOAT32);
        splat_cloud_free(&cloud);
        splat_trainer_destroy(trainer);
        splat_scene_close(scene);
    }
}

static void render(splat_model *model, const splat_camera *camera, float *rgb)
{
    splat_error error;
    must(splat_model_render(model, camera, (const float[3]){0.1f, 0.2f, 0.3f}, rgb, &error), &error);
}

static void what_is_written_is_rendered(void **state)
{
    splat_scene *scene;
    splat_trainer *trainer = trained(*state, &scene, SPLAT_SH_FLOAT32, 3);
    splat_model *model = splat_trainer_get_model(trainer);
    splat_model_arrays arrays;
    splat_view_info view;
    splat_array picture;
    splat_error error;
    float *rgb = malloc(3 * PIXELS * sizeof *rgb);
    must(splat_scene_get_view(scene, 0, &view, &error), &error);
    render(model, &view.camera, rgb);
    must(splat_model_render_array(model, &view.camera, (const float[3]){0.1f, 0.2f, 0.3f}, &picture, &error), &error);
    assert_int_equal(picture.n_dimensions, 3);
    assert_shows(&picture, rgb, 3, PIXELS);
    assert_int_equal(picture.shape[2], WIDTH);
    assert_true(rgb[PIXELS / 2] != 0.1f);
    must(splat_model_get_arrays(model, &arrays, &error), &error);
    for (size_t i = 0; i < arrays.opacities.shape[0]; i++) ((float *)arrays.opacities.data)[i] = -30; /* none is seen */
    render(model, &view.camera, rgb);
    for (int i = 0; i < PIXELS; i++) assert_true(rgb[i] == 0.1f && rgb[2 * PIXELS + i] == 0.3f);
    free(rgb);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

static splat_model_values values_of(const splat_model *model)
{
    splat_model_values values;
    splat_model_arrays a;
    splat_error error;
    splat_model_info info;
    splat_model_get_info(model, &info);
    must(splat_model_get_arrays((splat_model *)model, &a, &error), &error);
    splat_model_values_init(&values);
    values.n = info.n_gaussians;
    values.sh_degree = info.sh_degree;
    values.means = a.means.data;
    values.sh_dc = a.sh_dc.data;
    values.sh_rest = a.sh_rest.data;
    values.opacities = a.opacities.data;
    values.scales = a.scales.data;
    values.rotations = a.rotations.data;
    values.filter_3d = a.filter_3d.data;
    values.render_mode = info.render_mode;
    values.kernel_size = info.kernel_size;
    return values;
}

static void a_model_of_the_arrays_is_the_same(void **state)
{
    splat_scene *scene;
    splat_trainer *trainer = trained(*state, &scene, SPLAT_SH_FLOAT32, 40);
    splat_model *model = splat_trainer_get_model(trainer), *made;
    splat_model_values values = values_of(model);
    splat_error error;
    size_t n, n_made;
    must(splat_model_from_values(*state, &values, &made, &error), &error);
    uint8_t *bytes = model_bytes(model, "model.ply", &n), *made_bytes = model_bytes(made, "made.ply", &n_made);
    assert_int_equal(n, n_made);
    assert_memory_equal(bytes, made_bytes, n);
    free(bytes);
    free(made_bytes);
    splat_model_destroy(made);

    values.sh_rest = NULL; /* zeros; and without a filter it is a classic splat */
    values.filter_3d = NULL;
    values.render_mode = SPLAT_RENDER_AUTO;
    values.kernel_size = 0;
    must(splat_model_from_values(*state, &values, &made, &error), &error);
    splat_model_info info;
    splat_model_arrays arrays;
    splat_model_get_info(made, &info);
    assert_int_equal(info.render_mode, SPLAT_RENDER_CLASSIC);
    assert_true(info.kernel_size == 0.3f && !info.has_filter_3d);
    must(splat_model_get_arrays(made, &arrays, &error), &error);
    assert_null(arrays.filter_3d.data);
    for (size_t i = 0; i < 45 * values.n; i++) assert_true(((float *)arrays.sh_rest.data)[i] == 0);
    splat_model_destroy(made);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

/* Without harmonics the array is there and empty: its shape says so. */
static void no_harmonics_are_an_empty_array(void **state)
{
    static const float means[6], dc[6], opacities[2], scales[6], rotations[8] = {1, 0, 0, 0, 1};
    splat_model_values values;
    splat_model_arrays arrays;
    splat_model *model;
    splat_error error;
    splat_model_values_init(&values);
    values.n = 2;
    values.means = means;
    values.sh_dc = dc;
    values.opacities = opacities;
    values.scales = scales;
    values.rotations = rotations;
    must(splat_model_from_values(*state, &values, &model, &error), &error);
    must(splat_model_get_arrays(model, &arrays, &error), &error);
    assert_int_equal(arrays.sh_rest.n_dimensions, 3);
    assert_int_equal(arrays.sh_rest.shape[1], 0);
    splat_model_destroy(model);

    splat_model_values wrong = values;
#define REFUSED(words)                                                                                                 \
    do {                                                                                                               \
        assert_int_equal(splat_model_from_values(*state, &wrong, &model, &error), SPLAT_ERROR_ARGUMENT);               \
        assert_non_null(strstr(error.message, words));                                                                 \
        assert_null(model);                                                                                            \
        wrong = values;                                                                                                \
    } while (0)
    wrong.scales = NULL;
    REFUSED("a model needs `scales`");
    wrong.n = 0;
    REFUSED("it must have 1 to 2^31");
    wrong.sh_degree = 4;
    REFUSED("must be between 0 and 3");
    wrong.render_mode = (splat_render_mode)7;
    REFUSED("unknown render mode");
}

static void a_picture_is_written_as_bytes(void **state)
{
    (void)state;
    static const float rgb[3][2] = {{0, 1.5f}, {0.5f, -1}, {1, 0.25f}};
    splat_image image;
    splat_error error;
    must(splat_picture_write("picture.png", rgb[0], 2, 1, &error), &error);
    must(splat_image_read("picture.png", &image, &error), &error);
    assert_memory_equal(image.pixels, ((const uint8_t[]){0, 128, 255, 255, 0, 64}), 6);
    splat_image_free(&image);
    assert_int_equal(splat_picture_write("picture.png", rgb[0], 0, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_picture_write("absent/picture.png", rgb[0], 2, 1, &error), SPLAT_ERROR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrays_show_what_is_saved),
                                       cmocka_unit_test(what_is_written_is_rendered),
                                       cmocka_unit_test(a_model_of_the_arrays_is_the_same),
                                       cmocka_unit_test(no_harmonics_are_an_empty_array),
                                       cmocka_unit_test(a_picture_is_written_as_bytes)};
    return cmocka_run_group_tests(tests, open_context_group, close_context_group);
}
