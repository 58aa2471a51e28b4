/* The exposures of test photos by their EXIF: the line through the training photos, and what eval measures with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "measure/exposure_exif.h"
#include "trainer_fixture.h"

#include "exif_photo_fixture.h"
#include "exposures_fixture.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- the line */

static bool fit(const splat_exif_photo *photos, size_t n, splat_exif_photo *means, double *slope)
{
    bool holds;
    splat_error error;
    must(splat_exif_line(photos, n, 3, means, slope, &holds, &error), &error);
    return holds;
}

/* Two cameras of different brightness, and a third one with a single photo, on lines of one slope. */
static void a_line_has_a_slope_and_a_mean_a_camera(void **state)
{
    (void)state;
    static const double stops[] = {-1, 0, 2, 3, 10, 10.5, 12, 5};
    static const uint32_t cameras[] = {0, 0, 0, 0, 2, 2, 2, 1};
    splat_exif_photo photos[8], means[3];
    double slope;
    for (int i = 0; i < 8; i++)
        photos[i] = (splat_exif_photo){stops[i], {0.4 * stops[i] - cameras[i], 0.01 * i, 0.5}, cameras[i]};
    assert_true(fit(photos, 8, means, &slope));
    assert_true(fabs(slope - 0.4) < 1e-12);
    assert_true(fabs(means[0].stops - 1) < 1e-12 && fabs(means[0].row[0] - 0.4) < 1e-12);
    assert_true(fabs(means[2].row[1] - 0.05) < 1e-12 && fabs(means[2].row[2] - 0.5) < 1e-12);
    assert_true(means[1].stops == 5 && fabs(means[1].row[0] - 1) < 1e-12);
}

static void a_line_that_foretells_nothing_does_not_hold(void **state)
{
    (void)state;
    static const double stops[] = {0, 1, 2, 3, 4, 5}, chance[] = {0.5, -0.3, 0.4, 0.45, -0.35, 0.5};
    splat_exif_photo photos[6], means[3];
    double slope;
    for (int i = 0; i < 6; i++) photos[i] = (splat_exif_photo){stops[i], {chance[i], 0, 0}, 0};
    assert_false(fit(photos, 6, means, &slope));
    for (int i = 0; i < 6; i++) photos[i].row[0] += 0.3 * stops[i];
    assert_true(fit(photos, 6, means, &slope));
    for (int i = 0; i < 6; i++) photos[i].stops = 7; /* the same exposure */
    assert_false(fit(photos, 6, means, &slope));
    photos[3].stops = 8; /* one differs: without it there is no line */
    assert_false(fit(photos, 6, means, &slope));
    photos[1].stops = 8;
    assert_false(fit(photos, 2, means, &slope));
    assert_false(fit(photos, 0, means, &slope));
}

/* ---------------------------------------------------------------- eval */

#define N_PHOTOS 16 /* 0 and 8 are test photos */

static uint32_t thousandths(int photo)
{
    return 10 + 7 * (uint32_t)(photo * 5 % N_PHOTOS);
}

static double stops_of(int photo)
{
    return log2(thousandths(photo) * 0.001 * 100 / (1.8 * 1.8));
}

/* The photo's EXIF tells, from now on. */
static void tell(int photo)
{
    put_exif(photo, thousandths(photo));
}

static splat_scene *open_phone(splat_context *context)
{
    splat_error error;
    splat_scene *scene;
    splat_scene_options options;
    write_phone_scene(context, N_PHOTOS);
    splat_scene_options_init(&options);
    options.source_path = PHONE_SCENE;
    options.eval = true;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

/* ev = 0.2 + 0.4 (stops - their mean over the training photos), of those that are trained on, or of the others. */
static void write_exposures(const char *path, bool of_test)
{
    splat_error error;
    static splat_photo_exposure photos[N_PHOTOS];
    static char names[N_PHOTOS][32];
    double cameras[1][3] = {{-0.2, 0, 0}}, mean = 0;
    splat_exposures e = {photos, 0, cameras, 1};
    for (int i = 0; i < N_PHOTOS; i++) mean += i % 8 ? stops_of(i) / (N_PHOTOS - 2) : 0;
    for (int i = 0; i < N_PHOTOS; i++) {
        if ((i % 8 == 0) != of_test) continue;
        snprintf(names[i], sizeof names[i], "image_%03d.jpg", i);
        photos[e.n_photos] = (splat_photo_exposure){.name = names[i]};
        splat_photo_exposure_set(&photos[e.n_photos++], 0.2 + 0.4 * (stops_of(i) - mean), 0.1, -0.05);
    }
    must(splat_exposures_write(path, &e, &error), &error);
}

/* Figures as of a file that has the test photos' exposures, once the EXIF of every photo tells; plain ones stay. */
static void test_photos_are_measured_as_their_exif_says(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_phone(context);
    splat_trainer *t = trained_for_exposures(context, scene);
    splat_model *model = splat_trainer_get_model(t);
    write_exposures("train.json", false);
    write_exposures("test.json", true);
    for (int i = 2; i < N_PHOTOS; i++) tell(i);
    tell(0);
    assert_false(evaluate(model, scene, NULL, "train.json").is_exif_exposed); /* training photo 1 is silent */
    tell(1);
    splat_metrics plain = evaluate(model, scene, NULL, NULL), exposed = evaluate(model, scene, "test.json", NULL);
    splat_metrics both = evaluate(model, scene, NULL, "train.json");
    assert_true(!plain.is_exif_exposed && both.is_exif_exposed && !both.is_exposed);
    assert_true(both.psnr == plain.psnr && both.ssim == plain.ssim && both.l1 == plain.l1);
    assert_true(fabs(both.exif_psnr - exposed.psnr) < 1e-4 && fabs(both.exif_ssim - exposed.ssim) < 1e-6);
    assert_true(fabs(exposed.psnr - plain.psnr) > 0.1);
    close_training(context, scene, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_line_has_a_slope_and_a_mean_a_camera),
                                       cmocka_unit_test(a_line_that_foretells_nothing_does_not_hold),
                                       cmocka_unit_test(test_photos_are_measured_as_their_exif_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
