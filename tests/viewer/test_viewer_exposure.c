/* The error against a photo, of the picture as that was exposed: as the loss sees it; colours stay neutral. The client
 * is one without a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/picture/colormap.h"
#include "scene/scene.h"
#include "trainer_fixture.h"
#include "train/state.h"
#include "viewer/clients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One stop and a warm white balance for the photo of view 1, nothing for the others; vignetting of all. */
#define VIGNETTING -0.5
static const double gain[3] = {2.2973967, 2, 1.7411011}; /* 2^1.2, 2^1, 2^0.8 */

static void write_exposures(const splat_scene *scene, const char *path)
{
    splat_error error;
    const splat_dataset *d = &scene->dataset;
    double cameras[1][3] = {{VIGNETTING, 0, 0}};
    splat_exposures e = {calloc(d->n_views, sizeof(splat_photo_exposure)), 0, cameras, 1};
    for (size_t i = 0; i < d->n_views; i++) {
        if (d->views[i].is_test) continue;
        splat_photo_exposure *photo = &e.photos[e.n_photos++];
        photo->name = d->views[i].photo_name;
        splat_photo_exposure_set(photo, i == 1 ? 1 : 0, i == 1 ? 0.2 : 0, i == 1 ? -0.2 : 0);
    }
    must(splat_exposures_write(path, &e, &error), &error);
    free(e.photos);
}

/* The picture that a viewer makes of a view; the caller frees the bytes. */
static splat_viewer_image look(splat_viewer *viewer, splat_model *model, splat_viewer_kind kind, int view)
{
    splat_error error;
    bool rendered;
    const float black[3] = {0, 0, 0};
    splat_viewer_client client = {0};
    splat_viewer_message ask = {.has_wish = true, .wish = {.kind = kind, .view = view, .scaling = 1}};
    ask.wish.camera.width = ask.wish.camera.height = 4096; /* the view's own is smaller */
    assert_true(splat_viewer_join(viewer, &client));
    assert_true(splat_viewer_post(&client, &ask));
    must(splat_viewer_serve(viewer, model, black, 0, &rendered, &error), &error);
    assert_true(rendered);
    splat_viewer_image image = client.image;
    client.image = (splat_viewer_image){0};
    splat_viewer_leave(&client);
    splat_viewer_forget(&client);
    assert_true(splat_viewer_image_fill(&image));
    free(image.planar);
    image.planar = NULL;
    return image;
}

static float *render(splat_model *model, const splat_camera *camera)
{
    splat_error error;
    const float black[3] = {0, 0, 0};
    float *rgb = malloc(3 * (size_t)camera->width * (size_t)camera->height * sizeof *rgb);
    must(splat_model_render(model, camera, black, rgb, &error), &error);
    return rgb;
}

/* By the formula of docs/method.md. */
static void expose(const splat_camera *c, bool has_gain, float *rgb)
{
    const double longer = c->width > c->height ? c->width : c->height;
    const size_t n = (size_t)c->width * (size_t)c->height;
    double mean = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++) {
            const double x = ((double)(i % (size_t)c->width) + 0.5 - (double)c->cx) / longer;
            const double y = ((double)(i / (size_t)c->width) + 0.5 - (double)c->cy) / longer;
            const double v = 1 + VIGNETTING * (x * x + y * y);
            if (pass == 0) mean += v / (double)n;
            for (size_t k = 0; k < 3 && pass; k++) rgb[k * n + i] *= (float)((has_gain ? gain[k] : 1) * v / mean);
        }
}

/* The error map of a view, with or without its exposure, by hand. */
static uint8_t *expected(splat_model *model, splat_scene *scene, size_t view, bool exposed, bool has_gain)
{
    splat_error error;
    const splat_camera *c = &scene->dataset.views[view].camera;
    const size_t n = 3 * (size_t)c->width * (size_t)c->height;
    uint8_t *photo = malloc(n), *map = malloc(n);
    float *rgb = render(model, c);
    if (exposed) expose(c, has_gain, rgb);
    for (size_t i = 0; i < n; i++) rgb[i] = fminf(fmaxf(rgb[i], 0), 1);
    must(splat_scene_read_photo(scene, view, photo, &error), &error);
    splat_error_map(c->width, c->height, rgb, photo, map);
    free(rgb);
    free(photo);
    return map;
}

/* The mean difference in bytes: one step of the colour map counts as the same, because of the formula's rounding. */
static double mean_difference(const splat_viewer_image *image, const uint8_t *other)
{
    const size_t n = 3 * (size_t)image->width * (size_t)image->height;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)image->rgb[i] - other[i]);
    return sum / (double)n;
}

static void assert_error(splat_viewer *viewer, splat_model *model, splat_scene *scene, size_t view, bool exposed)
{
    splat_viewer_image image = look(viewer, model, SPLAT_VIEWER_ERROR, (int)view);
    uint8_t *map = expected(model, scene, view, exposed, view == 1), *other = expected(model, scene, view, !exposed,
                                                                                       view == 1);
    assert_true(mean_difference(&image, map) < 0.2);
    assert_true(mean_difference(&image, other) > 1);
    free(map);
    free(other);
    free(image.rgb);
}

static void assert_neutral_color(splat_viewer *viewer, splat_model *model, const splat_camera *camera)
{
    splat_viewer_image image = look(viewer, model, SPLAT_VIEWER_COLOR, 1), own = {camera->width, camera->height, NULL,
                                                                                 NULL};
    own.planar = render(model, camera);
    assert_true(splat_viewer_image_fill(&own));
    assert_int_equal(image.width, own.width);
    assert_memory_equal(image.rgb, own.rgb, 3 * (size_t)own.width * (size_t)own.height);
    free(image.rgb);
    free(own.planar);
    free(own.rgb);
}

static splat_viewer *open_viewer(void)
{
    splat_error error;
    splat_viewer *viewer;
    splat_viewer_options options;
    splat_viewer_options_init(&options);
    options.port = -1; /* nobody can connect, and nothing but the pictures is needed */
    must(splat_viewer_open(&options, &viewer, &error), &error);
    return viewer;
}

static void test_error_is_of_the_exposed_picture(void **state)
{
    splat_context *context = *state;
    splat_error error;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_scene_options options;
    splat_train_options train;
    splat_step_info step;
    splat_viewer *viewer = open_viewer();
    write_small_sample(context, SCENE, WIDTH, HEIGHT, 8, 200, 0);
    splat_step_info_init(&step);
    splat_scene_options_init(&options);
    options.source_path = SCENE;
    options.eval = true;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    splat_train_options_init(&train);
    train.iterations = 100000;
    train.exposure = true;
    must(splat_trainer_create(context, scene, &train, &trainer, &error), &error);
    for (int i = 0; i < 30; i++) must(splat_trainer_step(trainer, &step, &error), &error);
    write_exposures(scene, "exposure.json");
    must(splat_trainer_load_exposures(trainer, "exposure.json", &error), &error);
    size_t test = 0;
    while (!scene->dataset.views[test].is_test) test++;
    assert_true(test != 1 && !scene->dataset.views[1].is_test);

    splat_model *model = trainer->model;
    must(splat_viewer_watch(viewer, trainer, "train", &error), &error);
    assert_error(viewer, model, scene, 1, true); /* the trainer's own */
    assert_error(viewer, model, scene, 2, true);
    assert_error(viewer, model, scene, test, false);
    assert_neutral_color(viewer, model, &scene->dataset.views[1].camera);

    must(splat_viewer_watch(viewer, NULL, NULL, &error), &error);
    must(splat_viewer_set_scene(viewer, model, scene, &error), &error);
    assert_error(viewer, model, scene, 1, false); /* nothing is known of the photos */
    must(splat_viewer_load_exposures(viewer, "exposure.json", &error), &error);
    assert_error(viewer, model, scene, 1, true);
    assert_error(viewer, model, scene, test, false);
    assert_neutral_color(viewer, model, &scene->dataset.views[1].camera);
    must(splat_viewer_set_scene(viewer, model, scene, &error), &error);
    assert_error(viewer, model, scene, 1, false); /* they were of the scene before */
    assert_int_equal(splat_viewer_load_exposures(viewer, "absent.json", &error), SPLAT_ERROR_IO);

    splat_viewer_close(viewer);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_is_of_the_exposed_picture),
    };
    return cmocka_run_group_tests(tests, open_context_group, close_context_group);
}
