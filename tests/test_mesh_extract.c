/* Meshes from splats: a sphere of flat, opaque Gaussians, seen by the cameras of the sample scene, comes back as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/ply.h"
#include "mesh/mesh.h"
#include "mesh/mesh_io.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 6000
#define RADIUS 0.8
static const double center[3] = {0, -1.2, 0}; /* above the floor, where all cameras look */

/* Discs on a sphere, evenly spread (Fibonacci), their shortest axis along the normal. */
static void write_sphere(const char *path, float opacity)
{
    splat_error error;
    splat_ply_gaussians g = {.n = N, .sh_degree = 0, .tagged_mip = true};
    g.means = calloc(3 * N, sizeof(float));
    g.sh_dc = calloc(3 * N, sizeof(float));
    g.opacities = calloc(N, sizeof(float));
    g.scales = calloc(3 * N, sizeof(float));
    g.rotations = calloc(4 * N, sizeof(float));
    double spacing = RADIUS * sqrt(4 * 3.14159265358979 / N);
    for (size_t i = 0; i < N; i++) {
        double z = 1 - 2 * (i + 0.5) / N, angle = 2.39996322972865 * (double)i, r = sqrt(1 - z * z);
        double n[3] = {r * cos(angle), r * sin(angle), z};
        for (int k = 0; k < 3; k++) {
            g.means[3 * i + k] = (float)(center[k] + RADIUS * n[k]);
            g.sh_dc[3 * i + k] = k == 0 ? 1.7f : -1.7f; /* red */
            g.scales[3 * i + k] = logf((float)(k == 2 ? 0.02 * spacing : 0.7 * spacing));
        }
        g.opacities[i] = opacity;
        double q[4] = {1 + n[2], -n[1], n[0], 0}; /* turns z to n */
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) + 1e-12;
        for (int k = 0; k < 4; k++) g.rotations[4 * i + k] = (float)(q[k] / length);
    }
    must(splat_ply_write_gaussians(path, &g, false, NULL, &error), &error);
    splat_ply_gaussians_free(&g);
}

static splat_mesh_extract_options small_options(splat_mesh_method method)
{
    splat_mesh_extract_options o;
    splat_mesh_extract_options_init(&o);
    o.method = method;
    o.n_points = 40000;
    o.poisson_depth = 7;
    o.density_quantile = 0;
    o.background = false;
    o.has_bbox = true;
    for (int k = 0; k < 3; k++) {
        o.bbox_low[k] = center[k] - 1.2;
        o.bbox_high[k] = center[k] + 1.2;
    }
    o.voxel_size = 0.04;
    o.target_vertices = 3000;
    return o;
}

static splat_status extract(splat_context *context, const char *ply, const splat_mesh_extract_options *o,
                            const char *path, splat_mesh_extract_info *info, splat_error *error)
{
    splat_scene *scene = open_scene(context);
    splat_model *model;
    must(splat_model_load(context, ply, &model, error), error);
    splat_status status = splat_mesh_extract(context, scene, model, o, &path, 1, info, error);
    splat_model_destroy(model);
    splat_scene_close(scene);
    return status;
}

/* Distances from the sphere, and how many faces point outward. */
static void measure(const splat_mesh *mesh, double *mean, double *outward)
{
    double sum = 0;
    size_t n_out = 0;
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) d2 += pow((double)mesh->vertices[3 * i + k] - center[k], 2);
        sum += fabs(sqrt(d2) - RADIUS);
    }
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double cross[3], dot = 0;
        splat_mesh_face_cross(mesh, f, cross);
        for (int k = 0; k < 3; k++)
            dot += cross[k] * ((double)mesh->vertices[3 * (size_t)mesh->faces[3 * f] + k] - center[k]);
        n_out += dot > 0;
    }
    *mean = sum / (double)mesh->n_vertices;
    *outward = (double)n_out / (double)mesh->n_faces;
}

static void a_sphere_comes_back(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    write_sphere("sphere.ply", 6);
    for (int method = 0; method < 2; method++) {
        const char *path = method ? "out/tsdf.ply" : "out/poisson.ply";
        splat_mesh_extract_options o = small_options((splat_mesh_method)method);
        splat_mesh_extract_info info;
        splat_mesh mesh;
        splat_error error;
        double mean, outward;
        must(extract(context, "sphere.ply", &o, path, &info, &error), &error);
        must(splat_mesh_read(path, &mesh, &error), &error);
        assert_int_equal(mesh.n_vertices, info.n_vertices);
        assert_int_equal(mesh.n_faces, info.n_faces);
        measure(&mesh, &mean, &outward);
        print_message("%s: %zu vertices (%zu before), %.4f from the sphere in the mean, %.1f %% outward\n", path,
                      info.n_vertices, info.n_vertices_first, mean, 100 * outward);
        assert_true(mean < 0.02); /* half a voxel, a cell of Poisson; the discs stand 0.01 off at their rims */
        assert_true(outward > 0.98);
        assert_true(info.n_vertices > 800 && info.n_vertices <= 3300);
        size_t n_red = 0;
        for (size_t i = 0; i < mesh.n_vertices; i++)
            n_red += mesh.colors[4 * i] > 200 && mesh.colors[4 * i + 1] < 60 && mesh.colors[4 * i + 3] == 255;
        assert_true((double)n_red > 0.97 * (double)mesh.n_vertices);
        assert_non_null(mesh.normals);
        splat_mesh_free(&mesh);
    }
    splat_context_destroy(context);
}

static void threads_do_not_change_a_byte(void **state)
{
    (void)state;
    for (int method = 0; method < 2; method++) {
        uint8_t *files[2];
        size_t sizes[2];
        for (int i = 0; i < 2; i++) {
            splat_context *context = open_cpu(1 + 2 * i);
            splat_mesh_extract_options o = small_options((splat_mesh_method)method);
            splat_mesh_extract_info info;
            splat_error error;
            must(extract(context, "sphere.ply", &o, "out/threads.ply", &info, &error), &error);
            must(splat_file_read("out/threads.ply", &files[i], &sizes[i], &error), &error);
            splat_context_destroy(context);
        }
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(files[0], files[1], sizes[0]);
        free(files[0]);
        free(files[1]);
    }
}

static bool stop_at_once(void *user, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    ++*(int *)user;
    return false;
}

static void bad_input_is_told(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh_extract_options o = small_options(SPLAT_MESH_POISSON);
    splat_mesh_extract_info info;
    splat_error error;
    write_sphere("faint.ply", -9);
    for (int method = 0; method < 2; method++) {
        o = small_options((splat_mesh_method)method);
        assert_int_equal(extract(context, "faint.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_NUMERIC);
        for (int k = 0; k < 3; k++) { /* far away from everything */
            o.bbox_low[k] = 1000;
            o.bbox_high[k] = 1001;
        }
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_NUMERIC);
        assert_non_null(strstr(error.message, "bboxmin"));
        o = small_options((splat_mesh_method)method);
        int n_calls = 0;
        o.progress = stop_at_once;
        o.progress_user = &n_calls;
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_STOPPED);
        assert_int_equal(n_calls, 1);
        o = small_options((splat_mesh_method)method);
        o.max_host_bytes = 10000;
        assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_MEMORY);
    }
    o = small_options(SPLAT_MESH_POISSON);
    o.bbox_high[1] = o.bbox_low[1];
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_ARGUMENT);
    o = small_options(SPLAT_MESH_POISSON);
    o.density_quantile = 1;
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.ply", &info, &error), SPLAT_ERROR_ARGUMENT);
    o = small_options(SPLAT_MESH_POISSON);
    assert_int_equal(extract(context, "sphere.ply", &o, "out/no.stl", &info, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_false(splat_path_exists("out/no.ply"));
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sphere_comes_back),
        cmocka_unit_test(threads_do_not_change_a_byte), /* reads what the first one wrote */
        cmocka_unit_test(bad_input_is_told),
    };
    return cmocka_run_group_tests_name("mesh extraction", tests, NULL, NULL);
}
