/* splatsmith coarse: folders and names, options, resuming, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#define TRAIN "train", "-s", "scene", "--eval", "--backend", "cpu", "--iterations", "150", "--save_iterations", "70", \
              "--dense_start", "False", "--tensorboard", "False"
/* Twenty steps with each kind of loss; of a splat that is hardly trained few Gaussians are opaque. */
#define COARSE "coarse", "-c", "gs", "--backend", "cpu", "--coarse_iterations", "7020", "--regularize_after", "7010", \
               "--prune_opacity", "0.02", "--n_samples", "500"
#define SUGAR "gs_mesh/sugarcoarse_3Dgs150_"

static void test_scene(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "scene", "--width", "96", "--height", "64", "--cameras", "12", "--points", "400",
            "--backend", "cpu");
    RUN_OUT(0, NULL, TRAIN, "-m", "gs");
}

/* SuGaR's names, a model folder that the other commands take, and curves. */
static void test_folders(void **state)
{
    (void)state;
    RUN_OUT(0, "Output folder: " SUGAR "multiviewestim00_sdfnorm00", COARSE);
    assert_non_null(strstr(standard_output, "Splat: gs/point_cloud/iteration_150/point_cloud.ply"));
    assert_non_null(strstr(standard_output, "Trained 20 steps"));
    assert_non_null(strstr(standard_error, "Gaussians are faint (mean opacity 0.1")); /* 150 steps of few */
    assert_non_null(strstr(standard_output, "[ITER 7020] Evaluating test"));
    assert_true(exists(SUGAR "multiviewestim00_sdfnorm00/point_cloud/iteration_7020/point_cloud.ply"));
    assert_true(exists(SUGAR "multiviewestim00_sdfnorm00/point_cloud/iteration_7020/point_cloud_fused.ply"));
    assert_true(exists_like(SUGAR "multiviewestim00_sdfnorm00/events.out.tfevents.*"));
    assert_int_equal(system("grep -q Training_Guide/text_summary " SUGAR "multiviewestim00_sdfnorm00/events.out.*"),
                     0);
    RUN_OUT(0, "PSNR", "eval", "-m", SUGAR "multiviewestim00_sdfnorm00", "--backend", "cpu");
    RUN_OUT(0, "Output folder: " SUGAR "densityestim03_sdfnorm005", COARSE, "-r", "density", "-e", "0.3", "-n", "0.05",
            "--tensorboard", "False");
    RUN_OUT(0, "Output folder: " SUGAR "dnconsistencyestim02_sdfnorm02", COARSE, "-r", "dn_consistency",
            "--tensorboard", "False");
    RUN_OUT(0, "Output folder: gs_mesh/try", COARSE, "-r", "sdf", "--experiment_name", "try", "--tensorboard", "False");
    RUN_OUT(0, "Output folder: here", COARSE, "-o", "here/", "-i", "70", "--tensorboard", "False");
    assert_non_null(strstr(standard_output, "iteration_70/point_cloud.ply"));
}

/* Half the size, fewer bands, small storages: they act, and say so where one can see it. */
static void test_memory_options(void **state)
{
    (void)state;
    RUN_OUT(0, "views up to 48x32", COARSE, "-o", "half", "--resolution_scale", "0.5", "--optimize_memory", "True",
            "--sh_degree", "1", "--fragmentation", "aggressive", "--full_res_normals", "True",
            "--use_gradient_checkpointing", "True");
    assert_non_null(strstr(standard_error, "--use_gradient_checkpointing has no effect"));
    assert_true(file_contains("half/point_cloud/iteration_7020/point_cloud.ply", "property float f_rest_8"));
    assert_false(file_contains("half/point_cloud/iteration_7020/point_cloud.ply", "property float f_rest_9"));
    RUN_OUT(0, "Memory: limit 4.0 MiB", COARSE, "-o", "limited", "--vram_limit", "4M");
    assert_null(strstr(standard_output, "at most 0")); /* nothing grows here */
    RUN_ERR(1, "least possible", COARSE, "-o", "never", "--vram_limit", "200K");
    assert_false(exists("never"));
}

/* A checkpoint as the splat says itself how it is rendered, and which iteration it is. */
static void test_begins_with_a_checkpoint(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, TRAIN, "-m", "wide", "-k", "0.3", "--checkpoint_iterations", "150");
    RUN_OUT(0, NULL, COARSE, "-c", "wide", "-o", "from_folder");
    RUN_OUT(0, NULL, "coarse", "-s", "scene", "--ply", "wide/chkpnt150.splatsmith", "-o", "from_file", "--backend",
            "cpu", "--coarse_iterations", "7001");
    assert_true(file_contains("from_folder/cfg_args", "kernel_size=0.3"));
    assert_true(file_contains("from_file/cfg_args", "kernel_size=0.3"));
    RUN_OUT(0, "Output folder: wide_mesh/sugarcoarse_3Dgs150_", COARSE, "-c", "wide", "--ply",
            "wide/chkpnt150.splatsmith");
}

/* A splat of --exposure goes on with the gains of its photos, also over a checkpoint; one without has none. */
static void test_exposures_are_gone_on_with(void **state)
{
    (void)state;
    RUN_OUT(0, "colours corrected: PSNR", TRAIN, "-m", "exposed", "--exposure");
    assert_true(exists("exposed/exposure.json") && exists("exposed/point_cloud/iteration_70/exposure.json"));
    RUN_OUT(0, "Exposures: exposed/point_cloud/iteration_150/exposure.json", COARSE, "-c", "exposed", "-o", "on",
            "--tensorboard", "False", "--export_ply", "False");
    assert_true(exists("on/exposure.json") && exists("on/chkpnt7020.splatsmith"));
    RUN_OUT(0, "Trained 5 steps", COARSE, "-c", "exposed", "-o", "on", "--tensorboard", "False", "--coarse_iterations",
            "7025", "--start_checkpoint", "latest", "--export_ply", "True");
    assert_true(exists("on/point_cloud/iteration_7025/exposure.json"));
    RUN_OUT(0, ", not used", COARSE, "-c", "exposed", "-o", "off", "--tensorboard", "False", "--exposure", "False");
    assert_false(exists("off/exposure.json"));
    RUN_ERR(2, "there is no exposure.json next to the splat", COARSE, "-o", "never", "--exposure");
    RUN_OUT(0, "pictures in own", "render", "-m", "exposed", "--exposure", "own", "-o", "own", "--backend", "cpu");
    RUN_OUT(0, "pictures in neutral", "render", "-m", "exposed", "-o", "neutral", "--backend", "cpu");
    assert_int_equal(system("cmp -s own/test/ours_150/test_preds_-1/00000.png "
                            "neutral/test/ours_150/test_preds_-1/00000.png"), 0); /* their exposures are not known */
    assert_int_not_equal(system("cmp -s own/train/ours_150/test_preds_-1/00000.png "
                                "neutral/train/ours_150/test_preds_-1/00000.png"), 0);
    RUN_ERR(2, "trained without --exposure", "render", "-m", "gs", "--exposure", "own", "-o", "none", "--backend",
            "cpu");
    RUN_OUT(0, "with colours corrected to the photos", "eval", "-m", "exposed", "--backend", "cpu");
    assert_true(file_contains("exposed/results.json", "cc_psnr"));
}

/* Stopped in the middle, by a checkpoint and by the clock, and gone on: the same splat. Losses that fade do so towards
 * the end that is named, so a run with another end is another run: none fades here. */
static void test_resume(void **state)
{
    (void)state;
    static char whole[MAX_OUTPUT], part[MAX_OUTPUT];
    RUN_OUT(0, NULL, COARSE, "-o", "whole", "--surface_fade", "0");
    RUN_OUT(0, "Saving checkpoint: part/chkpnt7015.splatsmith", COARSE, "-o", "part", "--checkpoint_iterations", "7015",
            "--coarse_iterations", "7016", "--export_ply", "False", "--surface_fade", "0");
    assert_false(exists("part/point_cloud")); /* a checkpoint stands for the splat */
    assert_true(exists("part/chkpnt7016.splatsmith"));
    RUN_OUT(0, "part/chkpnt7016.splatsmith", "eval", "-m", "part", "--backend", "cpu");
    RUN_ERR(1, NULL, "eval", "-m", "part", "--iteration", "7000", "--backend", "cpu");
    RUN_OUT(0, "Trained 4 steps", COARSE, "-o", "part", "--resume_checkpoint", "latest", "--surface_fade", "0");
    assert_non_null(strstr(standard_error, "--iterations was 7016, is 7020"));
    read_text("whole/point_cloud/iteration_7020/point_cloud.ply", whole, sizeof whole);
    read_text("part/point_cloud/iteration_7020/point_cloud.ply", part, sizeof part);
    assert_memory_equal(whole, part, sizeof whole);
    RUN_ERR(2, "its prune would be made twice", COARSE, "-o", "part", "--start_checkpoint",
            "part/chkpnt7015.splatsmith", "--regularize_after", "7018");
    RUN_OUT(0, NULL, COARSE, "-o", "part", "--coarse_iterations", "7005", "--export_ply", "False");
    RUN_ERR(2, "its prune would be left out", COARSE, "-o", "part", "--start_checkpoint", "part/chkpnt7005.splatsmith",
            "--regularize_after", "7002");
    RUN_OUT(0, NULL, TRAIN, "-m", "other", "--checkpoint_iterations", "20", "--iterations", "20");
    RUN_ERR(2, "stage train", COARSE, "-o", "part", "--start_checkpoint", "other/chkpnt20.splatsmith");
}

/* Scripts of the field count from the loaded iteration: as many steps as they mean. */
static void test_clock(void **state)
{
    (void)state;
    assert_int_equal(rename("gs/point_cloud/iteration_70", "gs/point_cloud/iteration_30000"), 0);
    RUN_OUT(0, "Trained 25 steps", COARSE, "-o", "late", "-i", "30000", "--coarse_iterations", "30025");
    assert_non_null(strstr(standard_error, "30025 is 25 steps from iteration 30000: the clock of this stage runs from "
                                           "7000 to 7025"));
    assert_true(exists("late/point_cloud/iteration_7025/point_cloud.ply"));
}

static void test_mistakes(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "pair", "--width", "96", "--height", "64", "--cameras", "2", "--points", "400",
            "--backend", "cpu");
    RUN_ERR(1, "at least two training views; the scene has 1", "coarse", "--ply",
            "gs/point_cloud/iteration_150/point_cloud.ply", "-s", "pair", "--eval", "--llffhold", "2", "-o", "one",
            "--backend", "cpu");
    RUN_ERR(2, "-m", "coarse", "-r", "density");
    RUN_ERR(2, "dn_consistency|density|sdf|multiview", COARSE, "-r", "other");
    RUN_ERR(1, "none", "coarse", "-c", "none");
    RUN_ERR(2, "--n_samples", COARSE, "--n_samples", "0");
    RUN_ERR(2, "counts from 7000", COARSE, "--coarse_iterations", "6000");
    RUN_ERR(1, "removed every Gaussian; lower --prune_opacity", COARSE, "-o", "bare", "--prune_opacity", "1");
}

/* Losses are read every 50 steps and points come every 10: lines go from one to the next all the same. */
static void test_the_page_has_the_losses(void **state)
{
    (void)state;
    static char page[MAX_OUTPUT];
    RUN_OUT(0, "paged/report.html", "coarse", "-c", "gs", "--backend", "cpu", "--coarse_iterations", "7160",
            "--regularize_after", "7010", "--prune_opacity", "0.02", "--n_samples", "500", "-o", "paged", "-r",
            "dn_consistency");
    read_text("paged/report.html", page, sizeof page);
    const char *chart = strstr(page, "Losses of coarse training"), *end = chart ? strstr(chart, "</svg>") : NULL;
    assert_non_null(end);
    int n_lines = 0;
    for (const char *at = chart; (at = strstr(at, "stroke-width=\"2\" d=\"M")) && at < end; at++)
        n_lines += memchr(at, 'L', (size_t)(strchr(at, '>') - at)) != NULL; /* 'M' alone would be a dot of no size */
    assert_int_equal(n_lines, 3); /* the entropy's time ends with one value */
}

int main(void)
{
    if (system("rm -rf scene pair gs gs_mesh here half limited whole part other late bare wide wide_mesh from_folder "
               "from_file paged exposed on off own neutral") != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),  cmocka_unit_test(test_folders), cmocka_unit_test(test_memory_options),
        cmocka_unit_test(test_resume), cmocka_unit_test(test_clock),   cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_begins_with_a_checkpoint), cmocka_unit_test(test_the_page_has_the_losses),
        cmocka_unit_test(test_exposures_are_gone_on_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
