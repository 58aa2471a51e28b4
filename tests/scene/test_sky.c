/* The sky of photos: found by what directions share, whatever the exposure, and not where there is none. */
#include "io/picture/image_write.h"
#include "math/dome.h"
#include "scene/scene.h"
#include "scene/sky.h"
#include "scene/sky_colors.h"
#include "scene/sky_keep.h"
#include "scene_fixture.h"
#include "sky_fixture.h"

#include <math.h>
#include <stdlib.h>

/* The share of the sky that is found, and the share of the rest that is taken for sky. */
static void compare(const splat_sky *sky, double *found, double *false_share)
{
    double n[2][2] = {{0}};
    for (size_t i = 0; i < sky->n; i++)
        for (int p = 0; p < SKY_W * SKY_H; p++) n[sky_truth[i][p]][sky->masks[i].pixels && sky->masks[i].pixels[p]]++;
    *found = n[1][1] / fmax(n[1][0] + n[1][1], 1);
    *false_share = n[0][1] / fmax(n[0][0] + n[0][1], 1);
}

static void check_found(sky_world of, double spread, double radius)
{
    splat_error error;
    const splat_sky *sky;
    double found, false_share;
    splat_scene *scene = sky_make_scene(of, SKY_N, spread, NULL);
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    compare(sky, &found, &false_share);
    print_message("world %d, exposures %.1f: fit %.2f at %.3g, %.3f found, %.5f false\n", (int)of, spread, sky->fit,
                  sky->radius, found, false_share);
    assert_true(sky->is_found);
    assert_true(found > (of == SKY_TONES ? 0.983 : 0.89) && false_share < (of == SKY_PAPER ? 0.003 : 0.001));
    if (radius > 0) assert_true(fabs(sky->radius - radius) < 0.3 * radius);
    if (radius == 0) assert_true(sky->radius == 0);
    assert_non_null(strstr(sky_log, "sky: "));
    splat_scene_close(scene);
}

static void a_sky_at_infinity_is_found(void **state)
{
    (void)state;
    check_found(SKY_GRADIENT, 0, 0);
    check_found(SKY_CLOUDS, 0, 0);
}

static void a_painted_ball_is_found(void **state)
{
    (void)state;
    check_found(SKY_BALL, 0, 14);
}

static void exposures_do_not_hide_it(void **state)
{
    (void)state;
    check_found(SKY_GRADIENT, 0.3, 0);
}

/* No direction has a colour, but nothing below is as bright. */
static void clouds_may_drift(void **state)
{
    (void)state;
    check_found(SKY_DRIFT, 0, 0);
    check_found(SKY_DRIFT, 0.3, 0);
    assert_non_null(strstr(sky_log, "times as bright as what is below"));
}

/* Photos of 8 x 8 pixels of one level each, with gains, that look along z, and along x if so said. */
static void find_colors(int n, const uint8_t *levels, const float *gains, const bool *looks_along_x, float *colors)
{
    enum { SIDE = 8 };
    sky_photo photos[4] = {{.rgb = NULL}};
    splat_sky_mask masks[4];
    uint8_t pixels[4][3 * SIDE * SIDE], sky[SIDE * SIDE];
    sky_finder f = {.n = (size_t)n, .photos = photos, .threads = 2};
    bool is_found;
    splat_error error;
    memset(sky, 1, sizeof sky);
    for (int i = 0; i < n; i++) {
        splat_camera *camera = &photos[i].camera;
        *camera = (splat_camera){.width = SIDE, .height = SIDE, .fx = 40, .fy = 40, .cx = 4, .cy = 4};
        camera->rotation[looks_along_x[i] ? 1 : 0] = camera->rotation[looks_along_x[i] ? 5 : 4] = 1;
        camera->rotation[looks_along_x[i] ? 6 : 8] = 1;
        memset(pixels[i], levels[i], sizeof pixels[i]);
        photos[i].rgb = pixels[i];
        for (int k = 0; k < 3; k++) photos[i].gain[k] = gains[i];
        masks[i] = (splat_sky_mask){SIDE, SIDE, sky};
    }
    ASSERT_OK(sky_colors_find(&f, masks, colors, &is_found, &error));
    assert_true(is_found);
}

/* The colours along z and along x. */
static void check_colors(int n, const uint8_t *levels, const float *gains, const bool *looks_along_x, float along_z,
                         float along_x)
{
    float *colors = malloc(SPLAT_DOME_BYTES), got[2][3];
    find_colors(n, levels, gains, looks_along_x, colors);
    for (int i = 0; i < 2; i++) {
        const float direction[3] = {i ? 1.0f : 0.0f, 0, i ? 0.0f : 1.0f};
        const splat_dome_place place = splat_dome_place_of(direction);
        splat_dome_color(colors, &place, got[i]);
    }
    print_message("along z %.3f, along x %.3f\n", (double)got[0][1], (double)got[1][1]);
    assert_true(fabsf(got[0][1] - along_z) < 0.002f && fabsf(got[1][1] - along_x) < 0.002f);
    free(colors);
}

/* Gains count if they bring photos closer to each other; what is saturated says only the least that a colour is. */
static void colors_are_those_of_one_exposure(void **state)
{
    (void)state;
    const bool z[3] = {false, false, false}, one_along_x[3] = {false, false, true};
    check_colors(3, (uint8_t[]){77, 153, 230}, (float[]){0.5f, 1, 1.5f}, z, 0.602f, 0.602f);
    check_colors(3, (uint8_t[]){153, 153, 153}, (float[]){0.5f, 1, 2}, z, 0.6f, 0.6f);
    check_colors(3, (uint8_t[]){77, 153, 255}, (float[]){0.5f, 1, 2}, one_along_x, 0.602f, 0.602f);
    check_colors(3, (uint8_t[]){77, 153, 255}, (float[]){0.5f, 1, 1.25f}, one_along_x, 0.602f, 0.8f);
    check_colors(3, (uint8_t[]){153, 153, 255}, (float[]){1, 1, 1}, z, 0.733f, 0.733f);
    check_colors(3, (uint8_t[]){255, 252, 255}, (float[]){1, 1, 1}, one_along_x, 0.994f, 1);
}

/* No gain makes the photos of one direction equal, and clouds have no plain rim. */
static void lenses_may_darken_corners(void **state)
{
    (void)state;
    check_found(SKY_VIGNETTE, 0.3, 0);
}

/* A curve bends the tones of each sixth photo: no gain makes it like the others. */
static void photos_may_have_their_own_tones(void **state)
{
    (void)state;
    check_found(SKY_TONES, 0.1, 0);
}

/* Colours of one direction differ by up to two dozen levels. */
static void phones_develop_each_photo_in_their_own_way(void **state)
{
    (void)state;
    check_found(SKY_PHONE, 0.1, -1);
}

static void check_none(sky_world of)
{
    splat_error error;
    const splat_sky *sky;
    splat_scene *scene = sky_make_scene(of, SKY_N, 0, NULL);
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    print_message("world %d: fit %.2f, brightness %.2f\n", (int)of, sky->fit, sky->brightness);
    assert_false(sky->is_found);
    for (size_t i = 0; i < sky->n; i++) assert_null(sky->masks[i].pixels);
    splat_scene_close(scene);
}

static void walls_are_no_sky(void **state)
{
    (void)state;
    check_none(SKY_ROOM);
}

/* White paper is the sky though it lies below the horizon, whatever the exposures; a grey table is a surface. */
static void white_paper_is_a_backdrop(void **state)
{
    (void)state;
    check_found(SKY_PAPER, 0, -1);
    assert_non_null(strstr(sky_log, "a white backdrop"));
    check_found(SKY_PAPER, 0.3, -1);
    assert_non_null(strstr(sky_log, "a white backdrop"));
    check_none(SKY_TABLE);
}

/* A ceiling is bright and plain, but the walls end at its height. */
static void a_ceiling_is_no_sky(void **state)
{
    (void)state;
    check_none(SKY_CEILING);
}

/* Walls of one colour are a function of direction; but points of the scene lie on them. */
static void what_has_points_is_no_sky(void **state)
{
    (void)state;
    check_none(SKY_LOFT);
}

/* Photos of plain walls show no points there. But sky does not surround pictures. */
static void walls_with_pictures_are_no_sky(void **state)
{
    (void)state;
    check_none(SKY_PICTURES);
}

/* Shades of walls lie on a ball as large as the room. */
static void shades_of_walls_have_parallax(void **state)
{
    (void)state;
    check_none(SKY_SHADED);
}

static void few_photos_say_nothing(void **state)
{
    (void)state;
    splat_error error;
    const splat_sky *sky;
    splat_scene *scene = sky_make_scene(SKY_GRADIENT, 2, 0, NULL);
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    assert_false(sky->is_found);
    splat_scene_close(scene);
}

static void none_finds_none(void **state)
{
    (void)state;
    splat_error error;
    const splat_sky *sky;
    splat_scene *scene = sky_make_scene(SKY_GRADIENT, SKY_N, 0, "none");
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    assert_false(sky->is_found);
    splat_scene_close(scene);
}

static void threads_do_not_change_it(void **state)
{
    (void)state;
    splat_error error;
    const splat_sky *sky[2];
    splat_scene *scenes[2];
    for (int k = 0; k < 2; k++) {
        sky_context->threads = k ? 3 : 1;
        scenes[k] = sky_make_scene(SKY_CLOUDS, SKY_N, 0.3, NULL);
        ASSERT_OK(splat_scene_find_sky(scenes[k], &sky[k], &error));
    }
    for (size_t i = 0; i < SKY_N; i++) assert_true(sky[0]->masks[i].pixels && sky[1]->masks[i].pixels);
    for (size_t i = 0; i < SKY_N; i++)
        assert_memory_equal(sky[0]->masks[i].pixels, sky[1]->masks[i].pixels, SKY_W * SKY_H);
    for (int k = 0; k < 2; k++) splat_scene_close(scenes[k]);
    sky_context->threads = 2;
}

/* A folder of masks: white is sky, in every photo that has one. */
static void masks_of_a_folder_are_read(void **state)
{
    (void)state;
    splat_sample_options sample;
    splat_scene_options options;
    splat_scene *scene;
    splat_error error;
    const splat_sky *sky;
    uint8_t mask[32 * 24], *trusted;
    splat_sample_options_init(&sample);
    sample.width = 64;
    sample.height = 48;
    sample.n_cameras = 4;
    sample.n_points = 200;
    fixture_sample("s", &sample, 2);
    fixture_folder("s/sky");
    for (int i = 0; i < 32 * 24; i++) mask[i] = i < 32 * 12 ? 255 : 0;
    ASSERT_OK(splat_png_write("s/sky/image_001.png", 32, 24, 1, 8, mask, &error));
    splat_scene_options_init(&options);
    options.source_path = "s";
    options.sky = "sky";
    ASSERT_OK(splat_scene_open(sky_context, &options, &scene, &error));
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    assert_true(sky->is_found && fabs(sky->share - 0.125) < 0.01);
    assert_null(sky->masks[0].pixels);
    ASSERT_OK(splat_sky_take_trusted(sky, 0, 64, 48, &trusted, &error));
    assert_null(trusted);
    ASSERT_OK(splat_sky_take_trusted(sky, 1, 64, 48, &trusted, &error));
    for (int i = 0; i < 64 * 48; i++) assert_int_equal(trusted[i], i / 64 < 24 - SPLAT_SKY_TRUST);
    free(trusted);
    splat_scene_close(scene);
    options.sky = "nowhere";
    assert_failure(splat_scene_open(sky_context, &options, &scene, &error), SPLAT_ERROR_IO, &error, "`sky`");
}

/* Opens a sampled scene of 4 photos as an earlier stage has left its sky. */
static splat_scene *open_after(const splat_scene_options *options, splat_kept_sky *kept)
{
    splat_scene *scene;
    splat_error error;
    ASSERT_OK(splat_scene_open(sky_context, options, &scene, &error));
    splat_scene_use_sky(scene, kept);
    return scene;
}

/* The next scene of the same photos has the sky; one of other photos, of another size or of another option has not. */
static void a_sky_is_handed_on(void **state)
{
    (void)state;
    splat_error error;
    splat_sample_options sample;
    splat_scene_options options;
    splat_kept_sky kept = {0};
    const splat_sky *sky;
    splat_sample_options_init(&sample);
    sample.width = 64;
    sample.height = 48;
    sample.n_cameras = 4;
    sample.n_points = 200;
    fixture_sample("k", &sample, 2);
    splat_scene_options_init(&options);
    options.source_path = "k";
    splat_scene *scene = open_after(&options, &kept);
    splat_scene_keep_sky(scene, &kept);
    assert_null(kept.sky); /* it had not looked for one */
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    splat_scene_keep_sky(scene, &kept);
    splat_scene_close(scene);
    assert_ptr_equal(kept.sky, sky);
    for (int k = 0; k < 4; k++) {
        splat_scene_options other = options;
        if (k == 0) other.resolution = 2;
        if (k == 1) other.sky = "none";
        if (k == 2) other.eval = true;
        if (k == 3) other.images = "images"; /* as the model folder of the last stage says */
        scene = open_after(&other, &kept);
        assert_ptr_equal(scene->sky, k == 3 ? sky : NULL);
        splat_scene_close(scene); /* the last one frees it */
    }
    assert_null(kept.sky);
    splat_kept_sky_free(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sky_at_infinity_is_found), cmocka_unit_test(a_painted_ball_is_found),
        cmocka_unit_test(exposures_do_not_hide_it),   cmocka_unit_test(clouds_may_drift),
        cmocka_unit_test(lenses_may_darken_corners),  cmocka_unit_test(photos_may_have_their_own_tones),
        cmocka_unit_test(phones_develop_each_photo_in_their_own_way),
        cmocka_unit_test(walls_are_no_sky),           cmocka_unit_test(a_ceiling_is_no_sky),
        cmocka_unit_test(what_has_points_is_no_sky),  cmocka_unit_test(walls_with_pictures_are_no_sky),
        cmocka_unit_test(shades_of_walls_have_parallax),
        cmocka_unit_test(white_paper_is_a_backdrop),
        cmocka_unit_test(few_photos_say_nothing),     cmocka_unit_test(none_finds_none),
        cmocka_unit_test(threads_do_not_change_it),   cmocka_unit_test(masks_of_a_folder_are_read),
        cmocka_unit_test(a_sky_is_handed_on),         cmocka_unit_test(colors_are_those_of_one_exposure),
    };
    return cmocka_run_group_tests(tests, sky_begin, sky_end);
}
