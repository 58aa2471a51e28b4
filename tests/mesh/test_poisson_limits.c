/* mesh/poisson.h: the same bytes with any number of threads, memory, progress, refusals. */
#include "poisson_fixture.h"

/* ---------------------------------------------------------------- threads, memory, progress */

static void threads_change_no_byte(void **state)
{
    (void)state;
    cloud c = box_cloud(20000, 0.01f);
    cloud_color(&c);
    outcome one;
    for (int threads = 1; threads <= 5; threads += 2) {
        splat_poisson_options options = poisson_options_of(7, threads);
        outcome out = reconstruct_with(&c, &options);
        if (threads == 1) {
            one = out;
            continue;
        }
        assert_int_equal(out.mesh.n_vertices, one.mesh.n_vertices);
        assert_int_equal(out.mesh.n_faces, one.mesh.n_faces);
        assert_memory_equal(out.mesh.vertices, one.mesh.vertices, 12 * one.mesh.n_vertices);
        assert_memory_equal(out.mesh.faces, one.mesh.faces, 12 * one.mesh.n_faces);
        assert_memory_equal(out.mesh.colors, one.mesh.colors, 4 * one.mesh.n_vertices);
        assert_memory_equal(out.density, one.density, 4 * one.mesh.n_vertices);
        assert_int_equal(out.report.peak_bytes, one.report.peak_bytes);
        outcome_free(&out);
    }
    outcome_free(&one);
    cloud_free(&c);
}

static void estimate_bounds_what_is_used(void **state)
{
    (void)state;
    for (int depth = 6; depth <= 8; depth += 2)
        for (int shape = 0; shape < 3; shape++) {
            size_t n = shape == 0 ? 1000 : 40000;
            cloud c = shape == 2 ? box_cloud(n, 0.02f) : shape == 1 ? torus_cloud(n) : sphere_cloud(n);
            c.colors = calloc(n, 4);
            splat_poisson_options options = poisson_options_of(depth, 2);
            uint64_t bytes;
            splat_error error;
            assert_int_equal(splat_poisson_estimate(&options, n, true, &bytes, &error), SPLAT_OK);
            outcome out = reconstruct_with(&c, &options);
            print_message("depth %d, %zu points: estimate %.1f MB, used %.1f MB\n", depth, n, (double)bytes / 1e6,
                          (double)out.report.peak_bytes / 1e6);
            assert_true(out.report.peak_bytes <= bytes);
            assert_true(out.report.peak_bytes > bytes / 6); /* and is worth stating */
            outcome_free(&out);
            cloud_free(&c);
        }
}

/* Any block can be the one too many: MEMORY, nothing leaked (ASan), nothing left in the results. */
static void memory_limit_holds(void **state)
{
    (void)state;
    cloud c = sphere_cloud(3000);
    c.colors = calloc(c.n, 4);
    splat_poisson_options options = poisson_options_of(6, 1);
    splat_poisson_points points = cloud_points(&c);
    outcome out = reconstruct_with(&c, &options);
    uint64_t peak = out.report.peak_bytes;
    outcome_free(&out);
    options.memory_limit_bytes = peak;
    out = reconstruct_with(&c, &options);
    outcome_free(&out);
    for (uint64_t k = 0; k < 24; k++) {
        splat_error error;
        options.memory_limit_bytes = k == 23 ? peak - 1 : 1 + peak * k / 24;
        assert_int_equal(splat_poisson_reconstruct(&points, &options, &out.mesh, &out.density, &out.report, &error),
                         SPLAT_ERROR_MEMORY);
        assert_non_null(strstr(error.message, "limit of"));
        assert_true(out.report.peak_bytes <= options.memory_limit_bytes);
        assert_null(out.mesh.vertices);
        assert_null(out.mesh.faces);
        assert_null(out.density);
    }
    cloud_free(&c);
}

typedef struct watcher {
    int calls, stop_at;
    double last, largest_step;
} watcher;

static bool watch(void *user, const char *stage, double fraction)
{
    watcher *w = user;
    assert_true(strlen(stage) > 0);
    assert_true(fraction >= w->last && fraction <= 1);
    w->largest_step = fmax(w->largest_step, fraction - w->last);
    w->last = fraction;
    return ++w->calls != w->stop_at;
}

static void progress_goes_up_and_can_stop(void **state)
{
    (void)state;
    cloud c = sphere_cloud(2000);
    watcher w = {0};
    splat_poisson_options options = poisson_options_of(6, 1);
    splat_poisson_points points = cloud_points(&c);
    options.progress = watch;
    options.progress_user = &w;
    outcome out = reconstruct_with(&c, &options);
    int calls = w.calls;
    print_message("%d calls, steps of at most %.3f\n", calls, w.largest_step);
    assert_true(calls > 40);
    assert_true(w.largest_step < 0.14);
    assert_true(w.last == 1);
    outcome_free(&out);
    for (int k = 1; k <= calls; k++) {
        splat_error error;
        w = (watcher){.stop_at = k};
        assert_int_equal(splat_poisson_reconstruct(&points, &options, &out.mesh, &out.density, NULL, &error),
                         SPLAT_ERROR_STOPPED);
        assert_int_equal(w.calls, k);
        assert_null(out.mesh.vertices);
        assert_null(out.density);
    }
    cloud_free(&c);
}

/* ---------------------------------------------------------------- refusals */

static void expect_refusal(const cloud *c, const splat_poisson_options *options, splat_status expected,
                           const char *words)
{
    splat_mesh mesh;
    float *density;
    splat_error error = {0};
    splat_poisson_points points = cloud_points(c);
    assert_int_equal(splat_poisson_reconstruct(&points, options, &mesh, &density, NULL, &error), expected);
    if (!strstr(error.message, words)) fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    assert_null(mesh.vertices);
    assert_null(density);
}

static void bad_points_are_refused(void **state)
{
    (void)state;
    cloud c = sphere_cloud(100);
    splat_poisson_options options = poisson_options_of(6, 1);
    c.n = 3;
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "here are 3");
    c.n = 0;
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "here are 0");
    c.n = 100;
    float kept = c.positions[17 * 3 + 1];
    c.positions[17 * 3 + 1] = NAN;
    expect_refusal(&c, &options, SPLAT_ERROR_NUMERIC, "point 17 of 100");
    c.positions[17 * 3 + 1] = kept;
    kept = c.normals[99 * 3 + 2];
    c.normals[99 * 3 + 2] = INFINITY;
    expect_refusal(&c, &options, SPLAT_ERROR_NUMERIC, "point 99 of 100");
    c.normals[99 * 3 + 2] = kept;
    memset(c.normals + 3 * 5, 0, 12);
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "point 5 of 100 has a normal of length zero");
    c.normals[3 * 5] = 1;
    static const float weights[] = {0, -1, 2e6f, NAN};
    c.weights = malloc(4 * c.n);
    assert_non_null(c.weights);
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < c.n; i++) c.weights[i] = i == 7 ? weights[k] : 1;
        expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "point 7 of 100 has the weight");
    }
    free(c.weights);
    c.weights = NULL;
    for (size_t i = 0; i < 300; i++) c.positions[i] = 4;
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "within 0 units");
    c.positions[0] = 4.0000005f; /* one step of float */
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "no surface");
    c.positions[0] = -3e38f;
    c.positions[3] = 3e38f;
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, "no surface");
    cloud_free(&c);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    cloud c = sphere_cloud(100);
    const splat_poisson_options good = poisson_options_of(6, 1);
    splat_poisson_options options;
    uint64_t bytes;
    splat_error error;
#define REFUSED(field, value, words)                                                                                   \
    options = good;                                                                                                    \
    options.field = value;                                                                                             \
    expect_refusal(&c, &options, SPLAT_ERROR_ARGUMENT, words);                                                         \
    assert_int_equal(splat_poisson_estimate(&options, 100, false, &bytes, &error), SPLAT_ERROR_ARGUMENT);
    REFUSED(depth, 5, "depth is 5")
    REFUSED(depth, 15, "depth is 15")
    REFUSED(samples_per_node, 0.4, "samples a node")
    REFUSED(samples_per_node, NAN, "samples a node")
    REFUSED(screening, -1, "screening")
    REFUSED(screening, NAN, "screening")
    REFUSED(scale, 1, "scale")
    REFUSED(threads, 0, "0 threads")
    cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_no_byte),
        cmocka_unit_test(estimate_bounds_what_is_used),
        cmocka_unit_test(memory_limit_holds),
        cmocka_unit_test(progress_goes_up_and_can_stop),
        cmocka_unit_test(bad_points_are_refused),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
