/* The built-in scene: the same bytes at any thread count, pictures that fit their cameras, points on the surfaces. */
#include "base/file.h"
#include "io/colmap/colmap.h"
#include "io/colmap/colmap_read.h"
#include "io/exposure_file.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/ply/ply_points.h"
#include "math/camera.h"
#include "sample/sample_raytrace.h"
#include "sample/sample_scene.h"
#include "scene/dataset_open.h"
#include "scene_fixture.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const splat_sample_options small = {
    .size = sizeof small,
    .width = 96, .height = 72, .n_cameras = 10, .n_points = 400, .n_truth = 20000, .supersample = 2, .seed = 5};

static void assert_same_tree(const char *a, const char *b, bool same, size_t *n_files)
{
    splat_error error;
    char **names, **other;
    size_t n, n_other;
    ASSERT_OK(splat_folder_list(a, &names, &n, &error));
    ASSERT_OK(splat_folder_list(b, &other, &n_other, &error));
    assert_int_equal(n, n_other);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(names[i], other[i]);
        char *path_a = splat_format("%s/%s", a, names[i]), *path_b = splat_format("%s/%s", b, names[i]);
        if (splat_path_is_folder(path_a)) {
            assert_same_tree(path_a, path_b, same, n_files);
        } else {
            uint8_t *data_a, *data_b;
            size_t size_a, size_b;
            ASSERT_OK(splat_file_read(path_a, &data_a, &size_a, &error));
            ASSERT_OK(splat_file_read(path_b, &data_b, &size_b, &error));
            bool equal = size_a == size_b && memcmp(data_a, data_b, size_a) == 0;
            bool seedless = strncmp(names[i], "cameras.", 8) == 0; /* the intrinsics */
            if (equal != (same || seedless)) fail_msg("%s and %s: equal is %d", path_a, path_b, equal);
            free(data_a);
            free(data_b);
            (*n_files)++;
        }
        free(path_a);
        free(path_b);
    }
    splat_names_free(names, n);
    splat_names_free(other, n_other);
}

/* Pictures are those of one exposure times the gains that the scene tells, rounded and clipped. */
static void test_exposures(void **state)
{
    (void)state;
    splat_error error;
    splat_sample_options options = small;
    splat_exposures truth;
    double least = 9, most = -9, sums[3] = {0};
    fixture_sample("exposed_no", &options, 2);
    options.exposure_spread = 1.5f;
    fixture_sample("exposed", &options, 2);
    assert_false(splat_path_exists("exposed_no/ground_truth_exposure.json"));
    ASSERT_OK(splat_exposures_read("exposed/ground_truth_exposure.json", &truth, &error));
    assert_int_equal(truth.n_photos, options.n_cameras);
    for (size_t i = 0; i < truth.n_photos; i++) {
        const splat_photo_exposure *photo = &truth.photos[i];
        char *path = splat_format("exposed_no/images/%s", photo->name);
        splat_image plain, exposed;
        ASSERT_OK(splat_image_read(path, &plain, &error));
        free(path);
        path = splat_format("exposed/images/%s", photo->name);
        ASSERT_OK(splat_image_read(path, &exposed, &error));
        free(path);
        for (size_t k = 0; k < 3 * (size_t)plain.width * (size_t)plain.height; k++)
            assert_int_equal(exposed.pixels[k], (int)fmin(255, floor(plain.pixels[k] * photo->gain[k % 3] + 0.5)));
        splat_image_free(&plain);
        splat_image_free(&exposed);
        assert_true(fabs(photo->ev) <= 3);
        for (int c = 0; c < 3; c++) assert_true(fabs(log2(photo->gain[c]) - photo->ev) <= 0.76);
        for (int c = 0; c < 3 && i % 8; c++) sums[c] += log2(photo->gain[c]); /* those that are no test photos */
        least = fmin(least, photo->ev);
        most = fmax(most, photo->ev);
    }
    assert_true(least < -0.4 && most > 0.4 && most - least <= 3);
    for (int c = 0; c < 3; c++) assert_true(fabs(sums[c]) < 1e-9);
    splat_exposures_file_free(&truth);
}

static void test_determinism(void **state)
{
    (void)state;
    splat_sample_options other = small;
    size_t n_files = 0;
    fixture_sample("one", &small, 1);
    fixture_sample("two", &small, 2);
    fixture_sample("five", &small, 5);
    assert_same_tree("one", "two", true, &n_files);
    assert_int_equal(n_files, 10 + 6 + 1);
    assert_same_tree("one", "five", true, &n_files);
    other.seed = 6;
    fixture_sample("two", &other, 2);
    assert_same_tree("one", "two", false, &n_files);
}

static void test_surface(void **state)
{
    (void)state;
    splat_error error;
    splat_sample_world world;
    splat_point *points;
    size_t n, n_ball = 0, n_torus = 0;
    double sum_ring = 0;
    fixture_sample("one", &small, 2);
    splat_sample_world_init(&world, small.seed);
    ASSERT_OK(splat_ply_read_points("one/ground_truth.ply", &points, &n, &error));
    assert_int_equal(n, small.n_truth);
    for (size_t i = 0; i < n; i++) {
        const float *p = points[i].position;
        splat_vec3 x = splat_vec3_make((double)p[0], (double)p[1], (double)p[2]), above = x;
        double distance = 1e30;
        int nearest = 0;
        for (int shape = 0; shape < SPLAT_SAMPLE_N_SHAPES; shape++) {
            double d = splat_sample_distance(&world, (splat_sample_shape)shape, x);
            if (d < distance) nearest = shape;
            distance = fmin(distance, d);
        }
        assert_true(fabs(distance) < 1e-6); /* float coordinates up to 4: half a unit in the last place is 2.4e-7 */
        n_ball += nearest == SPLAT_SAMPLE_BALL;
        above.y -= 0.02; /* neither the foot of the box nor the ground below it exists */
        assert_false(fabs(x.y) < 1e-6 && splat_sample_distance(&world, SPLAT_SAMPLE_BOX, above) < -0.01);
        if (nearest != SPLAT_SAMPLE_TORUS) continue;
        const splat_sample_solid *torus = &world.solids[nearest];
        splat_vec3 offset = splat_vec3_sub(x, torus->center);
        double height = splat_vec3_dot(offset, torus->axes[1]);
        sum_ring += sqrt(splat_vec3_dot(offset, offset) - height * height);
        n_torus++;
    }
    /* by area the outer half of a torus counts more: the mean distance from its axis is R + r^2 / 2R, 0.482, and not
     * R = 0.45; 0.004 is the standard deviation of this mean of 940 */
    assert_true(fabs(sum_ring / (double)n_torus - (0.45 + 0.17 * 0.17 / 0.9)) < 0.015);
    free(points);
    /* by area: ball 5.31; ground 50.27 less what the box covers 0.66; box 2.04 without its foot; torus 3.02; hoop 0.27;
     * pole 0.14. Five standard deviations of a binomial count. */
    double share = 5.309 / (5.309 + 50.265 - 0.662 + 2.04 + 3.020 + 0.268 + 0.145), expected = share * (double)n;
    assert_true(fabs((double)n_ball - expected) < 5 * sqrt(expected * (1 - share)));
}

/* From around the world to the solids: a ray ends on a surface, to a tenth of a millimetre. */
static void test_rays_end_on_surfaces(void **state)
{
    (void)state;
    splat_sample_world world;
    int n[SPLAT_SAMPLE_N_SHAPES] = {0};
    splat_sample_world_init(&world, small.seed);
    for (uint64_t i = 0; i < 4000; i++) {
        splat_random4 words = splat_random(1, SPLAT_STREAM_TEST, 3, i);
        double angle = 6.2832 * (double)splat_uniform(words.x[0]), jitter[3];
        for (int k = 0; k < 3; k++) jitter[k] = (double)splat_uniform(words.x[k + 1]) - 0.5;
        splat_vec3 from = {3 * cos(angle), -1.2, 3 * sin(angle)};
        splat_vec3 to = splat_vec3_add(world.solids[i % SPLAT_SAMPLE_N_SHAPES].center,
                                       splat_vec3_make(jitter[0], jitter[1], jitter[2]));
        splat_sample_hit hit;
        if (!splat_sample_trace(&world, from, splat_vec3_normalize(splat_vec3_sub(to, from)), &hit)) continue;
        double distance = splat_sample_distance(&world, hit.shape, hit.position);
        if (fabs(distance) > 1e-4) fail_msg("shape %d: a hit is %g from the surface", (int)hit.shape, distance);
        n[hit.shape]++;
    }
    for (int shape = 0; shape < SPLAT_SAMPLE_N_SHAPES; shape++) assert_true(n[shape] > 20);
}

/* True if a solid hides x from a camera centre. */
static bool is_hidden(const splat_sample_world *world, const double center[3], const float x[3])
{
    splat_vec3 origin = splat_vec3_make(center[0], center[1], center[2]);
    splat_vec3 offset = splat_vec3_sub(splat_vec3_make((double)x[0], (double)x[1], (double)x[2]), origin);
    double distance = sqrt(splat_vec3_dot(offset, offset));
    return splat_sample_is_occluded(world, origin, splat_vec3_scale(offset, 1 / distance), distance - 0.1);
}

/* Points, poses, intrinsics and pictures agree: seen from its cameras, a point has the colour of its pixel. */
static void test_projection(void **state)
{
    (void)state;
    splat_error error;
    splat_colmap_model model;
    splat_sample_options options = small;
    splat_sample_world world;
    size_t n_pairs = 0, n_equal = 0;
    options.width = 192;
    options.height = 144;
    splat_sample_world_init(&world, options.seed);
    fixture_sample("one", &options, 2);
    ASSERT_OK(splat_colmap_read("one/sparse/0", &model, &error));
    ASSERT_OK(splat_colmap_read_points("one/sparse/0", &model, &error));
    assert_true(model.n_cameras == 1 && model.n_images == 10 && model.n_points == 400);
    assert_int_equal(model.cameras[0].model_id, 1);
    for (size_t i = 0; i < model.n_images; i++) {
        const splat_colmap_image *image = &model.images[i];
        const splat_colmap_camera *camera = &model.cameras[0];
        splat_image picture;
        double r[9], center[3], norm = 0;
        for (int k = 0; k < 4; k++) norm += image->rotation[k] * image->rotation[k];
        assert_true(fabs(norm - 1) < 1e-12);
        char *path = splat_format("one/images/%s", image->name);
        ASSERT_OK(splat_image_read(path, &picture, &error));
        free(path);
        assert_true(picture.width == options.width && picture.height == options.height && picture.channels == 3);
        splat_quaternion_to_rotation(image->rotation, r);
        splat_camera_center(r, image->translation, center);
        for (size_t p = 0; p < model.n_points; p++) {
            const float *x = model.points[p].position;
            double c[3];
            for (int k = 0; k < 3; k++)
                c[k] = r[3 * k] * (double)x[0] + r[3 * k + 1] * (double)x[1] + r[3 * k + 2] * (double)x[2] +
                       image->translation[k];
            int u = (int)floor(camera->fx * c[0] / c[2] + camera->cx);
            int v = (int)floor(camera->fy * c[1] / c[2] + camera->cy);
            if (c[2] <= 0 || u < 0 || v < 0 || u >= picture.width || v >= picture.height) continue;
            if (is_hidden(&world, center, x)) continue;
            const uint8_t *pixel = picture.pixels + 3 * (v * picture.width + u);
            int worst = 0;
            for (int k = 0; k < 3; k++) worst = (int)fmax(worst, abs(pixel[k] - model.points[p].color[k]));
            n_pairs++;
            n_equal += worst <= 24;
        }
        splat_image_free(&picture);
    }
    splat_colmap_free(&model);
    /* 80 % of 1288 here; the others lie on the edge of a tile, a shadow or a thing, or shine. A wrong sign or a
     * transposed rotation gives less than a third, a focal length wrong by a tenth 59 %. */
    assert_true(n_pairs > 900);
    if (n_equal < n_pairs * 7 / 10) fail_msg("%zu of %zu points have the colour of their pixel", n_equal, n_pairs);
}

static void test_refused(void **state)
{
    (void)state;
    splat_error error;
    ASSERT_OK(splat_folder_delete("full", &error));
    ASSERT_OK(splat_folder_create("full/inside", &error));
    assert_int_equal(splat_sample_scene_write("full", &small, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_string_equal(error.file, "full");
    assert_int_equal(fixture_count("full"), 1);
    ASSERT_OK(splat_file_write("file", "x", 1, &error));
    assert_int_equal(splat_sample_scene_write("file", &small, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_sample_scene_write("file/folder", &small, 1, &error), SPLAT_ERROR_IO);
    for (int k = 0; k < 6; k++) {
        splat_sample_options bad = small;
        int *fields[6] = {&bad.width, &bad.height, &bad.n_cameras, &bad.n_points, &bad.n_truth, &bad.supersample};
        *fields[k] = 0;
        assert_int_equal(splat_sample_scene_write("bad", &bad, 1, &error), SPLAT_ERROR_ARGUMENT);
        *fields[k] = 2000000000;
        assert_int_equal(splat_sample_scene_write("bad", &bad, 1, &error), SPLAT_ERROR_ARGUMENT);
        assert_false(splat_path_exists("bad"));
    }
}

/* Photos that are still to come are not absent ones: a training next to `sample` would leave them out. */
static void test_an_unfinished_sample_is_no_scene(void **state)
{
    (void)state;
    splat_error error;
    splat_dataset dataset;
    splat_scene_options options;
    splat_scene_options_init(&options);
    options.source_path = "begun";
    ASSERT_OK(splat_folder_delete("begun", &error));
    ASSERT_OK(splat_sample_scene_write("begun", &small, 1, &error));
    ASSERT_OK(splat_dataset_open(&options, NULL, NULL, &dataset, &error));
    splat_dataset_free(&dataset);
    ASSERT_OK(splat_folder_create("begun/" SPLAT_UNFINISHED_SAMPLE, &error));
    assert_int_equal(splat_dataset_open(&options, NULL, NULL, &dataset, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the sample is not finished"));
    assert_string_equal(error.file, "begun");
    ASSERT_OK(splat_sample_scene_write("begun", &small, 1, &error)); /* again */
    ASSERT_OK(splat_dataset_open(&options, NULL, NULL, &dataset, &error));
    splat_dataset_free(&dataset);
}

/* The reason is the one why the folder could not be made, not that it does not exist. */
static void test_no_permission(void **state)
{
    (void)state;
    splat_error error;
    ASSERT_OK(splat_folder_delete("shut", &error));
    ASSERT_OK(splat_folder_create("shut", &error));
    assert_int_equal(chmod("shut", 0555), 0);
    bool is_root = geteuid() == 0; /* root may write anywhere */
    if (is_root) assert_int_equal(seteuid(65534), 0);
    splat_status status = splat_folder_create("shut/inside", &error);
    if (is_root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "Permission denied"));
    assert_string_equal(error.file, "shut/inside");
}

/* The disk is full (here: a limit on file sizes): an error, and nothing is left. */
static void test_clean_up(void **state)
{
    (void)state;
    splat_error error;
    struct rlimit before, limit;
    ASSERT_OK(splat_folder_delete("full_disk", &error));
    ASSERT_OK(splat_folder_delete("empty", &error));
    ASSERT_OK(splat_folder_create("empty", &error));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 100000; /* the COLMAP model fits, the true surface does not */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    splat_status absent = splat_sample_scene_write("full_disk", &small, 2, &error);
    splat_status empty = splat_sample_scene_write("empty", &small, 2, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(absent, SPLAT_ERROR_IO);
    assert_int_equal(empty, SPLAT_ERROR_IO);
    assert_non_null(strstr(error.file, "ground_truth.ply"));
    assert_false(splat_path_exists("full_disk"));
    assert_int_equal(fixture_count("empty"), 0); /* it was there before: it stays */
}

/* The sample of other measurements does not change; libraries of mathematics may differ in a last bit. */
static void test_stays(void **state)
{
    (void)state;
    splat_error error;
    splat_image picture;
    splat_point *points;
    size_t n;
    static const int places[4][2] = {{48, 36}, {20, 60}, {70, 40}, {90, 5}};
    static const int colors[4][3] = {{192, 146, 46}, {184, 159, 120}, {27, 118, 122}, {35, 41, 54}};
    static const double positions[4][3] = {
        {1.223587, 0, 1.241219}, {1.091889, 0, 0.117002}, {1.103649, -0.84, 0.639871}, {-3.82096, 0, -0.251418}};
    fixture_sample("one", &small, 2);
    ASSERT_OK(splat_image_read("one/images/image_003.png", &picture, &error));
    ASSERT_OK(splat_ply_read_points("one/ground_truth.ply", &points, &n, &error));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            int found = picture.pixels[3 * (places[i][1] * picture.width + places[i][0]) + k];
            assert_in_range(found, colors[i][k] - 1, colors[i][k] + 1);
            assert_float_equal(points[i].position[k], positions[i][k], 2e-6);
        }
    splat_image_free(&picture);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exposures),
        cmocka_unit_test(test_determinism), cmocka_unit_test(test_surface),  cmocka_unit_test(test_projection),
        cmocka_unit_test(test_rays_end_on_surfaces),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_an_unfinished_sample_is_no_scene),
        cmocka_unit_test(test_no_permission),
        cmocka_unit_test(test_clean_up),     cmocka_unit_test(test_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
