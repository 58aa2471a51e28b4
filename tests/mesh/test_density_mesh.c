/* Surfaces of densities whose shape is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "math/density.h"
#include "mesh/density_mesh.h"
#include "mesh/mesh_clean.h"
#include "mesh_fixture.h"

typedef struct splat {
    size_t n;
    float means[3 * 4000], scales[3 * 4000], rotations[4 * 4000], opacities[4000];
    uint8_t colors[3 * 4000];
} splat;

static splat *make_splat(void)
{
    return calloc(1, sizeof(splat));
}

static void add_gaussian(splat *s, const double mean[3], const double scale[3], const double rotation[4],
                         double opacity, const uint8_t color[3])
{
    size_t i = s->n++;
    for (size_t k = 0; k < 3; k++) {
        s->means[3 * i + k] = (float)mean[k];
        s->scales[3 * i + k] = (float)log(scale[k]);
    }
    for (size_t k = 0; k < 4; k++) s->rotations[4 * i + k] = (float)rotation[k];
    s->opacities[i] = (float)log(opacity / (1 - opacity));
    memcpy(s->colors + 3 * i, color, 3);
}

static splat_density_mesh_input input_of(const splat *s)
{
    return (splat_density_mesh_input){s->n, s->means, s->scales, s->rotations, s->opacities, s->colors};
}

static splat_density_mesh_options make_options(double side, double voxel)
{
    splat_density_mesh_options o;
    splat_density_mesh_options_init(&o);
    for (int k = 0; k < 3; k++) {
        o.low[k] = -side + 0.01 * k;
        o.high[k] = side + 0.003 * k;
    }
    o.voxel_size = voxel;
    o.threads = 2;
    return o;
}

static splat_mesh make_mesh(const splat *s, const splat_density_mesh_options *o, splat_density_mesh_report *report)
{
    splat_mesh mesh;
    splat_error error;
    splat_density_mesh_input input = input_of(s);
    ASSERT_OK(splat_density_mesh(&input, o, &mesh, report, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    return mesh;
}

/* The ellipsoid of sqrt(2 ln(o / l)) deviations. */
static void test_one_gaussian(void **state)
{
    (void)state;
    splat *s = make_splat();
    const double mean[3] = {0.05, -0.02, 0.03}, scale[3] = {0.2, 0.1, 0.14}, rotation[4] = {1.6, 0.4, -0.6, 1};
    const uint8_t red[3] = {200, 30, 7};
    add_gaussian(s, mean, scale, rotation, 0.9, red);
    splat_density_mesh_options o = make_options(0.5, 0.025);
    double reach = sqrt(2 * log(0.9 / 0.3)), error_of[2] = {0, 0};
    splat_density_kernel kernel = splat_density_kernel_make(s->means, s->scales, s->rotations, s->opacities[0]);
    o.least_scale = 0;
    for (int pass = 0; pass < 2; pass++) {
        o.refinements = pass == 0 ? 0 : 3;
        splat_mesh mesh = make_mesh(s, &o, NULL);
        assert_closed_manifold(&mesh);
        assert_int_equal(measure(&mesh).euler_characteristic, 2);
        for (size_t v = 0; v < mesh.n_vertices; v++) {
            float y[3], outward[3] = {0, 0, 0};
            float share = splat_density_weight(&kernel, mesh.vertices + 3 * v, y);
            double radius = 0, length = 0, along = 0;
            for (int k = 0; k < 3; k++) radius += pow((double)y[k] / scale[k], 2);
            error_of[pass] = fmax(error_of[pass], fabs(sqrt(radius) - reach) * 0.1 / o.voxel_size);
            splat_density_add_outward(&kernel, share, y, outward);
            for (size_t k = 0; k < 3; k++) {
                length += (double)outward[k] * (double)outward[k];
                along += (double)outward[k] * (double)mesh.normals[3 * v + k];
            }
            assert_true(along > 0.9999 * sqrt(length));
            assert_memory_equal(mesh.colors + 4 * v, red, 3);
        }
        /* Positive: outward. Faces cut corners: voxel^2 over radius^2, a part of it. */
        assert_float_equal(splat_mesh_volume(&mesh) / (4 * PI / 3 * pow(reach, 3) * 0.2 * 0.1 * 0.14), 1, 0.03);
        splat_mesh_free(&mesh);
    }
    /* In voxels, along the shortest axis: a Gaussian is no straight line between samples; after refining, what is left
     * is the distance from the ends of an edge, a thousandth. */
    assert_true(error_of[0] > 0.01 && error_of[0] < 0.1);
    assert_true(error_of[1] < 2e-3);
    free(s);
}

/* Flat Gaussians on the unit sphere, a tenth of their distance thick and less. */
static splat *make_shell(void)
{
    splat *s = make_splat();
    const double scale[3] = {0.05, 0.05, 0.003};
    for (size_t i = 0; i < 4000; i++) {
        double z = 1 - (2.0 * (double)i + 1) / 4000, a = 2.399963229728653 * (double)i, r = sqrt(1 - z * z);
        const double mean[3] = {r * cos(a), r * sin(a), z}, rotation[4] = {1 + z, -mean[1], mean[0], 0};
        const uint8_t color[3] = {z > 0 ? 255 : 0, 80, z > 0 ? 0 : 255};
        add_gaussian(s, mean, scale, rotation, 0.8, color);
    }
    return s;
}

/* The density of such a shell at a distance from its centre, made of Gaussians without number, half a voxel of 0.04
 * thick. */
static double shell_density(double radius)
{
    double sum = 0, step = 1e-4;
    for (double a = step / 2; a < 0.5; a += step) { /* angle to the Gaussian's mean */
        double aside = radius * sin(a) / 0.05, above = (radius * cos(a) - 1) / 0.02;
        sum += step * sin(a) * exp(-0.5 * (aside * aside + above * above));
    }
    return 0.8 * 4000 / 2 * sum;
}

/* The radius at which the density is the level, between a radius inside the sheet and one outside. */
static double shell_radius(double inside, double outside)
{
    for (int i = 0; i < 40; i++) {
        double middle = 0.5 * (inside + outside);
        if (shell_density(middle) > 0.3) inside = middle;
        else outside = middle;
    }
    return inside;
}

static void test_shell(void **state)
{
    (void)state;
    splat *s = make_shell();
    splat_density_mesh_options o = make_options(1.2, 0.04);
    splat_density_mesh_report report;
    splat_mesh mesh = make_mesh(s, &o, &report);
    splat_mesh_quality q = measure(&mesh);
    double outer = shell_radius(1, 1.2), inner = shell_radius(1, 0.8);
    assert_closed_manifold(&mesh);
    assert_int_equal(q.n_components, 2);
    assert_int_equal(q.euler_characteristic, 4);
    assert_int_equal(report.n_gaussians, 4000);
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        double radius = 0, along = 0;
        for (size_t k = 3 * v; k < 3 * v + 3; k++) {
            radius += (double)mesh.vertices[k] * (double)mesh.vertices[k];
            along += (double)mesh.vertices[k] * (double)mesh.normals[k];
        }
        radius = sqrt(radius);
        double height = radius - (radius > 1 ? outer : inner);
        /* A fortieth of a voxel: Gaussians are countable after all. */
        if (fabs(height) > 0.001) fail_msg("a vertex is at %g, and %g off its side", radius, height);
        assert_true(radius > 1 ? along > 0.9 * radius : along < -0.9 * radius);
        if (fabsf(mesh.vertices[3 * v + 2]) > 0.2f) /* farther than four deviations from the other colour */
            assert_int_equal(mesh.colors[4 * v], mesh.vertices[3 * v + 2] > 0 ? 255 : 0);
    }
    double between = 4 * PI / 3 * (pow(outer, 3) - pow(inner, 3));
    assert_float_equal(splat_mesh_volume(&mesh) / between, 1, 0.03);
    splat_mesh_free(&mesh);
    o.least_scale = 0; /* the sheet falls between the samples */
    mesh = make_mesh(s, &o, NULL);
    assert_true(measure(&mesh).n_components > 10);
    splat_mesh_free(&mesh);
    free(s);
}

static splat *make_blob(size_t n)
{
    splat *s = make_splat();
    for (size_t i = 0; i < n; i++) {
        splat_random4 a = splat_random(3, SPLAT_STREAM_TEST, 1, i), b = splat_random(3, SPLAT_STREAM_TEST, 2, i);
        splat_random4 c = splat_random(3, SPLAT_STREAM_TEST, 3, i);
        double mean[3], scale[3], rotation[4];
        uint8_t color[3];
        for (int k = 0; k < 3; k++) {
            mean[k] = 1.2 * (double)splat_uniform(a.x[k]) - 0.6;
            scale[k] = 0.03 + 0.1 * (double)splat_uniform(b.x[k]);
            color[k] = (uint8_t)(a.x[k] >> 24);
        }
        for (int k = 0; k < 4; k++) rotation[k] = (double)splat_uniform(c.x[k]) - 0.5;
        add_gaussian(s, mean, scale, rotation, 0.1 + 0.85 * (double)splat_uniform(a.x[3]), color);
    }
    return s;
}

/* Density, gradient and colours at the vertices by the sum over all Gaussians; the box cuts the surface open. */
static void test_blob(void **state)
{
    (void)state;
    splat *s = make_blob(150);
    splat_density_mesh_options o = make_options(0.55, 0.03);
    o.least_scale = 0;
    o.refinements = 6;
    splat_mesh mesh = make_mesh(s, &o, NULL);
    splat_mesh_quality q = measure(&mesh);
    assert_true(q.n_boundary_edges > 20 && q.n_non_manifold_edges == 0 && q.is_winding_consistent);
    for (size_t v = 0; v < mesh.n_vertices; v++) {
        float sum = 0, outward[3] = {0, 0, 0}, color[3] = {0, 0, 0}, y[3];
        const float *place = mesh.vertices + 3 * v, *normal = mesh.normals + 3 * v;
        for (size_t i = 0; i < s->n; i++) {
            splat_density_kernel g = splat_density_kernel_make(s->means + 3 * i, s->scales + 3 * i,
                                                               s->rotations + 4 * i, s->opacities[i]);
            float share = splat_density_weight(&g, place, y);
            splat_density_add_outward(&g, share, y, outward);
            sum += share;
            for (size_t k = 0; k < 3; k++) color[k] += share * (float)s->colors[3 * i + k];
        }
        /* Shares below 0.001 are left out: up to ten at a time. */
        assert_true(fabsf(sum - 0.3f) < 0.01f);
        float length = sqrtf(outward[0] * outward[0] + outward[1] * outward[1] + outward[2] * outward[2]);
        /* At flat density omitted Gaussians count for more. */
        float along = outward[0] * normal[0] + outward[1] * normal[1] + outward[2] * normal[2];
        if (length > 1) assert_true(along > 0.99f * length);
        for (size_t k = 0; k < 3; k++) {
            assert_true(fabsf((float)mesh.colors[4 * v + k] - color[k] / sum) < 4);
            assert_true((double)place[k] > o.low[k] - 1e-6 && (double)place[k] < o.high[k] + 1e-6);
        }
    }
    assert_true(mesh.n_vertices > 5000);
    splat_mesh_free(&mesh);
    for (int k = 0; k < 3; k++) o.low[k] = -1.2, o.high[k] = 1.3; /* all of it */
    mesh = make_mesh(s, &o, NULL);
    assert_closed_manifold(&mesh);
    splat_mesh_free(&mesh);
    free(s);
}

static void test_threads(void **state)
{
    (void)state;
    splat *s = make_shell();
    splat_density_mesh_options o = make_options(1.2, 0.04);
    splat_density_mesh_report report, other;
    o.refinements = 0; /* these hide differences of the grid */
    o.threads = 1;
    splat_mesh one = make_mesh(s, &o, &report);
    o.threads = 7;
    splat_mesh three = make_mesh(s, &o, &other);
    assert_int_equal(one.n_vertices, three.n_vertices);
    assert_int_equal(one.n_faces, three.n_faces);
    assert_memory_equal(one.vertices, three.vertices, 12 * one.n_vertices);
    assert_memory_equal(one.normals, three.normals, 12 * one.n_vertices);
    assert_memory_equal(one.colors, three.colors, 4 * one.n_vertices);
    assert_memory_equal(one.faces, three.faces, 12 * one.n_faces);
    assert_int_equal(report.n_listed, other.n_listed);
    splat_mesh_free(&one);
    splat_mesh_free(&three);
    free(s);
}

static void test_memory(void **state)
{
    (void)state;
    splat *s = make_shell();
    splat_density_mesh_input input = input_of(s);
    splat_density_mesh_options o = make_options(1.2, 0.03);
    splat_density_mesh_report report;
    splat_error error;
    splat_mesh mesh = make_mesh(s, &o, &report);
    uint64_t estimate, full = (uint64_t)(2.4 / 0.03 * (2.4 / 0.03) * (2.4 / 0.03) * 8);
    splat_mesh_free(&mesh);
    assert_int_equal(splat_density_mesh_estimate(&input, &o, &estimate, &error), SPLAT_OK);
    assert_true((double)estimate > 0.7 * (double)report.bytes && (double)estimate < 1.5 * (double)report.bytes);
    assert_true(report.n_blocks * 512 * 8 < 0.7 * (double)full); /* sparse */
    int n_refused = 0;
    for (uint64_t limit = 10000; limit < report.bytes; limit += limit / 4) {
        o.memory_limit_bytes = limit;
        assert_int_equal(splat_density_mesh(&input, &o, &mesh, NULL, &error), SPLAT_ERROR_MEMORY);
        assert_non_null(strstr(error.message, "larger"));
        assert_int_equal(mesh.n_vertices, 0);
        assert_null(mesh.vertices);
        n_refused++;
    }
    assert_true(n_refused > 10);
    o.memory_limit_bytes = report.bytes;
    mesh = make_mesh(s, &o, &report);
    size_t held = 28 * mesh.vertex_capacity + 12 * mesh.face_capacity;
    assert_true(held < report.bytes - report.n_blocks * 512 * 8);
    splat_mesh_free(&mesh);
    free(s);
}

typedef struct stop {
    int n, at;
} stop;

static bool stop_at(void *user, const char *stage, double fraction)
{
    stop *s = user;
    assert_non_null(stage);
    assert_true(fraction >= 0 && fraction <= 1);
    return s->n++ != s->at;
}

static void test_stop(void **state)
{
    (void)state;
    splat *s = make_blob(100);
    splat_density_mesh_input input = input_of(s);
    splat_density_mesh_options o = make_options(0.7, 0.05);
    splat_error error;
    splat_mesh mesh;
    stop calls = {0, -1};
    o.progress = stop_at;
    o.progress_user = &calls;
    mesh = make_mesh(s, &o, NULL);
    splat_mesh_free(&mesh);
    int n = calls.n;
    assert_int_equal(n, 4); /* one a stage, as it is small */
    for (int i = 0; i < n; i++) {
        calls = (stop){0, i};
        assert_int_equal(splat_density_mesh(&input, &o, &mesh, NULL, &error), SPLAT_ERROR_STOPPED);
        assert_null(mesh.vertices);
    }
    free(s);
}

static void expect(const splat *s, const splat_density_mesh_options *o, splat_status status, const char *message)
{
    splat_error error;
    splat_mesh mesh;
    splat_density_mesh_input input = input_of(s);
    assert_int_equal(splat_density_mesh(&input, o, &mesh, NULL, &error), status);
    if (!strstr(error.message, message)) fail_msg("'%s' does not say '%s'", error.message, message);
    assert_null(mesh.vertices);
}

static void test_errors(void **state)
{
    (void)state;
    splat *s = make_blob(50), *none = make_splat();
    splat_density_mesh_options good = make_options(0.7, 0.05), o;
    o = good, o.level = 0;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "the level of a density must be 1e-6 to 1e6, not 0");
    o = good, o.voxel_size = NAN;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "a voxel must have a size above 0");
    o = good, o.voxel_size = 1e-9;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "use larger ones");
    o = good, o.low[1] = 1;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "the box of a density is empty: from 1 to");
    o = good, o.high[2] = INFINITY;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "the box of a density is empty");
    o = good, o.least_scale = -1;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "not -1");
    o = good, o.refinements = 17;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "0 to 16 refinements");
    o = good, o.threads = 0;
    expect(s, &o, SPLAT_ERROR_ARGUMENT, "a thread");
    expect(none, &good, SPLAT_ERROR_NUMERIC, "no Gaussian in the box");
    o = good, o.level = 40; /* no Gaussian gives a 32nd of it */
    expect(s, &o, SPLAT_ERROR_NUMERIC, "no Gaussian in the box");
    o = good, o.level = 15; /* blocks, but no surface */
    expect(s, &o, SPLAT_ERROR_NUMERIC, "passes the level 15 nowhere");
    o = good;
    for (int k = 0; k < 3; k++) o.low[k] = 7, o.high[k] = 8;
    expect(s, &o, SPLAT_ERROR_NUMERIC, "no Gaussian in the box");

    splat *huge = make_splat();
    for (int i = 0; i < 2000; i++) /* said at once: to sum them would take hours */
        add_gaussian(huge, (double[3]){0, 0, 0.0001 * i}, (double[3]){3, 3, 3}, (double[4]){1, 0, 0, 0}, 0.9,
                     (uint8_t[3]){1, 2, 3});
    o = good, o.voxel_size = 0.005;
    expect(huge, &o, SPLAT_ERROR_NUMERIC, "the Gaussians reach through 100 % of the box");
    free(huge);

    splat_density_mesh_report report; /* numbers that are none are left out */
    s->means[4] = NAN;
    s->scales[9] = INFINITY;
    s->opacities[7] = NAN;
    memset(s->rotations + 40, 0, 16);
    splat_mesh mesh = make_mesh(s, &good, &report);
    assert_int_equal(report.n_not_finite, 4);
    assert_int_equal(report.n_gaussians, 46);
    splat_mesh_free(&mesh);
    free(s);
    free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_gaussian), cmocka_unit_test(test_shell), cmocka_unit_test(test_blob),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_memory), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
