/* The built-in scenes to measure surfaces with: the same bytes at any thread count; the truth lies on the surface and
 * is seen by three cameras, checked against the triangles with other code; subsets; cameras; points to start from. */
#include "base/file.h"
#include "check.h"
#include "io/colmap/colmap.h"
#include "io/colmap/colmap_read.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "math/camera.h"
#include "mesh/files/mesh_io.h"
#include "mesh/measure/reference_points.h"
#include "mesh/mesh_bvh.h"
#include "sample/sample_designs.h"
#include "sample/sample_scene.h"
#include "sample/sample_truth.h"
#include "scene_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static splat_sample_options small_scene(splat_sample_scene scene)
{
    splat_sample_options options;
    splat_sample_options_init(&options);
    splat_sample_options_choose(&options, scene);
    assert_true(options.width == 720 && options.n_cameras == 120 && options.n_truth == 500000);
    options.width = 64;
    options.height = 48;
    options.n_cameras = 16;
    options.n_points = 1500;
    options.n_truth = 4000;
    options.supersample = 1;
    options.seed = 11;
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
    for (int scene = SPLAT_SAMPLE_SCENE_OBJECTS; scene <= SPLAT_SAMPLE_SCENE_ROOM; scene++) {
        splat_sample_options options = small_scene((splat_sample_scene)scene);
        fixture_sample("one", &options, 1);
        fixture_sample("three", &options, 3);
        for (int i = 0; i < 5; i++) assert_true(is_same_file("one", "three", names[i]));
        options.seed++;
        fixture_sample("three", &options, 2);
        for (int i = 0; i < 5; i++) assert_false(is_same_file("one", "three", names[i]));
    }
}

enum { SEEN = 4, GRID_X = 4, GRID_Y = 3, LOOK = GRID_X * GRID_Y * 3 };

/* The mean colours of a photo's twelve tiles, as hexadecimal numbers. */
static void describe(const char *path, char text[2 * LOOK + 1])
{
    splat_error error;
    splat_image image;
    ASSERT_OK(splat_image_read(path, &image, &error));
    for (size_t i = 0; i < LOOK; i++) {
        size_t left = i / 3 % GRID_X * 16, top = i / 3 / GRID_X * 16, sum = 128;
        for (size_t k = 0; k < 256; k++) sum += image.pixels[3 * ((top + k / 16) * 64 + left + k % 16) + i % 3];
        sprintf(text + 2 * i, "%02x", (unsigned)(sum / 256));
    }
    splat_image_free(&image);
}

/* docs/lab/surfaces.md names its scenes by kind and seed: with these seeds they look like this, in photos
 * 0, 4, 8 and 12. Two levels are what a decoder of JPEG may do to a mean. */
static void test_seeds_name_scenes(void **state)
{
    (void)state;
    static const char *const looks[3][SEEN] = {
        {"292f3d292d3933333a2e35454b5457606259594b3d484e4d77776d6b6c5d68644f525147",
         "2a313f3a393c2a303c2b31405d5850d7a77962645b535a5c7b7961625546837e677b7e67",
         "3e4550454c52614f473c3f4872726568706063523e716e5c807d6e625d576a6b4d757f59",
         "3e444f54524f444c4e3e454fa6926bbb895b6a75677c8375938266998468787364777565"},
        {"4649574549514b4c5a4e546065616a7370567171735f7c54759a417da63979a239789f3b",
         "4d535f474c564c505b4d545f5f5b674957526b705a4c304e8166aa5a4c74725083584174",
         "5e616e64536b575c695e59696d86497d8359766d787268837ea63a73915275a23c79a540",
         "5c66615e7252636e5f5b695d6f697d727d5c6f774d5d704973558d4a4e65714e8167346b"},
        {"85968591a18f76806e838a67859e8a8496876a7f697983615e635263604c4a523c395c3f",
         "8291677c8665878574aaa2958185688d7c6a85916869715d808f677f8768819067697659",
         "6775776a797c647376556064535b5b565e5d5156544946464151525a432c533b25553d26",
         "615c699274939a7c9b927b9a615e6a5f5a62967897836c7f51453f494b4a7d647e866c88"},
    };
    for (int scene = SPLAT_SAMPLE_SCENE_BASIC; scene <= SPLAT_SAMPLE_SCENE_ROOM; scene++) {
        splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_ROOM);
        options.scene = (splat_sample_scene)scene;
        options.seed = 0;
        fixture_sample("named", &options, 2);
        for (int i = 0; i < SEEN; i++) {
            char path[64], text[2 * LOOK + 1];
            snprintf(path, sizeof path, "named/images/image_%03d.%s", 4 * i, scene ? "jpg" : "png");
            describe(path, text);
            for (size_t k = 0; k < LOOK; k++) {
                unsigned found, wanted = 0;
                assert_int_equal(sscanf(text + 2 * k, "%2x", &found), 1);
                sscanf(looks[scene][i] + 2 * k, "%2x", &wanted);
                if (abs((int)found - (int)wanted) > 2) fail_msg("%s, value %zu: looks like %s", path, k, text);
            }
        }
    }
}

/* ---------------------------------------------------------------- the truth, against the triangles */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The place at which the ray from o along d passes a triangle that faces it, as a part of d (Moeller, Trumbore 1997);
 * 2: none. */
static double pass_triangle(const splat_mesh *mesh, size_t face, const double o[3], const double d[3])
{
    double a[3], ab[3], ac[3], oa[3], p[3], q[3];
    const uint32_t *f = mesh->faces + 3 * face;
    for (size_t c = 0; c < 3; c++) {
        a[c] = (double)mesh->vertices[3 * f[0] + c];
        ab[c] = (double)mesh->vertices[3 * f[1] + c] - a[c];
        ac[c] = (double)mesh->vertices[3 * f[2] + c] - a[c];
        oa[c] = o[c] - a[c];
    }
    cross(d, ac, p);
    double determinant = dot(ab, p);
    if (determinant <= 0) return 2; /* seen from behind, by the winding of the faces */
    double u = dot(oa, p) / determinant;
    cross(oa, ab, q);
    double v = dot(d, q) / determinant;
    return u < 0 || v < 0 || u + v > 1 ? 2 : dot(ac, q) / determinant;
}

/* Cameras that see a place: in the frame of the COLMAP model, and no triangle in front of it by more than a margin. */
static int count_cameras(const splat_colmap_model *model, const splat_mesh *mesh, const float place[3], double margin)
{
    int n = 0;
    for (size_t i = 0; i < model->n_images; i++) {
        const splat_colmap_camera *camera = &model->cameras[0];
        double r[9], center[3], c[3], d[3], depth = 1, length;
        splat_quaternion_to_rotation(model->images[i].rotation, r);
        splat_camera_center(r, model->images[i].translation, center);
        for (int k = 0; k < 3; k++)
            c[k] = r[3 * k] * (double)place[0] + r[3 * k + 1] * (double)place[1] + r[3 * k + 2] * (double)place[2] +
                   model->images[i].translation[k];
        double u = camera->fx * c[0] / c[2] + camera->cx, v = camera->fy * c[1] / c[2] + camera->cy;
        if (c[2] <= 0 || u < -1e-3 || v < -1e-3 || u > (double)camera->width + 1e-3 ||
            v > (double)camera->height + 1e-3)
            continue;
        for (int k = 0; k < 3; k++) d[k] = (double)place[k] - center[k];
        length = sqrt(dot(d, d));
        for (size_t f = 0; f < mesh->n_faces && depth * length > length - margin; f++) {
            double t = pass_triangle(mesh, f, center, d);
            if (t > 0 && t < depth) depth = t;
        }
        n += depth * length > length - margin;
    }
    return n;
}

static int compare_edges(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Each side of a face is the side of another, in the other direction; only the two halves of a rectangle, a face each,
 * have two sides of their own. */
static void check_closed(const splat_mesh *mesh)
{
    size_t n = 3 * mesh->n_faces;
    uint64_t *edges = malloc(n * sizeof *edges);
    assert_non_null(edges);
    for (size_t i = 0; i < n; i++)
        edges[i] = (uint64_t)mesh->faces[i] << 32 | mesh->faces[i % 3 == 2 ? i - 2 : i + 1];
    qsort(edges, n, sizeof *edges, compare_edges);
    for (size_t i = 1; i < n; i++) assert_true(edges[i - 1] != edges[i]);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        int n_open = 0;
        for (size_t k = 0; k < 3; k++) {
            uint64_t back = (uint64_t)mesh->faces[3 * f + (k + 1) % 3] << 32 | mesh->faces[3 * f + k];
            n_open += !bsearch(&back, edges, n, sizeof *edges, compare_edges);
        }
        if (n_open != 0 && n_open != 2) fail_msg("face %zu has %d sides without a neighbour", f, n_open);
    }
    free(edges);
}

static void check_truth(splat_sample_scene scene, const char *folder)
{
    splat_error error;
    splat_colmap_model model;
    splat_mesh mesh;
    splat_mesh_bvh bvh;
    splat_reference_points points;
    splat_sample_options options = small_scene(scene);
    size_t n_kinds[3] = {0};
    fixture_sample(folder, &options, 2);
    char *mesh_path = splat_format("%s/ground_truth_mesh.ply", folder);
    char *points_path = splat_format("%s/ground_truth.ply", folder), *model_path = splat_format("%s/sparse/0", folder);
    ASSERT_OK(splat_mesh_read(mesh_path, &mesh, &error));
    ASSERT_OK(splat_reference_points_read(points_path, &points, &error));
    ASSERT_OK(splat_colmap_read(model_path, &model, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    check_closed(&mesh);
    ASSERT_OK(splat_mesh_bvh_make(&mesh, 2, &bvh, &error));
    assert_int_equal(points.cloud.n_vertices, 4000);
    assert_string_equal(points.names[0], "textured");
    assert_string_equal(points.names[2], "thin");
    for (size_t i = 0; i < 4000; i++) {
        const float *p = points.cloud.vertices + 3 * i, *n = points.cloud.normals + 3 * i;
        const double place[3] = {(double)p[0], (double)p[1], (double)p[2]};
        uint32_t face;
        double normal[3], distance = splat_mesh_bvh_nearest(&bvh, place, &face);
        if (distance > 2e-4) fail_msg("point %zu is %g from the surface", i, distance); /* as docs/files.md says */
        n_kinds[points.subset[i]]++;
        splat_mesh_face_cross(&mesh, face, normal);
        double length = sqrt(dot(normal, normal)), cosine = 0;
        for (int k = 0; k < 3; k++) cosine += normal[k] * (double)n[k] / length;
        /* faces look outwards; at an edge the nearest may be the other face */
        assert_true(cosine > 0.9 || (cosine > -1e-3 && distance < 1e-6) || distance > 0);
        if (i % 20 == 0 && count_cameras(&model, &mesh, p, 3e-3) < 3) fail_msg("point %zu is hidden", i);
    }
    /* half of the ground is plain, and a room is mostly plain; thin things have little area */
    if (n_kinds[0] < 500 || n_kinds[1] < 1000 || n_kinds[2] < 8)
        fail_msg("subsets of %zu, %zu and %zu points", n_kinds[0], n_kinds[1], n_kinds[2]);
    splat_mesh_bvh_free(&bvh);
    splat_reference_points_free(&points);
    splat_colmap_free(&model);
    splat_mesh_free(&mesh);
    free(mesh_path);
    free(points_path);
    free(model_path);
}

static void test_truth(void **state)
{
    (void)state;
    check_truth(SPLAT_SAMPLE_SCENE_OBJECTS, "objects");
    check_truth(SPLAT_SAMPLE_SCENE_ROOM, "room");
}

/* ---------------------------------------------------------------- worlds of many seeds */

/* The cameras of a default run. */
static void make_work(splat_sample_work *s, splat_sample_options *options)
{
    s->options = options;
    s->threads = 1;
    s->cameras = malloc((size_t)options->n_cameras * sizeof *s->cameras);
    splat_sample_design_init(&s->parts, options->scene, options->seed);
    for (int i = 0; i < options->n_cameras; i++) {
        s->cameras[i] = (splat_sample_camera){.width = options->width, .height = options->height};
        splat_sample_design_camera(&s->parts, options->scene, options->seed, i, options->n_cameras, &s->cameras[i]);
    }
}

/* The seen part of a part's area, over three cameras. */
static double seen_part(const splat_sample_work *s, const splat_part *part)
{
    int n = 0, n_seen = 0;
    for (uint64_t i = 0; i < 150; i++) {
        splat_random4 words = splat_random(3, SPLAT_STREAM_TEST, 1, i);
        double uniform[3];
        splat_vec3 position, normal, direction;
        for (int k = 0; k < 3; k++) uniform[k] = (double)splat_uniform(words.x[k]);
        if (!splat_part_point(part, uniform, &position, &normal)) continue;
        n++;
        n_seen += splat_sample_parts_seen(s, position, normal, 3, &direction) == 3;
    }
    return (double)n_seen / n;
}

/* Whatever the seed: nobody stands in a thing; three photos show the ground, and of floor and walls (0.83 and more
 * here) what is not behind furniture and posters; rods nearly all around, and something of every leg, though some of
 * their sides face walls. */
static void test_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        splat_sample_options options;
        splat_sample_work s = {0};
        splat_sample_options_init(&options);
        splat_sample_options_choose(&options, seed % 2 ? SPLAT_SAMPLE_SCENE_ROOM : SPLAT_SAMPLE_SCENE_OBJECTS);
        options.seed = seed;
        make_work(&s, &options);
        for (int i = 0; i < options.n_cameras; i++)
            for (uint64_t k = 0; k < 60; k++) {
                splat_random4 words = splat_random(seed, SPLAT_STREAM_TEST, 2, k);
                double z = 2 * (double)splat_uniform(words.x[0]) - 1, r = sqrt(1 - z * z);
                double angle = 6.2832 * (double)splat_uniform(words.x[1]);
                splat_vec3 ray = {r * cos(angle), z, r * sin(angle)};
                assert_false(splat_parts_is_occluded(&s.parts, s.cameras[i].center, ray, 0.25));
            }
        for (int i = 0; i < s.parts.n; i++) {
            const splat_part *part = &s.parts.items[i];
            double seen = seen_part(&s, part);
            if (part->shape == SPLAT_PART_RECTANGLE && seen < 0.75)
                fail_msg("seed %d: %g of face %d is seen", (int)seed, seen, i);
            if (part->kind == SPLAT_PART_THIN && seen < (seed % 2 ? 0.1 : 0.8))
                fail_msg("seed %d: %g of thin part %d is seen", (int)seed, seen, i);
        }
        splat_parts_release(&s.parts);
        free(s.cameras);
    }
}

/* On the plain half of the ground and on plain walls there is nothing to match. Points are off by less than 0.007 times
 * a normal number: those of the room do not leave it. */
static void test_start_points(void **state)
{
    (void)state;
    for (int scene = SPLAT_SAMPLE_SCENE_OBJECTS; scene <= SPLAT_SAMPLE_SCENE_ROOM; scene++) {
        splat_sample_options options = small_scene((splat_sample_scene)scene);
        splat_sample_work s = {0};
        splat_point *points = malloc(1500 * sizeof *points);
        int n_floor = 0, n_plain = 0, n_far = 0;
        make_work(&s, &options);
        assert_true(splat_sample_parts_points(&s, points, 1500));
        for (int i = 0; i < 1500; i++) {
            const float *p = points[i].position;
            bool is_room = scene == SPLAT_SAMPLE_SCENE_ROOM;
            double x = (double)p[0], y = (double)p[1], z = (double)p[2];
            n_far += x * x + y * y + z * z > 64;
            if (is_room) assert_true(fabs(x) < 3.05 && y > -3.05 && y < 0.05 && fabs(z) < 2.05);
            if (is_room ? fabs(y) < 0.03 : fabs(y) < 0.03 && x < -0.05 && fabs(z) < 1.95) n_floor++;
            if (is_room ? fabs(y + 3) < 0.03 && fabs(x) < 2.9 && fabs(z) < 1.9
                        : fabs(y) < 0.03 && x > 0.05 && x < 1.95 && fabs(z) < 1.95)
                n_plain++;
        }
        assert_true(n_floor > 300 && n_plain < n_floor / 8);
        assert_int_equal(n_far, scene == SPLAT_SAMPLE_SCENE_ROOM ? 0 : (1500 + 7) / 8); /* the backdrop */
        free(points);
        splat_parts_release(&s.parts);
        free(s.cameras);
    }
}

static void test_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_sample_options options = small_scene(SPLAT_SAMPLE_SCENE_ROOM);
    ASSERT_OK(splat_folder_delete("bad", &error));
    options.n_cameras = 2;
    assert_int_equal(splat_sample_scene_write("bad", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    options.n_cameras = 6; /* none of 2,048 tries is seen by three of them */
    options.n_truth = 1000000;
    options.n_points = 20; /* each has as many tries */
    assert_int_equal(splat_sample_scene_write("bad", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "three of the sample's 6 cameras see too little in common"));
    options = small_scene((splat_sample_scene)SPLAT_SAMPLE_SCENE_ROOM);
    options.scene = (splat_sample_scene)99;
    assert_int_equal(splat_sample_scene_write("bad", &options, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_false(splat_path_exists("bad"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_determinism),  cmocka_unit_test(test_truth),   cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_start_points), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_seeds_name_scenes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
