/* Maps of all training views: what they hold, which views are neighbours, and memory that does not suffice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scene/scene.h"
#include "surface/extract/point_cells.h"
#include "view_maps_fixture.h"
#include "sphere_fixture.h" /* after math/camera.h, whose names it hides */

#include <stdlib.h>
#include <string.h>

static void normals_come_back(void **state)
{
    (void)state;
    enum { N = 200000 };
    double worst = 0;
    for (size_t i = 0; i < N; i++) {
        double z = 1 - 2 * ((double)i + 0.5) / N, angle = 2.39996322972865 * (double)i, r = sqrt(1 - z * z);
        const float n[3] = {(float)(r * cos(angle)), (float)(r * sin(angle)), (float)z};
        float back[3];
        int16_t code[2];
        splat_normal_encode(n, code);
        splat_normal_decode(code, back);
        double off = 0;
        for (int k = 0; k < 3; k++) off += pow((double)n[k] - (double)back[k], 2);
        worst = fmax(worst, sqrt(off));
    }
    print_message("normals are off by up to %.5f degrees\n", worst * 57.2957795);
    assert_true(worst * 57.2957795 < 0.004); /* half a step of 1 / 32767 both ways, stretched by up to sqrt(3) */
    static const float axes[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    static const float none[3][3] = {{0, 0, 0}, {NAN, 0, 1}, {INFINITY, 0, 0}};
    float back[3];
    int16_t code[2];
    for (int i = 0; i < 6; i++) {
        splat_normal_encode(axes[i], code);
        splat_normal_decode(code, back);
        for (int k = 0; k < 3; k++) assert_true(fabsf(back[k] - axes[i][k]) < 1e-4f);
    }
    for (int i = 0; i < 3; i++) {
        splat_normal_encode(none[i], code);
        splat_normal_decode(code, back);
        for (int k = 0; k < 3; k++) assert_true(back[k] == 0);
    }
}

static void pixels_and_places_are_inverse(void **state)
{
    (void)state;
    splat_camera camera = camera_around(3, N_AROUND, 160, 120);
    for (float z = 0.5f; z < 50; z *= 3) {
        float world[3], image[3] = {0, 0, 0};
        splat_camera_unproject(&camera, 10.5f, 99.25f, z, world);
        assert_true(splat_camera_project(&camera, world, image));
        assert_true(fabsf(image[0] - 10.5f) < 1e-3f && fabsf(image[1] - 99.25f) < 1e-3f);
        assert_true(fabsf(image[2] - z) < 1e-5f * z);
        splat_camera_unproject(&camera, 10.5f, 99.25f, -z, world);
        assert_false(splat_camera_project(&camera, world, image));
        splat_camera_unproject(&camera, 160.5f, 99.25f, z, world);
        assert_false(splat_camera_project(&camera, world, image));
    }
}

/* On a circle with steps of 15 degrees: the next ones come first, those across see other sides or are too far
 * around. */
static void neighbors_see_the_same_places(void **state)
{
    (void)state;
    splat_view_maps maps = make_truth(160, 120);
    splat_error error;
    for (size_t v = 0; v < maps.n; v++) {
        const splat_view_map *view = &maps.views[v];
        assert_true(view->n_neighbors >= 4);
        for (uint32_t i = 0; i < view->n_neighbors; i++) {
            int apart = abs((int)view->neighbors[i] - (int)v);
            if (apart > N_AROUND / 2) apart = N_AROUND - apart;
            assert_true(apart >= 1 && apart <= 4);
            assert_int_equal(apart, i / 2 + 1);
        }
    }
    splat_view_map before = maps.views[0];
    must(splat_view_maps_find_neighbors(&maps, 3, &error), &error);
    assert_memory_equal(&before, &maps.views[0], sizeof before);
    splat_view_maps_free(&maps);
}

/* A wall between two halves of the views; and cameras that stand at one place. */
static void hidden_places_and_turns_make_no_neighbors(void **state)
{
    (void)state;
    static const double here[3] = {-3, 0, 0.4}, beside[3] = {-3, 0.4, 0.4}, behind[3] = {3, 0.4, 0.4},
                        before[3] = {0, 0, 0.4}, nearer[3] = {-1, 0, 0.4};
    const splat_camera cameras[4] = {look_at(here, before, 64, 48), look_at(beside, before, 64, 48),
                                     look_at(behind, nearer, 64, 48), look_at(here, nearer, 64, 48)};
    splat_view_maps maps;
    splat_error error;
    must(splat_view_maps_init(&maps, 4, cameras, &error), &error);
    static const double normal[3] = {-1, 0, 0};
    for (size_t v = 0; v < 4; v++)
        for (size_t i = 0; i < 64 * 48; i++) set_pixel(&maps.views[v], i, v == 2 ? 0.5 : 3, normal, 9);
    must(splat_view_maps_find_neighbors(&maps, 1, &error), &error);
    assert_int_equal(maps.views[0].n_neighbors, 1); /* 2 has a wall before it, 3 sees no parallax */
    assert_int_equal(maps.views[0].neighbors[0], 1);
    assert_int_equal(maps.views[3].n_neighbors, 1);
    assert_int_equal(maps.views[2].n_neighbors, 0);
    for (size_t i = 0; i < 64 * 48; i++) maps.views[0].depth[i] = 0; /* sees nothing */
    must(splat_view_maps_find_neighbors(&maps, 1, &error), &error);
    assert_int_equal(maps.views[0].n_neighbors, 0);
    splat_view_maps_free(&maps);
}

/* Before a wall: most views look at the left of what view 0 sees, and two at the end of its right half. */
static void neighbors_cover_the_picture(void **state)
{
    (void)state;
    enum { LEFT = 12, N = LEFT + 3 };
    static const double normal[3] = {-1, 0, 0};
    splat_camera cameras[N];
    splat_view_maps maps;
    splat_error error;
    size_t n_right = 0;
    for (int i = 0; i < N; i++) {
        const double side = i == 0 ? 0 : i <= LEFT ? 1 : -2, aside = 0.3 * (i % 5 - 2);
        const double from[3] = {-3, side + aside, 0.4}, to[3] = {0, side, 0.4};
        cameras[i] = look_at(from, i ? to : (const double[3]){0, 0, 0.4}, 64, 48);
    }
    must(splat_view_maps_init(&maps, N, cameras, &error), &error);
    for (size_t v = 0; v < N; v++)
        for (size_t i = 0; i < 64 * 48; i++) set_pixel(&maps.views[v], i, 3, normal, 9);
    must(splat_view_maps_find_neighbors(&maps, 2, &error), &error);
    assert_int_equal(maps.views[0].n_neighbors, SPLAT_VIEW_NEIGHBORS);
    for (uint32_t k = 0; k < maps.views[0].n_neighbors; k++) n_right += maps.views[0].neighbors[k] > LEFT;
    assert_int_equal(n_right, 2);
    splat_view_maps_free(&maps);
}

enum { MANY = 96, FEW = 3, OF_SKY = 4, WALL_VIEWS = MANY + FEW + OF_SKY };

/* Before a wall: MANY views of one place, FEW of another place, and OF_SKY views that see no surface; the first n. */
static splat_view_maps make_wall(size_t n, splat_camera cameras[WALL_VIEWS])
{
    static const double normal[3] = {-1, 0, 0};
    splat_view_maps maps;
    splat_error error;
    for (size_t i = 0; i < n; i++) {
        const double side = (i < MANY ? 0 : 40) + 0.01 * (double)(i % MANY);
        const double from[3] = {-3, side, 0.4}, to[3] = {i < MANY + FEW ? 0 : -6, side, 0.4};
        cameras[i] = look_at(from, to, 64, 48);
    }
    must(splat_view_maps_init(&maps, n, cameras, &error), &error);
    for (size_t v = 0; v < n; v++) {
        maps.views[v].number = (uint32_t)v;
        for (size_t i = 0; v < MANY + FEW && i < 64 * 48; i++) set_pixel(&maps.views[v], i, 3, normal, 9);
    }
    return maps;
}

/* A quarter of the many views stays, spread over all of them; the few and the views of the sky stay. */
static void many_views_of_a_place_are_thinned(void **state)
{
    (void)state;
    splat_context *context = open_cpu_with(2, NULL);
    splat_camera cameras[WALL_VIEWS];
    splat_view_maps maps = make_wall(WALL_VIEWS, cameras);
    splat_error error;
    const uint64_t bytes = maps.bytes;
    size_t n_many = 0, longest_gap = 0;
    must(splat_view_maps_thin(&maps, context, &error), &error);
    for (size_t v = 0; v < maps.n; v++) {
        const splat_view_map *view = &maps.views[v];
        assert_memory_equal(&view->camera, &cameras[view->number], sizeof view->camera);
        for (uint32_t k = 0; k < view->n_neighbors; k++) assert_true(view->neighbors[k] < maps.n);
        if (view->number >= MANY) continue;
        if (v > 0 && view->number - view[-1].number > longest_gap) longest_gap = view->number - view[-1].number;
        n_many++;
    }
    print_message("%zu of %d views stay, the longest gap is %zu\n", n_many, MANY, longest_gap);
    assert_int_equal(maps.n - n_many, FEW + OF_SKY);
    assert_true(n_many >= 24 && n_many <= 40);
    assert_true(longest_gap <= 8);
    assert_int_equal(maps.bytes, bytes - (WALL_VIEWS - maps.n) * 64 * 48 * SPLAT_VIEW_MAP_PIXEL_BYTES);
    assert_true(maps.views[0].n_neighbors > 0);
    splat_view_maps_free(&maps);
    maps = make_wall(20, cameras);
    must(splat_view_maps_thin(&maps, context, &error), &error);
    assert_int_equal(maps.n, 20);
    splat_view_maps_free(&maps);
    splat_context_destroy(context);
}

static splat_status make_maps(const splat_mesh_extract_options *o, splat_view_maps *maps, splat_error *error)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_model *model;
    write_sphere("sphere.ply", 6);
    must(splat_model_load(context, "sphere.ply", &model, error), error);
    splat_status status = splat_view_maps_make(scene, model, o, maps, error);
    splat_model_destroy(model);
    close_training(context, scene, NULL);
    return status;
}

/* The discs' planes stand up to 0.0037 out of the sphere, and pixels show them from the side. */
static void a_splat_is_mapped(void **state)
{
    (void)state;
    splat_mesh_extract_options o;
    splat_view_maps maps;
    splat_error error;
    splat_mesh_extract_options_init(&o);
    must(make_maps(&o, &maps, &error), &error);
    size_t n = 0, n_pixels = 0;
    double off = 0, cosine = 0;
    for (size_t v = 0; v < maps.n; v++) {
        const splat_view_map *view = &maps.views[v];
        assert_true(view->n_neighbors >= 1); /* of 14 views, many from the other side */
        if (v > 0) assert_true(view->index > maps.views[v - 1].index);
        n_pixels += splat_camera_pixels(&view->camera);
        for (size_t i = 0; i < splat_camera_pixels(&view->camera); i++) {
            float place[3], normal[3];
            double radius = 0, dot = 0;
            if (!(view->depth[i] > 0)) continue;
            splat_camera_unproject(&view->camera, (float)(i % WIDTH) + 0.5f, (float)(i / WIDTH) + 0.5f, view->depth[i],
                                   place);
            splat_normal_decode(view->normal + 2 * i, normal);
            for (int k = 0; k < 3; k++) {
                double d = (double)place[k] - center[k];
                radius += d * d;
                dot += d * (double)normal[k];
            }
            off += fabs(sqrt(radius) - RADIUS);
            cosine += dot / sqrt(radius);
            n++;
        }
        assert_int_equal(view->alpha[0], 0);
        assert_int_equal(view->alpha[WIDTH * HEIGHT / 2 + WIDTH / 2], 255);
        assert_true(view->rgb[3 * (WIDTH * HEIGHT / 2 + WIDTH / 2)] > 200);
    }
    print_message("%zu of %zu pixels see the sphere, %.4f off, normals %.4f\n", n, n_pixels, off / (double)n,
                  cosine / (double)n);
    assert_true(n > n_pixels / 20);
    assert_true(off / (double)n < 0.01 && cosine / (double)n > 0.97);
    assert_int_equal(maps.bytes, n_pixels * SPLAT_VIEW_MAP_PIXEL_BYTES + maps.n * sizeof *maps.views);
    splat_view_maps_free(&maps);
}

static void memory_makes_maps_smaller_or_is_refused(void **state)
{
    (void)state;
    splat_context *context = open_cpu(1);
    splat_scene *scene = open_scene(context);
    splat_mesh_extract_options o;
    splat_view_maps maps;
    splat_error error;
    uint64_t whole, bytes, beside;
    splat_mesh_extract_options_init(&o);
    o.n_points = 1000;
    o.planes = true;
    splat_view_maps_choose(scene, &o, &bytes);
    o.planes = false;
    beside = splat_surface_agreed_bytes(&o);
    assert_true(splat_view_maps_choose(scene, &o, &whole) == 1);
    assert_true(bytes > whole + whole / 5); /* labels of pixels */
    o.max_host_bytes = beside + whole;
    assert_true(splat_view_maps_choose(scene, &o, &bytes) == 1);
    o.max_host_bytes = beside + whole - 1;
    float factor = splat_view_maps_choose(scene, &o, &bytes);
    assert_true(factor > 0.7f && factor < 0.72f && bytes < whole);
    must(make_maps(&o, &maps, &error), &error);
    assert_int_equal(maps.views[0].camera.width, 71);
    assert_true(maps.bytes < bytes && maps.bytes > bytes / 2);
    splat_view_maps_free(&maps);
    o.max_host_bytes = beside + whole / 80;
    assert_int_equal(make_maps(&o, &maps, &error), SPLAT_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "max_host_memory"));
    assert_int_equal(maps.n, 0);
    close_training(context, scene, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_come_back),
        cmocka_unit_test(pixels_and_places_are_inverse),
        cmocka_unit_test(neighbors_see_the_same_places),
        cmocka_unit_test(hidden_places_and_turns_make_no_neighbors),
        cmocka_unit_test(neighbors_cover_the_picture),
        cmocka_unit_test(many_views_of_a_place_are_thinned),
        cmocka_unit_test(a_splat_is_mapped),
        cmocka_unit_test(memory_makes_maps_smaller_or_is_refused),
    };
    return cmocka_run_group_tests_name("view maps", tests, NULL, NULL);
}
