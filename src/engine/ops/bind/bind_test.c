/* bind against the reference in double, a triangle worked out on paper, and Gaussians that project must not draw. */
#include "ops/bind/bind_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bound_output {
    float *means, *scales, *rotations, *filter;
} bound_output;

static bound_output output_of(const bind_scene *scene)
{
    const splat_gaussians *g = &scene->gaussians;
    return (bound_output){.means = project_host_copy(scene->backend, g->p.means, 3 * (size_t)g->n),
                          .scales = project_host_copy(scene->backend, g->p.scales, 3 * (size_t)g->n),
                          .rotations = project_host_copy(scene->backend, g->p.rotations, 4 * (size_t)g->n),
                          .filter = project_host_copy(scene->backend, g->filter_3d, g->n)};
}

static void output_free(bound_output *out)
{
    free(out->means);
    free(out->scales);
    free(out->rotations);
    free(out->filter);
}

/* The reference turned to the sign of the quaternion, which the two choose by themselves. Positions near 1 and edges of
 * 0.1: differences of corners are right to 6e-7, and a normal of the flattest faces (height 0.02) to 3e-6. */
static int check_gaussian(const bound_output *out, size_t i, const double *mean, const double *scales,
                          const double *rotation)
{
    int failures = 0;
    double sign = 0;
    for (size_t k = 0; k < 4; k++) sign += rotation[k] * (double)out->rotations[4 * i + k];
    sign = sign < 0 ? -1 : 1;
    for (size_t k = 0; k < 4; k++)
        TEST_CHECK(failures, fabs(sign * (double)out->rotations[4 * i + k] - rotation[k]) <= 1e-5,
                   "rotation %zu of %zu: %g, not %g", k, i, (double)out->rotations[4 * i + k], sign * rotation[k]);
    for (size_t k = 0; k < 3; k++) {
        TEST_CHECK(failures, fabs((double)out->means[3 * i + k] - mean[k]) <= 3e-7, "mean of %zu: %.9g, not %.9g", i,
                   (double)out->means[3 * i + k], mean[k]);
        TEST_CHECK(failures, fabs((double)out->scales[3 * i + k] - scales[k]) <= 2e-6, "scale of %zu: %g, not %g", i,
                   (double)out->scales[3 * i + k], scales[k]);
    }
    TEST_CHECK(failures, out->filter[i] == 0, "filter of %zu is %g", i, (double)out->filter[i]);
    return failures;
}

static int check_hidden(const bound_output *out, size_t i, float thickness)
{
    int failures = 0;
    for (size_t k = 0; k < 3; k++)
        TEST_CHECK(failures, isfinite(out->means[3 * i + k]) && out->scales[3 * i + k] == SPLAT_HIDDEN_SCALE,
                   "%zu is not hidden", i);
    for (size_t k = 0; k < 4; k++)
        TEST_CHECK(failures, out->rotations[4 * i + k] == (k == 0), "%zu is turned", i);
    TEST_CHECK(failures, out->filter[i] == thickness, "filter of %zu is %g", i, (double)out->filter[i]);
    return failures;
}

static int same_bytes(splat_backend *backend, const bind_mesh *mesh, const bound_output *out)
{
    splat_backend *other = project_other_backend(backend);
    bind_scene scene;
    bind_scene_open(&scene, other ? other : backend, mesh);
    int failures = bind_scene_run(&scene);
    bound_output again = output_of(&scene);
    TEST_CHECK(failures, memcmp(again.means, out->means, 12 * (size_t)mesh->n) == 0 &&
                             memcmp(again.scales, out->scales, 12 * (size_t)mesh->n) == 0 &&
                             memcmp(again.rotations, out->rotations, 16 * (size_t)mesh->n) == 0,
               "other bytes");
    output_free(&again);
    bind_scene_close(&scene);
    splat_backend_destroy(other);
    return failures;
}

static int check_mesh(splat_backend *backend, uint32_t columns, uint32_t rows, int per_face, bool odd)
{
    bind_mesh mesh = bind_mesh_make(columns, rows, per_face, true, odd, 40 + (uint64_t)per_face);
    ref_bound_f64 bound = bind_reference_f64(&mesh);
    const size_t n = mesh.n;
    double *means = calloc(3 * n + 1, sizeof *means), *scales = calloc(3 * n + 1, sizeof *scales);
    double *rotations = calloc(4 * n + 1, sizeof *rotations);
    bool *hidden = calloc(n + 1, sizeof *hidden);
    bind_scene scene;
    bind_scene_open(&scene, backend, &mesh);
    int failures = bind_scene_run(&scene);
    bound_output out = output_of(&scene);
    ref_bind_f64(&bound, means, scales, rotations, hidden);
    uint32_t n_hidden = 0;
    for (size_t i = 0; i < n; i++) {
        n_hidden += hidden[i];
        failures += hidden[i] ? check_hidden(&out, i, mesh.thickness)
                              : check_gaussian(&out, i, means + 3 * i, scales + 3 * i, rotations + 4 * i);
    }
    uint32_t expected = odd ? 3u * (uint32_t)per_face + (n > 72 ? 3 : 0) : 0;
    TEST_CHECK(failures, n_hidden == expected, "%u hidden, not %u", n_hidden, expected);
    failures += same_bytes(backend, &mesh, &out);
    output_free(&out);
    bind_scene_close(&scene);
    free(means), free(scales), free(rotations), free(hidden);
    bind_reference_free_f64(&bound);
    bind_mesh_free(&mesh);
    return failures;
}

/* The triangle (0,0,0), (1,0,0), (0,1,0): R0 = z, e1 = -x, e2 = z x -x = -y. Turned by i, R1 = -y and R2 = x. */
static int check_paper(splat_backend *backend)
{
    int failures = 0;
    float vertices[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, scales[2] = {-1, -2}, turn[2] = {0, 5};
    uint32_t faces[3] = {0, 1, 2};
    bind_mesh mesh = {.n_vertices = 3, .n_faces = 1, .n = 1, .per_face = 1, .thickness = 1e-3f, .extent = 1,
                      .faces = faces, .vertices = vertices, .plane_scales = scales, .plane_rotations = turn};
    bind_scene scene;
    bind_scene_open(&scene, backend, &mesh);
    failures += bind_scene_run(&scene);
    bound_output out = output_of(&scene);
    double q[4], r[3][3], third = 1.0 / 3;
    const double axes[3][3] = {{0, 0, 1}, {0, -1, 0}, {1, 0, 0}}; /* R0, R1, R2 */
    for (int k = 0; k < 4; k++) q[k] = (double)out.rotations[k];
    double rows[3][3] = {{1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] - q[0] * q[3]),
                          2 * (q[1] * q[3] + q[0] * q[2])},
                         {2 * (q[1] * q[2] + q[0] * q[3]), 1 - 2 * (q[1] * q[1] + q[3] * q[3]),
                          2 * (q[2] * q[3] - q[0] * q[1])},
                         {2 * (q[1] * q[3] - q[0] * q[2]), 2 * (q[2] * q[3] + q[0] * q[1]),
                          1 - 2 * (q[1] * q[1] + q[2] * q[2])}};
    memcpy(r, rows, sizeof r);
    for (int column = 0; column < 3; column++)
        for (int k = 0; k < 3; k++)
            TEST_CHECK(failures, fabs(r[k][column] - axes[column][k]) < 1e-6, "R%d: %g at %d", column, r[k][column], k);
    TEST_CHECK(failures, fabs((double)out.means[0] - third) < 1e-7 && fabs((double)out.means[1] - third) < 1e-7 &&
                             out.means[2] == 0,
               "the mean is no centre");
    TEST_CHECK(failures, fabs((double)out.scales[0] - log(1e-3)) < 1e-6 && out.scales[1] == -1 && out.scales[2] == -2,
               "%g %g %g", (double)out.scales[0], (double)out.scales[1], (double)out.scales[2]);
    output_free(&out);
    bind_scene_close(&scene);
    return failures;
}

/* Barycentric coordinates: inside, sums of 1, each Gaussian another place; the table of the method. */
static int check_places(void)
{
    static const int counts[] = {1, 3, 4, 6};
    static const double radii[] = {0.28867513, 0.18301270, 0.14433757, 0.13397460};
    int failures = 0;
    for (int c = 0; c < 4; c++) {
        for (int j = 0; j < counts[c]; j++) {
            int sum = 0, same = 0;
            for (int k = 0; k < 3; k++) sum += splat_bound_twelfths(counts[c], j, k);
            for (int other = 0; other < j; other++)
                same += splat_bound_twelfths(counts[c], j, 0) == splat_bound_twelfths(counts[c], other, 0) &&
                        splat_bound_twelfths(counts[c], j, 1) == splat_bound_twelfths(counts[c], other, 1);
            TEST_CHECK(failures, sum == 12 && same == 0, "%d of %d", j, counts[c]);
        }
        TEST_CHECK(failures, fabs((double)splat_bound_radius(counts[c]) - radii[c]) < 1e-7, "radius of %d", counts[c]);
        TEST_CHECK(failures, splat_bound_is_per_face(counts[c]), "%d", counts[c]);
    }
    TEST_CHECK(failures, !splat_bound_is_per_face(2) && !splat_bound_is_per_face(0), "2 or 0");
    return failures;
}

/* Opaque Gaussians of a mesh with faces of no area: project counts none as degenerate and lists no hidden one in a
 * tile, with either filter. */
static int check_drawn(splat_backend *backend, bool compensate)
{
    int failures = 0;
    bind_mesh mesh = bind_mesh_make(8, 8, 3, false, true, 45);
    bind_scene scene;
    bind_scene_open(&scene, backend, &mesh);
    failures += bind_scene_run(&scene);
    bound_output out = output_of(&scene);
    test_gaussians t = test_gaussians_make(mesh.n, 0, 0, 46);
    memcpy(t.g.p.means, out.means, 12 * (size_t)mesh.n);
    memcpy(t.g.p.scales, out.scales, 12 * (size_t)mesh.n);
    memcpy(t.g.p.rotations, out.rotations, 16 * (size_t)mesh.n);
    memcpy(t.g.filter_3d, out.filter, 4 * (size_t)mesh.n);
    for (uint32_t i = 0; i < mesh.n; i++) t.g.p.opacities[i] = 3;
    splat_camera camera = test_camera_make(96, 80);
    project_scene view;
    project_scene_open(&view, backend, &t.g, &camera, compensate, false);
    failures += project_scene_run(&view);
    TEST_CHECK(failures, view.n_degenerate == 0, "%u are degenerate", view.n_degenerate);
    uint32_t n_drawn = 0, n_hidden = 0;
    for (uint32_t i = 0; i < mesh.n; i++) {
        const uint16_t *rect = view.entry_of[i] < 0 ? NULL : view.rect + 4 * view.entry_of[i];
        bool has_tile = rect && rect[0] < rect[2] && rect[1] < rect[3], is_hidden = out.filter[i] > 0;
        TEST_CHECK(failures, !(is_hidden && has_tile), "%u is drawn", i);
        n_drawn += has_tile;
        n_hidden += is_hidden;
    }
    TEST_CHECK(failures, n_hidden == 12 && n_drawn > mesh.n / 2, "%u hidden, %u drawn", n_hidden, n_drawn);
    project_scene_close(&view);
    test_gaussians_free(&t);
    output_free(&out);
    bind_scene_close(&scene);
    bind_mesh_free(&mesh);
    return failures;
}

int test_op_bind(splat_backend *backend)
{
    static const int counts[] = {1, 3, 4, 6};
    int failures = check_paper(backend) + check_places() + check_drawn(backend, false) + check_drawn(backend, true);
    for (int c = 0; c < 4; c++) {
        failures += check_mesh(backend, 9, 7, counts[c], true);
        failures += check_mesh(backend, 1, 1, counts[c], false);
    }
    failures += check_mesh(backend, 0, 0, 1, false);
    failures += check_mesh(backend, 25, 21, 3, true);
    return failures;
}
