/* Planes where photos are plain: walls of a room become flat, a ball and a column stay. */
#include "plane_fixture.h"
#include "sugar/planes/plane_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PI 3.14159265358979

/* People who walk through the room and look around. */
static void walk(splat_camera *cameras, size_t n, int width)
{
    for (size_t i = 0; i < n; i++) {
        double a = 4 * PI * (double)i / (double)n, radius = i < n / 2 ? 1.2 : 0.7;
        double b = a + (i % 3 == 0 ? 3.1 : i % 3 == 1 ? 0.6 : -0.9);
        double from[3] = {1.4 * radius * cos(a), radius * sin(a), 1.5 + 0.2 * sin(5 * a)};
        double to[3] = {from[0] + 2 * cos(b), from[1] + 2 * sin(b), i % 4 == 3 ? 2.0 : i % 4 == 1 ? 1.0 : 1.4};
        cameras[i] = room_camera(from, to, width, 3 * width / 4, 0.75 * width);
    }
}

static splat_planes_options options_for(room *r, int threads)
{
    return (splat_planes_options){.threads = threads, .seed = 1, .photo = room_photo, .photo_user = r};
}

static float **copy_depths(const room *r)
{
    float **copy = malloc(r->maps.n * sizeof *copy);
    for (size_t v = 0; v < r->maps.n; v++) {
        size_t bytes = splat_camera_pixels(&r->maps.views[v].camera) * sizeof **copy;
        copy[v] = malloc(bytes);
        memcpy(copy[v], r->maps.views[v].depth, bytes);
    }
    return copy;
}

static void free_depths(float **depths, size_t n)
{
    for (size_t v = 0; v < n; v++) free(depths[v]);
    free(depths);
}

/* Of the pixels of a kind, the part that has another depth than before. */
static double part_changed(const room *r, float *const *before, int kind)
{
    size_t n = 0, n_changed = 0;
    for (size_t v = 0; v < r->maps.n; v++)
        for (size_t p = 0; p < splat_camera_pixels(&r->maps.views[v].camera); p++) {
            if (r->hits[v][p].kind != kind) continue;
            n++;
            n_changed += r->maps.views[v].depth[p] != before[v][p];
        }
    assert_true(n > 0);
    return (double)n_changed / (double)n;
}

/* And the part that was given a depth off by more than 3 %. */
static double room_part_wrong(const room *r, float *const *before, int kind)
{
    size_t n = 0, n_wrong = 0;
    for (size_t v = 0; v < r->maps.n; v++)
        for (size_t p = 0; p < splat_camera_pixels(&r->maps.views[v].camera); p++) {
            float depth = r->maps.views[v].depth[p], exact = r->hits[v][p].z;
            if (r->hits[v][p].kind != kind) continue;
            n++;
            n_wrong += depth != before[v][p] && fabsf(depth - exact) > 0.03f * exact;
        }
    return (double)n_wrong / (double)n;
}

static void walls_become_flat_and_round_things_stay(void **state)
{
    (void)state;
    enum { N = 24 };
    splat_camera cameras[N];
    splat_error error;
    splat_planes_info info;
    room r;
    walk(cameras, N, 240);
    assert_true(room_make(&r, N, cameras, 0.25f, 0.003f));
    float **before = copy_depths(&r);
    double walls = room_part_near(&r, ROOM_WALL, 0.02f), posters = room_part_near(&r, ROOM_POSTER, 0.02f);
    double floor = room_part_near(&r, ROOM_FLOOR, 0.02f);
    splat_planes_options options = options_for(&r, 2);
    assert_int_equal(splat_planes_find(&r.maps, &options, &info, &error), SPLAT_OK);
    print_message("walls within 0.02: %.3f before, %.3f after; round things changed: %.4f, %.4f\n", walls,
                  room_part_near(&r, ROOM_WALL, 0.02f), part_changed(&r, (float *const *)before, ROOM_BALL),
                  part_changed(&r, (float *const *)before, ROOM_COLUMN));
    assert_true(walls < 0.2);
    assert_true(room_part_near(&r, ROOM_WALL, 0.02f) > 0.75); /* 24 photos: some walls are in one or two of them */
    assert_true(room_part_near(&r, ROOM_POSTER, 0.02f) >= posters);
    assert_true(room_part_near(&r, ROOM_FLOOR, 0.02f) >= floor - 0.01);
    assert_true(part_changed(&r, (float *const *)before, ROOM_BALL) < 0.01);
    assert_true(room_part_wrong(&r, (float *const *)before, ROOM_COLUMN) < 0.002);
    assert_true(info.n >= 5 && info.n_pixels > info.n_plain / 2);
    splat_planes_info_free(&info);
    free_depths(before, r.maps.n);
    room_free(&r);
}

/* A ball seen by many cameras that stand side by side: its outline is a plane that hardly turns. */
static void outlines_of_a_ball_are_no_plane(void **state)
{
    (void)state;
    enum { N = 12 };
    splat_camera cameras[N];
    splat_error error;
    splat_planes_info info;
    room r;
    for (int i = 0; i < N; i++) {
        double a = 0.01 * i, from[3] = {1.6 - 1.9 * cos(a), -0.9 + 1.9 * sin(a), 0.9}, to[3] = {1.6, -0.9, 0.6};
        cameras[i] = room_camera(from, to, 200, 150, 170);
    }
    assert_true(room_make(&r, N, cameras, 0, 0));
    float **before = copy_depths(&r);
    splat_planes_options options = options_for(&r, 2);
    assert_int_equal(splat_planes_find(&r.maps, &options, &info, &error), SPLAT_OK);
    assert_true(part_changed(&r, (float *const *)before, ROOM_BALL) < 0.001);
    splat_planes_info_free(&info);
    free_depths(before, r.maps.n);
    room_free(&r);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { N = 10 };
    splat_camera cameras[N];
    splat_error error;
    room a, b;
    walk(cameras, N, 120);
    assert_true(room_make(&a, N, cameras, 0.25f, 0.003f));
    assert_true(room_make(&b, N, cameras, 0.25f, 0.003f));
    splat_planes_info info_a, info_b;
    splat_planes_options one = options_for(&a, 1), many = options_for(&b, 5);
    assert_int_equal(splat_planes_find(&a.maps, &one, &info_a, &error), SPLAT_OK);
    assert_int_equal(splat_planes_find(&b.maps, &many, &info_b, &error), SPLAT_OK);
    assert_true(info_a.n_pixels > 0 && info_a.n == info_b.n && info_a.n_pixels == info_b.n_pixels);
    for (size_t v = 0; v < N; v++) {
        size_t n = splat_camera_pixels(&cameras[v]);
        assert_memory_equal(a.maps.views[v].depth, b.maps.views[v].depth, n * sizeof(float));
        assert_memory_equal(a.maps.views[v].normal, b.maps.views[v].normal, 2 * n * sizeof(int16_t));
    }
    splat_planes_info_free(&info_a);
    splat_planes_info_free(&info_b);
    room_free(&a);
    room_free(&b);
}

static splat_status no_photo(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    (void)user;
    (void)rgb;
    return splat_fail(error, SPLAT_ERROR_IO, "photo %zu is gone", number);
}

static void tiny_and_empty_maps_and_lost_photos(void **state)
{
    (void)state;
    splat_error error;
    splat_planes_info info;
    splat_camera cameras[3];
    room r;
    const double from[3] = {0, 0, 1.5}, to[3] = {2, 0.5, 1.5};
    cameras[0] = room_camera(from, to, 1, 1, 1);
    cameras[1] = room_camera(from, to, 3, 2, 3);
    cameras[2] = room_camera(from, to, 64, 48, 48);
    assert_true(room_make(&r, 3, cameras, 0, 0));
    memset(r.maps.views[2].depth, 0, 64 * 48 * sizeof(float)); /* nothing is there */
    splat_planes_options options = options_for(&r, 2);
    assert_int_equal(splat_planes_find(&r.maps, &options, &info, &error), SPLAT_OK);
    assert_true(info.n == 0 && info.n_pixels == 0 && info.n_plain > 0);
    for (size_t p = 0; p < 64 * 48; p++) assert_true(r.maps.views[2].depth[p] == 0);
    splat_planes_info_free(&info);
    options.photo = no_photo;
    assert_int_equal(splat_planes_find(&r.maps, &options, &info, &error), SPLAT_ERROR_IO);
    assert_string_equal(error.message, "photo 0 is gone");
    room_free(&r);
    splat_view_maps none = {0};
    options = options_for(&r, 2);
    assert_int_equal(splat_planes_find(&none, &options, &info, &error), SPLAT_OK);
    assert_true(info.n == 0);
    splat_planes_info_free(&info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_become_flat_and_round_things_stay),
        cmocka_unit_test(outlines_of_a_ball_are_no_plane),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(tiny_and_empty_maps_and_lost_photos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
