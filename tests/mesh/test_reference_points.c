/* A mesh against a true surface and the points that it ought to reach: known distances, subsets, files, the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli_fixture.h"
#include "event_reader.h"
#include "mesh/files/mesh_io.h"
#include "mesh/measure/mesh_distance.h"
#include "mesh/measure/mesh_report.h"
#include "mesh_fixture.h"

#include <jansson.h>

/* A rectangle of x from 0 to 1, y from low to high, at a height. */
static void put_sheet(splat_mesh *mesh, double low, double high, double height)
{
    size_t n = mesh->n_vertices;
    for (int k = 0; k < 4; k++) put_vertex(mesh, k % 2, k / 2 ? high : low, height);
    put_face(mesh, n, n + 1, n + 3);
    put_face(mesh, n, n + 3, n + 2);
}

static splat_mesh_report_options with_thresholds(double a, double b, double c)
{
    splat_mesh_report_options options;
    splat_mesh_report_options_init(&options);
    options.thresholds[0] = a;
    options.thresholds[1] = b;
    options.thresholds[2] = c;
    options.n_thresholds = 3;
    return options;
}

/* A plane against itself, moved by 0.015, and moved by half: what is right at 0.01 is right to 0.001. */
static void test_planes(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh truth = {0}, moved = {0}, half = {0};
    splat_mesh_report_options options = with_thresholds(0.01, 0.0149, 0.0151);
    splat_mesh_distances d;
    put_sheet(&truth, 0, 1, 0);
    put_sheet(&moved, 0, 1, 0.015);
    put_sheet(&half, 0, 0.25, 0.015);
    put_sheet(&half, 0.25, 1, 0.005);
    ASSERT_OK(splat_mesh_compare(&truth, &truth, NULL, &options, 2, &d, &error));
    assert_true(d.precision[0] == 1 && d.completeness[0] == 1 && d.f_score[0] == 1);
    assert_true(d.to_reference_median < 1e-9 && d.to_mesh_median < 1e-9);
    ASSERT_OK(splat_mesh_compare(&moved, &truth, NULL, &options, 2, &d, &error));
    assert_true(d.precision[0] == 0 && d.precision[1] == 0 && d.precision[2] == 1);
    assert_true(d.completeness[0] == 0 && d.completeness[1] == 0 && d.completeness[2] == 1);
    assert_float_equal(d.to_reference_median, 0.015, 1e-8);
    ASSERT_OK(splat_mesh_compare(&half, &truth, NULL, &options, 2, &d, &error));
    assert_float_equal(d.precision[0], 0.75, 1e-4); /* samples are spread evenly by area */
    assert_float_equal(d.to_reference_median, 0.005, 1e-8);
    /* near the step a point is nearer to the lower sheet: 0.25 less what sqrt(0.01^2 - 0.005^2) reaches */
    assert_float_equal(d.completeness[0], 0.75 + 0.00866, 1e-3);
    splat_mesh_free(&truth);
    splat_mesh_free(&moved);
    splat_mesh_free(&half);
}

static const char head[] = "ply\nformat ascii 1.0\ncomment subset 0 textured 1 plain 5 thin\nelement vertex %s\n"
                           "property float x\nproperty float y\nproperty float z\nproperty %s subset\nend_header\n%s";

static void write_list(const char *path, const char *n, const char *type, const char *rows)
{
    char text[1024];
    snprintf(text, sizeof text, head, n, type, rows);
    write_text(path, text);
}

/* Four points over a sheet at z = 0: two textured at 0 and 0.004, a plain one at 0.03, a thin one at 0.015; and the
 * surface is larger than what they show. */
static void test_subsets(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = {0}, truth = {0};
    splat_reference_points points;
    splat_mesh_report_options options = with_thresholds(0.003, 0.01, 0.02);
    splat_mesh_distances d;
    put_sheet(&mesh, 0, 1, 0);
    put_sheet(&truth, 0, 1, 0.001);
    put_sheet(&truth, 0, 1, 0.5); /* unseen: nobody misses it */
    write_list("points.ply", "4", "uchar", "0.5 0.5 0 0\n0.25 0.5 0.004 0\n0.75 0.5 0.03 1\n0.5 0.25 0.015 5\n");
    ASSERT_OK(splat_reference_points_read("points.ply", &points, &error));
    assert_int_equal(points.cloud.n_vertices, 4);
    ASSERT_OK(splat_mesh_compare(&mesh, &truth, &points, &options, 2, &d, &error));
    assert_true(d.precision[0] == 1 && d.n_reference_samples == 4);
    assert_float_equal(d.completeness[0], 0.25, 0);
    assert_float_equal(d.completeness[1], 0.5, 0);
    assert_float_equal(d.completeness[2], 0.75, 0);
    assert_float_equal(d.f_score[1], 2 * 0.5 / 1.5, 1e-12);
    assert_float_equal(d.to_mesh_median, 0.004, 1e-8); /* the lower of the two in the middle */
    assert_int_equal(d.n_subsets, 3);
    assert_string_equal(d.subsets[0].name, "textured");
    assert_string_equal(d.subsets[1].name, "plain");
    assert_string_equal(d.subsets[2].name, "thin");
    assert_int_equal(d.subsets[0].n, 2);
    assert_true(d.subsets[0].completeness[0] == 0.5 && d.subsets[0].completeness[1] == 1);
    assert_true(d.subsets[1].completeness[2] == 0 && d.subsets[2].completeness[2] == 1);
    assert_float_equal(d.subsets[1].to_mesh_median, 0.03, 1e-8);
    options.n_thresholds = 0; /* points with subsets are of the truth: thresholds in scene units */
    ASSERT_OK(splat_mesh_compare(&mesh, &truth, &points, &options, 2, &d, &error));
    assert_true(d.n_thresholds == 4 && d.thresholds[0] == 0.005 && d.thresholds[3] == 0.05);
    splat_reference_points_free(&points);

    write_list("unnamed.ply", "2", "int", "0.5 0.5 0 7\n0.5 0.5 0 0\n");
    ASSERT_OK(splat_reference_points_read("unnamed.ply", &points, &error));
    assert_string_equal(points.names[7], "7");
    splat_reference_points_free(&points);
    static const char *const bad[] = {"0 0 0 8\n", "0 0 0 -1\n", "0 0 0 0.5\n", "0 0 0 nan\n"};
    for (int i = 0; i < 4; i++) {
        write_list("bad.ply", "1", "float", bad[i]);
        assert_int_equal(splat_reference_points_read("bad.ply", &points, &error), SPLAT_ERROR_FORMAT);
        assert_non_null(strstr(error.message, "whole numbers from 0 to 7"));
        assert_null(points.cloud.vertices);
    }
    write_list("none.ply", "0", "uchar", "");
    assert_int_equal(splat_reference_points_read("none.ply", &points, &error), SPLAT_ERROR_FORMAT);
    splat_mesh_free(&mesh);
    splat_mesh_free(&truth);
}

static void test_command(void **state)
{
    (void)state;
    splat_error error;
    json_error_t problem;
    splat_mesh mesh = {0}, truth = {0};
    put_sheet(&mesh, 0, 1, 0);
    put_sheet(&truth, 0, 1, 0.001);
    ASSERT_OK(splat_mesh_write("mesh.ply", &mesh, &error));
    ASSERT_OK(splat_mesh_write("truth.ply", &truth, &error));
    ASSERT_OK(splat_folder_delete("events", &error));
    write_list("points.ply", "3", "uchar", "0.5 0.5 0.001 0\n0.75 0.5 0.03 1\n0.5 0.25 0.015 5\n");
    RUN_OUT(0, "thin                   1      0.0000    0.0000    1.0000    1.0000     0.015", "mesh-report",
            "mesh.ply", "--reference", "truth.ply", "--reference_points", "points.ply", "--json", "report.json",
            "--tensorboard", "events", "--samples", "1K");
    json_t *root = json_load_file("report.json", 0, &problem);
    assert_non_null(root);
    const json_t *reference = json_object_get(root, "Reference"), *subsets = json_object_get(reference, "subsets");
    assert_string_equal(json_string_value(json_object_get(reference, "points")), "points.ply");
    assert_float_equal(json_number_value(json_object_get(reference, "to_reference_median")), 0.001, 1e-8);
    assert_float_equal(json_number_value(json_object_get(reference, "to_mesh_median")), 0.015, 1e-8);
    assert_int_equal(json_array_size(subsets), 3);
    const json_t *plain = json_array_get(subsets, 1), *parts = json_object_get(plain, "completeness");
    assert_string_equal(json_string_value(json_object_get(plain, "name")), "plain");
    assert_int_equal(json_integer_value(json_object_get(plain, "n_points")), 1);
    assert_float_equal(json_number_value(json_object_get(plain, "to_mesh_median")), 0.03, 1e-8);
    assert_int_equal(json_array_size(parts), 4);
    assert_true(json_number_value(json_array_get(parts, 2)) == 0 && json_number_value(json_array_get(parts, 3)) == 1);
    json_decref(root);
    glob_t found;
    assert_int_equal(glob("events/events.out.tfevents.*", 0, NULL, &found), 0);
    event_file events = event_file_read(found.gl_pathv[0]);
    for (int k = 1; k <= 4; k++) { /* thresholds count from 1; the last two reach the thin one */
        char tag[64];
        snprintf(tag, sizeof tag, "Mesh/Reference/thin_completeness_%d", k);
        const event *part = event_find(&events, tag, 0);
        assert_non_null(part);
        assert_float_equal(part->scalar, k > 2, 0);
    }
    assert_float_equal(event_find(&events, "Mesh/Reference/plain_to_mesh_median", 0)->scalar, 0.03, 1e-6);
    assert_float_equal(event_find(&events, "Mesh/Reference/to_mesh_median", 0)->scalar, 0.015, 1e-6);
    event_file_free(&events);
    globfree(&found);

    RUN_OUT(0, "textured               1      1.0000", "mesh-report", "mesh.ply", "--reference", "points.ply",
            "--samples", "1K"); /* the list alone: subsets, too */
    RUN_ERR(2, "--reference is needed too", "mesh-report", "mesh.ply", "--reference_points", "points.ply");
    RUN_ERR(1, "this file has faces", "mesh-report", "mesh.ply", "--reference", "truth.ply", "--reference_points",
            "truth.ply");
    RUN_ERR(1, "absent.ply", "mesh-report", "mesh.ply", "--reference", "truth.ply", "--reference_points",
            "absent.ply");
    splat_mesh_free(&mesh);
    splat_mesh_free(&truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_planes), cmocka_unit_test(test_subsets),
                                       cmocka_unit_test(test_command)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
