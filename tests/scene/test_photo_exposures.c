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
        cmocka_unit_test(a_spread_is_seen),
        cmocka_unit_test(nine_photos_tell_as_much),
        cmocka_unit_test(a_small_spread_is_seen),
        cmocka_unit_test(four_photos_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
