/* `split`: sectors of the cameras around a scene, and their control. */
#include "dataset_fixture.h"

#include "io/colmap/colmap_write.h"
#include "scene/camera_ring.h"
#include "scene/dataset_open.h"

#define PI 3.14159265358979323846
#define MOST_N 40

/* Photo k of a COLMAP scene "scene" is cNN.png with NN = names[k] and stands at `degrees[k]` on a ring of radius 3 with
 * its centre at `center`, looks at it from above, and has its top up: y is down. */
static void make_ring(const unsigned *names, const double *degrees, size_t n, const double center[3])
{
    splat_error error;
    splat_colmap_camera camera = {1, 1, 16, 12, 20, 20, 8, 6, {0}};
    splat_colmap_image images[MOST_N];
    splat_point point = {.position = {(float)center[0], (float)center[1], (float)center[2]}};
    char texts[MOST_N][16];
    fixture_folder("scene");
    ASSERT_OK(splat_folder_create("scene/sparse/0", &error));
    ASSERT_OK(splat_folder_create("scene/images", &error));
    for (size_t i = 0; i < n; i++) {
        /* R = Rx(tilt) Ry(-a): the camera looks along R^T z. */
        const double a = degrees[i] * PI / 180, tilt = 0.3, h = a / 2, t = tilt / 2;
        double q[4] = {cos(t) * cos(h), sin(t) * cos(h), -cos(t) * sin(h), -sin(t) * sin(h)};
        double forward[3] = {sin(a) * cos(tilt), sin(tilt), cos(a) * cos(tilt)}, at[3], shift[3];
        double rotation[3][3] = {{cos(a), 0, -sin(a)},
                                 {-sin(tilt) * sin(a), cos(tilt), -sin(tilt) * cos(a)},
                                 {forward[0], forward[1], forward[2]}};
        for (int k = 0; k < 3; k++) at[k] = center[k] - 3 * forward[k];
        for (int r = 0; r < 3; r++)
            shift[r] = -(rotation[r][0] * at[0] + rotation[r][1] * at[1] + rotation[r][2] * at[2]);
        snprintf(texts[i], sizeof texts[i], "c%02u.png", names[i]);
        images[i] = (splat_colmap_image){(uint32_t)(i + 1), 1, {q[0], q[1], q[2], q[3]},
                                         {shift[0], shift[1], shift[2]}, texts[i]};
        char path[64];
        snprintf(path, sizeof path, "scene/images/c%02u.png", names[i]);
        make_png(path, 16, 12);
    }
    splat_colmap_model model = {&camera, 1, images, n, &point, 1, NULL};
    ASSERT_OK(splat_colmap_write("scene/sparse/0", &model, &error));
}

static const double origin[3] = {0, 0, 0}, aside[3] = {5, -2, 7};

/* Names in the order of the ring. */
static void make_plain_ring(size_t n)
{
    unsigned names[MOST_N];
    double degrees[MOST_N];
    for (size_t i = 0; i < n; i++) {
        names[i] = (unsigned)i;
        degrees[i] = 360.0 * (double)i / (double)n + 3;
    }
    make_ring(names, degrees, n, aside);
}

static splat_scene_options of_rule(splat_split_rule rule, int sector)
{
    splat_scene_options options = options_of("scene");
    options.eval = true;
    options.split = rule;
    options.sector = sector;
    return options;
}

/* Fills place[] with the places on the ring, in degrees, of the test photos; degrees[i] is that of name i. */
static size_t find_test(const splat_scene_options *options, const double *degrees, double *places)
{
    splat_error error;
    splat_dataset d;
    ASSERT_OK(open_dataset(options, &d, &error));
    const size_t n = d.n_test;
    for (size_t i = 0; i < n; i++) places[i] = degrees[atoi(d.views[d.test[i]].name + 1)];
    splat_dataset_free(&d);
    return n;
}

static int compare_places(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The widest gap between neighbours on the circle, of all n places. */
static double widest_gap(double *places, size_t n)
{
    qsort(places, n, sizeof *places, compare_places);
    double widest = places[0] + 360 - places[n - 1];
    for (size_t i = 1; i < n; i++) widest = fmax(widest, places[i] - places[i - 1]);
    return widest;
}

/* ---------------------------------------------------------------- cases */

/* 40 photos, 9 degrees apart: five neighbours leave a gap of 324 degrees; five spread ones of 72. */
static void test_sectors(void **state)
{
    (void)state;
    double degrees[MOST_N], places[MOST_N], first[3];
    make_plain_ring(40);
    for (size_t i = 0; i < 40; i++) degrees[i] = 9 * (double)i;
    for (int s = 0; s < 3; s++) {
        splat_scene_options options = of_rule(SPLAT_SPLIT_SECTOR, s);
        assert_int_equal(find_test(&options, degrees, places), 5);
        assert_true(fabs(widest_gap(places, 5) - 324) <= 1e-9);
        /* where the sector begins: after its widest gap */
        first[s] = places[0];
        for (size_t i = 1; i < 5; i++)
            if (places[i] - places[i - 1] > 180) first[s] = places[i];
        options.split = SPLAT_SPLIT_SPREAD;
        assert_int_equal(find_test(&options, degrees, places), 5);
        assert_true(fabs(widest_gap(places, 5) - 72) <= 1e-9);
    }
    /* 13 and 26 places of 40 after the first, the one way or the other */
    const double turn = fmod(first[1] - first[0] + 360, 360), twice = fmod(first[2] - first[0] + 360, 360);
    assert_true((turn == 117 && twice == 234) || (turn == 243 && twice == 126));
}

/* Equally many in both arms, for any share. */
static void test_counts(void **state)
{
    (void)state;
    static const int holds[] = {2, 3, 8, 16, 17, 19};
    double degrees[MOST_N] = {0}, places[MOST_N];
    make_plain_ring(17);
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        for (int rule = SPLAT_SPLIT_SECTOR; rule <= SPLAT_SPLIT_SPREAD; rule++) {
            splat_scene_options options = of_rule((splat_split_rule)rule, (int)(i % 3));
            options.llffhold = holds[i];
            assert_int_equal(find_test(&options, degrees, places), (17 + holds[i] - 1) / holds[i]);
            options.test_camera_count = (int)i;
            assert_int_equal(find_test(&options, degrees, places), i);
        }
}

/* The same cameras under other names, in another order: the same places. */
static void test_names(void **state)
{
    (void)state;
    enum { N = 16, RULES = 2, SETS = 3 };
    double plain[N], permuted[N], expected[RULES][SETS][N], places[N];
    unsigned in_order[N], others[N];
    size_t n = 0;
    for (unsigned i = 0; i < N; i++) {
        plain[i] = 22.5 * i;
        in_order[i] = i;
        others[i] = (7 * i + 3) % N; /* name of the photo that stands at plain[i] */
        permuted[others[i]] = plain[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        make_ring(pass ? others : in_order, plain, N, origin);
        for (int rule = 0; rule < RULES; rule++)
            for (int s = 0; s < SETS; s++) {
                const splat_scene_options options = of_rule((splat_split_rule)(SPLAT_SPLIT_SECTOR + rule), s);
                double *found = pass ? places : expected[rule][s];
                n = find_test(&options, pass ? permuted : plain, found);
                assert_int_equal(n, 2);
                qsort(found, n, sizeof *found, compare_places);
                assert_memory_equal(found, expected[rule][s], n * sizeof *found);
            }
    }
}

static void test_few(void **state)
{
    (void)state;
    static const struct { size_t n, n_test; } table[] = {{2, 1}, {3, 1}, {8, 1}, {9, 2}};
    double degrees[MOST_N] = {0}, places[MOST_N];
    splat_dataset d;
    splat_error error;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        make_plain_ring(table[i].n);
        for (int rule = SPLAT_SPLIT_SECTOR; rule <= SPLAT_SPLIT_SPREAD; rule++)
            for (int s = 0; s < 3; s++) {
                const splat_scene_options options = of_rule((splat_split_rule)rule, s);
                assert_int_equal(find_test(&options, degrees, places), table[i].n_test);
            }
    }
    make_plain_ring(1);
    const splat_scene_options options = of_rule(SPLAT_SPLIT_SECTOR, 2);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "all 1 photos of the scene");
}

/* Without a way around there is no sector. */
static void test_one_place(void **state)
{
    (void)state;
    splat_dataset d;
    splat_error error;
    fixture_folder("scene");
    make_plain_ring(9);
    splat_colmap_camera camera = {1, 1, 16, 12, 20, 20, 8, 6, {0}};
    splat_colmap_image images[9];
    char texts[9][16];
    for (size_t i = 0; i < 9; i++) {
        snprintf(texts[i], sizeof texts[i], "c%02u.png", (unsigned)i);
        const double a = 0.1 * (double)i;
        images[i] = (splat_colmap_image){(uint32_t)(i + 1), 1, {cos(a), 0, sin(a), 0}, {0, 0, 0}, texts[i]};
    }
    splat_point point = {.position = {0, 0, 5}};
    splat_colmap_model model = {&camera, 1, images, 9, &point, 1, NULL};
    ASSERT_OK(splat_colmap_write("scene/sparse/0", &model, &error));
    splat_scene_options options = of_rule(SPLAT_SPLIT_SECTOR, 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "all 9 cameras stand in one place");
    options.split = SPLAT_SPLIT_SPREAD;
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "`split every`");
    options.eval = false;
    expect_split(&options, "");
}

/* The scene's own list holds for `every` only, and split.json always. */
static void test_precedence(void **state)
{
    (void)state;
    double degrees[MOST_N] = {0}, places[MOST_N];
    make_plain_ring(16);
    fixture_text("scene/list_test.txt", "c03.png\n");
    splat_scene_options options = of_rule(SPLAT_SPLIT_EVERY, 0);
    expect_split(&options, "3");
    options.split = SPLAT_SPLIT_SECTOR;
    assert_int_equal(find_test(&options, degrees, places), 2);
    write_split("\"c00.png\", \"c01.png\"", "\"c05.png\"");
    options.split_file = "model/split.json";
    assert_int_equal(find_test(&options, degrees, places), 1);
}

static void test_ranges(void **state)
{
    (void)state;
    splat_dataset d;
    splat_error error;
    make_plain_ring(9);
    splat_scene_options options = of_rule(SPLAT_SPLIT_SECTOR, 3);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "`sector` must be from 0 to 2");
    options = of_rule((splat_split_rule)3, 0);
    assert_failure(open_dataset(&options, &d, &error), SPLAT_ERROR_ARGUMENT, &error, "split");
}

/* ---------------------------------------------------------------- the order itself */

/* A drone above a field: all axes are parallel and no two tops agree. The order is by azimuth around the axis. */
static void test_parallel_axes(void **state)
{
    (void)state;
    enum { N = 12 };
    splat_error error;
    splat_ring_camera ring[N];
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t at = 5 * i % N; /* the place on the circle */
        const double a = 2 * PI * (double)at / N;
        ring[i] = (splat_ring_camera){{cos(a), sin(a), 10}, {0, 0, -1}, {-sin(a), cos(a), 0}, at};
    }
    ASSERT_OK(splat_camera_ring_sort(ring, N, &error));
    const uint32_t step = (ring[1].photo + N - ring[0].photo) % N;
    assert_true(step == 1 || step == N - 1);
    for (uint32_t i = 0; i < N; i++) assert_int_equal((ring[(i + 1) % N].photo + N - ring[i].photo) % N, step);
}

/* A ring around (x, y), whose input begins with another camera each turn. A camera stands where azimuths begin and end:
 * rounding of the centre decides on which end it is, and the order of the input must not. */
static void expect_one_order(double x, double y)
{
    enum { N = 92, TURNS = 7 };
    splat_error error;
    splat_ring_camera ring[N], first[N];
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t at = (7 * i + 13 * turn) % N;
            const double a = 2 * PI * (double)at / N, c = at % (N / 2) == N / 4 ? 0 : cos(a),
                         s = at % (N / 2) == 0 ? 0 : sin(a);
            ring[i] = (splat_ring_camera){{3 * c + x, 3 * s + y, 1}, {-0.8 * c, -0.8 * s, -0.6},
                                          {0.6 * c, 0.6 * s, 0.8}, at};
        }
        ASSERT_OK(splat_camera_ring_sort(ring, N, &error));
        if (turn == 0) memcpy(first, ring, sizeof first);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(ring[i].photo, first[i].photo);
    }
}

static void test_input_order(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) expect_one_order(0.37 * i, 0.11 * i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sectors),   cmocka_unit_test(test_counts),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_few),       cmocka_unit_test(test_one_place),  cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_ranges),    cmocka_unit_test(test_parallel_axes),
        cmocka_unit_test(test_input_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
