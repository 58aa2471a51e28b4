/* The built-in worlds after the first three: the same bytes at any thread count; the truth lies on its triangles, with
 * all its subsets; the tree of boxes finds what a walk over all parts finds; nobody stands in a thing; the sky has no
 * parallax. */
#include "base/file.h"
#include "check.h"
#include "mesh/files/mesh_io.h"
#include "mesh/measure/reference_points.h"
#include "mesh/mesh_bvh.h"
#include "sample/sample_designs.h"
#include "sample/sample_light.h"
#include "sample/sample_place.h"
#include "sample/sample_scene.h"
#include "sample/sample_table.h"
#include "scene_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Subsets that a world must show, as bits. */
static const struct {
    splat_sample_scene scene;
    unsigned subsets;
    double nearest; /* from any camera to any thing */
} worlds[] = {
    {SPLAT_SAMPLE_SCENE_STREET, 0x7f, 0.25},
    {SPLAT_SAMPLE_SCENE_HALL, 0x1f, 0.25},
    {SPLAT_SAMPLE_SCENE_GATE, 0xf, 0.25},
    {SPLAT_SAMPLE_SCENE_ROOM2, 0xf, 0.25},
    {SPLAT_SAMPLE_SCENE_GLOSSY, 0x13, 0.25}, /* its thin legs are too few for a small truth */
    {SPLAT_SAMPLE_SCENE_WHEEL, 0xf, 0.1},
    {SPLAT_SAMPLE_SCENE_LOFT, 0xb, 0.25},
    {SPLAT_SAMPLE_SCENE_OFFICE, 0x7, 0.25},
};
enum { N_WORLDS = sizeof worlds / sizeof worlds[0] };

static splat_sample_options small_scene(splat_sample_scene scene, uint64_t seed)
{
    splat_sample_options options;
    splat_sample_options_init(&options);
    splat_sample_options_choose(&options, scene);
    options.width = 64;
    options.height = 48;
    options.n_cameras = 20;
    options.n_points = 600;
    options.n_truth = 3000;
    options.supersample = 1;
    options.seed = seed;
    return options;
}

static bool is_same_file(const char *a, const char *b, const char *name)
{
    splat_error error;
    uint8_t *data[2];
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        char *path = splat_format("%s/%s", i ? b : a, name);
        ASSERT_OK(splat_file_read(path, &data[i], &sizes[i], &error));
        free(path);
    }
    bool is_same = sizes[0] == sizes[1] && memcmp(data[0], data[1], sizes[0]) == 0;
    free(data[0]);
    free(data[1]);
    return is_same;
}

static void test_determinism(void **state)
{
    static const char *const names[] = {"ground_truth.ply", "ground_truth_mesh.ply", "images/image_003.jpg",
                                        "sparse/0/images.bin", "sparse/0/points3D.bin"};
    (void)state;
    for (int w = 0; w < N_WORLDS; w++) {
        splat_sample_options options = small_scene(worlds[w].scene, 2);
        options.exposure_spread = 0.3f;
        fixture_sample("one", &options, 1);
        fixture_sample("three", &options, 3);
        for (int i = 0; i < 5; i++)
            if (!is_same_file("one", "three", names[i])) fail_msg("world %d: %s differs", w, names[i]);
        options.seed++;
        fixture_sample("three", &options, 2);
        for (int i = 0; i < 5; i++) assert_false(is_same_file("one", "three", names[i]));
    }
}

static void test_truth(void **state)
{
    (void)state;
    for (int w = 0; w < N_WORLDS; w++) {
        splat_error error;
        splat_mesh mesh;
        splat_mesh_bvh bvh;
        splat_reference_points points;
        splat_sample_options options = small_scene(worlds[w].scene, 1);
        unsigned seen = 0;
        size_t n_bad = 0;
        fixture_sample("world", &options, 2);
        ASSERT_OK(splat_mesh_read("world/ground_truth_mesh.ply", &mesh, &error));
        ASSERT_OK(splat_reference_points_read("world/ground_truth.ply", &points, &error));
        ASSERT_OK(splat_mesh_check(&mesh, &error));
        ASSERT_OK(splat_mesh_bvh_make(&mesh, 2, &bvh, &error));
        assert_string_equal(points.names[3], "curved");
        assert_string_equal(points.names[6], "far");
        for (size_t i = 0; i < points.cloud.n_vertices; i++) {
            const float *p = points.cloud.vertices + 3 * i, *n = points.cloud.normals + 3 * i;
            const double place[3] = {(double)p[0], (double)p[1], (double)p[2]};
            bool is_far = points.subset[i] == SPLAT_PART_FAR;
            uint32_t face;
            double normal[3], cosine = 0, length = 0, distance = splat_mesh_bvh_nearest(&bvh, place, &face);
            if (distance > (is_far ? 0.02 : 2e-4))
                fail_msg("world %d: point %zu of subset %d is %g from the surface", w, i, points.subset[i], distance);
            seen |= 1u << points.subset[i];
            splat_mesh_face_cross(&mesh, face, normal);
            for (int k = 0; k < 3; k++) {
                cosine += normal[k] * (double)n[k];
                length += normal[k] * normal[k];
            }
            /* at an edge, on a leaf of 1 mm, and where parts cross, the nearest may be another face */
            bool is_edge = distance < 1e-6 || points.subset[i] == SPLAT_PART_LEAVES;
            n_bad += cosine < 0.9 * sqrt(length) && !is_edge;
        }
        if (n_bad > 3) fail_msg("world %d: %zu of 3000 points have a bad normal", w, n_bad);
        if (seen != worlds[w].subsets) fail_msg("world %d shows the subsets %x", w, seen);
        splat_mesh_bvh_free(&bvh);
        splat_reference_points_free(&points);
        splat_mesh_free(&mesh);
    }
}

static splat_vec3 direction_of(uint64_t seed, uint64_t index)
{
    splat_random4 words = splat_random(seed, SPLAT_STREAM_TEST, 2, index);
    double z = 2 * (double)splat_uniform(words.x[0]) - 1, r = sqrt(1 - z * z);
    double angle = 6.2832 * (double)splat_uniform(words.x[1]);
    return splat_vec3_make(r * cos(angle), z, r * sin(angle));
}

/* From each camera around: as far as from a thing, and the same surface with the tree and without it. */
static void test_rays(void **state)
{
    enum { CAMERAS = 60, RAYS = 60 };
    (void)state;
    for (int w = 0; w < N_WORLDS; w++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            splat_parts parts;
            splat_sample_design_init(&parts, worlds[w].scene, seed);
            assert_false(parts.lacks_memory);
            assert_non_null(parts.tree.nodes);
            splat_parts list = parts;
            list.tree = (splat_tree){0};
            for (int i = 0; i < CAMERAS; i++) {
                splat_sample_camera camera = {.width = 720, .height = 540};
                splat_sample_design_camera(&parts, worlds[w].scene, seed, i, CAMERAS, &camera);
                for (uint64_t k = 0; k < RAYS; k++) {
                    splat_vec3 ray = direction_of(seed, RAYS * (uint64_t)i + k);
                    splat_parts_hit hit, other;
                    bool is_hit = splat_parts_trace(&parts, camera.center, ray, &hit);
                    assert_int_equal(is_hit, splat_parts_trace(&list, camera.center, ray, &other));
                    if (!is_hit) continue;
                    assert_true(hit.t == other.t);
                    assert_true(splat_parts_is_occluded(&parts, camera.center, ray, hit.t + 1e-6));
                    assert_false(splat_parts_is_occluded(&parts, camera.center, ray, hit.t));
                    if (hit.t < worlds[w].nearest)
                        fail_msg("world %d, seed %d: camera %d is %g from part %d", w, (int)seed, i, hit.t, hit.part);
                }
            }
            splat_parts_release(&parts);
        }
}

/* A direction has its colour wherever the camera stands, and one that is overcast is white. */
static void test_sky(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        splat_parts parts;
        splat_vec3 up = splat_vec3_normalize(splat_vec3_make(0.1, -0.9, 0.3));
        splat_sample_design_init(&parts, SPLAT_SAMPLE_SCENE_STREET, seed);
        assert_int_equal(parts.sky.kind, SPLAT_SKY_OVERCAST + (int)seed);
        splat_vec3 here = splat_parts_color(&parts, splat_vec3_make(0, -1.6, -3), up, 0, 1);
        splat_vec3 there = splat_parts_color(&parts, splat_vec3_make(5, -1.2, -2), up, 0, 1);
        assert_true(here.x == there.x && here.y == there.y && here.z == there.z);
        assert_true(seed == 0 ? here.x == 1 && here.z == 1 : here.z > here.x + 0.02);
        splat_parts_release(&parts);
    }
}

/* ---------------------------------------------------------------- things of the user's */

/* A box of 2 x 1 x 3 with a red top (+z) and grey sides, off the origin. */
static void write_box(const char *path)
{
    static const uint32_t faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                          {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    splat_mesh mesh = {0};
    splat_error error;
    for (int k = 0; k < 8; k++) {
        const float place[3] = {5 + (k & 1 ? 2.0f : 0), -7 + (k & 2 ? 1.0f : 0), 1 + (k & 4 ? 3.0f : 0)};
        const uint8_t red[4] = {200, 10, 10, 255}, grey[4] = {120, 120, 120, 255};
        if (k == 0) ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
        ASSERT_OK(splat_mesh_add_vertex(&mesh, place, k & 4 ? red : grey, &error));
    }
    for (int f = 0; f < 12; f++)
        ASSERT_OK(splat_mesh_add_face(&mesh, faces[f][0], faces[f][1], faces[f][2], &error));
    ASSERT_OK(splat_mesh_write(path, &mesh, &error));
    splat_mesh_free(&mesh);
}

/* Boxes stand on the table, red side up, 0.9 high, apart from each other; the same for any number of threads. */
static void test_table(void **state)
{
    (void)state;
    write_box("box.ply");
    splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_TABLE, 4);
    options.things = "box.ply,box.ply,box.ply";
    fixture_sample("one", &options, 1);
    fixture_sample("three", &options, 3);
    assert_true(is_same_file("one", "three", "ground_truth.ply"));
    assert_true(is_same_file("one", "three", "images/image_003.jpg"));
    splat_sample_things things;
    splat_parts parts = {0};
    splat_error error;
    enum { MANY = 40 }; /* more than a table of 6 x 6 has room for */
    char names[MANY * 8] = "box.ply";
    for (int i = 1; i < MANY; i++) strcat(names, ",box.ply");
    ASSERT_OK(splat_sample_things_open(names, 0.9, 2, &things, &error));
    assert_int_equal(things.n, MANY);
    parts.things = &things;
    splat_sample_design_init(&parts, options.scene, 4);
    int n_things = 0, n_red = 0;
    for (int i = 0; i < parts.n; i++) {
        const splat_part *a = &parts.items[i];
        if (a->shape != SPLAT_PART_MESH) continue;
        n_things++;
        assert_float_equal(a->thing->height, 0.9, 1e-6); /* of 2 x 1 x 3 */
        assert_float_equal(splat_sample_thing_area(a->thing), 22 * 0.09, 1e-5);
        for (int j = 0; j < i; j++)
            if (parts.items[j].shape == SPLAT_PART_MESH)
                assert_true(hypot(a->center.x - parts.items[j].center.x, a->center.z - parts.items[j].center.z) >
                            2 * a->thing->radius);
        splat_parts_hit hit;
        splat_vec3 from = {a->center.x, -5, a->center.z};
        assert_true(splat_parts_trace(&parts, from, splat_vec3_make(0, 1, 0), &hit));
        assert_float_equal(hit.position.y, -0.9, 1e-6);
        assert_float_equal(hit.normal.y, -1, 1e-6);
        splat_vec3 color = splat_parts_shade(&parts, &hit, splat_vec3_make(0, 1, 0), 0, 1);
        n_red += color.x > 5 * color.y;
    }
    assert_int_equal(n_things, MANY);
    assert_int_equal(n_red, MANY);
    splat_parts_release(&parts);
    splat_sample_things_free(&things);
    options.things = NULL;
    assert_int_equal(splat_sample_scene_write("none", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "name their files"));
    options.things = "box.ply,absent.obj";
    assert_true(splat_sample_scene_write("none", &options, 1, &error) != SPLAT_OK);
    assert_non_null(strstr(error.file, "absent.obj"));
    options = small_scene(SPLAT_SAMPLE_SCENE_ROOM, 0);
    options.things = "box.ply";
    assert_int_equal(splat_sample_scene_write("none", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "table"));
    assert_false(splat_path_exists("none"));
}

/* A box as a house: photographers stand outside and see the box. Nobody can take pictures of a floor whose front looks
 * down. */
static void test_place(void **state)
{
    (void)state;
    splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_PLACE, 2); /* a turned world */
    splat_sample_things things;
    splat_parts parts = {0};
    splat_error error;
    write_box("house.ply");
    options.things = "house.ply";
    fixture_sample("place_one", &options, 1);
    fixture_sample("place_three", &options, 3);
    assert_true(is_same_file("place_one", "place_three", "ground_truth.ply"));
    assert_true(is_same_file("place_one", "place_three", "images/image_007.jpg"));
    ASSERT_OK(splat_sample_things_open("house.ply", SPLAT_SAMPLE_PLACE_SIZE, 1, &things, &error));
    parts.things = &things;
    splat_sample_design_init(&parts, options.scene, options.seed);
    const splat_part *house = &parts.items[0];
    assert_int_equal(house->shape, SPLAT_PART_MESH);
    for (int i = 0; i < options.n_cameras; i++) {
        splat_sample_camera camera = {.width = 64, .height = 48};
        int n_shown = 0;
        assert_true(splat_sample_design_camera(&parts, options.scene, options.seed, i, options.n_cameras, &camera));
        const splat_vec3 at = splat_part_to_local(house, splat_vec3_sub(camera.center, house->center));
        assert_true(fabs(at.x) > 4 || fabs(at.z) > 2); /* the box stands on 8 x 4 */
        assert_true(camera.center.y < -0.4 && camera.center.y > -2.5);
        for (int p = 0; p < 64 * 48; p += 7) {
            splat_parts_hit hit;
            n_shown += splat_parts_trace(&parts, camera.center,
                                         splat_sample_camera_ray(&camera, p % 64 + 0.5, p / 64 + 0.5), &hit) &&
                       hit.part == 0;
        }
        assert_in_range(n_shown, 64 * 48 / 7 / 3, 64 * 48);
    }
    splat_parts_release(&parts);
    splat_sample_things_free(&things);

    splat_mesh mesh;
    ASSERT_OK(splat_mesh_read("house.ply", &mesh, &error));
    mesh.n_faces = 2; /* the lower side, which shows its back to all who stand on it */
    ASSERT_OK(splat_mesh_write("floor.ply", &mesh, &error));
    splat_mesh_free(&mesh);
    options.things = "floor.ply";
    assert_int_equal(splat_sample_scene_write("none", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "fronts"));
    options.things = "house.ply,house.ply";
    assert_int_equal(splat_sample_scene_write("none", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "one mesh"));
    assert_false(splat_path_exists("none"));
}

/* White paper under a box: its far end is as white as the wall behind it, and the box has a shadow. */
static void test_product(void **state)
{
    (void)state;
    write_box("box.ply");
    splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_PRODUCT, 5);
    options.things = "box.ply";
    fixture_sample("product_one", &options, 1);
    fixture_sample("product_three", &options, 3);
    assert_true(is_same_file("product_one", "product_three", "images/image_003.jpg"));
    splat_sample_things things;
    splat_parts parts = {0};
    splat_error error;
    ASSERT_OK(splat_sample_things_open("box.ply", SPLAT_SAMPLE_TABLE_LARGEST, 1, &things, &error));
    parts.things = &things;
    splat_sample_design_init(&parts, options.scene, options.seed);
    enum { SIDE = 60 };
    int n_white = 0, n_shadow = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const splat_vec3 from = {6.0 * (i % SIDE + 0.5) / SIDE - 3, -5, 6.0 * (i / SIDE + 0.5) / SIDE - 3};
        splat_parts_hit hit;
        assert_true(splat_parts_trace(&parts, from, splat_vec3_make(0, 1, 0), &hit));
        if (parts.items[hit.part].shape == SPLAT_PART_MESH) continue;
        const double level = splat_parts_shade(&parts, &hit, splat_vec3_make(0, 1, 0), 0, 1).x;
        n_white += level >= 1;
        n_shadow += level < 0.9;
    }
    assert_true(n_white > SIDE * SIDE / 2);
    assert_true(n_shadow > 10);
    splat_parts_release(&parts);
    splat_sample_things_free(&things);
}

/* A drone stays above the box and outside of it; half of the photos look down, and all show the box or its ground. */
static void test_flight(void **state)
{
    (void)state;
    splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_FLIGHT, 2); /* a turned world */
    write_box("flown.ply");
    options.things = "flown.ply";
    fixture_sample("flight_one", &options, 1);
    fixture_sample("flight_three", &options, 3);
    assert_true(is_same_file("flight_one", "flight_three", "images/image_007.jpg"));
    splat_sample_things things;
    splat_parts parts = {0};
    splat_error error;
    ASSERT_OK(splat_sample_things_open("flown.ply", SPLAT_SAMPLE_PLACE_SIZE, 1, &things, &error));
    parts.things = &things;
    splat_sample_design_init(&parts, options.scene, options.seed);
    for (int n = 3; n < 60; n += 7) {
        int n_down = 0;
        for (int i = 0; i < n; i++) {
            splat_sample_camera camera = {.width = 64, .height = 48};
            splat_parts_hit hit;
            assert_true(splat_sample_design_camera(&parts, options.scene, options.seed, i, n, &camera));
            assert_true(splat_parts_trace(&parts, camera.center, camera.rows[2], &hit));
            assert_in_range((int)hit.t, 4, 30);
            assert_true(camera.center.y < -0.5 * SPLAT_SAMPLE_PLACE_SIZE);
            n_down += camera.rows[2].y > 0.99;
        }
        assert_int_equal(n_down, (n + 1) / 2);
    }
    splat_parts_release(&parts);
    splat_sample_things_free(&things);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_sky),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
