/* Memory on the command line: plan, limits, storages, strategies, and what a full disk does to a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#define TRAIN "train", "-s", "scene", "--eval", "--backend", "cpu", "--dense_start", "False", "--iterations", "40", \
              "--test_iterations", "-1"

static void test_scene(void **state)
{
    (void)state;
    RUN_OUT(0, NULL, "sample", "scene", "--width", "96", "--height", "64", "--cameras", "12", "--points", "400",
            "--backend", "cpu");
}

static void test_plan(void **state)
{
    (void)state;
    RUN_OUT(0, "Plan for 6000000 Gaussians below 8.00 GiB on a GPU", "plan", "-s", "scene", "--vram_limit", "8G",
            "--gaussians", "6M", "--backend", "cpu", "--device_memory", "16G");
    assert_non_null(strstr(standard_output, "spherical harmonics"));
    assert_non_null(strstr(standard_output, "Everything fits as it is"));
    assert_non_null(strstr(standard_output, "afterwards: coarse (SuGaR)"));
    assert_non_null(strstr(standard_output, "splatsmith train -s scene"));
    RUN_OUT(0, "A training on the CPU has no limit", "plan", "-s", "scene", "--backend", "cpu");
    assert_non_null(strstr(standard_output, "photos of two steps")); /* which is what such a training holds */
    assert_non_null(strstr(standard_output, "Recommended:\n  splatsmith train -s scene\n"));
    RUN_OUT(0, "--vram_limit 512M", "plan", "-s", "scene", "--backend", "cpu", "--vram_limit", "512M");
    RUN_OUT(0, "--optimizer_storage quantized", "plan", "-s", "scene", "--device_memory", "8G", "--vram_limit", "50%",
            "--gaussians", "6M");
    RUN_OUT(0, "--target_gaussian_count", "plan", "-s", "scene", "--device_memory", "2G", "--gaussians", "20M");
    assert_non_null(strstr(standard_output, "--sh_offload"));
    /* The message names every choice that the first Gaussians need. */
    RUN_OUT(0, "beyond          0  (bands of tiles)", "plan", "-s", "scene", "--device_memory", "16G", "--vram_limit",
            "387M", "--gaussians", "500K", "--strategy", "default");
    assert_non_null(strstr(standard_output, "beyond          0  --data_device cpu"));
    assert_non_null(strstr(standard_output, "beyond          0  (moments of SH on the host)"));
    /* Options fixed by the user do not change, and fewer Gaussians fit. */
    RUN_OUT(0, "--target_gaussian_count", "plan", "-s", "scene", "--device_memory", "2G", "--gaussians", "20M",
            "--sh_offload", "False", "--optimizer_storage", "float32");
    assert_null(strstr(standard_output, "--sh_offload  "));
    assert_null(strstr(standard_output, "--optimizer_storage quantized  saves"));
    RUN_OUT(0, "Each of 4 GPUs holds so much", "plan", "-s", "scene", "--device_memory", "140G", "--gpus", "4",
            "--gaussians", "6000000");
    assert_non_null(strstr(standard_output, "--gpus 4 --vram_limit "));
    RUN_OUT(0, "--target_gaussian_count", "plan", "-s", "scene", "--device_memory", "24G", "--gpus", "4", "--gaussians",
            "200M");
    assert_null(strstr(standard_output, "--sh_offload")); /* ranks keep their rows on the device */
    RUN_ERR(2, "plan --gpus takes a number", "plan", "-s", "scene", "--device_memory", "24G", "--gpus", "all");
    RUN_ERR(1, "least possible", "plan", "-s", "scene", "--device_memory", "16G", "--vram_limit", "100M");
    RUN_ERR(2, "--vram_limit takes a size", "plan", "-s", "scene", "--vram_limit", "much");
    RUN_ERR(2, "a percentage above 0 and at most 100", "plan", "-s", "scene", "--vram_limit", "101%");
    RUN_ERR(2, "--vram_limit takes a size", "train", "-s", "absent", "--vram_limit", "8X"); /* before the scene */
    RUN_ERR(2, "--device_memory", "plan", "-s", "scene", "--device_memory", "-3G");
    RUN_ERR(2, "more than --device_memory", "plan", "-s", "scene", "--vram_limit", "9G", "--device_memory", "8G");
    RUN_ERR(2, "-s", "plan");
}

static void test_limits(void **state)
{
    (void)state;
    RUN_OUT(0, "Memory: limit 12 MiB", TRAIN, "-m", "limited", "--vram_limit", "12M");
    /* The message names a choice that does not fit, and no choice saves more than the whole. */
    RUN_OUT(0, "Memory: limit 3.4 MiB; 400 Gaussians at the start take ", TRAIN, "-m", "small", "--vram_limit",
            "3500K");
    assert_non_null(strstr(standard_output, "--sh_storage float16"));
    assert_non_null(strstr(standard_output, "--target_gaussian_count"));
    long before = -1;
    for (const char *step = strstr(standard_output, "beyond"); step; step = strstr(step + 1, "beyond")) {
        long count = strtol(step + strlen("beyond"), NULL, 10);
        assert_true(count > before && count < 100000);
        before = count;
    }
    assert_true(before > 400);
    /* A choice saves no more than there is, but for lists: those of a whole view would not fit. */
    RUN_OUT(0, "To stay below the limit", "plan", "-s", "scene", "--vram_limit", "3500K", "--gaussians", "5000",
            "--backend", "cpu");
    assert_non_null(strstr(standard_output, "As they grow, it gives up"));
    const char *after_lists = strstr(standard_output, "--sh_storage float16");
    assert_non_null(after_lists);
    for (const char *saves = strstr(after_lists, "saves"); saves; saves = strstr(saves + 1, "saves")) {
        double amount;
        char unit[8];
        assert_int_equal(sscanf(saves, "saves %lf %7[KMGi]", &amount, unit), 2);
        assert_true(strcmp(unit, "Ki") == 0 || (strcmp(unit, "Mi") == 0 && amount < 3.4));
    }
    RUN_OUT(0, "PSNR", "eval", "-m", "limited", "--vram_limit", "12M", "--backend", "cpu");
    RUN_ERR(1, "least possible", TRAIN, "-m", "never", "--vram_limit", "200K");
    assert_false(exists("never/point_cloud"));
    RUN_OUT(0, NULL, TRAIN, "-m", "limited", "--vram_limit", "max");
    RUN_OUT(0, NULL, TRAIN, "-m", "limited", "--vram_limit", "50%");
    RUN_ERR(2, "--vram_limit", TRAIN, "-m", "never", "--vram_limit", "120%");
    RUN_ERR(1, "limit", "eval", "-m", "limited", "--vram_limit", "20K", "--backend", "cpu");
}

static void test_storages(void **state)
{
    (void)state;
    static const char *const policies[] = {"aggressive", "normal", "minimal"};
    RUN_OUT(0, NULL, TRAIN, "-m", "small", "--optimize_memory", "True", "--optimizer_storage", "quantized");
    RUN_OUT(0, NULL, TRAIN, "-m", "half", "--sh_storage", "float16", "--optimizer_storage", "quantized");
    RUN_OUT(0, NULL, TRAIN, "-m", "offload", "--sh_offload", "--checkpoint_iterations", "20");
    for (int i = 0; i < 3; i++) RUN_OUT(0, NULL, TRAIN, "-m", "policy", "--fragmentation", policies[i]);
    RUN_ERR(2, "--sh_storage", TRAIN, "-m", "never", "--sh_storage", "float8");
    /* Another storage goes on from the checkpoint, and the run says so. */
    RUN_ERR(0, "sh_storage", TRAIN, "-m", "offload", "--start_checkpoint", "latest", "--sh_storage", "float16");
    RUN_OUT(0, NULL, "export", "-m", "half", "--sh_degree", "1", "-o", "cut.ply", "--backend", "cpu");
    assert_true(file_contains("cut.ply", "f_rest_8\n"));
    assert_false(file_contains("cut.ply", "f_rest_9\n"));
    RUN_OUT(0, "PSNR", "eval", "-m", "half", "--sh_degree", "0", "--backend", "cpu");
}

/* A strategy brings its defaults, what is given wins, and the plan knows both. */
static void test_strategies(void **state)
{
    (void)state;
    RUN_OUT(0, ": 450 Gaussians", TRAIN, "-m", "mcmc", "--strategy", "mcmc", "--cap_max", "450", "--densify_from_iter",
            "4", "--densification_interval", "5", "--checkpoint_iterations", "30");
    RUN_ERR(2, "density strategy 'mcmc', and this run has 'classic'", TRAIN, "-m", "mcmc", "--start_checkpoint",
            "latest", "--strategy", "classic");
    RUN_OUT(0, ": 450 Gaussians", TRAIN, "-m", "mcmc", "--start_checkpoint", "latest", "--cap_max", "450",
            "--densify_from_iter", "4", "--densification_interval", "5"); /* it knows its strategy */
    RUN_ERR(0, "opacity_reg was 0.01, is 0.02", TRAIN, "-m", "mcmc", "--start_checkpoint", "latest",
            "--strategy", "mcmc", "--cap_max", "450", "--opacity_reg", "0.02");
    RUN_ERR(0, "lr_final_factor was 0.05, is 1", TRAIN, "-m", "mcmc", "--start_checkpoint", "latest",
            "--strategy", "mcmc", "--cap_max", "450", "--lr_final_factor", "1");
    RUN_ERR(2, "--target_gaussian_count", TRAIN, "-m", "never", "--strategy", "mcmc", "--cap_max", "0");
    RUN_ERR(2, "--strategy takes one of default|fast|high|classic|mcmc", TRAIN, "-m", "never", "--strategy",
            "other");
    RUN_OUT(0, "Plan for 1000000 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--strategy", "mcmc");
    assert_non_null(strstr(standard_output, "--strategy mcmc --vram_limit"));
    RUN_OUT(0, "Plan for 142228 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--strategy", "fast");
    RUN_OUT(0, "Plan for 200000 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--strategy", "fast",
            "--cap_max", "200K");
    RUN_OUT(0, "Plan for 2721 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--pixels_per_gaussian",
            "8100", "--strategy", "default");
    assert_non_null(strstr(standard_output, "--pixels_per_gaussian 8100 --vram_limit"));
    RUN_OUT(0, "Plan for 142228 Gaussians", "plan", "-s", "scene", "--device_memory", "16G");
    RUN_OUT(0, "Plan for 1000000 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--strategy", "classic");
    RUN_OUT(0, NULL, TRAIN, "-m", "fast", "--strategy", "fast", "--cap_max", "450", "--densify_from_iter", "4",
            "--densification_interval", "5", "--checkpoint_iterations", "30");
    RUN_OUT(0, NULL, TRAIN, "-m", "usual", "--strategy", "default", "--cap_max", "450", "--densify_from_iter", "4",
            "--densification_interval", "5", "--opacity_reset_interval", "4", "--sh_rest_lr", "0.000125",
            "--lambda_dssim", "0.25"); /* the photos are few: both rates are the published one */
    assert_int_equal(system("cmp fast/point_cloud/iteration_40/point_cloud.ply "
                            "usual/point_cloud/iteration_40/point_cloud.ply"), 0);
    RUN_ERR(0, "sh_rest_lr was 0.000125, is 0.002", TRAIN, "-m", "fast", "--start_checkpoint", "latest", "--strategy",
            "fast", "--cap_max", "450", "--densify_from_iter", "4", "--densification_interval", "5", "--sh_rest_lr",
            "0.002");
    RUN_OUT(0, NULL, "plan", "-s", "scene", "--device_memory", "16G", "--quality", "high");
    assert_non_null(strstr(standard_output, "--strategy high --vram_limit"));
    RUN_OUT(0, "Plan for 200000 Gaussians", "plan", "-s", "scene", "--device_memory", "16G", "--quality", "high",
            "--strategy", "high", "--cap_max", "200K");
    RUN_ERR(2, "cannot be --strategy fast", TRAIN, "-m", "never", "--quality", "high", "--strategy", "fast");
    RUN_ERR(2, "unknown option '--strategy'", "coarse", "-c", "mcmc", "--strategy", "mcmc");
}

/* Options without effect are reported. */
static void test_options_without_effect(void **state)
{
    (void)state;
    RUN_ERR(0, "--profile_interval has no effect without --profile_tensors", TRAIN, "-m", "unprofiled",
            "--profile_interval", "5");
    assert_false(exists("unprofiled/profiles"));
    RUN_ERR(0, "--tensorboard_tags has no effect with --tensorboard False", TRAIN, "-m", "untold", "--tensorboard",
            "False", "--tensorboard_tags", "upstream");
    RUN_ERR(0, NULL, TRAIN, "-m", "profiled", "--profile_tensors", "True", "--profile_interval", "5",
            "--tensorboard_tags", "upstream");
    assert_true(exists("profiled/profiles"));
    assert_null(strstr(standard_error, "has no effect"));
}

int main(void)
{
    if (!getenv("SPLATSMITH_BINARY")) {
        print_message("SPLATSMITH_BINARY must name the binary\n");
        return 1;
    }
    if (system("rm -rf scene") != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_storages),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_options_without_effect),
    };
    return cmocka_run_group_tests_name("memory on the command line", tests, NULL, NULL);
}
