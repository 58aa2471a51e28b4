/* The exposure of a photo, guessed of those before and after it; and what eval measures with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "measure/exposure_guess.h"
#include "trainer_fixture.h"

#include "exposures_fixture.h"

#include <math.h>
#include <string.h>

/* Names in their order; log2 gains e, a, b of each. */
typedef struct known_photo {
    const char *name;
    double row[3];
    uint32_t camera;
} known_photo;

static splat_exposures exposures_of(const known_photo *known, size_t n)
{
    static splat_photo_exposure photos[16];
    static double cameras[2][3];
    for (size_t i = 0; i < n; i++) {
        photos[i] = (splat_photo_exposure){.name = (char *)known[i].name, .camera = known[i].camera};
        splat_photo_exposure_set(&photos[i], known[i].row[0], known[i].row[1], known[i].row[2]);
    }
    return (splat_exposures){photos, n, cameras, 2};
}

static void assert_guess(const splat_exposures *known, const char *name, double e, double a, double b)
{
    splat_photo_exposure guess;
    double row[3];
    assert_true(splat_exposure_guess(known, name, &guess));
    splat_photo_exposure_get(&guess, row);
    if (!(fabs(row[0] - e) < 1e-12 && fabs(row[1] - a) < 1e-12 && fabs(row[2] - b) < 1e-12))
        fail_msg("%s: %g %g %g, not %g %g %g", name, row[0], row[1], row[2], e, a, b);
}

static void photos_between_others_are_between_them(void **state)
{
    (void)state;
    static const known_photo known[] = {{"v/0010.jpg", {0.4, 0, 0.1}, 0}, {"v/0020.jpg", {-0.6, 0.2, 0}, 0},
                                        {"v/0030.jpg", {1, 0.4, 0}, 1},   {"w/0014.jpg", {3, 3, 3}, 0},
                                        {"v/0016.png", {4, 4, 4}, 0},     {"v/9.jpg", {0, 0, 0}, 0},
                                        {"none.jpg", {5, 5, 5}, 0}};
    const splat_exposures e = exposures_of(known, 7);
    splat_photo_exposure guess;
    assert_guess(&e, "v/0014.jpg", 0, 0.08, 0.06);
    assert_guess(&e, "v/0010.jpg", -3 / 55.0, 1 / 55.0, 0); /* of 9 and 20, not of itself */
    assert_guess(&e, "v/0003.jpg", 0, 0, 0);                /* of the one side there is */
    assert_guess(&e, "v/99.jpg", 1, 0.4, 0);
    assert_guess(&e, "v/0024.jpg", -0.6, 0.2, 0);           /* cameras are not mixed */
    assert_guess(&e, "v/0027.jpg", 1, 0.4, 0);
    assert_false(splat_exposure_guess(&e, "x/0014.jpg", &guess));
    assert_false(splat_exposure_guess(&e, "other.jpg", &guess));
    assert_false(splat_exposure_guess(&e, "v/0014.jpeg", &guess));
}

static void a_walk_is_told_from_chance(void **state)
{
    (void)state;
    static const double walk[12] = {0, 0.1, 0.15, 0.3, 0.35, 0.3, 0.2, 0.1, 0, -0.2, -0.3, -0.25};
    static const double chance[12] = {0.3, -0.2, 0.15, 0.35, -0.3, 0.1, 0, -0.25, 0.1, 0.2, -0.2, 0.3};
    char names[12][8];
    known_photo known[12];
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 12; i++) {
            snprintf(names[i], sizeof names[i], "%02d.png", 2 * i);
            known[i] = (known_photo){names[i], {pass ? chance[i] : walk[i], 0, 0}, 0};
        }
        const splat_exposures e = exposures_of(known, 12);
        assert_true(splat_exposures_follow(&e) == !pass);
    }
    known[5].name = "last.png"; /* one that has no place among the others */
    for (int i = 0; i < 12; i++) known[i].row[0] = walk[i];
    const splat_exposures e = exposures_of(known, 12);
    assert_false(splat_exposures_follow(&e));
    assert_false(splat_exposures_follow(&(splat_exposures){0}));
}

/* ---------------------------------------------------------------- eval */

/* exposure.json of a scene's photos, drifting by their numbers: of those that are trained on, or of the others, of
 * which the first and the last have a neighbour on one side alone. */
static void write_drift(const char *path, const splat_scene_info *info, bool of_test, double per_photo)
{
    splat_error error;
    static splat_photo_exposure photos[64];
    static char names[64][40];
    double cameras[1][3] = {{-0.2, 0, 0}};
    splat_exposures e = {photos, 0, cameras, 1};
    for (size_t i = 0; i < info->n_train + info->n_test; i++) {
        if ((i % 8 == 0) != of_test) continue;
        snprintf(names[i], sizeof names[i], "image_%03zu.png", i);
        photos[e.n_photos] = (splat_photo_exposure){.name = names[i]};
        double number = i == 0 ? 1 : i == info->n_train + info->n_test - 1 ? (double)i - of_test : (double)i;
        splat_photo_exposure_set(&photos[e.n_photos++], per_photo * number, 0.1 * per_photo * number, 0);
    }
    must(splat_exposures_write(path, &e, &error), &error);
}

/* Figures with the exposures of a file of the test photos, in addition to the plain ones, which do not change. */
static void test_photos_of_a_video_are_measured_as_exposed(void **state)
{
    (void)state;
    splat_error error;
    splat_scene_info info;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_scene_get_info(scene, &info);
    splat_trainer *t = trained_for_exposures(context, scene);
    splat_model *model = splat_trainer_get_model(t);
    write_drift("train.json", &info, false, 0.05);
    write_drift("test.json", &info, true, 0.05);
    splat_metrics plain = evaluate(model, scene, NULL, NULL), exposed = evaluate(model, scene, "test.json", NULL);
    splat_metrics both = evaluate(model, scene, NULL, "train.json");
    assert_true(!plain.is_exposed && both.is_exposed);
    assert_true(both.psnr == plain.psnr && both.ssim == plain.ssim && both.l1 == plain.l1);
    assert_true(fabs(both.exposed_psnr - exposed.psnr) < 1e-4 && fabs(both.exposed_ssim - exposed.ssim) < 1e-6);
    assert_true(fabs(exposed.psnr - plain.psnr) > 0.1);
    assert_int_equal(splat_file_write("train.json", "{}", 2, &error), SPLAT_OK);
    splat_view_job job;
    splat_view_job_init(&job);
    job.nearby_exposures = "train.json";
    assert_int_equal(splat_model_evaluate(model, scene, &job, &both, &error), SPLAT_ERROR_FORMAT);
    close_training(context, scene, t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(photos_between_others_are_between_them),
                                       cmocka_unit_test(a_walk_is_told_from_chance),
                                       cmocka_unit_test(test_photos_of_a_video_are_measured_as_exposed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
