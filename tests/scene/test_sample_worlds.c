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
#include "sample/sample_scene.h"
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
        ASSERT_OK(splat_mesh_bvh_make(&mesh, &bvh, &error));
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
                splat_sample_design_camera(worlds[w].scene, seed, i, CAMERAS, &camera);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_rays),
        cmocka_unit_test(test_sky),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
