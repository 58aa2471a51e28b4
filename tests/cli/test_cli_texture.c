/* splatsmith texture: files that come out, what it says, and what it refuses before and during the work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cli_fixture.h"
#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"

/* From the origin to the ball of the built-in scene. */
static void move_to_ball(splat_mesh *mesh)
{
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        mesh->vertices[3 * i] -= 0.95f;
        mesh->vertices[3 * i + 1] -= 0.65f;
        mesh->vertices[3 * i + 2] += 0.35f;
    }
}

/* The ball of the built-in scene, the same with many sharp edges, a splat that is not bound to it, and a mesh without
 * faces. */
static int prepare(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_sphere(16, 0.65), crumpled = make_crumpled_sphere(80, 0.65), points = make_sphere(4, 1);
    if (system("rm -rf texture_scene *.glb *.obj *.mtl *.png *.ply refined") != 0) return 1;
    move_to_ball(&mesh);
    move_to_ball(&crumpled);
    points.n_faces = 0;
    ASSERT_OK(splat_mesh_write("ball.ply", &mesh, &error));
    ASSERT_OK(splat_mesh_write("crumpled.ply", &crumpled, &error));
    ASSERT_OK(splat_mesh_write("points.ply", &points, &error));
    splat_mesh_free(&mesh);
    splat_mesh_free(&crumpled);
    splat_mesh_free(&points);
    RUN_OUT(0, "", "sample", "texture_scene", "--width", "96", "--height", "72", "--cameras", "16");
    RUN_OUT(0, "", "train", "-s", "texture_scene", "-m", "splat", "--iterations", "5", "--eval", "-q");
    return 0;
}

static void files_are_written(void **state)
{
    (void)state;
    splat_error error;
    RUN_OUT(0, "texels from photos", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o",
            "out.glb,out.obj,out.ply", "--texture_polish", "3");
    assert_non_null(strstr(standard_output, "polished: the loss went from"));
    assert_non_null(strstr(standard_error, "host memory: up to"));
    static const char *const files[3] = {"out.glb", "out.obj", "out.ply"};
    for (int i = 0; i < 3; i++) {
        splat_mesh mesh;
        ASSERT_OK(splat_mesh_read(files[i], &mesh, &error));
        assert_true(mesh.n_pages == 1 && mesh.uvs && mesh.n_faces > 900);
        assert_true(mesh.pages[0].width > 50);
        splat_mesh_free(&mesh);
    }
    RUN_OUT(0, "1 page of 128 x 128 texels", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "small.glb",
            "--texture_size", "128", "--texture_polish", "0", "--two_bands", "False");
    assert_null(strstr(standard_output, "polished"));
}

static void coarser_levels_are_files_of_their_own(void **state)
{
    (void)state;
    RUN_OUT(0, "levelled.glb", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "levelled.glb,levelled.obj",
            "--lods", "3", "--texture_polish", "0");
    assert_true(exists("levelled_LOD1.glb") && exists("levelled_LOD1.obj") && exists("levelled_LOD1.png"));
    assert_false(exists_like("levelled_LOD2*"));
    assert_non_null(strstr(standard_error, "level 1 of the mesh: 240 faces, 1 page of "));
    assert_non_null(strstr(standard_error, "level 2 of the mesh and coarser ones are left out: a quarter of 240 "));
}

/* Texels of a coarse page suit their photos after 300 steps: the loss falls by a quarter. */
static void polishing_reports_the_loss_before_and_after(void **state)
{
    (void)state;
    double before, after;
    RUN_OUT(0, "polished: the loss went from", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "coarse.glb",
            "--texture_size", "64", "--texture_polish", "300", "--two_bands", "False");
    const char *polished = strstr(standard_output, "polished:");
    assert_int_equal(sscanf(polished, "polished: the loss went from %lf to %lf", &before, &after), 2);
    assert_true(0 < after && after < before);
}

static void small_pieces_share_charts(void **state)
{
    (void)state;
    int width, height;
    double used;
    RUN_OUT(0, "texels, ", "texture", "-s", "texture_scene", "-m", "crumpled.ply", "-o", "crumpled.glb",
            "--texture_polish", "3", "--texel_density", "2");
    const char *line = strstr(standard_output, "1 page of ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "1 page of %d x %d texels, %lf %%", &width, &height, &used), 3);
    assert_true(used >= 35);
}

static void the_command_line_is_checked_first(void **state)
{
    (void)state;
    RUN_ERR(2, "with -m", "texture", "-s", "texture_scene", "-o", "x.glb");
    RUN_ERR(2, "give the file to write with -o", "texture", "-s", "texture_scene", "-m", "ball.ply");
    RUN_ERR(2, "x.stl", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.stl");
    RUN_ERR(2, "--square_size sets the size", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb",
            "--square_size", "10", "--texture_size", "512");
    RUN_ERR(2, "name it with -c", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb", "--bake",
            "gaussians");
    RUN_ERR(2, "--lods takes a whole number from 0 to 8, not '-1'", "texture", "-s", "texture_scene", "-m", "ball.ply",
            "-o", "x.glb", "--lods", "-1");
    RUN_ERR(2, "--lods takes a whole number from 0 to 8, not '9'", "texture", "-s", "texture_scene", "-m", "ball.ply",
            "-o", "x.glb", "--lods", "9");
    RUN_ERR(2, "--lods needs --bake photos", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb",
            "--lods", "1", "--bake", "gaussians");
    RUN_ERR(2, "--postprocess_mesh asks the Gaussians", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o",
            "x.glb", "--postprocess_mesh");
    RUN_ERR(1, "absent.ply", "texture", "-s", "texture_scene", "-m", "absent.ply", "-o", "x.glb");
    assert_false(exists("x.glb"));
}

static void what_does_not_fit_is_one_sentence(void **state)
{
    (void)state;
    RUN_ERR(2, "no faces", "texture", "-s", "texture_scene", "-m", "points.ply", "-o", "x.glb");
    RUN_ERR(2, "is not bound to this mesh", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb", "-c",
            "splat/point_cloud/iteration_5/point_cloud.ply");
    RUN_ERR(1, "--max_host_memory", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb",
            "--max_host_memory", "1M");
    assert_int_equal(symlink("/dev/full", "full.glb"), 0); /* the disk is full at the last file */
    RUN_ERR(1, "No space left on device", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o",
            "first.glb,full.glb", "--texture_polish", "0");
    assert_false(exists("x.glb"));
    assert_int_equal(system("rm texture_scene/images/*7.png"), 0); /* one photo of 16 is gone */
    RUN_ERR(1, "7.png", "texture", "-s", "texture_scene", "-m", "ball.ply", "-o", "x.glb", "--strict");
    assert_false(exists("x.glb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_written),
        cmocka_unit_test(coarser_levels_are_files_of_their_own),
        cmocka_unit_test(polishing_reports_the_loss_before_and_after),
        cmocka_unit_test(small_pieces_share_charts),
        cmocka_unit_test(the_command_line_is_checked_first),
        cmocka_unit_test(what_does_not_fit_is_one_sentence),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
