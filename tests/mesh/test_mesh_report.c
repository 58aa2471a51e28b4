/* The mesh report: exact distances, figures of known shapes, the score, files and the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "cli_fixture.h"
#include "event_reader.h"
#include "mesh/measure/mesh_distance.h"
#include "mesh/measure/mesh_report.h"
#include "mesh/mesh_bvh.h"
#include "mesh/files/mesh_io.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh_fixture.h"

#include <jansson.h>

static double random_number(uint32_t step, uint64_t i)
{
    return splat_uniform(splat_random(7, SPLAT_STREAM_TEST, step, i).x[0]);
}

/* The nearest point of a triangle by looking everywhere on it: 200 steps a side, then the error is bounded. */
static double sampled_distance(const splat_mesh *mesh, size_t face, const double p[3])
{
    double best = INFINITY;
    const uint32_t *f = mesh->faces + 3 * face;
    for (int i = 0; i <= 200; i++)
        for (int j = 0; i + j <= 200; j++) {
            double d2 = 0;
            for (size_t c = 0; c < 3; c++) {
                double x = ((200 - i - j) * (double)mesh->vertices[3 * f[0] + c] +
                            i * (double)mesh->vertices[3 * f[1] + c] + j * (double)mesh->vertices[3 * f[2] + c]) / 200;
                d2 += (x - p[c]) * (x - p[c]);
            }
            best = fmin(best, sqrt(d2));
        }
    return best;
}

static void test_triangle(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        splat_mesh one = {0};
        splat_mesh_bvh bvh;
        splat_error error;
        for (uint64_t k = 0; k < 3; k++)
            put_vertex(&one, random_number(1, 9 * i + 3 * k), random_number(1, 9 * i + 3 * k + 1),
                       i % 10 ? random_number(1, 9 * i + 3 * k + 2) : random_number(1, 9 * i + 3 * k)); /* some flat */
        put_face(&one, 0, 1, i % 20 == 5 ? 1 : 2);
        const double p[3] = {3 * random_number(2, 3 * i) - 1, 3 * random_number(2, 3 * i + 1) - 1,
                             3 * random_number(2, 3 * i + 2) - 1};
        ASSERT_OK(splat_mesh_bvh_make(&one, 2, &bvh, &error));
        double exact = splat_mesh_bvh_nearest(&bvh, p, NULL), sampled = sampled_distance(&one, 0, p);
        /* the nearest sample is at most a step of 1.7 / 200 off the nearest point, which adds only its square */
        double step = 1.8 / 200, most = fmin(step, exact > 0 ? step * step / (2 * exact) : step);
        assert_true(exact <= sampled + 1e-9 && sampled <= exact + most);
        splat_mesh_bvh_free(&bvh);
        splat_mesh_free(&one);
    }
}

static void test_bvh(void **state)
{
    (void)state;
    splat_error error;
    for (int points = 0; points < 2; points++)
        for (size_t n = 1; n < 3000; n = 3 * n + 1) {
            splat_mesh mesh = {0}, one = {0};
            splat_mesh_bvh bvh, single;
            for (size_t i = 0; i < 3 * n; i++) {
                double size = i % 7 == 0 ? 1 : 0.1; /* long and short ones */
                put_vertex(&mesh, random_number(3, i / 3) + size * random_number(4, i),
                           random_number(5, i / 3) + size * random_number(6, i), random_number(8, i / 3 % 5));
                if (i % 3 == 2 && !points) put_face(&mesh, i - 2, i - 1, i);
            }
            ASSERT_OK(splat_mesh_bvh_make(&mesh, 2, &bvh, &error));
            for (uint64_t k = 0; k < 40; k++) {
                const double p[3] = {3 * random_number(9, k) - 1, 3 * random_number(10, k) - 1, random_number(11, k)};
                uint32_t found, expected = 0;
                double d = splat_mesh_bvh_nearest(&bvh, p, &found), best = INFINITY;
                for (size_t i = 0; i < bvh.n; i++) { /* one at a time */
                    one = mesh;
                    if (points) one.vertices += 3 * i, one.n_vertices = 1;
                    else one.faces += 3 * i, one.n_faces = 1;
                    ASSERT_OK(splat_mesh_bvh_make(&one, 2, &single, &error));
                    double each = splat_mesh_bvh_nearest(&single, p, NULL);
                    if (each < best) expected = (uint32_t)i, best = each;
                    splat_mesh_bvh_free(&single);
                }
                assert_true(d == best);
                assert_int_equal(found, expected);
            }
            splat_mesh_bvh_free(&bvh);
            splat_mesh_free(&mesh);
            if (n > 300) break;
        }
    splat_mesh empty = {0};
    splat_mesh_bvh bvh;
    assert_int_equal(splat_mesh_bvh_make(&empty, 2, &bvh, &error), SPLAT_ERROR_ARGUMENT);
}

static void test_samples(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = {0};
    double samples[3 * 4000];
    size_t n_large = 0, n_left = 0;
    put_vertex(&mesh, 0, 0, 0);
    put_vertex(&mesh, 3, 0, 0);
    put_vertex(&mesh, 0, 1, 0);
    put_vertex(&mesh, 0, 0, 1);
    put_face(&mesh, 0, 1, 2); /* area 1.5 */
    put_face(&mesh, 0, 0, 3); /* none */
    put_face(&mesh, 0, 2, 3); /* area 0.5 */
    ASSERT_OK(splat_mesh_sample(&mesh, 5, 4000, samples, &error));
    for (size_t i = 0; i < 4000; i++) {
        const double *p = samples + 3 * i;
        assert_true(p[0] >= 0 && p[1] >= 0 && p[2] >= 0);
        if (p[2] == 0) {
            n_large++;
            assert_true(p[0] / 3 + p[1] <= 1 + 1e-9);
            n_left += p[0] < 1; /* 5/9 of the triangle */
        } else {
            assert_true(p[0] == 0 && p[1] + p[2] <= 1 + 1e-9);
        }
    }
    assert_in_range(n_large, 2999, 3001); /* one sample in each part of the area */
    assert_in_range(n_left, 3000 * 5 / 9 - 110, 3000 * 5 / 9 + 110); /* 4 standard deviations of 27 */
    mesh.n_faces = 0;
    assert_int_equal(splat_mesh_sample(&mesh, 5, 10, samples, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh_free(&mesh);
}

/* Far points count in their own row, and the mesh where the others are: that it lacks the background, or has a wrong
 * one, changes nothing near by. */
static void test_far_points(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh near = make_sphere(40, 1), both = make_sphere(40, 1);
    splat_mesh_report_options options;
    splat_mesh_distances d;
    splat_reference_points points = {.cloud = make_sphere(40, 1), .names = {"plain", "far"}};
    size_t n_near = points.cloud.n_vertices;
    points.cloud.n_faces = 0;
    for (int k = 0; k < 4; k++) put_vertex(&points.cloud, 90 + k, 0, 0);
    points.subset = calloc(points.cloud.n_vertices, 1);
    assert_non_null(points.subset);
    memset(points.subset + n_near, 1, 4);
    for (int k = 0; k < 3; k++) put_vertex(&both, 70, 20 * k, 20 * (k == 1)); /* a wrong hill */
    put_face(&both, both.n_vertices - 3, both.n_vertices - 2, both.n_vertices - 1);
    splat_mesh_report_options_init(&options);
    options.n_samples = 4000;
    ASSERT_OK(splat_mesh_compare(&near, &points.cloud, &points, &options, 1, &d, &error));
    assert_int_equal(d.n_reference_samples, n_near);
    assert_true(d.completeness[3] == 1 && d.to_mesh_max < 1e-3 && d.n_subsets == 2);
    assert_true(d.subsets[1].completeness[3] == 0 && d.subsets[1].to_mesh_median > 80);
    ASSERT_OK(splat_mesh_compare(&both, &near, &points, &options, 1, &d, &error));
    assert_true(d.precision[3] == 1 && d.mesh_part < 0.1);
    memset(points.subset, 1, points.cloud.n_vertices);
    assert_int_equal(splat_mesh_compare(&near, &near, &points, &options, 1, &d, &error), SPLAT_ERROR_ARGUMENT);
    free(points.subset);
    splat_mesh_free(&points.cloud);
    splat_mesh_free(&near);
    splat_mesh_free(&both);
}

static void test_distances(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh inner = make_sphere(60, 1), outer = make_sphere(60, 1.1), points;
    splat_mesh_report_options options;
    splat_mesh_distances d, again;
    splat_mesh_report_options_init(&options);
    options.n_samples = 5000;
    options.n_thresholds = 3;
    options.thresholds[0] = 0.05;
    options.thresholds[1] = 0.1015;
    options.thresholds[2] = 2;
    ASSERT_OK(splat_mesh_compare(&inner, &outer, NULL, &options, 2, &d, &error));
    ASSERT_OK(splat_mesh_compare(&inner, &outer, NULL, &options, 1, &again, &error));
    assert_memory_equal(&d, &again, sizeof d);
    /* facets of 3 degrees are 3e-4 radii deep, and seen from a facet another one is a little farther */
    assert_float_equal(d.to_reference_mean, 0.1, 1.5e-3);
    assert_float_equal(d.to_mesh_mean, 0.1, 1.5e-3);
    assert_float_equal(d.chamfer, (d.to_reference_mean + d.to_mesh_mean) / 2, 1e-12);
    assert_true(d.to_reference_max < 0.103 && d.to_reference_p95 <= d.to_reference_max);
    assert_float_equal(d.f_score[0], 0, 0);
    assert_true(d.precision[1] > 0.9 && d.completeness[1] > 0.9);
    assert_float_equal(d.f_score[2], 1, 0);
    assert_float_equal(d.mesh_samples_per_area, 5000 / (4 * PI), 2);

    /* Half of the inner one is missing: that half of the reference is far, and precision does not suffer. */
    uint8_t *keep = malloc(inner.n_faces);
    for (size_t i = 0; i < inner.n_faces; i++) {
        keep[i] = 1;
        for (size_t k = 0; k < 3; k++) keep[i] &= inner.vertices[3 * inner.faces[3 * i + k] + 2] >= -1e-6f;
    }
    ASSERT_OK(splat_mesh_copy(&inner, &points, &error));
    points.n_faces = 0; /* as points they are the reference */
    splat_mesh_keep_faces(&inner, keep, 1);
    options.thresholds[0] = 0.06;
    ASSERT_OK(splat_mesh_compare(&inner, &points, NULL, &options, 2, &d, &error));
    assert_int_equal(d.n_reference_samples, points.n_vertices);
    assert_float_equal(d.precision[0], 1, 0);
    assert_float_equal(d.completeness[0], 0.5, 0.05);
    assert_float_equal(d.f_score[0], 2 * d.completeness[0] / (1 + d.completeness[0]), 1e-9);
    assert_float_equal(d.to_mesh_max, sqrt(2), 0.01); /* the south pole to the equator */
    options.thresholds[0] = -1;
    assert_int_equal(splat_mesh_compare(&inner, &points, NULL, &options, 2, &d, &error), SPLAT_ERROR_ARGUMENT);
    options.n_thresholds = 0;
    ASSERT_OK(splat_mesh_compare(&inner, &points, NULL, &options, 2, &d, &error));
    assert_float_equal(d.thresholds[2], 0.01 * d.reference_diagonal, 1e-12);
    assert_int_equal(splat_mesh_compare(&points, &inner, NULL, &options, 2, &d, &error), SPLAT_ERROR_ARGUMENT);
    points.n_vertices = 0;
    assert_int_equal(splat_mesh_compare(&inner, &points, NULL, &options, 2, &d, &error), SPLAT_ERROR_ARGUMENT);
    free(keep);
    splat_mesh_free(&inner);
    splat_mesh_free(&outer);
    splat_mesh_free(&points);
}

/* A sky around mesh, as splats have, and a reference without it. */
static void test_margin(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_sphere(60, 1), reference = make_sphere(60, 1.01), sky = make_sphere(20, 30);
    splat_mesh_report_options options;
    splat_mesh_distances alone, whole, near;
    splat_mesh_report_options_init(&options);
    options.n_samples = 5000;
    ASSERT_OK(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &alone, &error));
    assert_float_equal(alone.mesh_part, 1, 1e-12);
    assert_float_equal(alone.reference_margin, 0.02 * alone.reference_diagonal, 1e-12);
    options.reference_margin = -1; /* nothing lies outside: the same figures, bit for bit */
    ASSERT_OK(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &whole, &error));
    assert_float_equal(whole.reference_margin, -1, 0);
    whole.reference_margin = alone.reference_margin;
    assert_memory_equal(&alone, &whole, sizeof alone);

    ASSERT_OK(splat_mesh_append(&mesh, &sky, &error));
    ASSERT_OK(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &whole, &error));
    assert_true(whole.to_reference_mean > 28 && whole.precision[3] < 0.01);
    options.reference_margin = 0.02;
    ASSERT_OK(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &near, &error));
    assert_int_equal(near.n_mesh_samples, 5000); /* none is spent on the sky */
    assert_float_equal(near.mesh_part, 1 / 901.0, 2e-5); /* areas; the sky's facets are coarser */
    assert_float_equal(near.chamfer, alone.chamfer, 0);
    assert_float_equal(near.f_score[3], 1, 0);

    splat_mesh smaller = make_sphere(60, 0.97); /* a part of the ball bulges out of its box, not beyond the margin */
    ASSERT_OK(splat_mesh_compare(&mesh, &smaller, NULL, &options, 2, &near, &error));
    assert_float_equal(near.mesh_part, 1 / 901.0, 2e-5);
    options.reference_margin = 0;
    ASSERT_OK(splat_mesh_compare(&mesh, &smaller, NULL, &options, 2, &near, &error));
    assert_float_equal(near.mesh_part, (1 - 6 * 0.03 / 2) / 901, 5e-5); /* without six caps of height 0.03 */
    splat_mesh_free(&smaller);

    /* A plane through the box and far beyond it: only its part inside counts. */
    splat_mesh plane = {0};
    put_vertex(&plane, -100, -100, 0);
    put_vertex(&plane, 100, -100, 0);
    put_vertex(&plane, 0, 200, 0);
    put_face(&plane, 0, 1, 2);
    options.n_samples = 400000;
    options.reference_margin = 0;
    ASSERT_OK(splat_mesh_compare(&plane, &reference, NULL, &options, 2, &near, &error));
    double inside = 2.02 * 2.02 / 30000; /* the box's section of the triangle's area */
    assert_float_equal(near.mesh_part, inside, 0.2 * inside); /* 54 samples are expected, one in each 400,000th */
    assert_true(near.to_reference_max < 1.02);

    for (size_t i = 0; i < reference.n_vertices; i++) reference.vertices[3 * i] += 10; /* between ball and sky */
    assert_int_equal(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &near, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "same coordinates"));
    options.reference_margin = -0.5;
    assert_int_equal(splat_mesh_compare(&mesh, &reference, NULL, &options, 2, &near, &error), SPLAT_ERROR_ARGUMENT);
    splat_mesh_free(&plane);
    splat_mesh_free(&mesh);
    splat_mesh_free(&reference);
    splat_mesh_free(&sky);
}

static void test_figures(void **state)
{
    (void)state;
    splat_mesh cube = make_cube(1);
    splat_mesh_quality q = measure(&cube);
    assert_int_equal(q.n_edges, 6 * 5);
    assert_int_equal(q.n_boundary_edges, 24);
    assert_int_equal(q.n_components, 6);
    assert_int_equal(q.n_duplicate_vertices, 16);
    assert_float_equal(q.area.mean, 0.5, 1e-9);
    assert_float_equal(q.area.deviation, 0, 1e-9);
    assert_float_equal(q.aspect.mean, 4 * sqrt(3) * 0.5 / 4, 1e-9);
    assert_float_equal(q.edge_length.mean, (2 + sqrt(2)) / 3, 1e-7);
    assert_float_equal(q.edge_uniformity, 1 - (sqrt(2) - 1) * sqrt(2) / 3 / ((2 + sqrt(2)) / 3), 1e-7);
    assert_float_equal(q.normal_consistency, 1, 1e-9); /* within the sides only */
    assert_float_equal(q.valence.mean, 2.5, 1e-9);
    assert_float_equal(q.diagonal, sqrt(3), 1e-9);
    assert_float_equal(q.box_aspect, 1, 0);
    assert_int_equal(q.score, 20 + 10 + 20 + 10 + 10); /* open: neither 20 for watertight nor 10 for no open edge */
    assert_string_equal(q.verdict, "FAIR");
    splat_mesh_free(&cube);

    splat_mesh torus = make_torus(150, 60, 1, 0.4);
    q = measure(&torus);
    assert_int_equal(q.n_edges, 3 * 150 * 60);
    assert_float_equal(q.valence.mean, 6, 1e-12);
    assert_float_equal(q.valence.max, 6, 0);
    assert_int_equal(q.score, 100);
    assert_string_equal(q.verdict, "EXCELLENT");
    uint32_t *f = torus.faces, b = f[1]; /* one face turned */
    f[1] = f[2];
    f[2] = b;
    q = measure(&torus);
    assert_true(q.is_watertight);
    assert_false(q.is_winding_consistent);
    assert_int_equal(q.n_flipped_normals, 3);
    assert_int_equal(q.score, 90);
    put_vertex(&torus, 5, 5, 5);
    put_face(&torus, torus.faces[3], torus.faces[4], torus.n_vertices - 1);
    q = measure(&torus);
    assert_int_equal(q.n_non_manifold_edges, 1);
    assert_int_equal(q.n_boundary_edges, 2);
    assert_int_equal(q.score, 50); /* the long face also spoils the evenness of edges */
    put_face(&torus, 0, 1, 1);
    put_vertex(&torus, 6, 5, 5);
    q = measure(&torus);
    assert_int_equal(q.n_degenerate_faces, 1);
    assert_int_equal(q.n_isolated_vertices, 1);
    assert_int_equal(q.n_degenerate_normals, 1);
    assert_int_equal(q.score, 40);
    assert_string_equal(q.verdict, "POOR");
    splat_mesh_free(&torus);
}

/* A unit square on half of a page of 8 x 4 and a quarter of another of 4 x 4; then without its pictures. */
static void test_texture(void **state)
{
    (void)state;
    splat_error error;
    json_error_t problem;
    splat_mesh mesh = {0};
    const float uvs[12] = {0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0.5f};
    for (int i = 0; i < 4; i++) put_vertex(&mesh, i % 2, i / 2, 0);
    put_face(&mesh, 0, 1, 3);
    put_face(&mesh, 0, 3, 2);
    ASSERT_OK(splat_mesh_require_uvs(&mesh, &error));
    ASSERT_OK(splat_mesh_require_face_pages(&mesh, &error));
    memcpy(mesh.uvs, uvs, sizeof uvs);
    mesh.face_pages[1] = 1;
    for (int i = 0; i < 2; i++) {
        splat_image page = {i ? 4 : 8, 4, 3, calloc(96, 1)};
        ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    }
    ASSERT_OK(splat_mesh_write("textured.glb", &mesh, &error));
    ASSERT_OK(splat_mesh_write("textured.obj", &mesh, &error));
    RUN_OUT(0, "1 of 8 x 4", "mesh-report", "textured.obj");
    RUN_OUT(0, "used                  41.7 %", "mesh-report", "textured.glb", "--json", "textured.json");
    json_t *root = json_load_file("textured.json", 0, &problem);
    assert_non_null(root);
    const json_t *texture = json_object_get(root, "Texture");
    assert_int_equal(json_integer_value(json_object_get(texture, "n_pages")), 2);
    assert_int_equal(json_integer_value(json_object_get(texture, "n_texels")), 48);
    assert_float_equal(json_number_value(json_object_get(texture, "used")), 20.0 / 48, 1e-6);
    assert_float_equal(json_number_value(json_object_get(texture, "texel_density")), sqrt(20), 1e-6);
    const json_t *size = json_array_get(json_object_get(texture, "pages"), 0);
    assert_int_equal(json_integer_value(json_array_get(size, 0)), 8);
    json_decref(root);
    unlink("textured.mtl");
    RUN_OUT(0, "none: there are texture coordinates only", "mesh-report", "textured.obj");
    splat_mesh_free(&mesh);
}

static void test_command(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh sphere = make_sphere(40, 1), truth = make_sphere(80, 1.01);
    json_error_t problem;
    assert_int_equal(splat_folder_delete("events", &error), SPLAT_OK); /* of an earlier run */
    ASSERT_OK(splat_mesh_write("sphere.ply", &sphere, &error));
    ASSERT_OK(splat_mesh_write("sphere.obj", &sphere, &error));
    ASSERT_OK(splat_mesh_write("sphere.glb", &sphere, &error));
    ASSERT_OK(splat_mesh_write("truth.ply", &truth, &error));
    RUN_OUT(0, "Score 90 of 100: EXCELLENT", "mesh-report", "sphere.obj");
    RUN_OUT(0, "Score 90 of 100: EXCELLENT", "mesh-report", "sphere.glb");
    sphere.n_faces--; /* open at three edges */
    ASSERT_OK(splat_mesh_write("open.ply", &sphere, &error));
    sphere.n_faces++;
    RUN_OUT(0, "The mesh is open at 3 of", "mesh-report", "open.ply");
    RUN_OUT(0, "Chamfer distance", "mesh-report", "sphere.ply", "--reference", "truth.ply", "--json", "report.json",
            "--thresholds", "0.005,0.02", "--samples", "20K", "--tensorboard", "events", "--step", "7");
    json_t *root = json_load_file("report.json", 0, &problem);
    assert_non_null(root);
    const json_t *reference = json_object_get(root, "Reference"), *rows = json_object_get(reference, "thresholds");
    assert_float_equal(json_number_value(json_object_get(reference, "chamfer")), 0.01, 1.5e-3);
    assert_int_equal(json_array_size(rows), 2);
    assert_float_equal(json_number_value(json_object_get(json_array_get(rows, 0), "f_score")), 0, 0);
    assert_float_equal(json_number_value(json_object_get(json_array_get(rows, 1), "f_score")), 1, 0);
    assert_true(json_is_true(json_object_get(json_object_get(root, "Topology"), "is_watertight")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "Quality"), "score")), 90);
    json_decref(root);
    glob_t found;
    assert_int_equal(glob("events/events.out.tfevents.*", 0, NULL, &found), 0);
    event_file events = event_file_read(found.gl_pathv[0]);
    assert_float_equal(event_find(&events, "Mesh/Quality/score", 7)->scalar, 90, 0);
    assert_float_equal(event_find(&events, "Mesh/Reference/f_score_2", 7)->scalar, 1, 0);
    event_file_free(&events);
    globfree(&found);

    splat_mesh sky = make_sphere(10, 30);
    ASSERT_OK(splat_mesh_append(&sky, &sphere, &error));
    ASSERT_OK(splat_mesh_write("sky.ply", &sky, &error));
    splat_mesh_free(&sky);
    RUN_OUT(0, "0.1 % of the mesh is compared", "mesh-report", "sky.ply", "--reference", "truth.ply", "--json",
            "sky.json", "--samples", "2K");
    root = json_load_file("sky.json", 0, &problem);
    reference = json_object_get(root, "Reference");
    assert_float_equal(json_number_value(json_object_get(reference, "chamfer")), 0.01, 1.5e-3);
    assert_true(json_number_value(json_object_get(reference, "mesh_part_compared")) < 0.002);
    json_decref(root);
    RUN_OUT(0, "Chamfer distance", "mesh-report", "sky.ply", "--reference", "truth.ply", "--reference_margin", "-1",
            "--samples", "2K");
    assert_null(strstr(standard_output, "is compared"));

    RUN_ERR(2, "--reference_margin is -0.5", "mesh-report", "sphere.ply", "--reference", "truth.ply",
            "--reference_margin", "-0.5");
    RUN_ERR(2, "name the mesh", "mesh-report");
    RUN_ERR(2, "--thresholds takes", "mesh-report", "sphere.ply", "--thresholds", "0.1,x");
    RUN_ERR(2, "--thresholds takes", "mesh-report", "sphere.ply", "--thresholds", "0");
    RUN_ERR(2, "--thresholds takes", "mesh-report", "sphere.ply", "--thresholds", "1,1,1,1,1,1,1,1,1");
    RUN_ERR(1, "absent.ply", "mesh-report", "absent.ply");
    RUN_ERR(1, "absent.ply", "mesh-report", "sphere.ply", "--reference", "absent.ply");
    RUN_ERR(1, "absent/r.json", "mesh-report", "sphere.ply", "--json", "absent/r.json");
    sphere.n_faces = 0;
    ASSERT_OK(splat_mesh_write("points.ply", &sphere, &error));
    RUN_ERR(1, "has no faces", "mesh-report", "points.ply", "--reference", "truth.ply");
    RUN_ERR(1, "it is a splat or a point cloud", "mesh-report", "points.ply");
    splat_mesh_free(&sphere);
    splat_mesh_free(&truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle),  cmocka_unit_test(test_bvh),    cmocka_unit_test(test_samples),
        cmocka_unit_test(test_far_points), cmocka_unit_test(test_distances), cmocka_unit_test(test_margin),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_command), cmocka_unit_test(test_texture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
