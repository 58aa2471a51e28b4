/* The space before the sky is free: points, Gaussians' places, maps and faces. */
#include "sky_fixture.h"

#include "surface/extract/extract_checks.h"
#include "surface/extract/extract_free.h"
#include "surface/extract/free_space.h"
#include "surface/extract/sky_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_free_space find_space(splat_scene *scene)
{
    splat_free_space space;
    const splat_sky *sky;
    splat_error error;
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    ASSERT_OK(splat_free_space_from_sky(scene, sky, &space, &error));
    return space;
}

static void places_before_the_sky_are_found(void **state)
{
    (void)state;
    /* above the ball twice, on it, on the ground, inside the ball, and where no camera looks */
    const float places[6][3] = {{0, -3.2f, 0}, {1.5f, -3, 1}, {0, -2, 0}, {2, 0, 1}, {0, -1, 0}, {0, -100, 0}};
    const uint8_t wanted[6] = {0, 0, 1, 1, 1, 1};
    uint8_t keep[6];
    size_t n_found;
    splat_scene *scene = sky_make_scene(SKY_GRADIENT, SKY_N, 0, NULL);
    splat_free_space space = find_space(scene);
    splat_free_space_find(&space, SPLAT_FREE_BY_SKY, places[0], 6, SPLAT_FREE_TOLERANCE, 2, keep, &n_found);
    assert_memory_equal(keep, wanted, 6);
    assert_int_equal(n_found, 2);
    splat_free_space_free(&space);
    splat_scene_close(scene);
}

static void points_without_sky_stay(void **state)
{
    (void)state;
    splat_error error;
    splat_surface_points points;
    const float above[3] = {0, -3.2f, 0}, on[3] = {0, -2, 0}, up[3] = {0, -1, 0};
    const uint8_t gray[3] = {9, 9, 9};
    for (int k = 0; k < 2; k++) {
        splat_scene *scene = sky_make_scene(SKY_GRADIENT, SKY_N, 0, k ? "auto" : "none");
        ASSERT_OK(splat_surface_points_make(&points, 10, &error));
        splat_surface_points_add(&points, above, up, gray);
        splat_surface_points_add(&points, on, up, gray);
        splat_free_space space = find_space(scene);
        size_t n_found;
        ASSERT_OK(splat_free_space_remove_points(&space, SPLAT_FREE_BY_SKY, &points, 2, &n_found, &error));
        assert_int_equal(n_found, k);
        splat_free_space_free(&space);
        assert_int_equal(points.n, k ? 1 : 2);
        assert_memory_equal(points.positions + 3 * (points.n - 1), on, sizeof on);
        splat_surface_points_free(&points);
        splat_scene_close(scene);
    }
}

/* A grid of n x n quads with a corner at `at`. */
static void add_grid(splat_mesh *mesh, const double at[3], const double right[3], const double down[3], int n)
{
    uint32_t first = (uint32_t)mesh->n_vertices;
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= n; i++)
            for (int k = 0; k < 3; k++)
                mesh->vertices[3 * (first + (uint32_t)(j * (n + 1) + i)) + (uint32_t)k] =
                    (float)(at[k] + right[k] * i / n + down[k] * j / n);
    mesh->n_vertices += (size_t)((n + 1) * (n + 1));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            uint32_t a = first + (uint32_t)(j * (n + 1) + i), b = a + 1, c = a + (uint32_t)n + 1, d = c + 1;
            const uint32_t corners[6] = {a, b, c, b, d, c};
            memcpy(mesh->faces + 3 * mesh->n_faces, corners, sizeof corners);
            mesh->n_faces += 2;
        }
}

/* A ground, and a sheet above the ball. */
static splat_mesh make_mesh(void)
{
    const double ground[3] = {-3, 0, -3}, sheet[3] = {-1, -3.5, 0}, x[3] = {6, 0, 0}, z[3] = {0, 0, 6},
                 across[3] = {2, 0, 0}, down[3] = {0, 1, 0};
    splat_mesh mesh = {.vertices = malloc(3 * 2000 * sizeof(float)), .faces = malloc(3 * 2000 * sizeof(uint32_t))};
    add_grid(&mesh, ground, x, z, 20);
    add_grid(&mesh, sheet, across, down, 10);
    return mesh;
}

static void faces_before_the_sky_go(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_extract_options options;
    splat_mesh_extract_options_init(&options);
    for (int threads = 1; threads <= 3; threads += 2) {
        size_t n_gone;
        splat_mesh_extract_info before, after;
        splat_mesh mesh = make_mesh();
        splat_scene *scene = sky_make_scene(SKY_GRADIENT, SKY_N, 0, NULL);
        splat_free_space space = find_space(scene);
        splat_extraction e = {.options = &options, .scene = scene, .space = &space, .threads = threads};
        ASSERT_OK(splat_extract_check(&e, &mesh, &before, &error));
        ASSERT_OK(splat_extract_drop_free(&e, &mesh, &n_gone, &error));
        ASSERT_OK(splat_extract_check(&e, &mesh, &after, &error));
        print_message("%zu faces went; of %.0f pixels of sky %.0f, then %.0f are covered\n", n_gone,
                      (double)before.n_sky_pixels, (double)before.n_sky_covered, (double)after.n_sky_covered);
        assert_true(before.n_sky_covered > 50000 && after.n_sky_covered * 1000 < after.n_sky_pixels);
        splat_free_space_free(&space);
        assert_int_equal(n_gone, 200);
        assert_int_equal(mesh.n_faces, 800); /* the ground */
        splat_mesh_free(&mesh);
        splat_scene_close(scene);
    }
}

static void a_room_stays_whole(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh_extract_options options;
    size_t n_gone;
    splat_mesh_extract_info info;
    splat_mesh mesh = make_mesh();
    splat_scene *scene = sky_make_scene(SKY_ROOM, SKY_N, 0, NULL);
    splat_mesh_extract_options_init(&options);
    splat_free_space space = find_space(scene);
    splat_extraction e = {.options = &options, .scene = scene, .space = &space, .threads = 2};
    ASSERT_OK(splat_extract_drop_free(&e, &mesh, &n_gone, &error));
    ASSERT_OK(splat_extract_check(&e, &mesh, &info, &error));
    assert_true(n_gone == 0 && mesh.n_faces == 1000 && info.n_sky_pixels == 0 && info.n_sky_covered == 0);
    splat_free_space_free(&space);
    splat_mesh_free(&mesh);
    splat_scene_close(scene);
}

static void maps_are_open_before_the_sky(void **state)
{
    (void)state;
    splat_error error;
    const splat_sky *sky;
    splat_view_maps maps;
    splat_scene *scene = sky_make_scene(SKY_GRADIENT, SKY_N, 0, NULL);
    ASSERT_OK(splat_scene_find_sky(scene, &sky, &error));
    const splat_camera camera = scene->dataset.views[scene->dataset.train[0]].camera;
    ASSERT_OK(splat_view_maps_init(&maps, 1, &camera, &error));
    size_t n_open = 0, n = SKY_W * SKY_H;
    for (size_t i = 0; i < n; i++) maps.views[0].depth[i] = 7;
    memset(maps.views[0].alpha, 255, n);
    memset(maps.views[0].state, SPLAT_PIXEL_FITTED, n);
    ASSERT_OK(splat_sky_clear_map(sky, 0, &maps.views[0], &error));
    for (size_t i = 0; i < n; i++) {
        bool is_open = maps.views[0].depth[i] == 0;
        assert_int_equal(is_open, maps.views[0].alpha[i] == 0);
        assert_int_equal(is_open, maps.views[0].state[i] == SPLAT_PIXEL_SKY);
        assert_true(splat_view_map_trusted(&maps.views[0], i));
        assert_true(splat_view_map_reach(&maps.views[0], i) == (is_open ? INFINITY : 7));
        assert_true(!is_open || sky_truth[0][i]);
        n_open += is_open;
    }
    assert_true(n_open * 4 > n);
    splat_view_maps_free(&maps);
    splat_scene_close(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_before_the_sky_are_found), cmocka_unit_test(points_without_sky_stay),
        cmocka_unit_test(faces_before_the_sky_go),         cmocka_unit_test(a_room_stays_whole),
        cmocka_unit_test(maps_are_open_before_the_sky),
    };
    return cmocka_run_group_tests(tests, sky_begin, sky_end);
}
