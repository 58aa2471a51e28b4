/* The spread of exposures: found where there is one, and not where things hide points. */
#include "check.h"
#include "scene_fixture.h"
#include "splatsmith/scene.h"
#include "trainer_fixture.h"

#include <stdio.h>

static splat_exposure_spread measure(splat_sample_scene world, uint64_t seed, float spread, int n_cameras)
{
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_sample_options sample;
    splat_scene_options options;
    splat_scene *scene;
    splat_exposure_spread result;
    splat_sample_options_init(&sample);
    splat_sample_options_choose(&sample, world);
    sample.width = 96;
    sample.height = 72;
    sample.n_cameras = n_cameras;
    sample.n_points = 1500;
    sample.n_truth = 100;
    sample.supersample = 2;
    sample.seed = seed;
    sample.exposure_spread = spread;
    if (world == SPLAT_SAMPLE_SCENE_PLACE) {
        sample.things = "town.obj";
        sample.n_points = 60000;
        sample.width = 240;
        sample.height = 180;
        sample.supersample = 1;
    }
    splat_folder_delete("exposed", NULL);
    ASSERT_OK(splat_sample_write(context, "exposed", &sample, &error));
    splat_scene_options_init(&options);
    options.source_path = "exposed";
    ASSERT_OK(splat_scene_open(context, &options, &scene, &error));
    ASSERT_OK(splat_scene_measure_exposures(scene, &result, &error));
    splat_scene_close(scene);
    splat_context_destroy(context);
    return result;
}

static const splat_sample_scene worlds[] = {SPLAT_SAMPLE_SCENE_BASIC, SPLAT_SAMPLE_SCENE_OBJECTS,
                                            SPLAT_SAMPLE_SCENE_ROOM, SPLAT_SAMPLE_SCENE_HALL};
enum { N_WORLDS = sizeof worlds / sizeof worlds[0] };

/* A town of 6 x 6 houses, dark and bright, which hide each other. */
static void write_town(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 36; i++)
        for (int k = 0; k < 8; k++) {
            const double gray = i % 3 == 0 ? 0.3 : 0.06 * (i % 5) + 0.5;
            fprintf(file, "v %g %g %d %g %g %g\n", 2 * (i % 6) + (k & 1 ? 1.2 : 0), 2 * (i / 6) + (k & 2 ? 1.2 : 0),
                    k & 4 ? 1 + i % 4 : 0, gray, gray, gray);
        }
    static const int sides[5][4] = {{1, 2, 6, 5}, {2, 4, 8, 6}, {4, 3, 7, 8}, {3, 1, 5, 7}, {5, 6, 8, 7}};
    for (int i = 0; i < 36; i++)
        for (int s = 0; s < 5; s++)
            fprintf(file, "f %d %d %d %d\n", 8 * i + sides[s][0], 8 * i + sides[s][1], 8 * i + sides[s][2],
                    8 * i + sides[s][3]);
    assert_int_equal(fclose(file), 0);
}

/* Seeds are [first, first + n): in short runs one, another in each world. */
static uint64_t first_seed(int world)
{
    return tests_are_long() ? 0 : (uint64_t)(world + 1) % 3;
}

static uint64_t n_seeds(void)
{
    return tests_are_long() ? 3 : 1;
}

static void constant_exposures_are_alike(void **state)
{
    (void)state;
    for (int w = 0; w < N_WORLDS; w++)
        for (uint64_t k = 0; k < n_seeds(); k++) {
            const uint64_t seed = first_seed(w) + k;
            const splat_exposure_spread s = measure(worlds[w], seed, 0, 20);
            print_message("world %d, seed %d: %.3f +- %.3f, %.3f\n", w, (int)seed, s.deviation, s.error, s.explained);
            assert_false(s.differs);
            assert_true(s.n_photos >= 10);
            if (seed != 1) continue;
            const splat_exposure_spread t = measure(worlds[w], seed, 0, 9);
            print_message("of nine: %zu, %.3f +- %.3f, %.3f\n", t.n_photos, t.deviation, t.error, t.explained);
            assert_false(t.differs);
        }
}

static void hidden_points_are_no_exposures(void **state)
{
    (void)state;
    write_town("town.obj");
    for (uint64_t seed = 0; seed < (tests_are_long() ? 2 : 1); seed++) { /* with seed 2 eight photos show one wall */
        const splat_exposure_spread s = measure(SPLAT_SAMPLE_SCENE_PLACE, seed, 0, 40);
        print_message("seed %d: %zu photos, %.3f +- %.3f, %.3f\n", (int)seed, s.n_photos, s.deviation, s.error,
                      s.explained);
        assert_false(s.differs);
    }
}

static void a_spread_is_seen(void **state)
{
    (void)state;
    for (int w = 0; w < N_WORLDS; w++)
        for (uint64_t k = 0; k < n_seeds(); k++) {
            const uint64_t seed = first_seed(w) + k;
            const splat_exposure_spread s = measure(worlds[w], seed, 0.5f, 20);
            print_message("world %d, seed %d: %zu photos, %.3f +- %.3f, %.3f\n", w, (int)seed, s.n_photos, s.deviation,
                          s.error, s.explained);
            assert_true(s.differs);
            assert_true(s.deviation > 0.1 && s.deviation < 0.6 && s.error < 0.06);
        }
}

static void nine_photos_tell_as_much(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < n_seeds(); seed++) {
        const splat_exposure_spread s = measure(SPLAT_SAMPLE_SCENE_OBJECTS, seed, 0.3f, 9);
        print_message("seed %d: %zu photos, %.3f +- %.3f, %.3f\n", (int)seed, s.n_photos, s.deviation, s.error,
                      s.explained);
        assert_true(s.differs);
    }
}

/* A deviation of 0.06 stops costs a decibel. */
static void a_small_spread_is_seen(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < n_seeds(); seed++) {
        const splat_exposure_spread s = measure(SPLAT_SAMPLE_SCENE_BASIC, seed, 0.15f, 20);
        print_message("seed %d: %.3f +- %.3f, %.3f\n", (int)seed, s.deviation, s.error, s.explained);
        assert_true(s.differs && s.deviation < 0.15);
    }
}

static void four_photos_say_nothing(void **state)
{
    (void)state;
    assert_int_equal(measure(SPLAT_SAMPLE_SCENE_BASIC, 0, 0.5f, 4).n_photos, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_exposures_are_alike),
        cmocka_unit_test(hidden_points_are_no_exposures),
        cmocka_unit_test(a_spread_is_seen),
        cmocka_unit_test(nine_photos_tell_as_much),
        cmocka_unit_test(a_small_spread_is_seen),
        cmocka_unit_test(four_photos_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
