/* Checks of a mesh against the training views: its back, surface before trusted pixels, and absent surface; the same
 * with any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/context.h"
#include "base/file.h"
#include "mesh_fixture.h"
#include "scene/scene.h"
#include "scene_fixture.h"
#include "sphere_fixture.h"
#include "surface/extract/extract_checks.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_views.h"

#include <stdio.h>
#include <string.h>

/* The sphere around which the cameras stand. */
static splat_mesh make_ball(double radius, bool shows_inside)
{
    splat_mesh mesh = make_sphere(60, radius);
    for (size_t i = 0; i < mesh.n_vertices; i++)
        for (size_t k = 0; k < 3; k++) mesh.vertices[3 * i + k] += (float)center[k];
    for (size_t f = 0; shows_inside && f < mesh.n_faces; f++) {
        uint32_t kept = mesh.faces[3 * f];
        mesh.faces[3 * f] = mesh.faces[3 * f + 1];
        mesh.faces[3 * f + 1] = kept;
    }
    return mesh;
}

/* Every view looks through the space before the sphere's point that is nearest to it, and at all else there is
 * something before that, or nothing is known. */
static splat_free_space make_space(const splat_scene *scene)
{
    const size_t n = scene->dataset.n_train;
    splat_free_space space = {.n = n, .views = calloc(n, sizeof *space.views), .knows_surface = true};
    assert_non_null(space.views);
    for (size_t v = 0; v < n; v++) {
        splat_camera camera = splat_surface_camera(scene, v, 1);
        double to[3], length = 0, at[3];
        for (int k = 0; k < 3; k++) to[k] = (double)camera.center[k] - center[k];
        for (int k = 0; k < 3; k++) length += to[k] * to[k];
        for (int k = 0; k < 3; k++) to[k] *= RADIUS / sqrt(length) - 1; /* from the camera to the place */
        for (int k = 0; k < 3; k++)
            at[k] = (double)camera.rotation[3 * k] * to[0] + (double)camera.rotation[3 * k + 1] * to[1] +
                    (double)camera.rotation[3 * k + 2] * to[2];
        const size_t x = (size_t)((double)camera.fx * at[0] / at[2] + (double)camera.cx);
        const size_t y = (size_t)((double)camera.fy * at[1] / at[2] + (double)camera.cy);
        uint16_t *codes = calloc(splat_camera_pixels(&camera), sizeof *codes);
        assert_non_null(codes);
        codes[y * (size_t)camera.width + x] = splat_free_code((float)at[2], true);
        codes[y * (size_t)camera.width + x + 1] = splat_free_code((float)at[2], false);
        space.views[v] = (splat_free_view){.number = (uint32_t)v, .camera = camera, .codes = codes};
    }
    return space;
}

static splat_mesh_extract_info check(splat_scene *scene, const splat_free_space *space, double radius,
                                     bool shows_inside, int threads)
{
    splat_mesh_extract_options options;
    splat_mesh_extract_info info = {0};
    splat_error error;
    splat_mesh mesh = make_ball(radius, shows_inside);
    splat_mesh_extract_options_init(&options);
    splat_extraction e = {.options = &options, .scene = scene, .space = space, .threads = threads};
    ASSERT_OK(splat_extract_check(&e, &mesh, &info, &error));
    splat_mesh_free(&mesh);
    return info;
}

static void test_checks(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_scene(context);
    splat_free_space space = make_space(scene);
    const splat_free_space nothing = {0};
    const size_t n = space.n;
    for (int threads = 1; threads < 4; threads += 2) {
        splat_mesh_extract_info right = check(scene, &space, RADIUS, false, threads);
        assert_true(right.n_covered > 100 * n && right.n_back == 0);
        assert_true(right.n_trusted == n && right.n_violated == 0 && right.n_missing == 0);
        splat_mesh_extract_info inside_out = check(scene, &space, RADIUS, true, threads);
        assert_true(inside_out.n_covered == right.n_covered && inside_out.n_back == right.n_covered);
        splat_mesh_extract_info before = check(scene, &space, 1.3 * RADIUS, false, threads);
        assert_true(before.n_trusted == n && before.n_violated == n && before.n_missing == 0);
        splat_mesh_extract_info behind = check(scene, &space, 0.7 * RADIUS, false, threads);
        assert_true(behind.n_trusted == n && behind.n_violated == 0 && behind.n_missing == n);
        splat_mesh_extract_info none = check(scene, &nothing, RADIUS, false, threads);
        assert_true(none.n_covered == right.n_covered && none.n_trusted == 0);
    }
    splat_free_space_free(&space);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* results.json has the shares; without trusted pixels they are null. */
static void test_results(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *text;
    size_t size;
    splat_mesh_extract_info info = {.n_covered = 1000, .n_back = 10, .n_trusted = 200, .n_violated = 4, .n_missing = 8};
    ASSERT_OK(splat_folder_create("model", &error));
    ASSERT_OK(splat_mesh_extract_info_write("model", &info, &error));
    ASSERT_OK(splat_file_read("model/results.json", &text, &size, &error));
    char *copy = splat_format("%.*s", (int)size, (const char *)text);
    assert_non_null(strstr(copy, "\"back\": 0.01"));
    assert_non_null(strstr(copy, "\"violation\": 0.02"));
    assert_non_null(strstr(copy, "\"missing\": 0.04"));
    assert_null(strstr(copy, "sky_covered"));
    free(copy);
    free(text);
    info = (splat_mesh_extract_info){.n_covered = 1000, .n_sky_pixels = 128, .n_sky_covered = 4};
    ASSERT_OK(splat_mesh_extract_info_write("model", &info, &error));
    ASSERT_OK(splat_file_read("model/results.json", &text, &size, &error));
    copy = splat_format("%.*s", (int)size, (const char *)text);
    assert_non_null(strstr(copy, "\"violation\": null"));
    assert_non_null(strstr(copy, "\"sky_covered\": 0.03125"));
    free(copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_checks), cmocka_unit_test(test_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
