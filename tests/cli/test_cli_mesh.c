/* splatsmith mesh: names of files, options, messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cli_fixture.h"
#include "sphere_fixture.h"

#define MODEL "model"
#define FOLDER MODEL "/mesh/iteration_7000/"
#define SMALL "--poisson_depth", "6", "--surface_points", "4000", "-d", "1000"
#define BOX "-b", "(-1.2,-2.4,-1.2)", "-B", "1.2,0,1.2"

static void make_model(void)
{
    splat_error error;
    splat_context *context = open_cpu(1);
    close_training(context, open_scene(context), NULL);
    must(splat_folder_delete(MODEL, &error), &error);
    must(splat_folder_delete("out", &error), &error);
    must(splat_folder_create(MODEL "/point_cloud/iteration_7000", &error), &error);
    write_sphere(MODEL "/point_cloud/iteration_7000/point_cloud.ply", 6);
}

static void one_level_has_plain_names(void **state)
{
    (void)state;
    make_model();
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--points", "level", NULL), 0);
    assert_true(splat_path_exists(FOLDER "mesh.ply"));
    assert_true(splat_path_exists(FOLDER "sugarmesh_3Dgs7000_level03_decim1000.ply"));
    assert_non_null(strstr(standard_output, "6000 opaque Gaussians"));
    assert_non_null(strstr(standard_output, "4000 surface points"));
    assert_non_null(strstr(standard_error, "host memory: up to "));
}

/* Points that views agree on, unless there is a level; SuGaR has no name for these. */
static void views_without_a_level(void **state)
{
    (void)state;
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-o", "out/views", NULL), 0);
    assert_true(splat_path_exists("out/views/mesh.ply"));
    assert_null(strstr(standard_output, "sugarmesh"));
    assert_non_null(strstr(standard_error, "views agree on "));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-o", "out/level", "-l", "0.3", NULL), 0);
    assert_true(splat_path_exists("out/level/sugarmesh_3Dgs7000_level03_decim1000.ply"));
    assert_null(strstr(standard_error, "views agree on "));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-o", "out/both", "-l", "0.3", "--points",
                         "views", NULL), 0);
    assert_non_null(strstr(standard_error, "--surface_level has no effect with --points views"));
}

static void several_levels_are_named(void **state)
{
    (void)state;
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-l", "0.1,0.25", "-o",
                         "out/a.b/x.ply,out/y.obj", "--use_vanilla_3dgs", NULL), 0);
    assert_true(splat_path_exists("out/a.b/x_level01.ply"));
    assert_true(splat_path_exists("out/a.b/x_level025.ply"));
    assert_true(splat_path_exists("out/y_level025.obj"));
    assert_null(strstr(standard_output, "sugarmesh")); /* -o says it all */
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-l", "0.1,0.25", "--use_vanilla_3dgs", NULL),
                     0);
    assert_true(splat_path_exists(FOLDER "mesh_level01.ply"));
    assert_true(splat_path_exists(FOLDER "sugarmesh_vanilla3dgs_level01_decim1000.ply"));
    assert_true(splat_path_exists(FOLDER "sugarmesh_vanilla3dgs_level025_decim1000.ply"));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--use_marching_cubes", "--voxel_size", "0.05",
                         "--project_mesh_on_surface_points", "False", NULL), 0);
    assert_true(splat_path_exists(FOLDER "sugarmesh_3Dgs7000_marchingcubes_level03_decim1000.ply"));
    assert_non_null(strstr(standard_error, "--poisson_depth has no effect with --method marching_cubes"));
    assert_null(strstr(standard_error, "--voxel_size has no effect"));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--center_bbox", "True", "--background", "False",
                         NULL), 0);
    assert_non_null(strstr(standard_error, "--center_bbox has no effect: "));
    assert_non_null(strstr(standard_error, "--background has no effect: the mesh is that of the whole scene"));
    assert_null(strstr(standard_error, "has no effect with"));
}

/* The depth follows the spacing of the points, and is less if memory demands it. */
static void the_points_choose_the_depth(void **state)
{
    (void)state;
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--poisson_depth", "0", "-o", "out/deep.ply",
                         NULL), 0);
    assert_non_null(strstr(standard_error, "Poisson: depth 6 for "));
    assert_null(strstr(standard_error, "at most, for"));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--poisson_depth", "0", "--max_host_memory",
                         "100M", "--surface_points", "100000", "-o", "out/deep.ply", NULL), 0);
    assert_non_null(strstr(standard_error, "Poisson: a depth of 7 at most, for 100 MiB of host memory"));
    assert_int_not_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--poisson_depth", "5", "-o", "out/deep.ply",
                             NULL), 0);
    assert_non_null(strstr(standard_error, "poisson_depth takes a whole number from 6 to 14, or 0"));
}

static void other_sources_are_named(void **state)
{
    (void)state;
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "--use_centers_to_extract_mesh",
                         "--outlier_neighbors", "0", NULL), 0);
    assert_true(splat_path_exists(FOLDER "sugarmesh_3Dgs7000_poissoncenters_decim1000.ply"));
    assert_int_equal(run("mesh", "--ply", MODEL "/point_cloud/iteration_7000/point_cloud.ply", "-s", SCENE, SMALL, BOX,
                         "-o", "out/depth.ply", "--points", "depth", "--mesh_extraction_resolution_factor", "0.5",
                         NULL), 0);
    assert_true(splat_path_exists("out/depth.ply"));
    assert_null(strstr(standard_output, "sugarmesh"));
}

static bool is_watertight(const char *path)
{
    assert_int_equal(run("mesh-report", path, NULL), 0);
    return strstr(standard_output, "(0 open, 0 of more than two faces)") &&
           strstr(standard_output, "watertight            yes");
}

static void closed_meshes_and_colliders_are_watertight(void **state)
{
    (void)state;
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-o", "out/o.ply,out/o.glb", "--collider", "200",
                         NULL), 0);
    assert_non_null(strstr(standard_output, "a collider of "));
    assert_non_null(strstr(standard_output, "  out/o_collider.glb"));
    assert_false(is_watertight("out/o.ply"));
    assert_true(is_watertight("out/o_collider.ply"));
    assert_true(splat_path_exists("out/o_collider.glb"));
    assert_int_equal(run("mesh", "-m", MODEL, "-s", SCENE, SMALL, BOX, "-o", "out/c.ply", "--surface", "closed",
                         "--support_trim", "2", NULL), 0);
    assert_non_null(strstr(standard_error, "--support_trim has no effect with --surface closed"));
    assert_null(strstr(standard_output, "collider"));
    assert_true(is_watertight("out/c.ply"));
    assert_false(splat_path_exists("out/c_collider.ply"));
}

/* The folder of a coarse training names its mesh. */
static void a_coarse_folder_names_the_mesh(void **state)
{
    (void)state;
    splat_error error;
    must(splat_folder_delete("sugarcoarse_3Dgs7000_sdfestim02_sdfnorm02", &error), &error);
    assert_int_equal(rename(MODEL, "sugarcoarse_3Dgs7000_sdfestim02_sdfnorm02"), 0);
    assert_int_equal(run("mesh", "-m", "./sugarcoarse_3Dgs7000_sdfestim02_sdfnorm02//", "-s", SCENE, SMALL, BOX,
                         "-l", "0.3", NULL), 0);
    assert_true(splat_path_exists("sugarcoarse_3Dgs7000_sdfestim02_sdfnorm02/mesh/iteration_7000/"
                                  "sugarmesh_3Dgs7000_sdfestim02_sdfnorm02_level03_decim1000.ply"));
}

/* SuGaR's extract_mesh.py takes -c and -i for the splat, -o for a folder. */
static void words_of_sugar(void **state)
{
    (void)state;
    const char *folder = splat_path_exists(MODEL) ? MODEL : "sugarcoarse_3Dgs7000_sdfestim02_sdfnorm02";
    char ply[256];
    assert_int_equal(run("mesh", "-c", folder, "-i", "7000", "--scene_path", SCENE, "-o", "meshes", SMALL, BOX, NULL),
                     0);
    assert_true(splat_path_exists("meshes/mesh.ply"));
    assert_int_equal(run("mesh", "--coarse_model_path", folder, "--iteration_to_load", "7000", "-s", SCENE,
                         "--mesh_output_dir", "meshes/again/", SMALL, BOX, NULL), 0);
    assert_true(splat_path_exists("meshes/again/mesh.ply"));
    snprintf(ply, sizeof ply, "%s/point_cloud/iteration_7000/point_cloud.ply", folder);
    assert_int_equal(run("mesh", "-m", ply, "-s", SCENE, "-o", "meshes/file.ply", SMALL, BOX, NULL), 0);
    assert_true(splat_path_exists("meshes/file.ply"));
}

static void textures_are_written_as_asked(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data;
    size_t size;
    for (int lit = 0; lit < 2; lit++) {
        assert_int_equal(run("texture", "-s", SCENE, "-m", FOLDER "mesh.ply", "--texture_size", "128",
                             "--texture_polish", "0", "-o", lit ? "out/lit.obj,out/lit.glb" : "out/x.obj,out/x.glb",
                             "--jpeg_quality", lit ? "90" : "0", lit ? "--lit" : NULL, NULL), 0);
        must(splat_file_read(lit ? "out/lit.mtl" : "out/x.mtl", &data, &size, &error), &error);
        assert_non_null(strstr((const char *)data, lit ? "illum 1" : "illum 0"));
        assert_non_null(strstr((const char *)data, lit ? "map_Kd lit.jpg" : "map_Kd x.png"));
        free(data);
        must(splat_file_read(lit ? "out/lit.glb" : "out/x.glb", &data, &size, &error), &error);
        data[4096] = '\0'; /* in its description, or the pixels behind */
        assert_int_equal(strstr((const char *)data + 20, "KHR_materials_unlit") == NULL, lit);
        assert_non_null(strstr((const char *)data + 20, lit ? "image/jpeg" : "image/png"));
        free(data);
    }
    assert_true(splat_path_exists("out/lit.jpg") && splat_path_exists("out/x.png"));
}

static void mistakes_are_told(void **state)
{
    (void)state;
    static const struct { const char *option, *value, *message; int code; } wrong[] = {
        {"-l", "1.5", "above 0 and below 1", 2},
        {"-l", "0.1,", "commas between", 2},
        {"-l", "0.1,0.1", "given twice", 2},
        {"--points", "levels", "level|depth|centers", 2},
        {"--mesh_extraction_resolution_factor", "0", "from 0.05 to 8", 2},
        {"--min_alpha", "1", "no training view sees a surface of this splat (alpha of --min_alpha = 1", 1},
        {"--mesh_extraction_resolution_factor", "0.05", "take --points level", 1},
        {"--surface", "sealed", "open|closed", 2},
        {"--surface=closed", "--method=tsdf", "--surface closed needs --method poisson; a mesh of tsdf ends where", 2},
        {"--surface=closed", "--use_marching_cubes", "a mesh of marching_cubes ends where the views end", 2},
        {"--collider=500", "--method=tsdf", "--collider needs --method poisson", 2},
        {"--collider", "-5", "--collider takes a whole number of at least 20", 2},
        {"--collider", "3", "--collider takes a whole number of at least 20", 2},
        {"--max_host_memory", "1M", "the limit is 1.0 MiB", 1},
        {"-o", "mesh.stl", "the end of the name chooses the format", 2},
        {"-o", "mesh.", "the end of the name chooses the format", 2},
        {"-o", ",", "names no file", 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int code = run("mesh", "-m", MODEL, "-s", SCENE, SMALL, wrong[i].option, wrong[i].value, NULL);
        if (code != wrong[i].code || !strstr(standard_error, wrong[i].message))
            fail_msg("%s %s: %d, %s", wrong[i].option, wrong[i].value, code, standard_error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_level_has_plain_names), /* makes the model of the others */
        cmocka_unit_test(views_without_a_level),
        cmocka_unit_test(several_levels_are_named),
        cmocka_unit_test(the_points_choose_the_depth),
        cmocka_unit_test(other_sources_are_named),
        cmocka_unit_test(words_of_sugar),
        cmocka_unit_test(textures_are_written_as_asked),
        cmocka_unit_test(closed_meshes_and_colliders_are_watertight),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(a_coarse_folder_names_the_mesh), /* moves the model */
    };
    return cmocka_run_group_tests_name("the command mesh", tests, NULL, NULL);
}
