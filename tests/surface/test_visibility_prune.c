/* Gaussians that few training views show: against where their centres lie in the views, hidden ones, and masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"
#include "io/picture/image_write.h"
#include "model/files.h"
#include "scene/scene.h"
#include "sphere_fixture.h" /* after the others, whose names it hides */
#include "trainer_fixture.h"

#include <string.h>

enum { N_SPREAD = 400 };
#define DEVIATION 0.02f
#define NEAR 0.6f

/* Small and half transparent, so that none hides another, in a room that the cameras stand and look in. */
static splat_cloud make_spread(void)
{
    splat_cloud cloud;
    splat_error error;
    must(splat_cloud_make(&cloud, N_SPREAD, 0, false, &error), &error);
    for (size_t i = 0; i < N_SPREAD; i++) {
        splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, 0, i);
        for (size_t k = 0; k < 3; k++) {
            cloud.means[3 * i + k] = 8 * (splat_uniform(r.x[k]) - 0.5f);
            cloud.scales[3 * i + k] = logf(DEVIATION);
        }
        cloud.rotations[4 * i] = 1;
    }
    return cloud;
}

/* In how many training views a Gaussian surely is, and in how many it may be: within 4 of its deviations, and where it
 * is near, all it knows is its side of the camera. */
static void count_views(const splat_scene *scene, const float mean[3], int *sure, int *possible)
{
    *sure = *possible = 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        const splat_camera *c = &scene->dataset.views[scene->dataset.train[i]].camera;
        float at[3];
        for (int k = 0; k < 3; k++) {
            const float *row = c->rotation + 3 * k;
            at[k] = row[0] * mean[0] + row[1] * mean[1] + row[2] * mean[2] + c->translation[k];
        }
        float x = c->fx * at[0] / at[2] + c->cx, y = c->fy * at[1] / at[2] + c->cy;
        float m = 3 + 4 * DEVIATION * c->fx / at[2], w = (float)c->width, h = (float)c->height;
        if (at[2] < 0) continue;
        *sure += at[2] > NEAR && x > m && y > m && x < w - m && y < h - m;
        *possible += at[2] <= NEAR || (x > -m && y > -m && x < w + m && y < h + m);
    }
}

static splat_model *load(splat_context *context, splat_cloud *cloud)
{
    splat_model *model;
    splat_error error;
    must(splat_cloud_write("cloud.ply", cloud, NULL, &error), &error);
    must(splat_model_load(context, "cloud.ply", &model, &error), &error);
    return model;
}

static void those_that_fewer_views_show_go(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_cloud all = make_spread(), left;
    int n_sure_to_stay = 0, n_sure_to_go = 0;
    for (int least = 1; least <= 9; least += 4) {
        splat_model *model = load(context, &all);
        size_t n_removed, at = 0;
        must(splat_model_remove_unseen(scene, model, least, &n_removed, &error), &error);
        must(splat_model_download(model, &left, &error), &error);
        assert_int_equal(left.n + n_removed, N_SPREAD);
        for (size_t i = 0; i < N_SPREAD; i++) { /* in their order */
            int sure, possible;
            bool is_left = at < left.n && memcmp(left.means + 3 * at, all.means + 3 * i, 12) == 0;
            at += is_left;
            count_views(scene, all.means + 3 * i, &sure, &possible);
            if (sure >= least) assert_true(is_left);
            if (possible < least) assert_false(is_left);
            n_sure_to_stay += sure >= least;
            n_sure_to_go += possible < least;
        }
        assert_int_equal(at, left.n);
        splat_cloud_free(&left);
        splat_model_destroy(model);
    }
    print_message("%d surely stay, %d surely go\n", n_sure_to_stay, n_sure_to_go);
    assert_true(n_sure_to_stay > N_SPREAD / 2 && n_sure_to_go > N_SPREAD / 4);
    splat_cloud_free(&all);
    close_training(context, scene, NULL);
}

/* A Gaussian in the middle of an opaque sphere, and those of the sphere that face down, where no camera is. */
static void hidden_ones_go(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context);
    splat_cloud sphere, all, left;
    splat_model *model;
    size_t n_removed, n_inside = 0, n_below = 0, n_above = 0;
    write_sphere("sphere.ply", 8);
    must(splat_cloud_read("sphere.ply", &sphere, &error), &error);
    must(splat_cloud_make(&all, N_DISCS + 1, 0, false, &error), &error);
    all.render_mode = sphere.render_mode;
    memcpy(all.means + 3, sphere.means, 12 * N_DISCS);
    memcpy(all.sh_dc + 3, sphere.sh_dc, 12 * N_DISCS);
    memcpy(all.scales + 3, sphere.scales, 12 * N_DISCS);
    for (size_t i = 3; i < 3 * (N_DISCS + 1); i++) all.scales[i] += i % 3 < 2 ? logf(3) : 0; /* no gaps */
    memcpy(all.rotations + 4, sphere.rotations, 16 * N_DISCS);
    memcpy(all.opacities + 1, sphere.opacities, 4 * N_DISCS);
    for (size_t k = 0; k < 3; k++) all.means[k] = (float)center[k], all.scales[k] = logf(0.2f);
    all.rotations[0] = 1;
    all.opacities[0] = 8;
    model = load(context, &all);
    must(splat_model_remove_unseen(scene, model, 1, &n_removed, &error), &error);
    must(splat_model_download(model, &left, &error), &error);
    for (size_t i = 0; i < left.n; i++) { /* y points down */
        double dy = (double)left.means[3 * i + 1] - center[1];
        n_inside += fabs(dy) < 1e-6 && fabs((double)left.means[3 * i] - center[0]) < 1e-6;
        n_below += dy > 0.9 * RADIUS;
        n_above += dy < -0.5 * RADIUS;
    }
    print_message("%zu removed; %zu inside, %zu below, %zu above left\n", n_removed, n_inside, n_below, n_above);
    assert_int_equal(n_inside, 0);
    assert_true(n_below < N_DISCS / 40); /* of a twentieth; some stand out */
    assert_true(n_above > N_DISCS / 4 * 97 / 100); /* of a quarter */
    splat_cloud_free(&sphere);
    splat_cloud_free(&all);
    splat_cloud_free(&left);
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

/* Masks that leave three training views anything: nothing is seen in a fourth. */
static void masked_pixels_show_nothing(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(1);
    splat_scene_options options;
    splat_scene *scene;
    splat_cloud all = make_spread();
    size_t n_removed;
    write_small_sample(context, "masked", WIDTH, HEIGHT, 12, 100, 1);
    for (int i = 0; i < 12; i++) {
        static uint8_t mask[WIDTH * HEIGHT];
        char path[64];
        memset(mask, i == 1 || i == 5 || i == 9 ? 255 : 0, sizeof mask);
        snprintf(path, sizeof path, "masked/masks/image_%03d.png.png", i);
        must(splat_png_write(path, WIDTH, HEIGHT, 1, 8, mask, &error), &error);
    }
    splat_scene_options_init(&options);
    options.source_path = "masked";
    options.eval = true;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    splat_model *model = load(context, &all);
    must(splat_model_remove_unseen(scene, model, 3, &n_removed, &error), &error);
    assert_true(n_removed > 0 && n_removed < N_SPREAD);
    assert_int_equal(splat_model_remove_unseen(scene, model, 4, &n_removed, &error), SPLAT_ERROR_NUMERIC);
    assert_int_equal(n_removed, 0);
    assert_int_equal(splat_model_remove_unseen(scene, model, 0, &n_removed, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_model_remove_unseen(scene, model, 11, &n_removed, &error), SPLAT_ERROR_ARGUMENT);
    splat_cloud_free(&all);
    splat_model_destroy(model);
    close_training(context, scene, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_that_fewer_views_show_go),
                                       cmocka_unit_test(hidden_ones_go),
                                       cmocka_unit_test(masked_pixels_show_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
