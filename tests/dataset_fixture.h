/* Opening datasets and looking at what came out, for the tests of scene/dataset.h. */
#ifndef SPLAT_TESTS_DATASET_FIXTURE_H
#define SPLAT_TESTS_DATASET_FIXTURE_H

#include "scene_fixture.h"

#include "io/image.h"
#include "scene/dataset.h"

#include <math.h>

static inline void make_png(const char *path, int width, int height)
{
    splat_error error;
    uint8_t *pixels = calloc((size_t)width * (size_t)height, 3);
    assert_non_null(pixels);
    ASSERT_OK(splat_png_write(path, width, height, 3, 8, pixels, &error));
    free(pixels);
}

static inline splat_scene_options options_of(const char *folder)
{
    splat_scene_options options = {.source_path = folder, .resolution = -1, .llffhold = 8, .test_camera_count = -1};
    return options;
}

/* What was logged since it was last emptied. */
static char log_text[8192];
static inline void remember(void *user, splat_log_level level, const char *message)
{
    assert_ptr_equal(user, log_text);
    assert_true(level == SPLAT_LOG_NOTICE || level == SPLAT_LOG_WARNING);
    strncat(log_text, message, sizeof log_text - strlen(log_text) - 1);
}

static inline splat_status open_scene(const splat_scene_options *options, splat_dataset *dataset, splat_error *error)
{
    log_text[0] = '\0';
    memset(error, 0, sizeof *error);
    return splat_dataset_open(options, remember, log_text, dataset, error);
}

/* test_views is like "0 8 16"; every other view must be a training view. */
static inline void expect_split(const splat_scene_options *options, const char *test_views)
{
    splat_error error;
    splat_dataset d;
    char text[512] = "";
    ASSERT_OK(open_scene(options, &d, &error));
    for (size_t i = 0; i < d.n_test; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %u" : "%u", d.test[i]);
    assert_string_equal(text, test_views);
    assert_int_equal(d.n_train + d.n_test, d.n_views);
    size_t train = 0;
    for (uint32_t i = 0; i < d.n_views; i++)
        if (!d.views[i].is_test) assert_int_equal(d.train[train++], i);
    assert_int_equal(train, d.n_train);
    for (size_t i = 0; i < d.n_test; i++) assert_true(d.views[d.test[i]].is_test);
    splat_dataset_free(&d);
}

static inline void write_split(const char *train, const char *test)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"version\": 1, \"train\": [%s], \"test\": [%s]}\n", train, test);
    fixture_folder("model");
    fixture_text("model/split.json", text);
}

static inline void assert_random(const splat_dataset *d, const float center[3], float half_side)
{
    assert_true(d->random_points);
    assert_int_equal(d->n_points, 100000);
    double mean[3] = {0};
    for (size_t i = 0; i < d->n_points; i++)
        for (int k = 0; k < 3; k++) {
            float offset = d->points[i].position[k] - center[k];
            assert_true(fabsf(offset) <= half_side * 1.000001f); /* a rounding of the sum */
            assert_int_equal(d->points[i].color[k], 127);
            mean[k] += offset / 100000.0;
        }
    /* half / sqrt(3 n) is the standard deviation of the mean; five of them */
    for (int k = 0; k < 3; k++) assert_true(fabs(mean[k]) < 5 * half_side / sqrt(3e5));
}

#endif
