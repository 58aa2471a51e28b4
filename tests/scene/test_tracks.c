/* The nearest depth of each photo; and by the tracks of a COLMAP model the photos that see each point. */
#include "dataset_fixture.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_write.h"
#include "scene/dataset_open.h"
#include "scene/dataset_tracks.h"

#include <unistd.h>

enum { N_PHOTOS = 4, MOST_POINTS = 4000 };

/* A scene of four photos p1.png to p4.png: p4 looks backward, the others along z, all from the origin. Point k lies at
 * depth 10 + k; photos_of says which see it, one bit each, and with OUTSIDE that it is in no picture. twice: each track
 * names its photos twice. */
#define OUTSIDE 16u

static void make_scene(size_t n_points, unsigned (*photos_of)(size_t point), bool twice)
{
    splat_error error;
    splat_colmap_camera camera = {1, 1, 16, 12, 20, 20, 8, 6, {0}};
    static char names[N_PHOTOS][8];
    splat_colmap_image images[N_PHOTOS];
    splat_colmap_tracks tracks = {0};
    splat_colmap_model model = {&camera, 1, images, N_PHOTOS, calloc(n_points + 1, sizeof(splat_point)), n_points,
                                &tracks};
    const splat_colmap_place place = {"points3D.bin", 0, 0};
    fixture_folder("scene");
    ASSERT_OK(splat_folder_create("scene/sparse/0", &error));
    ASSERT_OK(splat_folder_create("scene/images", &error));
    for (uint32_t i = 0; i < N_PHOTOS; i++) {
        char path[64];
        snprintf(names[i], sizeof names[i], "p%u.png", i + 1);
        snprintf(path, sizeof path, "scene/images/p%u.png", i + 1);
        make_png(path, 16, 12);
        images[i] = (splat_colmap_image){i + 1, 1, {1, 0, 0, 0}, {0, 0, 0}, names[i]};
        if (i == 3) images[i].rotation[0] = 0, images[i].rotation[2] = 1;
    }
    for (size_t k = 0; k < n_points; k++) {
        model.points[k].position[2] = (float)(10 + k);
        model.points[k].position[0] = photos_of(k) & OUTSIDE ? 10 + (float)k : 0;
        ASSERT_OK(splat_colmap_tracks_begin(&tracks, 1, &place, &error));
        for (uint32_t i = 0; i < N_PHOTOS; i++)
            for (int times = 0; times < (twice ? 2 : 1) && (photos_of(k) >> i & 1); times++)
                ASSERT_OK(splat_colmap_tracks_add(&tracks, i + 1, &place, &error));
    }
    tracks.places = calloc(2 * tracks.capacity_ids + 1, sizeof *tracks.places);
    assert_non_null(tracks.places);
    ASSERT_OK(splat_colmap_write("scene/sparse/0", &model, &error));
    splat_colmap_tracks_free(&tracks);
    free(model.points);
}

static splat_dataset open_scene(bool eval)
{
    splat_error error;
    splat_dataset d;
    splat_scene_options options = options_of("scene");
    options.eval = eval;
    options.test_camera_count = 1; /* p1.png */
    ASSERT_OK(open_dataset(&options, &d, &error));
    return d;
}

/* ---------------------------------------------------------------- near depths */

/* All pictures but that of p4 contain all points but the first 50. */
static unsigned first_outside(size_t point)
{
    return point < 50 ? OUTSIDE : 1;
}

static void expect_near_depths(size_t n_points, bool eval, float depth)
{
    make_scene(n_points, first_outside, false);
    splat_dataset d = open_scene(eval);
    assert_int_equal(d.views[0].is_test, eval); /* test photos have a depth, too */
    for (int i = 0; i < 3; i++) assert_true(d.views[i].near_depth == depth);
    assert_true(d.views[3].near_depth == 0); /* all are behind it */
    splat_dataset_free(&d);
}

static void test_near_depths(void **state)
{
    (void)state;
    expect_near_depths(50 + 19, false, 0); /* 19 points tell nothing */
    expect_near_depths(50 + 20, false, 30);
    expect_near_depths(50 + 999, true, 30);
    expect_near_depths(50 + 2000, true, 31); /* the third */
}

/* ---------------------------------------------------------------- photos of points */

/* The numbers of photos 1, 2, 3 in turns. */
static unsigned in_turns(size_t point)
{
    static const unsigned photos[] = {1, 3, 7};
    return photos[point % 3];
}

static void test_photos_of_points(void **state)
{
    (void)state;
    make_scene(300, in_turns, true);
    splat_dataset d = open_scene(false);
    for (size_t i = 0; i < 300; i++) assert_int_equal(d.point_photos[i], i % 3 + 1);
    splat_dataset_free(&d);
    d = open_scene(true); /* without p1.png */
    for (size_t i = 0; i < 300; i++) assert_int_equal(d.point_photos[i], i % 3);
    splat_dataset_free(&d);
}

static unsigned three_of_some(size_t point)
{
    return point % 2 ? 7 : point % 4 ? 3 : 1;
}

static void test_floor(void **state)
{
    (void)state;
    make_scene(3998, three_of_some, false); /* 1999 of three photos, 1000 of two, 999 of one */
    splat_dataset d = open_scene(false);
    assert_int_equal(splat_dataset_count_points(&d, 3), 1999);
    assert_int_equal(splat_dataset_least_photos(&d), 2);
    assert_int_equal(splat_dataset_floor(&d, 1 << 20), 2998);
    assert_int_equal(splat_dataset_floor(&d, 1499), 2998);
    assert_int_equal(splat_dataset_floor(&d, 1000), 2000);
    assert_int_equal(splat_dataset_floor(&d, 0), 0);
    splat_dataset_free(&d);
    make_scene(MOST_POINTS, three_of_some, false); /* 2000 of three */
    d = open_scene(false);
    assert_int_equal(splat_dataset_least_photos(&d), 3);
    assert_int_equal(splat_dataset_floor(&d, 1 << 20), 2000);
    splat_dataset_free(&d);
    d = open_scene(true); /* without p1.png none has three */
    assert_int_equal(splat_dataset_least_photos(&d), 2);
    assert_int_equal(splat_dataset_floor(&d, 1 << 20), 2000);
    splat_dataset_free(&d);
}

/* ---------------------------------------------------------------- without tracks */

static unsigned none(size_t point)
{
    (void)point;
    return 0;
}

static void expect_no_tracks(size_t n_points, float near_depth)
{
    splat_dataset d = open_scene(false);
    assert_int_equal(d.n_points, n_points);
    assert_null(d.point_photos);
    assert_true(d.views[0].near_depth == near_depth);
    assert_int_equal(splat_dataset_least_photos(&d), 0);
    assert_int_equal(splat_dataset_floor(&d, 1000), n_points);
    splat_dataset_free(&d);
}

static void test_without_tracks(void **state)
{
    (void)state;
    make_scene(100, none, false);
    expect_no_tracks(100, 5);
    assert_int_equal(unlink("scene/sparse/0/points3D.bin"), 0);
    fixture_text("scene/sparse/0/points3D.txt", "1 0 0 5 1 2 3 0.5 1 0 2 0\n2 0 0 6 1 2 3 0.5 1 0 2 damaged\n");
    expect_no_tracks(2, 0); /* a damaged track costs the tracks, not the scene */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_depths),
        cmocka_unit_test(test_photos_of_points),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_without_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
