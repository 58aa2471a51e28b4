/* Depth judged by photos: a bumpy floor with texture comes right, plain walls stay silent, a blob in the air goes. */
#include "plane_fixture.h"
#include "surface/extract/view_match.h"

#include "backend/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 7, STRIDE = 2 };

/* Side by side, `apart` from each other, with the floor and a wall in the picture. */
static void stand(splat_camera cameras[N], double apart)
{
    for (int i = 0; i < N; i++) {
        double from[3] = {apart * (i - 3), -1.1, 1.5 + 0.25 * apart * (i % 2)}, to[3] = {0.1, 0.9, 0.2};
        cameras[i] = room_camera(from, to, 200, 150, 160);
    }
}

/* All views see the floor up to 8 % off, at the same places, and the first a blob before it. */
static bool in_blob(size_t i)
{
    return i % 200 >= 70 && i % 200 < 110 && i / 200 >= 90 && i / 200 < 120;
}

static void make_room_seen_from(room *r, double apart)
{
    splat_camera cameras[N];
    splat_error error;
    stand(cameras, apart);
    assert_true(room_make(r, N, cameras, 0.15f, 0.001f));
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&cameras[v]); i++) {
            const room_hit *hit = &r->hits[v][i];
            splat_view_map *map = &r->maps.views[v];
            if (hit->kind == ROOM_FLOOR) map->depth[i] = hit->z * (1 + 0.08f * room_noise(hit->point, 0.7f));
            splat_normal_encode(hit->normal, map->normal + 2 * i);
            if (v == 0 && in_blob(i)) map->depth[i] = 0.7f * hit->z;
        }
    must(splat_view_maps_find_neighbors(&r->maps, 2, &error), &error);
}

static void make_room(room *r)
{
    make_room_seen_from(r, 0.2);
}

static splat_status photo_of(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    const room *r = user;
    (void)error;
    memcpy(rgb, r->photos[number], 3 * splat_camera_pixels(&r->maps.views[number].camera));
    return SPLAT_OK;
}

static splat_match_info match_with(room *r, int threads, const splat_plane *planes, size_t n_planes)
{
    splat_error error;
    splat_match_info info;
    splat_backend *backend;
    must(splat_backend_cpu_create(threads, "auto", &backend, &error), &error);
    splat_match_options options = {.stride = STRIDE, .photos = {photo_of, r}, .planes = planes,
                                   .n_planes = n_planes};
    must(splat_view_maps_match(&r->maps, backend, &options, &info, &error), &error);
    splat_backend_destroy(backend);
    return info;
}

static splat_match_info match(room *r, int threads)
{
    return match_with(r, threads, NULL, 0);
}

/* Pixels of a kind, without the blob: all, those that match, and of these the part within 1 % of the depth. */
static double part_right(const room *r, int kind, bool matched, size_t *n)
{
    size_t n_right = 0;
    *n = 0;
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r->maps.views[v].camera); i++) {
            const splat_view_map *map = &r->maps.views[v];
            if (r->hits[v][i].kind != kind || (v == 0 && in_blob(i))) continue;
            if (matched && map->state[i] != SPLAT_PIXEL_MATCHED) continue;
            ++*n;
            n_right += fabsf(map->depth[i] / r->hits[v][i].z - 1) < 0.01f;
        }
    return (double)n_right / (double)(*n ? *n : 1);
}

static void assert_same_depths(const room *a, const room *b)
{
    for (size_t v = 0; v < N; v++)
        assert_memory_equal(a->maps.views[v].depth, b->maps.views[v].depth,
                            splat_camera_pixels(&a->maps.views[v].camera) * sizeof(float));
}

static void photos_correct_textures_and_leave_plain_walls(void **state)
{
    (void)state;
    room r, again;
    size_t n, n_matched, n_wall, n_blob = 0, n_blob_stays = 0;
    make_room(&r);
    make_room(&again);
    double before = part_right(&r, ROOM_FLOOR, false, &n);
    splat_match_info info = match(&r, 2);
    double after = part_right(&r, ROOM_FLOOR, true, &n_matched);
    part_right(&r, ROOM_WALL, true, &n_wall);
    for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[0].camera); i++) {
        n_blob += in_blob(i);
        n_blob_stays += in_blob(i) && r.maps.views[0].state[i] == SPLAT_PIXEL_MATCHED &&
                        r.maps.views[0].depth[i] < 0.8f * r.hits[0][i].z;
    }
    print_message("floor: %zu of %zu match, right %.3f before, %.3f of these; %zu of the wall; blob: %zu of %zu; noise "
                  "%.2f; against %llu\n", n_matched, n, before, after, n_wall, n_blob_stays, n_blob,
                  (double)info.noise, (unsigned long long)info.n_against);
    assert_true(2 * n_matched > n);
    assert_true(after > 0.75 && after > before + 0.4);
    assert_true(n_blob_stays * 50 < n_blob);
    assert_true(info.n_matched >= n_matched && info.n_asked > info.n_matched + info.n_against);
    match(&again, 1);
    for (size_t v = 0; v < N; v++) {
        size_t n_pixels = splat_camera_pixels(&r.maps.views[v].camera);
        const splat_view_map *a = &r.maps.views[v], *b = &again.maps.views[v];
        assert_memory_equal(a->depth, b->depth, n_pixels * sizeof *a->depth);
        assert_memory_equal(a->state, b->state, n_pixels);
        assert_memory_equal(a->normal, b->normal, 2 * n_pixels * sizeof *a->normal);
    }
    room_free(&r);
    room_free(&again);
}

/* The answers of planes, masks and the sky stay. */
static void only_silent_pixels_change(void **state)
{
    (void)state;
    room r;
    make_room(&r);
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++)
            r.maps.views[v].state[i] = i % 2 ? SPLAT_PIXEL_FITTED : SPLAT_PIXEL_MASKED;
    float depth = r.maps.views[1].depth[777];
    splat_match_info info = match(&r, 2);
    assert_true(info.n_asked == 0 && info.n_matched == 0 && r.maps.views[1].depth[777] == depth);
    assert_int_equal(r.maps.views[2].state[10], SPLAT_PIXEL_MASKED);
    room_free(&r);
}

static const splat_plane floor_and_false[] = {{.normal = {0, 0, 1}, .offset = 0},
                                              {.normal = {0, 0, 1}, .offset = -0.1}};

/* Views agree on all pixels, as on the bumps of one splat. */
static void agree(room *r)
{
    for (size_t v = 0; v < N; v++)
        memset(r->maps.views[v].state, SPLAT_PIXEL_AGREED, splat_camera_pixels(&r->maps.views[v].camera));
}

/* Pixels that took a plane; *n_right: those within 1 % of the depth. */
static size_t count_fitted(const room *r, size_t *n_right)
{
    size_t n = 0;
    *n_right = 0;
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r->maps.views[v].camera); i++) {
            if (r->maps.views[v].state[i] != SPLAT_PIXEL_FITTED) continue;
            n++;
            *n_right += fabsf(r->maps.views[v].depth[i] / r->hits[v][i].z - 1) < 0.01f;
        }
    return n;
}

/* A bumpy floor comes to lie on its plane, not on one below it, though all views agree on the bumps. */
static void photos_put_a_bumpy_floor_on_its_plane(void **state)
{
    (void)state;
    room r, again;
    size_t n_floor, n_right;
    make_room(&r);
    make_room(&again);
    agree(&r);
    agree(&again);
    const double before = part_right(&r, ROOM_FLOOR, false, &n_floor);
    const splat_match_info info = match_with(&r, 2, floor_and_false, 2);
    const size_t n = count_fitted(&r, &n_right);
    print_message("floor: %.3f of %zu right, then %zu on planes, right %zu\n", before, n_floor, n, n_right);
    assert_true(info.n_on_planes == n && 5 * n > n_floor);
    assert_true(n_right > 0.95 * (double)n && part_right(&r, ROOM_FLOOR, false, &n_floor) > before + 0.2);
    match_with(&again, 1, floor_and_false, 2);
    assert_same_depths(&r, &again);
    room_free(&r);
    room_free(&again);
}

/* A floor that is right stays above a false plane; what stands on a true one stays, too. */
static void photos_leave_what_is_right(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        room r;
        size_t n_right, n_changed = 0, n = 0;
        make_room(&r);
        agree(&r);
        for (size_t v = 0; v < N; v++)
            for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++)
                r.maps.views[v].depth[i] = r.hits[v][i].z;
        match_with(&r, 2, &floor_and_false[1 - k], 1);
        count_fitted(&r, &n_right);
        for (size_t v = 0; v < N; v++)
            for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++) {
                if (k == 1 && r.hits[v][i].kind == ROOM_FLOOR) continue;
                n++;
                n_changed += fabsf(r.maps.views[v].depth[i] / r.hits[v][i].z - 1) > 0.01f;
            }
        print_message("%zu of %zu pixels change\n", n_changed, n);
        assert_true(n_changed * 100 < n);
        room_free(&r);
    }
}

/* All views are neighbours, from nearly the same place. */
static void make_far_room(room *r)
{
    make_room_seen_from(r, 0.002);
    agree(r);
    for (uint32_t v = 0; v < N; v++)
        for (r->maps.views[v].n_neighbors = 0; r->maps.views[v].n_neighbors < N - 1; r->maps.views[v].n_neighbors++) {
            const uint32_t k = r->maps.views[v].n_neighbors;
            r->maps.views[v].neighbors[k] = k < v ? k : k + 1;
        }
}

/* A plane a tenth of a unit from the cameras, along the way they look, passes near the middle of all that they see. */
static void what_is_far_does_not_lie_on_a_plane_seen_from_its_edge(void **state)
{
    (void)state;
    static const splat_plane edge_on = {.normal = {1, 0, 0}, .offset = -0.1};
    room r;
    size_t n_right;
    make_far_room(&r);
    match_with(&r, 2, &edge_on, 1);
    assert_int_equal(count_fitted(&r, &n_right), 0);
    room_free(&r);
}

/* Photos of one place tell no depth: the floor is where its plane is. */
static void what_is_far_lies_on_the_plane(void **state)
{
    (void)state;
    room r;
    size_t n_floor, n_right;
    make_far_room(&r);
    const double before = part_right(&r, ROOM_FLOOR, false, &n_floor);
    match_with(&r, 2, floor_and_false, 1);
    const size_t n = count_fitted(&r, &n_right);
    print_message("floor: %.3f of %zu right, then %zu on the plane, right %zu\n", before, n_floor, n, n_right);
    assert_true(2 * n > n_floor && part_right(&r, ROOM_FLOOR, false, &n_floor) > before + 0.4);
    room_free(&r);
}

/* The floor is up to 5 % off, at the same places for all views. */
static void agree_on_bumps(room *r)
{
    agree(r);
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r->maps.views[v].camera); i++) {
            const room_hit *hit = &r->hits[v][i];
            const float bump = hit->kind == ROOM_FLOOR ? 0.05f * room_noise(hit->point, 0.7f) : 0;
            r->maps.views[v].depth[i] = hit->z * (1 + bump);
        }
}

/* Mean of the parts by which the depth of a kind of pixels is off. */
static double mean_off(const room *r, int kind)
{
    double sum = 0, n = 0;
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r->maps.views[v].camera); i++) {
            if (r->hits[v][i].kind != kind) continue;
            sum += fabs((double)r->maps.views[v].depth[i] / (double)r->hits[v][i].z - 1);
            n++;
        }
    return sum / n;
}

static void photos_correct_what_views_agree_on(void **state)
{
    (void)state;
    room r, again;
    make_room(&r);
    make_room(&again);
    agree_on_bumps(&r);
    agree_on_bumps(&again);
    const double before = mean_off(&r, ROOM_FLOOR);
    const splat_match_info info = match(&r, 2);
    const double after = mean_off(&r, ROOM_FLOOR), wall = mean_off(&r, ROOM_WALL);
    print_message("floor: off by %.5f, then %.5f; wall %.5f; %llu pixels\n", before, after, wall,
                  (unsigned long long)info.n_refined);
    assert_true(info.n_refined > 10000 && after < 0.8 * before && wall < 0.1 * before);
    assert_int_equal(r.maps.views[3].state[140 * 200 + 100], SPLAT_PIXEL_AGREED);
    match(&again, 1);
    assert_same_depths(&r, &again);
    room_free(&r);
    room_free(&again);
}

/* A photo alone, where the others are masked, does not count. */
static void a_correction_needs_two_photos(void **state)
{
    (void)state;
    room r;
    make_room(&r);
    agree_on_bumps(&r);
    for (size_t v = 1; v < N; v++)
        memset(r.maps.views[v].state, SPLAT_PIXEL_MASKED, splat_camera_pixels(&r.maps.views[v].camera));
    assert_int_equal(match(&r, 2).n_refined, 0);
    room_free(&r);
}

/* The right of every picture is too near, or too far; of the left more than the splat knows the depth. */
static void lose_the_right(room *r)
{
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r->maps.views[v].camera); i++) {
            splat_view_map *map = &r->maps.views[v];
            const bool is_left = i % 200 < 80;
            map->state[i] = is_left ? SPLAT_PIXEL_AGREED : SPLAT_PIXEL_SILENT;
            map->depth[i] = (is_left ? 1 : v % 2 ? 0.6f : 1.7f) * r->hits[v][i].z;
        }
}

static void photos_find_what_the_splat_does_not_know(void **state)
{
    (void)state;
    room r, again;
    size_t n_floor, n_matched, n_wall;
    make_room(&r);
    make_room(&again);
    lose_the_right(&r);
    lose_the_right(&again);
    const splat_match_info info = match(&r, 2);
    const double right = part_right(&r, ROOM_FLOOR, true, &n_matched);
    part_right(&r, ROOM_FLOOR, false, &n_floor);
    part_right(&r, ROOM_WALL, true, &n_wall);
    print_message("floor: %zu of %zu found, %.3f of these right; %zu of the wall\n", n_matched, n_floor, right, n_wall);
    assert_true(3 * n_matched > n_floor && right > 0.8);
    assert_true(info.n_found > 0 && 50 * n_wall < n_matched);
    match(&again, 1);
    assert_same_depths(&r, &again);
    room_free(&r);
    room_free(&again);
}

/* Somebody may have cut out what the photos show. */
static void nothing_comes_back_where_the_splat_is_empty(void **state)
{
    (void)state;
    room r;
    size_t n_matched;
    make_room(&r);
    lose_the_right(&r);
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++)
            if (i % 200 >= 80) r.maps.views[v].depth[i] = 0;
    match(&r, 2);
    part_right(&r, ROOM_FLOOR, true, &n_matched);
    assert_int_equal(n_matched, 0);
    room_free(&r);
}

/* One photo alone says nothing: the others' pixels are masked, and know nothing. */
static void a_place_needs_two_photos(void **state)
{
    (void)state;
    room r;
    make_room(&r);
    lose_the_right(&r);
    for (size_t v = 1; v < N; v++)
        for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++)
            if (i % 200 >= 80) r.maps.views[v].state[i] = SPLAT_PIXEL_MASKED;
    size_t n_far = 0;
    match(&r, 2);
    for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[0].camera); i++)
        n_far += i % 200 >= 150 && r.maps.views[0].state[i] == SPLAT_PIXEL_MATCHED;
    print_message("%zu pixels match\n", n_far);
    assert_true(n_far < 500); /* of 7500: matched from the splat's own depth; some 3000 without the rule */
    room_free(&r);
}

/* ---------------------------------------------------------------- views on the device */

/* Verdicts of all views with two neighbours each, one after the other. n_slots: of the matcher, 0: all. */
static void judge_views(room *r, splat_photo_matcher *m, size_t n_slots, uint8_t *judged)
{
    splat_error error;
    if (n_slots) m->n_slots = n_slots;
    for (size_t v = 0; v < N; v++) {
        const splat_view_map *map = &r->maps.views[v];
        const size_t columns = splat_match_sites(map->camera.width, STRIDE),
                     n = columns * splat_match_sites(map->camera.height, STRIDE);
        for (size_t i = 0; i < n; i++) {
            const size_t pixel = splat_match_site_pixel(map->camera.width, STRIDE, columns, i);
            splat_view_map_plane(map, pixel, m->first[i]);
        }
        must(splat_photo_matcher_compare(m, v, map->neighbors, 2, STRIDE, 1, &error), &error);
        memcpy(judged + v * n, m->judged, n);
    }
}

static void few_slots_and_new_depth_change_nothing(void **state)
{
    enum { SITES = 100 * 75 };
    static uint8_t first[N * SITES], few[N * SITES], hidden[N * SITES], fresh[N * SITES];
    room r;
    splat_error error;
    splat_backend *backend;
    splat_photo_matcher m;
    (void)state;
    make_room(&r);
    must(splat_backend_cpu_create(2, "auto", &backend, &error), &error);
    splat_depth_view *views = splat_view_maps_depths(&r.maps);
    const splat_match_photos photos = {photo_of, &r};
    must(splat_photo_matcher_init(&m, backend, views, N, &photos, &error), &error);
    judge_views(&r, &m, 0, first);
    for (size_t v = 0; v < N; v += 2) { /* something near stands before every second camera */
        for (size_t i = 0; i < splat_camera_pixels(&r.maps.views[v].camera); i++) r.maps.views[v].depth[i] *= 0.3f;
        splat_photo_matcher_forget(&m, v);
    }
    judge_views(&r, &m, 0, hidden);
    splat_photo_matcher_free(&m);
    must(splat_photo_matcher_init(&m, backend, views, N, &photos, &error), &error);
    judge_views(&r, &m, 0, fresh);
    judge_views(&r, &m, 3, few); /* a view and its two neighbours */
    splat_photo_matcher_free(&m);
    assert_memory_equal(hidden, fresh, sizeof fresh);
    assert_memory_equal(few, fresh, sizeof fresh);
    assert_memory_not_equal(first, fresh, sizeof fresh);
    free(views);
    splat_backend_destroy(backend);
    room_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_correct_textures_and_leave_plain_walls), cmocka_unit_test(only_silent_pixels_change),
        cmocka_unit_test(photos_put_a_bumpy_floor_on_its_plane), cmocka_unit_test(photos_leave_what_is_right),
        cmocka_unit_test(photos_correct_what_views_agree_on), cmocka_unit_test(a_correction_needs_two_photos),
        cmocka_unit_test(what_is_far_lies_on_the_plane),
        cmocka_unit_test(what_is_far_does_not_lie_on_a_plane_seen_from_its_edge),
        cmocka_unit_test(photos_find_what_the_splat_does_not_know),
        cmocka_unit_test(nothing_comes_back_where_the_splat_is_empty), cmocka_unit_test(a_place_needs_two_photos),
        cmocka_unit_test(few_slots_and_new_depth_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
