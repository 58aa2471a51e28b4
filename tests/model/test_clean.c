/* splat_model_clean: the removed Gaussians, and the unchanged rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/files.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A grid of SIDE^3 small, opaque Gaussians 0.1 apart, from the origin to 0.9, and strange ones after it. */
enum { SIDE = 10, N_GRID = SIDE * SIDE * SIDE, FAINT = N_GRID, LARGE, LONELY, NOT_FINITE, N_ALL };

static splat_model *make_splat(splat_context *context, bool has_filter)
{
    splat_cloud cloud;
    splat_model *model;
    splat_error error;
    must(splat_cloud_make(&cloud, N_ALL, 1, has_filter, &error), &error);
    for (size_t i = 0; i < N_ALL; i++) {
        const size_t place[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE % SIDE};
        for (size_t k = 0; k < 3; k++) {
            cloud.means[3 * i + k] = 0.1f * (float)place[k];
            cloud.scales[3 * i + k] = logf(0.02f);
        }
        for (size_t k = 0; k < 9; k++) cloud.sh_rest[9 * i + k] = (float)(9 * i + k);
        cloud.rotations[4 * i] = 1;
        cloud.opacities[i] = 2;
        if (has_filter) cloud.filter_3d[i] = 0.02f;
    }
    cloud.opacities[FAINT] = -3; /* 0.047 */
    cloud.scales[3 * LARGE + 1] = logf(0.3f);
    cloud.means[3 * LONELY] = 7;
    cloud.means[3 * NOT_FINITE + 2] = NAN;
    for (size_t k = 0; k < 3; k++) /* in the grid, but in no one's place */
        cloud.means[3 * FAINT + k] = 0.45f, cloud.means[3 * LARGE + k] = 0.55f;
    must(splat_model_create(context, 1, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error), &error);
    must(splat_model_resize(model, N_ALL, &error), &error);
    must(splat_model_upload(model, &cloud, &error), &error);
    model->has_filter_3d = has_filter;
    splat_cloud_free(&cloud);
    return model;
}

static splat_clean_options usual(void)
{
    splat_clean_options options;
    splat_clean_options_init(&options);
    return options;
}

/* Cleans a splat of its own and finds which Gaussians are left: is_left[N_ALL]. */
static splat_clean_counts clean(splat_context *context, const splat_clean_options *options, bool has_filter,
                                bool *is_left)
{
    splat_model *model = make_splat(context, has_filter);
    splat_clean_counts counts;
    splat_cloud left;
    splat_error error;
    must(splat_model_clean(model, options, &counts, &error), &error);
    must(splat_model_download(model, &left, &error), &error);
    assert_int_equal(counts.n_before, N_ALL);
    assert_int_equal(counts.n_removed, N_ALL - left.n);
    assert_int_equal(counts.n_removed, counts.n_not_finite + counts.n_outside + counts.n_faint + counts.n_large +
                                           counts.n_lonely);
    memset(is_left, 0, N_ALL * sizeof *is_left);
    size_t last = 0;
    for (size_t i = 0; i < left.n; i++) {
        size_t from = (size_t)left.sh_rest[9 * i] / 9; /* in their order */
        assert_true(i == 0 || from > last);
        last = from;
        is_left[from] = true;
    }
    splat_cloud_free(&left);
    splat_model_destroy(model);
    return counts;
}

static void only_what_is_not_finite_goes_by_default(void **state)
{
    bool is_left[N_ALL];
    splat_clean_counts counts = clean(*state, NULL, false, is_left);
    assert_int_equal(counts.n_not_finite, 1);
    assert_int_equal(counts.n_removed, 1);
    assert_false(is_left[NOT_FINITE]);
}

/* Harmonics are parameters, too. */
static void colours_that_are_not_finite_go(void **state)
{
    splat_model *model = make_splat(*state, true);
    splat_cloud cloud;
    splat_clean_counts counts;
    splat_error error;
    must(splat_model_download(model, &cloud, &error), &error);
    cloud.sh_dc[3 * 5 + 2] = NAN;
    cloud.sh_rest[9 * 7 + 8] = INFINITY;
    cloud.filter_3d[9] = NAN;
    must(splat_model_upload(model, &cloud, &error), &error);
    must(splat_model_clean(model, NULL, &counts, &error), &error);
    assert_int_equal(counts.n_not_finite, 4); /* with NOT_FINITE itself */
    assert_int_equal(counts.n_removed, 4);
    splat_cloud_free(&cloud);
    splat_model_destroy(model);
}

static void a_box_keeps_the_centres_inside(void **state)
{
    bool is_left[N_ALL];
    splat_clean_options options = usual();
    options.has_bbox = true;
    for (int k = 0; k < 3; k++) options.bbox_low[k] = -1, options.bbox_high[k] = 10;
    options.bbox_low[1] = 0.35;  /* y of 0.4 to 0.6: three of ten layers, and the two inside the grid */
    options.bbox_high[1] = 0.65;
    splat_clean_counts counts = clean(*state, &options, false, is_left);
    for (size_t i = 0; i < N_GRID; i++) assert_int_equal(is_left[i], i / SIDE % SIDE >= 4 && i / SIDE % SIDE <= 6);
    assert_int_equal(counts.n_outside, 700 + 1); /* and the lonely one, at y = 0 */
    assert_true(is_left[FAINT] && is_left[LARGE]);
}

static void each_filter_finds_its_own(void **state)
{
    bool is_left[N_ALL];
    splat_clean_options options = usual();
    options.min_opacity = 0.1;
    assert_int_equal(clean(*state, &options, false, is_left).n_faint, 1);
    assert_false(is_left[FAINT]);
    options = usual();
    options.max_size = 0.1; /* of 0.9 sqrt(3) = 1.56: one lonely centre at 7 must not count */
    assert_int_equal(clean(*state, &options, false, is_left).n_large, 1);
    assert_false(is_left[LARGE]);
    options.max_size = 0.2; /* 0.31 */
    assert_int_equal(clean(*state, &options, false, is_left).n_large, 0);
    options = usual();
    options.outlier_std = 10;
    assert_int_equal(clean(*state, &options, false, is_left).n_lonely, 1);
    assert_false(is_left[LONELY]);
    options.max_size = 0.1;
    options.min_opacity = 0.1;
    splat_clean_counts counts = clean(*state, &options, false, is_left);
    assert_int_equal(counts.n_removed, 4);
    for (size_t i = 0; i < N_GRID; i++) assert_true(is_left[i]);
}

/* A filter as wide as the Gaussians takes 1 - 2^-1.5 of their opacity of 0.88, which leaves 0.31. */
static void the_3d_filter_counts(void **state)
{
    bool is_left[N_ALL];
    splat_clean_options options = usual();
    options.min_opacity = 0.35;
    assert_int_equal(clean(*state, &options, false, is_left).n_faint, 1);
    splat_clean_counts counts = clean(*state, &options, true, is_left); /* LARGE has 0.88 / 2 */
    assert_int_equal(counts.n_faint, N_ALL - 2);
    assert_true(is_left[LARGE]);
}

static void gaussians_in_one_place_are_not_lonely(void **state)
{
    splat_cloud cloud;
    splat_model *model;
    splat_clean_options options = usual();
    splat_clean_counts counts;
    splat_error error;
    must(splat_cloud_make(&cloud, 50, 0, false, &error), &error);
    for (size_t i = 0; i < 50; i++) cloud.means[3 * i] = i < 25 ? 0 : (float)i;
    must(splat_model_create(*state, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error), &error);
    must(splat_model_resize(model, 50, &error), &error);
    must(splat_model_upload(model, &cloud, &error), &error);
    options.outlier_std = 20;
    must(splat_model_clean(model, &options, &counts, &error), &error);
    assert_int_equal(counts.n_removed, 0);
    splat_cloud_free(&cloud);
    splat_model_destroy(model);
}

static void nothing_left_is_an_error_and_changes_nothing(void **state)
{
    splat_model *model = make_splat(*state, false);
    splat_clean_options options = usual();
    splat_model_info info;
    splat_error error;
    options.min_opacity = 1;
    assert_int_equal(splat_model_clean(model, &options, NULL, &error), SPLAT_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "none of 1004 Gaussians would be left"));
    splat_model_get_info(model, &info);
    assert_int_equal(info.n_gaussians, N_ALL);
    splat_model_destroy(model);
}

static void options_are_checked(void **state)
{
    (void)state;
    splat_clean_options options = usual();
    splat_error error;
    options.has_bbox = true;
    assert_int_equal(splat_clean_options_check(&options, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the box is empty"));
    options = usual();
    options.min_opacity = 1.5;
    assert_int_equal(splat_clean_options_check(&options, &error), SPLAT_ERROR_ARGUMENT);
    options = usual();
    options.max_size = NAN;
    assert_int_equal(splat_clean_options_check(&options, &error), SPLAT_ERROR_ARGUMENT);
    options = usual();
    options.outlier_neighbors = 33;
    assert_int_equal(splat_clean_options_check(&options, &error), SPLAT_ERROR_ARGUMENT);
    options = usual();
    options.outlier_std = -1;
    assert_int_equal(splat_clean_options_check(&options, &error), SPLAT_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_not_finite_goes_by_default),
        cmocka_unit_test(colours_that_are_not_finite_go),
        cmocka_unit_test(a_box_keeps_the_centres_inside),
        cmocka_unit_test(each_filter_finds_its_own),
        cmocka_unit_test(the_3d_filter_counts),
        cmocka_unit_test(gaussians_in_one_place_are_not_lonely),
        cmocka_unit_test(nothing_left_is_an_error_and_changes_nothing),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests_name("clean", tests, open_context_group, close_context_group);
}
