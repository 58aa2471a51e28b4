/* splatsmith refine: from a splat over its mesh to a refined one, folders, resuming, what is refused, edited meshes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

/* A splat, and a mesh with some thousand triangles. */
#define REFINE "refine", "-c", "gs", "-m", "mesh.ply", "--backend", "cpu"
#define QUICK REFINE, "--tensorboard", "False", "--report", "False", "-f", "20"

static double psnr_after(const char *line)
{
    const char *at = strstr(standard_output, line);
    assert_non_null(at);
    at = strstr(at, "PSNR ");
    assert_non_null(at);
    return atof(at + 5);
}

static void test_scene(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "scene", "--width", "96", "--height", "72", "--cameras", "16", "--points", "1000",
            "--backend", "cpu");
    RUN_OUT(0, NULL, "train", "-s", "scene", "--eval", "--backend", "cpu", "--iterations", "600", "--tensorboard",
            "False", "-m", "gs", "--report", "False", "--cap_max", "4000", "--strategy", "default");
    RUN_OUT(0, "vertices and", "mesh", "-m", "gs", "--backend", "cpu", "--poisson_depth", "7", "--points",
            "level", "--surface_points", "60000", "--target_vertices", "4000", "-o", "mesh.ply");
}

/* PSNR rises well, the other commands read the result as it is rendered here, and the reports show the stage. */
static void test_run(void **state)
{
    (void)state;
    RUN_OUT(0, "Output folder: fine", REFINE, "-o", "fine", "-f", "200", "-g", "3", "--test_iterations", "1",
            "--save_iterations", "100", "--sh_degree", "1");
    assert_non_null(strstr(standard_output, "Mesh: mesh.ply"));
    assert_non_null(strstr(standard_output, "Trained 200 steps"));
    assert_non_null(strstr(standard_output, "  mesh         fine/mesh.ply"));
    double first = psnr_after("[ITER 1] Evaluating test"), last = psnr_after("[ITER 200] Evaluating test");
    print_message("PSNR %.2f -> %.2f dB\n", first, last);
    assert_true(last > first + 6);
    assert_true(exists("fine/point_cloud/iteration_100/mesh.ply"));
    assert_true(exists("fine/point_cloud/iteration_200/mesh.ply"));
    assert_true(file_contains("fine/point_cloud/iteration_200/point_cloud.ply", "property float f_rest_8"));
    assert_int_equal(system("cmp -s fine/mesh.ply fine/point_cloud/iteration_200/mesh.ply"), 0);
    assert_true(file_contains("fine/report.html", "normal consistency"));
    assert_true(file_contains("fine/report.html", "gaussians_per_triangle"));
    assert_false(file_contains("fine/report.html", "regularize_after")); /* of another stage */
    assert_true(file_contains("fine/history.jsonl", "\"refine\":{\"normal_consistency\":"));
    assert_int_equal(system("grep -q Loss/component_normal_consistency fine/events.out.*"), 0);
    RUN_OUT(0, NULL, "eval", "-m", "fine", "--backend", "cpu"); /* classic, as it was trained */
    char text[64];
    read_text("fine/results.json", standard_output, sizeof standard_output);
    const char *psnr = strstr(standard_output, "\"PSNR\":");
    assert_non_null(psnr);
    snprintf(text, sizeof text, "%.1f", atof(psnr + 7));
    print_message("eval: %s dB\n", text);
    assert_true(atof(psnr + 7) > last - 0.1 && atof(psnr + 7) < last + 0.1);
    RUN_OUT(0, "faces", "mesh-report", "fine/mesh.ply");
    RUN_OUT(0, NULL, "export", "-m", "fine", "-o", "exported.ply");
    assert_true(exists("exported.ply"));
    assert_null(strstr(standard_error, "that mesh"));
    RUN_OUT(0, "scaled by 2", "export", "-m", "fine", "--scale", "2", "-o", "exported.ply"); /* the mesh is not */
    assert_non_null(strstr(standard_error, "bound to the triangles of fine/"));
    assert_non_null(strstr(standard_error, "/mesh.ply, which stays as it is"));
}

/* SuGaR's names, its three lengths, and what lies where. */
static void test_folders(void **state)
{
    (void)state;
    RUN_OUT(0, "Output folder: gs_mesh/sugarfine_mesh_normalconsistency02_gaussperface1", QUICK, "-n", "0.2");
    RUN_OUT(0, "Output folder: gs_mesh/try", QUICK, "--experiment_name", "try");
    write_text("exposure.json", "{}"); /* of another splat: none is named */
    RUN_OUT(0, "Output folder: scene_output/sugarfine_mesh_normalconsistency01_gaussperface6", "refine", "-s", "scene",
            "-m", "mesh.ply", "-g", "6", "-f", "2", "--backend", "cpu", "--tensorboard", "False", "--report", "False",
            "--resolution", "48");
    assert_non_null(strstr(standard_output, "up to 48x36"));
    assert_false(exists("scene_output/sugarfine_mesh_normalconsistency01_gaussperface6/exposure.json"));
    assert_int_equal(remove("exposure.json"), 0);
    assert_null(strstr(standard_error, "grey")); /* the mesh has colours */
    RUN_ERR(1, "--refinement_time short wins", REFINE, "-o", "short", "-f", "3", "--refinement_time", "short",
            "--start_checkpoint", "none.splatsmith");
}

static void test_resume(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, QUICK, "-o", "whole");
    RUN_OUT(0, NULL, REFINE, "-o", "part", "-f", "10", "--tensorboard", "False", "--report", "False",
            "--checkpoint_iterations", "10");
    RUN_OUT(0, "Trained 10 steps", QUICK, "-o", "part", "--resume_checkpoint", "latest");
    assert_int_equal(system("cmp -s whole/point_cloud/iteration_20/point_cloud.ply "
                            "part/point_cloud/iteration_20/point_cloud.ply && cmp -s whole/mesh.ply part/mesh.ply"), 0);
    RUN_OUT(0, "Memory: limit 16 MiB", QUICK, "-o", "limited", "--vram_limit", "16M");
    RUN_ERR(1, "least possible", QUICK, "-o", "never", "--vram_limit", "2M");
    assert_false(exists("never"));
    RUN_OUT(0, NULL, QUICK, "-o", "mip", "--render_mode", "mip");
    assert_true(file_contains("mip/cfg_args", "kernel_size=0.1"));
}

static void test_mistakes(void **state)
{
    (void)state;
    RUN_ERR(2, "give the mesh with -m", "refine", "-s", "scene", "-o", "no");
    RUN_ERR(2, "with -o", "refine", "-m", "mesh.ply", "--backend", "cpu");
    RUN_ERR(2, "scene's folder with -s", "refine", "-m", "mesh.ply", "-o", "no", "--backend", "cpu");
    RUN_ERR(1, "absent.ply", "refine", "-s", "scene", "-m", "absent.ply", "-o", "no", "--backend", "cpu");
    RUN_ERR(1, "points but no triangles", "refine", "-s", "scene", "-m", "gs/point_cloud/iteration_600/point_cloud.ply",
            "-o", "no", "--backend", "cpu");
    RUN_ERR(2, "1|3|4|6", QUICK, "-g", "2", "-o", "no");
    RUN_ERR(2, "name it with -c", "refine", "-s", "scene", "-m", "mesh.ply", "--keep_rest", "-o", "no");
    RUN_ERR(2, "--bboxmin and --bboxmax", QUICK, "--bboxmin", "0,0,0", "-o", "no");
    RUN_ERR(2, "the splat lies in gs", QUICK, "-o", "gs");
    RUN_ERR(2, "the mesh to begin with lies in whole", "refine", "-c", "gs", "-m", "whole/mesh.ply", "-o", "whole");
    assert_true(exists("whole/mesh.ply"));
    assert_false(exists("no"));
}

/* Nothing was edited: nothing changes. A mesh with other faces is none of this one. */
static void test_deform(void **state)
{
    (void)state;
    RUN_OUT(0, "on fine/mesh.ply: same.ply", "refine", "--deform", "fine/mesh.ply", "-m", "fine", "-o", "same.ply");
    RUN_OUT(0, NULL, "eval", "--ply", "same.ply", "-s", "scene", "--backend", "cpu");
    RUN_OUT(0, NULL, "refine", "--deform", "fine/mesh.ply", "-m", "fine", "-i", "100", "-o", "again.ply");
    assert_true(exists("again.ply"));
    RUN_ERR(1, "without adding, removing or merging", "refine", "--deform", "scene/ground_truth.ply", "-m", "fine",
            "-o", "no.ply");
    RUN_ERR(1, "no folder of a refinement", "refine", "--deform", "mesh.ply", "-m", "gs", "-o", "no.ply");
    RUN_ERR(2, "splat to write with -o", "refine", "--deform", "mesh.ply", "-m", "fine");
    RUN_ERR(2, "folder of the refinement with -m", "refine", "--deform", "mesh.ply", "-o", "no.ply");
    assert_false(exists("no.ply"));
}

int main(void)
{
    if (system("rm -rf scene scene_output gs gs_mesh mesh.ply fine whole part limited mip exported.ply same.ply "
               "again.ply") != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),   cmocka_unit_test(test_run),      cmocka_unit_test(test_folders),
        cmocka_unit_test(test_resume),  cmocka_unit_test(test_mistakes), cmocka_unit_test(test_deform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
