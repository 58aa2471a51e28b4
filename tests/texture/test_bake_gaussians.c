/* Gaussians bound to a mesh as the texture asks them: densities, colours, the rim, and what is not bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "mesh_fixture.h"
#include "model/files.h"
#include "texture/bake_gaussians.h"
#include "texture/bake_parts.h"
#include "texture/bake_rim.h"
#include "trainer_fixture.h"

#define DEVIATION 0.1

/* Three Gaussians a face of a sheet in the plane z = 0, twice as wide along x: red grows with the face, green with the
 * number in it; opacity 1/2, of the faces in the first column of squares 1e-4. */
static splat_model *bind_and_free(splat_context *context, const splat_mesh *mesh, size_t n_columns, size_t n_free)
{
    static const double places[3][3] = {{0.5, 0.25, 0.25}, {0.25, 0.5, 0.25}, {0.25, 0.25, 0.5}};
    splat_cloud cloud;
    splat_model *model;
    splat_error error;
    size_t n_bound = 3 * mesh->n_faces, n = n_bound + n_free;
    ASSERT_OK(splat_cloud_make(&cloud, n, 0, false, &error));
    for (size_t i = 0; i < n_bound; i++) {
        const uint32_t *f = mesh->faces + i / 3 * 3;
        for (size_t k = 0; k < 9; k++)
            cloud.means[3 * i + k % 3] += (float)(places[i % 3][k / 3] * (double)mesh->vertices[3 * f[k / 3] + k % 3]);
        const double scales[3] = {2 * DEVIATION, DEVIATION, 1e-7};
        for (size_t k = 0; k < 3; k++) cloud.scales[3 * i + k] = (float)log(scales[k]);
        cloud.rotations[4 * i] = 1;
        cloud.opacities[i] = i / 3 / 2 % n_columns == 0 ? logf(1e-4f) : 0;
        const double rgb[3] = {(double)(i / 3) / (double)mesh->n_faces, (double)(i % 3) / 2, 0.25};
        for (size_t c = 0; c < 3; c++) cloud.sh_dc[3 * i + c] = (float)((rgb[c] - 0.5) / 0.28209479177387814);
    }
    ASSERT_OK(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error));
    ASSERT_OK(splat_model_resize(model, (uint32_t)n, &error));
    ASSERT_OK(splat_model_upload(model, &cloud, &error));
    splat_cloud_free(&cloud);
    return model;
}

static splat_model *bind(splat_context *context, const splat_mesh *mesh, size_t n_columns)
{
    return bind_and_free(context, mesh, n_columns, 0);
}

static void densities_and_colors_are_those_of_the_face(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context = open_cpu(2);
    splat_mesh mesh = make_sheet(4, NULL);
    splat_model *model = bind_and_free(context, &mesh, 4, 9); /* a tenth of the others may be free */
    splat_bake_gaussians g;
    ASSERT_OK(splat_bake_gaussians_open(model, &mesh, 0, &g, &error));
    assert_int_equal(g.per_face, 3);
    for (size_t f = 0; f < mesh.n_faces; f++) {
        const float *v = mesh.vertices + 3 * mesh.faces[3 * f];
        const float point[3] = {v[0] + 0.03f, v[1] + 0.02f, 0};
        float rgb[3], opacity = f / 2 % 4 == 0 ? 1e-4f : 0.5f;
        double sum = 0, green = 0;
        for (size_t j = 0; j < 3; j++) {
            const float *m = g.means + 3 * (3 * f + j);
            double x = (double)(point[0] - m[0]) / (2 * DEVIATION), y = (double)(point[1] - m[1]) / DEVIATION;
            double weight = (double)opacity * exp(-0.5 * (x * x + y * y));
            sum += weight;
            green += weight * (double)j / 2;
        }
        assert_float_equal(splat_bake_gaussians_at(&g, f, point, rgb), sum, 1e-5);
        assert_float_equal(rgb[0], (double)f / (double)mesh.n_faces, 1e-5);
        assert_float_equal(rgb[1], green / sum, 1e-4);
        assert_float_equal(rgb[2], 0.25, 1e-5);
    }
    const float far[3] = {100, 100, 0}; /* nothing is left there: the plain mean */
    float rgb[3];
    assert_true(splat_bake_gaussians_at(&g, 5, far, rgb) < 1e-12);
    assert_float_equal(rgb[1], 0.5, 1e-5);
    splat_bake_gaussians_free(&g);
    splat_model_destroy(model);
    splat_mesh_free(&mesh);
    splat_context_destroy(context);
}

static void refuse(const splat_model *model, const splat_mesh *mesh, int wanted, const char *part)
{
    splat_bake_gaussians g;
    splat_error error = {0};
    assert_int_equal(splat_bake_gaussians_open(model, mesh, wanted, &g, &error), SPLAT_ERROR_ARGUMENT);
    if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
    splat_bake_gaussians_free(&g);
}

static void what_is_not_bound_is_refused(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_mesh mesh = make_sheet(4, NULL), other = make_sheet(4, NULL), larger = make_sheet(5, NULL);
    splat_model *model = bind(context, &mesh, 4);
    refuse(model, &larger, 0, "96 Gaussians is not bound to this mesh of 50 faces");
    splat_model *many = bind_and_free(context, &mesh, 4, 25);
    refuse(many, &mesh, 0, "121 Gaussians is not bound to this mesh of 32 faces");
    splat_model_destroy(many);
    refuse(model, &mesh, 6, "3 Gaussians a triangle, not 6");
    for (size_t i = 0; i < other.n_vertices; i++) other.vertices[3 * i + 2] += 0.01f; /* a twentieth of an edge */
    refuse(model, &other, 0, "is not bound to this mesh");
    for (size_t i = 0; i < other.n_vertices; i++) other.vertices[3 * i + 2] = 0;
    for (size_t k = 0; k < 3; k++) { /* two faces change places */
        uint32_t kept = other.faces[k];
        other.faces[k] = other.faces[12 + k];
        other.faces[12 + k] = kept;
    }
    refuse(model, &other, 0, "is not bound to this mesh");
    splat_model_destroy(model);
    splat_mesh_free(&mesh);
    splat_mesh_free(&other);
    splat_mesh_free(&larger);
    splat_context_destroy(context);
}

/* The first column of squares is thin: it goes, square by square from the border; what is dense comes back. */
static void the_thin_rim_goes(void **state)
{
    (void)state;
    enum { N = 8 };
    splat_error error;
    splat_context *context = open_cpu(2);
    for (int rounds = 0; rounds < 3; rounds++) {
        splat_mesh mesh = make_sheet(N, NULL);
        splat_model *model = bind(context, &mesh, N);
        splat_bake_gaussians g;
        size_t n_removed;
        ASSERT_OK(splat_bake_gaussians_open(model, &mesh, 3, &g, &error));
        ASSERT_OK(splat_bake_remove_rim(&mesh, &g, rounds, 0.1, &n_removed, &error));
        ASSERT_OK(splat_mesh_check(&mesh, &error));
        /* first the upper left triangles of the column and what has a side at the corner, then the others */
        assert_int_equal(n_removed, rounds == 0 ? 0 : rounds == 1 ? N + 1 : 2 * N);
        assert_int_equal(mesh.n_faces, 2 * N * N - n_removed);
        for (size_t f = 0; f < mesh.n_faces; f++) {
            float centroid[3] = {0, 0, 0};
            for (size_t k = 0; k < 9; k++)
                centroid[k % 3] += mesh.vertices[3 * mesh.faces[3 * f + k / 3] + k % 3] / 3;
            if (rounds == 2) assert_true(centroid[0] > 1.0f / N);
            if (centroid[0] > 1.0f / N) assert_true(splat_bake_gaussians_at(&g, f, centroid, NULL) > 0.5);
        }
        splat_bake_gaussians_free(&g);
        splat_model_destroy(model);
        splat_mesh_free(&mesh);
    }
    splat_mesh mesh = make_sheet(2, NULL);
    splat_model *model = bind(context, &mesh, 2);
    splat_bake_gaussians g;
    size_t n_removed;
    ASSERT_OK(splat_bake_gaussians_open(model, &mesh, 0, &g, &error));
    assert_int_equal(splat_bake_remove_rim(&mesh, &g, 5, 10, &n_removed, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "postprocess_density_threshold"));
    splat_bake_gaussians_free(&g);
    splat_model_destroy(model);
    splat_mesh_free(&mesh);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(densities_and_colors_are_those_of_the_face),
        cmocka_unit_test(what_is_not_bound_is_refused),
        cmocka_unit_test(the_thin_rim_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
