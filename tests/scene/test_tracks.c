/* Tracks of a COLMAP model: the nearest depth of each photo, and the photos that see each point. */
#include "dataset_fixture.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_write.h"
#include "scene/dataset_open.h"
#include "scene/dataset_tracks.h"

#include <unistd.h>

enum { N_PHOTOS = 4, MOST_POINTS = 4000 };

/* A scene of four photos p1.png to p4.png: p4 looks backward, the others along z, all from the origin. Point k lies at
 * depth 10 + k; photos_of says which see it, one bit each. twice: each track names its photos twice. */
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

/* p1 sees all, p2 the last 19, p3 the last 20, p4 what is behind it. */
static unsigned by_count(size_t point)
{
    return 1u | (point >= 150 - 19 ? 2u : 0) | (point >= 150 - 20 ? 4u : 0) | 8u;
}

static void test_near_depths(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        make_scene(150, by_count, twice);
        splat_dataset d = open_scene(false);
        assert_true(d.views[0].near_depth == 5.5f); /* of 150 the second is the first percentile: 11 */
        assert_true(d.views[1].near_depth == 0);    /* 19 points tell nothing */
        assert_true(d.views[2].near_depth == 70);   /* of 20 the first: 140 */
        assert_true(d.views[3].near_depth == 0);
        splat_dataset_free(&d);
    }
    make_scene(150, by_count, false);
    splat_dataset d = open_scene(true); /* test photos have a depth, too */
    assert_true(d.views[0].is_test && d.views[0].near_depth == 5.5f);
    splat_dataset_free(&d);
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

static void expect_no_tracks(size_t n_points)
{
    splat_dataset d = open_scene(false);
    assert_int_equal(d.n_points, n_points);
    assert_null(d.point_photos);
    for (size_t i = 0; i < d.n_views; i++) assert_true(d.views[i].near_depth == 0);
    assert_int_equal(splat_dataset_least_photos(&d), 0);
    assert_int_equal(splat_dataset_floor(&d, 1000), n_points);
    splat_dataset_free(&d);
}

static void test_without_tracks(void **state)
{
    (void)state;
    make_scene(100, none, false);
    expect_no_tracks(100);
    assert_int_equal(unlink("scene/sparse/0/points3D.bin"), 0);
    fixture_text("scene/sparse/0/points3D.txt", "1 0 0 5 1 2 3 0.5 1 0 2 0\n2 0 0 6 1 2 3 0.5 1 0 2 damaged\n");
    expect_no_tracks(2); /* a damaged track costs the tracks, not the scene */
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
