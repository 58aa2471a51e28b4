/* splatsmith pipeline from outside: which stages run, which are left alone, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/ply/ply_points.h"
#include "pipeline_fixture.h"

#include <math.h>
#include <sys/file.h>

/* ---------------------------------------------------------------- a run, and nothing to do */

static void a_whole_run(void **state)
{
    (void)state;
    make_base();
    assert_true(exists("base" TRAIN_PLY) && exists("base" COARSE_PLY) && exists("base" MESH_PLY));
    assert_true(exists("base" REFINED_PLY) && exists("base" GLB));
    static const char *const stages[] = {"train", "coarse", "mesh", "refine", "texture"};
    for (int i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "base/%s/stage.json", stages[i]);
        assert_true(file_contains(path, "\"complete\": true"));
        assert_true(file_contains("base/pipeline.json", stages[i]));
    }
    assert_true(file_contains("base/train/stage.json", "\"iterations\": \"400\""));
    assert_false(file_contains("base/train/stage.json", "densification_interval")); /* it is the default */
    assert_true(file_contains("base/train/stage.json", "\"strategy\": \"default\"")); /* that of train */
    assert_true(file_contains("base/coarse/stage.json", "\"regularization_type\": \"multiview\"")); /* a mode */
    assert_false(file_contains("base/train/stage.json", "n_samples"));              /* another stage's */
    assert_true(file_contains("base/mesh/stage.json", "\"path\": \"coarse/point_cloud/iteration_7090/"));
    assert_true(file_contains("base/mesh/stage.json", "\"n_faces\": "));
    assert_true(file_contains("base/texture/stage.json", "\"path\": \"refine/point_cloud/iteration_40/mesh.ply\""));
    assert_true(file_contains("base/texture/stage.json", "\"test_psnr_covered\": "));
    /* all test on what train tested on */
    assert_same_file("base/train/split.json", "base/coarse/split.json");
    assert_same_file("base/train/split.json", "base/refine/split.json");
    /* where users look for what they wanted */
    assert_same_file("base" REFINED_PLY, "base/refined.ply");
    assert_same_file("base/refine/mesh.ply", "base/refined_mesh.ply");
    assert_same_file("base" GLB, "base/textured.glb");
    assert_true(file_contains("base/pipeline.json", "\"textured.glb\""));
    assert_false(exists_like("base/textured.obj") || exists_like("base/*.tmp"));
}

/* A quality stands for a strategy, in the first stage too. */
static void a_quality_reaches_the_first_stage(void **state)
{
    (void)state;
    make_base();
    PIPELINE(0, "best", "--quality", "high", "--cap_max", "450", "--skip_coarse", "--skip_refine", "--skip_texture");
    assert_true(file_contains("best/train/stage.json", "\"strategy\": \"high\""));
}

/* The result is a mesh with a texture: a picture, and its coordinates for every vertex. */
static void the_last_result_has_a_texture(void **state)
{
    (void)state;
    make_base();
    sh_ok("grep -aq '\"TEXCOORD_0\"' base/textured.glb && grep -aq '\"mimeType\":\"image/' base/textured.glb");
    RUN_OUT(0, NULL, "render", "--mesh", "base/textured.glb", "-m", "base/refine", "--skip_train", "-o", "drawn");
    assert_true(exists_like("drawn/test/mesh_textured/color/*.png"));
}

static void nothing_to_do(void **state)
{
    (void)state;
    copy_base("again"); /* moved: paths in it are its own */
    sh_ok("touch mark; sleep 0.05");
    PIPELINE(0, "again", "--threads", "1", "--vram_limit", "4G", "--test_iterations", "50"); /* make no other result */
    SAID("[1/5] train: done before");
    SAID("[2/5] coarse: done before");
    SAID("[3/5] mesh: done before");
    SAID("[4/5] refine: done before");
    SAID("[5/5] texture: done before");
    SAID(" dB ");
    SAID("again/mesh/mesh.ply");
    SAID("Results:\n  again/refined.ply\n  again/refined_mesh.ply\n  again/textured.glb\n");
    NOT_NOTED("runs again");
    sh_ok("test -z \"$(find again -newer mark -name '*.ply')$(find again -newer mark -name stage.json)\"");
}

/* A kill between the end of a stage and its tidying leaves files that a later run finds and deletes. */
static void leftovers_of_complete_stages_go(void **state)
{
    (void)state;
    copy_base("left");
    sh_ok("touch left/train/chkpnt100.splatsmith left/train/chkpnt200.splatsmith left/train/chkpnt300.splatsmith "
          "left/train/report.html.tmp-aB3xYz left/texture/textured.glb.tmp-000000 left/train/mine.tmp-notes "
          "left" TRAIN_PLY ".tmp-Q2w3E4");
    PIPELINE(0, "left");
    SAID("[1/5] train: done before");
    SAID("[5/5] texture: done before");
    assert_false(exists_like("left/train/chkpnt*"));
    assert_false(exists("left/train/report.html.tmp-aB3xYz"));
    assert_false(exists("left/texture/textured.glb.tmp-000000"));
    assert_false(exists("left" TRAIN_PLY ".tmp-Q2w3E4"));
    assert_true(exists("left/train/mine.tmp-notes"));
    assert_true(exists("left" TRAIN_PLY));
    sh_ok("sed -i 's/\"checkpoint_interval\": \"1000\"/\"checkpoint_interval\": \"20\"/' left/train/stage.json");
    sh_ok("touch left/train/chkpnt360.splatsmith left/train/chkpnt380.splatsmith left/train/chkpnt400.splatsmith");
    PIPELINE(0, "left"); /* the run that made the stage was asked for them */
    assert_false(exists("left/train/chkpnt360.splatsmith"));
    assert_true(exists("left/train/chkpnt380.splatsmith"));
    assert_true(exists("left/train/chkpnt400.splatsmith"));
}

/* Every stage gets the limit, and keeps it. */
static void a_memory_limit_holds_for_all_stages(void **state)
{
    (void)state;
    int n_told = 0;
    make_base();
    PIPELINE(0, "limited", "--vram_limit", "20M");
    for (const char *at = standard_output; (at = strstr(at, "Memory: limit 20 MiB; ")); at++) n_told++;
    assert_int_equal(n_told, 3); /* train, coarse, refine */
    sh_ok("test $(grep -c '\"peak_bytes\": ' limited/pipeline.json) = 5 && "
          "! grep -E '\"peak_bytes\": ([0-9]{9,}|[3-9][0-9]{7}|2[1-9][0-9]{6})' limited/pipeline.json");
    PIPELINE(1, "limited", "--vram_limit", "2M", "-f", "30"); /* the splat fits, the Gaussians of the mesh do not */
    SAID("[3/5] mesh: done before");
    NOTED("least possible");
    assert_true(exists("limited/textured.glb")); /* of the run before */
    assert_same_file("limited/texture/textured.glb", "limited/textured.glb");
}

/* ---------------------------------------------------------------- what runs again */

static void a_changed_mesh(void **state)
{
    (void)state;
    copy_base("changed");
    PIPELINE(0, "changed", "--poisson_depth", "7");
    SAID("[1/5] train: done before");
    SAID("[2/5] coarse: done before");
    NOT_SAID("mesh: done before");
    NOTED("mesh runs again: --poisson_depth was 6, is 7");
    assert_different_file("base" MESH_PLY, "changed" MESH_PLY);
    NOTED("refine runs again: mesh/mesh.ply has changed");
    NOTED("texture runs again: refine/point_cloud/iteration_40/point_cloud.ply has changed");
    assert_different_file("base/textured.glb", "changed/textured.glb");
    assert_same_file("changed" GLB, "changed/textured.glb");
    assert_false(exists_like("changed/*.previous"));
    PIPELINE(0, "changed", "--poisson_depth", "7");
    SAID("[3/5] mesh: done before");
}

/* The mesh itself is the result whose figures count; its coarser levels come and go with the option. */
static void coarser_levels_as_well(void **state)
{
    (void)state;
    copy_base("levels");
    PIPELINE(0, "levels", "--lods", "1");
    SAID("[4/5] refine: done before");
    NOTED("texture runs again: --lods was 0, is 1");
    SAID("levels/textured.glb\n  levels/textured_LOD1.glb");
    assert_same_file("levels" GLB, "levels/textured.glb");
    assert_same_file("levels/texture/textured_LOD1.glb", "levels/textured_LOD1.glb");
    sh_ok("grep -q '\"textured_LOD1.glb\"' levels/pipeline.json");
    sh_ok("grep -A1 '\"files\": \\[' levels/texture/stage.json | grep -q '\"texture/textured.glb\"'");
    PIPELINE(0, "levels", "--lods", "1");
    SAID("[5/5] texture: done before");
    sh_ok("rm levels/texture/textured_LOD1.glb"); /* a part of the result is missing */
    PIPELINE(0, "levels", "--lods", "1");
    assert_true(exists("levels/texture/textured_LOD1.glb"));
    PIPELINE(0, "levels");
    NOTED("texture runs again: --lods was 1, is 0");
    assert_false(exists_like("levels/textured_LOD*") || exists_like("levels/texture/textured_LOD*"));
}

/* Another file of the same result is a reason, too; and one that is not asked for any more goes. */
static void an_obj_as_well(void **state)
{
    (void)state;
    copy_base("object");
    PIPELINE(0, "object", "-t");
    SAID("[4/5] refine: done before");
    NOTED("texture runs again: --export_obj was False, is True");
    assert_true(exists("object/textured.obj") && exists("object/textured.mtl") && exists_like("object/textured*.png"));
    assert_same_file("base" GLB, "object/textured.glb");
    sh_ok("rm object/textured.mtl"); /* a link; the file itself is in the stage's folder */
    PIPELINE(0, "object", "--export_obj", "True");
    SAID("[5/5] texture: done before");
    assert_true(exists("object/textured.mtl"));
    write_text("object/textured_notes.txt", "mine");
    PIPELINE(0, "object");
    NOTED("texture runs again: --export_obj was True, is False");
    assert_false(exists("object/textured.obj") || exists("object/textured.mtl") || exists_like("object/textured*.png"));
    assert_true(exists("object/textured.glb") && exists("object/textured_notes.txt"));
}

static void a_changed_coarse(void **state)
{
    (void)state;
    copy_base("changed");
    PIPELINE(0, "changed", "-r", "density", "--skip_refine", "--skip_texture");
    SAID("[1/5] train: done before");
    NOT_SAID("coarse: done before");
    NOT_SAID("mesh: done before");
    NOTED("coarse runs again: --regularization_type was multiview, is density");
    NOTED("mesh runs again: coarse/point_cloud/iteration_7090/point_cloud.ply has changed");
    assert_false(exists_like("changed/*.previous"));
}

/* Stages of a version that recorded no defaults, which were others. */
static void stages_of_earlier_defaults(void **state)
{
    (void)state;
    copy_base("earlier");
    sh_ok("sed -i '/\"regularization_type\"/d' earlier/coarse/stage.json && ! cmp -s base/coarse/stage.json "
          "earlier/coarse/stage.json");
    PIPELINE(0, "earlier", "--skip_refine", "--skip_texture");
    SAID("[1/5] train: done before");
    NOTED("coarse runs again: --regularization_type was dn_consistency, is multiview");
    assert_same_file("base" COARSE_PLY, "earlier" COARSE_PLY);
    SAID("[3/5] mesh: done before");
    sh_ok("sed -i '/\"points\"/d' earlier/mesh/stage.json && cp earlier/mesh/stage.json stage.json");
    PIPELINE(0, "earlier", "--skip_refine", "--skip_texture");
    SAID("[2/5] coarse: done before");
    NOTED("mesh runs again: --points was level, is views");
    sh_ok("cp stage.json earlier/mesh/stage.json");
    PIPELINE(0, "earlier", "--points", "level", "--skip_refine", "--skip_texture"); /* keeps it */
    SAID("[3/5] mesh: done before");
}

static void damage(void **state)
{
    (void)state;
    copy_base("damaged");
    write_text("damaged/mesh/stage.json", "{\"format\": \"splatsmith stage\", \"stage\": \"mesh\", \"comp");
    PIPELINE(0, "damaged");
    SAID("[2/5] coarse: done before");
    NOTED("mesh runs again: damaged/mesh/stage.json is damaged");
    assert_same_file("base" MESH_PLY, "damaged" MESH_PLY);
    SAID("[4/5] refine: done before"); /* the mesh is the same one */
    write_text("damaged/mesh/stage.json",
               "{\"format\": \"splatsmith stage\", \"stage\": \"mesh\", \"complete\": true, \"settings\": {\"x\": 3},"
               " \"inputs\": {}, \"seconds\": 1, \"results\": {}}"); /* JSON, but not ours */
    PIPELINE(0, "damaged");
    NOTED("mesh runs again: damaged/mesh/stage.json is damaged");
    sh_ok("rm damaged/mesh/mesh.ply");
    PIPELINE(0, "damaged");
    NOTED("mesh runs again: its result damaged/mesh/mesh.ply is missing");
    sh_ok("rm damaged/mesh/stage.json");
    PIPELINE(0, "damaged");
    NOTED("mesh runs again: damaged/mesh/stage.json is missing");
    sh_ok("printf x >> damaged" COARSE_PLY);
    PIPELINE(0, "damaged", "-r", "multiview");
    NOTED("mesh runs again: coarse/point_cloud/iteration_7090/point_cloud.ply has changed");
    sh_ok("rm damaged" GLB); /* that in the pipeline's folder is the same file, but not the stage's */
    PIPELINE(0, "damaged", "-r", "multiview");
    NOTED("texture runs again: its result damaged/texture/textured.glb is missing");
    assert_same_file("damaged" GLB, "damaged/textured.glb");
}

/* ---------------------------------------------------------------- stages that others took the place of */

static void given_splats(void **state)
{
    (void)state;
    make_base();
    PIPELINE(0, "given", "-c", "base/train", "--skip_training");
    SAID("[1/5] train: left out, as --gs_output_dir says");
    NOTED("--iterations has no effect: its stage is left out");
    NOT_NOTED("--eval has no effect");
    assert_false(exists("given/train"));
    assert_same_file("base" COARSE_PLY, "given" COARSE_PLY);
    assert_same_file("base" MESH_PLY, "given" MESH_PLY);
    assert_same_file("base/refined.ply", "given/refined.ply");
    assert_same_file("base/textured.glb", "given/textured.glb");

    PIPELINE(0, "plain", "--gs_output_dir", "base" TRAIN_PLY, "--skip_coarse", "True", "--skip_texture");
    SAID("[2/5] coarse: left out, as --skip_coarse says");
    SAID("[5/5] texture: left out, as --skip_texture says");
    NOTED("--texture_size has no effect: its stage is left out");
    assert_true(exists("plain" MESH_PLY) && !exists("plain/coarse"));
    assert_different_file("base" MESH_PLY, "plain" MESH_PLY);
    PIPELINE(0, "plain", "--gs_output_dir", "base/train", "--skip_coarse", "--skip_refine"); /* the same splat */
    SAID("[3/5] mesh: done before");
    SAID("[4/5] refine: left out, as --skip_refine says");
    assert_true(exists("plain/textured.glb")); /* of the mesh as it was made */
    assert_false(exists("plain/refined.ply")); /* not a result of this run */
    assert_true(file_contains("plain/texture/stage.json", "\"test_psnr\": ")); /* on the splat's test views */
    sh_ok("cp plain/textured.glb plain.glb");
    PIPELINE(0, "plain", "--gs_output_dir", "base/train", "--skip_coarse", "--skip_refine", "--llffhold", "3");
    NOTED("texture runs again: --llffhold was 8, is 3");
    assert_same_file("plain.glb", "plain/textured.glb"); /* the split of the splat wins */
    PIPELINE(2, "plain", "--skip_refine", "--bake", "gaussians");
    NOTED("--bake gaussians needs the Gaussians of the refinement");
    PIPELINE(2, "plain", "--skip_refine", "--postprocess_mesh");
    NOTED("--postprocess_mesh needs the Gaussians of the refinement");
    PIPELINE(0, "given", "-c", "base/train", "--bake", "gaussians", "--postprocess_mesh", "True");
    NOTED("texture runs again: --bake was photos, is gaussians");
    assert_different_file("base/textured.glb", "given/textured.glb");

    PIPELINE(0, "checkpoint", "--coarse_checkpoint", "base/coarse", "-c", "base/train", "--skip_coarse",
             "--skip_refine", "--skip_texture");
    NOTED("--gs_output_dir has no effect");
    assert_false(exists("checkpoint/train") || exists("checkpoint/coarse"));
    assert_same_file("base" MESH_PLY, "checkpoint" MESH_PLY);
    PIPELINE(0, "checkpoint", "--coarse_checkpoint", "base/train", "--skip_refine", "--skip_texture");
    NOTED("mesh runs again: it began with /");
}

/* Without a PLY the checkpoint is the splat, and stays. */
static void without_a_ply(void **state)
{
    (void)state;
    make_base();
    PIPELINE(0, "no_ply", "-c", "base/train", "--export_ply", "False");
    assert_true(exists("no_ply/coarse/chkpnt7090.splatsmith") && !exists("no_ply" COARSE_PLY));
    assert_same_file("base" MESH_PLY, "no_ply" MESH_PLY);
    PIPELINE(0, "no_ply", "-c", "base/train", "--export_ply", "False");
    SAID("[2/5] coarse: done before");
    SAID("[3/5] mesh: done before");
}

static void presets(void **state)
{
    (void)state;
    copy_base("presets");
    PIPELINE(0, "presets", "--low_poly", "--refinement_time", "short", "-v", "5000", "-g", "3", "--skip_refine",
             "--skip_texture");
    NOTED("--target_vertices has no effect: --low_poly sets it");
    NOTED("--gaussians_per_triangle has no effect: --low_poly sets it");
    NOTED("mesh runs again: --target_vertices was 1000000, is 200000");
    assert_true(file_contains("presets/mesh/stage.json", "\"target_vertices\": \"200000\""));
    PIPELINE(0, "presets", "--low_poly", "--skip_texture");
    NOTED("refine runs again: --gaussians_per_triangle was not given, is 6");
    assert_true(file_contains("presets/refine/stage.json", "\"gaussians_per_triangle\": \"6\""));
    PIPELINE(0, "presets", "--high_poly", "True", "-f", "30", "--skip_texture", "--delete_first", "False");
    NOTED("refine runs again: --refinement_iterations was 40, is 30");
    assert_true(file_contains("presets/refine/stage.json", "\"gaussians_per_triangle\": \"1\""));
    assert_true(exists("presets/refine/point_cloud/iteration_30/mesh.ply"));
    SAID("[2/5] coarse: done before");
    PIPELINE(0, "presets", "-c", "base/train", "--skip_coarse", "--delete_first", "--skip_refine", "--skip_texture");
    NOTED("mesh runs again: --delete_first");
}

/* ---------------------------------------------------------------- mistakes */

static void mistakes(void **state)
{
    (void)state;
    copy_base("mistakes");
    RUN_ERR(2, "give the scene's folder with -s", "pipeline", "-o", "x");
    RUN_ERR(1, "cannot open the scene nowhere", "pipeline", "-s", "nowhere", "-o", "x");
    PIPELINE(2, "x", "--skip_training");
    NOTED("--skip_training needs a splat: give it with -c");
    PIPELINE(2, "x", "--low_poly", "--high_poly");
    NOTED("--low_poly and --high_poly exclude each other");
    PIPELINE(2, "x,y");
    NOTED("x,y has a comma in its name");
    PIPELINE(1, "x", "-c", "scene");
    NOTED("has no point_cloud/iteration_N/point_cloud.ply");
    PIPELINE(1, "x", "-c", "base/train", "-i", "12");
    NOTED("iteration_12");
    PIPELINE(1, "x", "--coarse_checkpoint", "scene/sparse/0/cameras.bin");
    assert_false(exists("x"));
    PIPELINE(2, "scene");
    NOTED("scene holds something else");
    PIPELINE(1, "base/mesh/mesh.ply/out");
    NOTED("cannot create the folder base/mesh/mesh.ply");
    RUN_ERR(2, "--experiment_name takes the name of a folder", "pipeline", "-s", "scene", "--experiment_name", "a/b");
    RUN_ERR(2, "the size of the pictures is --resolution", "pipeline", "-s", "scene", "-r", "1.5");
    PIPELINE(2, "mistakes", "-c", "mistakes/coarse"); /* which the coarse stage would write */
    NOTED("which this stage has to write");
    assert_true(exists("mistakes" COARSE_PLY));
    sh_ok("mkdir mistakes/pipeline.json.tmp");
    PIPELINE(1, "mistakes");
    NOTED("cannot write mistakes/pipeline.json");
    sh_ok("rmdir mistakes/pipeline.json.tmp");

    int folder = open("mistakes", O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(folder, LOCK_EX), 0);
    PIPELINE(1, "mistakes");
    NOTED("another run is at work in this folder; wait until it has ended, or name another folder (mistakes)");
    close(folder);
}

/* ---------------------------------------------------------------- a box */

static void check_inside(const char *path, float half)
{
    splat_point *points;
    size_t n;
    splat_error error;
    assert_int_equal(splat_ply_read_points(path, &points, &n, &error), SPLAT_OK);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) assert_true(fabsf(points[i].position[k]) <= half);
    free(points);
}

/* One box for the mesh, the splat that is bound to it and the texture. */
static void a_box(void **state)
{
    (void)state;
    copy_base("boxed");
    PIPELINE(0, "boxed", "--bboxmin", "-2,-2,-2", "--bboxmax", "2,2,2");
    SAID("[2/5] coarse: done before");
    check_inside("boxed" MESH_PLY, 2);
    check_inside("boxed/refined_mesh.ply", 2.02f); /* vertices move a little */
    check_inside("boxed/refined.ply", 2.02f);
    assert_different_file("base/textured.glb", "boxed/textured.glb");
}

/* An error of the last stage is found before the first begins, and nothing is written. */
static void mistakes_of_later_stages(void **state)
{
    (void)state;
    copy_base("later");
    PIPELINE(2, "x", "--coarse_iterations", "20");
    NOTED("coarse training counts from 7000 on");
    PIPELINE(2, "x", "--regularize_after", "100");
    PIPELINE(2, "x", "--bboxmin", "1,1,1", "--bboxmax", "0,0,0");
    NOTED("the box is empty: bboxmin must be below bboxmax");
    PIPELINE(2, "x", "--bboxmin", "1,1,1");
    PIPELINE(2, "x", "--surface_level", "0.3,0.3");
    PIPELINE(2, "x", "--resample_gt_image");
    PIPELINE(2, "x", "--densification_interval", "2000000000");
    PIPELINE(2, "x", "-g", "2");
    PIPELINE(2, "x", "--refinement_time", "never");
    PIPELINE(2, "x", "--texel_density", "0");
    PIPELINE(2, "x", "--normal_consistency_factor", "5000");
    NOTED("must be from 0 to 1000");
    PIPELINE(2, "x", "--square_size", "4");
    NOTED("square_size");
    assert_false(exists("x"));
    PIPELINE(2, "later", "--delete_first", "--surface_level", "0.3,0.3");
    sh_ok("diff -r base later");
    /* a stage that is left out may be asked for anything */
    PIPELINE(0, "later", "--coarse_checkpoint", "base" COARSE_PLY, "--coarse_iterations", "20", "--skip_refine",
             "--skip_texture", "--square_size", "6");
    NOTED("--coarse_iterations has no effect");
    RUN_ERR(2, "the box is empty", "mesh", "-m", "absent", "--bboxmin", "1,1,1", "--bboxmax", "0,0,0");
}

static void help(void **state)
{
    (void)state;
    RUN_OUT(0, "usage: splatsmith pipeline -s SCENE", "pipeline", "--help", "all");
    SAID("-r, --regularization_type dn_consistency|density|sdf|multiview");
    SAID("--iterations N                training steps of the first stage [default: 7000]");
    SAID("-c, --gs_output_dir FOLDER|FILE");
    SAID("--poisson_depth N");
    RUN_ERR(2, "unknown option '--start_checkpoint'", "pipeline", "--start_checkpoint", "latest");
    RUN_ERR(2, "ambiguous", "pipeline", "--skip", "x");
    /* names and letters exist once */
    RUN_OUT(0, NULL, "pipeline", "--help", "all");
    write_text("help.txt", standard_output);
    sh_ok("test -z \"$(grep -oE '^ {2,6}(-[A-Za-z], )?--[0-9a-z_A-Z]+' help.txt | sed 's/.*--//' | sort | uniq -d)\"");
    sh_ok("test -z \"$(grep -oE '^  -[A-Za-z],' help.txt | sort | uniq -d)\"");
}

int main(void)
{
    sh_ok("rm -rf base scene again changed damaged given plain checkpoint no_ply presets mistakes later object earlier "
          "drawn limited best boxed x");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run),
        cmocka_unit_test(a_quality_reaches_the_first_stage),
        cmocka_unit_test(the_last_result_has_a_texture),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(leftovers_of_complete_stages_go),
        cmocka_unit_test(a_memory_limit_holds_for_all_stages),
        cmocka_unit_test(a_changed_mesh),
        cmocka_unit_test(coarser_levels_as_well),
        cmocka_unit_test(an_obj_as_well),
        cmocka_unit_test(a_changed_coarse),
        cmocka_unit_test(stages_of_earlier_defaults),
        cmocka_unit_test(damage),
        cmocka_unit_test(given_splats),
        cmocka_unit_test(without_a_ply),
        cmocka_unit_test(presets),
        cmocka_unit_test(a_box),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(mistakes_of_later_stages),
        cmocka_unit_test(help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
