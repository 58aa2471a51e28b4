/* The command line, seen from outside: the binary is run and its exit code, its words and its files are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"
#include "data_fixture.h"

#include <sys/ioctl.h>

static const char *const commands[] = {"train", "eval", "render", "export", "contact-sheet", "sample", "info", "help",
                                       "plan", "bench", "monitor", "mesh-report", "pipeline"};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

/* ---------------------------------------------------------------- help and documents */

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void test_help(void **state)
{
    (void)state;
    RUN_OUT(0, "splatsmith ", "--version");
    RUN_OUT(0, "usage: splatsmith COMMAND", "--help");
    for (size_t i = 0; i < N_COMMANDS; i++) assert_non_null(strstr(standard_output, commands[i]));
    RUN_ERR(2, "usage: splatsmith COMMAND", NULL);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        RUN_OUT(0, "usage: splatsmith ", commands[i], "--help");
        assert_true(longest_line(standard_output) <= 100);
        RUN_OUT(0, "usage: splatsmith ", "help", commands[i]);
    }
    RUN_OUT(0, "-n, --iterations N                training steps [default: 30000] (also --max_steps, --iter", "train",
            "-h");
    RUN_OUT(0, "[default: 1.6e-06]", "help", "train"); /* the library's own default, as a float prints */
    RUN_ERR(2, "did you mean 'train'", "help", "trian");
}

static void test_documents(void **state)
{
    (void)state;
    RUN_OUT(0, ".TH SPLATSMITH 1", "man");
    assert_memory_equal(standard_output, ".TH", 3);
    assert_non_null(strstr(standard_output, "\\-\\-iterations"));
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char heading[64];
        const char *dash = strchr(commands[i], '-'); /* roff writes hyphens as \- */
        snprintf(heading, sizeof heading, ".SS \"splatsmith %.*s%s%s\"", (int)strcspn(commands[i], "-"), commands[i],
                 dash ? "\\-" : "", dash ? dash + 1 : "");
        assert_non_null(strstr(standard_output, heading));
    }
    RUN_OUT(0, "complete -F _splatsmith splatsmith", "completion", "bash");
    for (size_t i = 0; i < N_COMMANDS; i++) assert_non_null(strstr(standard_output, commands[i]));
    RUN_ERR(2, "bash", "completion", "fish");
}

static void test_completion_in_bash(void **state)
{
    (void)state;
    if (system("bash -c true") != 0) {
        print_message("SKIPPED: there is no bash to try the completion in\n");
        skip();
    }
    RUN_OUT(0, "complete", "completion", "bash");
    write_text("completion.bash", standard_output);
    write_text("try.bash",
               "source ./completion.bash\n"
               "compopt() { :; }\n" /* works inside a real completion only */
               "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _splatsmith; echo \"<${COMPREPLY[*]}>\"; }\n"
               "try splatsmith tr\ntry splatsmith train --densify_f\ntry splatsmith train --backend c\n"
               "try splatsmith help contact\ntry splatsmith mesh-report try.ba\n");
    assert_int_equal(system("bash try.bash > completed.txt 2>&1"), 0);
    read_text("completed.txt", standard_output, sizeof standard_output);
    assert_string_equal(standard_output, "<train>\n<--densify_from_iter>\n<cpu cuda>\n<contact-sheet>\n<try.bash>\n");
}

/* ---------------------------------------------------------------- parsing */

static void test_names(void **state)
{
    (void)state;
    RUN_ERR(2, "unknown command 'trian'; did you mean 'train'?", "trian");
    RUN_ERR(2, "a command must come before '-s'", "-s", "scene");
    RUN_ERR(2, "unknown option '--itterations' for train; did you mean '--iterations'?", "train", "--itterations", "5");
    RUN_ERR(2, "'splatsmith eval --help'", "eval", "--zzzzzzzzzz");
    RUN_ERR(2, "unknown option '--depths'", "train", "-s", "x", "--depths", "d");
    RUN_ERR(2, "did you mean '--eval'", "train", "-eval");
    RUN_ERR(2, "'splatsmith coarse -c MODEL' goes on from a splat", "train", "-s", "x", "-c", "x", "-r", "density");
    RUN_ERR(2, "-r names the regularization in 'splatsmith coarse'", "train", "-s", "x", "-r", "density");
    RUN_ERR(2, "did you mean '-s .'?", "train", ".");
    RUN_ERR(2, "--iterations takes a whole number of at most 100000000, not '2147483647'", "train", "-s", "x",
            "--iterations", "2147483647");
    RUN_ERR(2, "ambiguous for train; it could be --densify_grad_threshold, --densify_from_iter, --densify_until_iter",
            "train", "--densify", "3");
    RUN_ERR(2, "--densify_from_iter takes a whole number", "train", "--densify_f", "x"); /* a prefix */
    RUN_ERR(2, "--iterations takes a whole number", "train", "--iter", "x");             /* an alias */
    RUN_ERR(2, "--iterations takes a whole number", "train", "--iteration", "x");        /* the name that people type */
    RUN_ERR(2, "--iterations takes a whole number", "train", "--max_steps", "x");
    RUN_ERR(2, "--iterations takes a whole number", "train", "--total-train-iters", "x");
    RUN_ERR(2, "--iterations takes a whole number", "train", "-n", "x");
    RUN_ERR(2, "--target_gaussian_count takes a whole number", "train", "--cap-max", "x");
    RUN_ERR(2, "--resolution takes a whole number", "train", "--data_factor", "x");
    RUN_ERR(2, "train cannot use the word 'scene'", "train", "scene");
    RUN_ERR(2, "there is another word, 'b'", "sample", "a", "b");
    RUN_ERR(1, "not a folder that can be opened (absent)", "train", "--data_dir", "absent", "-m", "never");
}

/* What scripts of other programs call, and what does not exist. */
static void test_hints(void **state)
{
    (void)state;
    RUN_ERR(2, "unknown command 'metrics.py': 'splatsmith eval'", "metrics.py", "-m", "out");
    RUN_ERR(2, "unknown command 'create_fused_ply': 'splatsmith export'", "create_fused_ply");
    RUN_ERR(2, "unknown command 'train-refined': 'splatsmith refine' does it", "train-refined");
    RUN_ERR(2, "unknown command 'refined_mesh': 'splatsmith texture' does it", "refined_mesh");
    RUN_ERR(2, "give the folder that refine wrote, or a mesh, with -m", "texture");
    RUN_ERR(2, "unknown option '--square_size' for mesh: it belongs to 'splatsmith texture'", "mesh",
            "--square_size", "10");
    RUN_ERR(2, "--optimizer_type takes one of default, not 'sparse_adam'", "train", "--optimizer_type", "sparse_adam");
    RUN_ERR(2, "give the scene's folder with -s", "train", "--optimizer_type", "default", "--high_dram");
    RUN_ERR(2, "unknown option '--depths' for train: depth supervision is not part", "train", "--depths", "d");
    RUN_ERR(2, "unknown option '-f' for eval; 'splatsmith eval --help'", "eval", "-f", "15000");
}

static void test_numbers(void **state)
{
    (void)state;
    RUN_ERR(2, "--sh_degree takes a whole number from 0 to 3, not '7'", "train", "--sh-degree", "7");
    RUN_ERR(2, "--sh_degree takes a whole number from 0 to 3, not '7'", "train", "--sh_degree=7");
    static const char *const no_integers[] = {"7x", "0x7", "1.5", " 7", "0", "+", "7 "};
    for (size_t i = 0; i < sizeof no_integers / sizeof no_integers[0]; i++)
        RUN_ERR(2, "--iterations takes a whole number of at least 1, not '", "train", "--iterations", no_integers[i]);
    RUN_ERR(2, "a whole number of at most 100000000, not '2147483648'", "train", "--iterations", "2147483648");
    RUN_ERR(2, "of at most 100000000, not '999999999999999", "train", "--iterations", "99999999999999999999");
    static const char *const no_reals[] = {"nan", "inf", "0x1p-3", "0.2x", ".", "1e", "-0.1", "1.01", "1e999"};
    for (size_t i = 0; i < sizeof no_reals / sizeof no_reals[0]; i++)
        RUN_ERR(2, "--lambda_dssim", "train", "--lambda_dssim", no_reals[i]);
    RUN_ERR(2, "--seed takes", "train", "--seed", "-1");
    RUN_ERR(2, "--target_gaussian_count takes a whole number", "train", "--target_gaussian_count", "1.0005K");
    RUN_ERR(2, "--image_cache_gb takes", "train", "--image_cache_gb", "8X");
    RUN_ERR(2, "--backend takes one of auto|cpu|cuda, not 'gpu'", "train", "--backend", "gpu");
    RUN_ERR(2, "--backend takes one of", "train", "--backend", "auto|cpu");
    RUN_ERR(2, "--test_iterations takes a whole number of at least -1, not 'x'", "train", "--test_iterations", "5",
            "x");
    RUN_ERR(2, "--test_iterations needs a value", "train", "--test_iterations", "--eval");
    RUN_ERR(2, "--source_path needs a value", "train", "-s");
    RUN_ERR(2, "--model_path needs a value", "train", "-m", "-s", "x");
    RUN_ERR(2, "--source_path must not be empty", "train", "-s", "");
    RUN_ERR(2, "--resolution takes", "train", "-s", "x", "-r", "-2");
    RUN_ERR(2, "--resolution takes -1 or a whole number of at least 1", "train", "-s", "x", "-r0");
}

/* Words that are right get as far as the scene, which is absent: exit code 1 and its name. */
static void test_accepted(void **state)
{
    (void)state;
    RUN_ERR(1, "absent", "train", "-s", "absent", "-m", "out", "-r", "-1", "--test_iterations", "500", "1000", "-1",
            "--eval");
    RUN_ERR(1, "absent", "train", "--source-path=absent", "-r-1", "-k", ".1", "-w", "-i", "images_4");
    RUN_ERR(1, "absent", "train", "-s", "absent", "--eval", "True", "--low_dram", "no", "--ray_jitter=1");
    RUN_ERR(1, "absent", "train", "-s", "absent", "--cap_max", "1.5M", "--image_cache_gb", "512M", "--seed",
            "18446744073709551615");
    RUN_ERR(1, "absent", "train", "-s", "absent", "--enable_lpips", "False");
    RUN_ERR(2, "--eval takes True or False, not 'maybe'", "train", "-s", "absent", "--eval=maybe");
    RUN_ERR(2, "cannot use the word 'maybe'", "train", "-s", "absent", "--eval", "maybe");
    RUN_ERR(1, "absent", "eval", "-m", "absent");
    RUN_ERR(1, "absent", "render", "-m", "absent", "--data_device", "cpu", "--skip_train");
    RUN_ERR(1, "absent", "export", "-m", "absent", "--output_ply", "x.ply");
    RUN_ERR(1, "absent.ply", "export", "--ply", "absent.ply", "-o", "x.ply");
    assert_false(exists("x.ply"));
    assert_false(exists("out"));
}

static void test_options_of_others(void **state)
{
    (void)state;
    RUN_ERR(1, "splatsmith: notice: --port has no effect: ", "train", "-s", "absent", "--ip", "127.0.0.1", "--port",
            "6009", "--detect_anomaly", "--data_device", "cuda", "--binary_search_min", "0.003", "--antialiasing",
            "--debug_from", "-1", "--disable_viewer", "--convert_SHs_python", "--compute_cov3D_python", "--debug");
    assert_non_null(strstr(standard_error, "--binary_search_min has no effect: --target_gaussian_count is met"));
    assert_non_null(strstr(standard_error, "notice: --detect_anomaly"));
    assert_null(strstr(standard_error, "\x1b")); /* no colours outside of a terminal */
    RUN_ERR(1, "splatsmith: error: ", "train", "-s", "absent", "--port", "6009", "--quiet");
    assert_null(strstr(standard_error, "notice"));
    RUN_ERR(1, "--ray_jitter has no effect: only training samples", "render", "-m", "absent", "--ray_jitter",
            "--resample_gt_image", "--sample_more_highres", "--antialiasing");
    RUN_ERR(1, "--eval has no effect without --remove_floaters", "export", "-m", "absent", "-s", "x", "-r",
            "2", "--eval", "-k", "0.1", "--output_ply", "x.ply", "--data_device", "cpu");
    RUN_ERR(1, "absent", "eval", "--model_paths", "absent", "absent");
    RUN_ERR(1, "absent", "train", "--scene_path", "absent", "--resolution_scale", "0.5", "-m", "never");
}

static void test_options_that_disagree(void **state)
{
    (void)state;
    RUN_ERR(2, "--resample_gt_image needs --ray_jitter", "train", "-s", "x", "--resample_gt_image");
    RUN_ERR(2, "with -s", "train", "-m", "out");
    RUN_ERR(2, "--experiment_name takes the name of a folder", "train", "-s", "x", "--experiment_name", "../x");
    RUN_ERR(2, "--experiment_name takes the name of a folder", "train", "-s", "x", "--experiment_name", "..");
    RUN_ERR(2, "--eval_only needs the model folder", "train", "--eval_only");
    RUN_ERR(2, "exclude each other", "train", "--eval_only", "-m", "x", "--delete_first");
    RUN_ERR(2, "with -m", "eval");
    RUN_ERR(2, "with -m", "render", "--ply", "x.ply");
    RUN_ERR(2, "with -o", "export", "--ply", "x.ply");
    RUN_ERR(2, "with -o", "export", "-m", "x", "--fused", "False");
    RUN_ERR(2, "with -o", "contact-sheet", "-m", "x");
    RUN_ERR(2, "splatsmith sample FOLDER", "sample");
}

/* ---------------------------------------------------------------- --delete_first */

static void test_delete_first_is_careful(void **state)
{
    (void)state;
    assert_int_equal(mkdir("photos", 0755), 0);
    write_text("photos/precious.txt", "keep me");
    RUN_ERR(2, "neither cfg_args nor point_cloud", "train", "-s", "absent", "-m", "photos", "--delete_first");
    assert_true(exists("photos/precious.txt"));

    write_text("photos/cfg_args", "Namespace()"); /* now it looks like a model folder */
    assert_int_equal(mkdir("photos/scene", 0755), 0);
    RUN_ERR(2, "the scene lies in it", "train", "-s", "photos/scene", "-m", "photos/", "--delete_first");
    write_text("photos/start", "");
    RUN_ERR(2, "the checkpoint to start from lies in it", "train", "-s", "absent", "-m", "photos", "--start_checkpoint",
            "photos/start", "--delete_first");
    assert_int_equal(symlink("photos", "link"), 0);
    RUN_ERR(2, "it is a link", "train", "-s", "absent", "-m", "link/", "--delete_first");
    write_text("file", "");
    RUN_ERR(2, "it is not a folder", "train", "-s", "absent", "-m", "file", "--delete_first");
    /* what could be deleted stays when the training cannot even begin */
    RUN_ERR(1, "absent", "train", "-s", "absent", "-m", "photos", "--delete_first");
    assert_true(exists("photos/precious.txt"));
    write_text("cfg_args", "Namespace()");
    RUN_ERR(2, "the current folder lies in it", "train", "-s", "absent", "-m", "../work", "--delete_first");
    assert_int_equal(unlink("cfg_args"), 0);
}

/* ---------------------------------------------------------------- from a scene to pictures */

#define SHORT_RUN "--iterations", "30", "--eval", "--llffhold", "4"

static void test_sample(void **state)
{
    (void)state;
    RUN_OUT(0, "12 pictures of 96x72", "sample", "scene", "--width", "96", "--height", "72", "--cameras", "12",
            "--points", "600", "--truth_points", "1000", "--supersample", "1");
    assert_true(exists("scene/sparse/0/cameras.bin"));
    assert_true(exists("scene/ground_truth.ply"));
    expect(__LINE__, run("sample", "scene", (char *)NULL) != 0, 1, "", NULL); /* not into a folder that is in use */
}

static void test_train(void **state)
{
    (void)state;
    RUN_OUT(0, "[ITER 10] Evaluating test: L1 ", "train", "-s", "scene/", "-m", "model", SHORT_RUN, "--test_iterations",
            "10", "-1", "--save_iterations", "20", "--checkpoint_iterations", "20", "--threads", "2");
    assert_non_null(strstr(standard_output, "[ITER 30] Evaluating test: L1 "));
    assert_non_null(strstr(standard_output, "[ITER 30] Evaluating train: L1 "));
    assert_non_null(strstr(standard_output, "9 train and 3 test views"));
    assert_non_null(strstr(standard_output, "Trained 30 steps in "));
    assert_non_null(strstr(standard_output, "model/point_cloud/iteration_30/point_cloud_fused.ply"));
    assert_null(strchr(standard_error, '\r')); /* no redrawn line in a file */
    static const char *const files[] = {"cfg_args", "cameras.json", "input.ply", "split.json",
                                        "point_cloud/iteration_20/point_cloud.ply",
                                        "point_cloud/iteration_30/point_cloud.ply",
                                        "point_cloud/iteration_30/point_cloud_fused.ply"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "model/%s", files[i]);
        if (!exists(path)) fail_msg("%s was not written", path);
    }
    assert_true(exists_like("model/chkpnt20*"));
}

static void test_resume(void **state)
{
    (void)state;
    glob_t found;
    static char whole[MAX_OUTPUT], resumed[MAX_OUTPUT];
    assert_int_equal(glob("model/chkpnt20*", 0, NULL, &found), 0);
    RUN_OUT(0, "Trained 10 steps in ", "train", "-s", "scene", "-m", "resumed", SHORT_RUN, "--start_checkpoint",
            found.gl_pathv[0], "--threads", "1");
    RUN_ERR(0, "nothing to train: the checkpoint is at step 20", "train", "-s", "scene", "-m", "resumed", "--eval",
            "--llffhold", "4", "-n", "20", "--start_checkpoint", found.gl_pathv[0]);
    globfree(&found);
    read_text("model/point_cloud/iteration_30/point_cloud.ply", whole, sizeof whole);
    read_text("resumed/point_cloud/iteration_30/point_cloud.ply", resumed, sizeof resumed);
    assert_memory_equal(whole, resumed, sizeof whole); /* bit for bit, whatever the number of threads */
}

/* Every 7th step a checkpoint, the newest two stay, "latest" goes on from the last, and the one asked for stays too. */
static void test_checkpoint_interval(void **state)
{
    (void)state;
    static char whole[MAX_OUTPUT], resumed[MAX_OUTPUT];
    RUN_OUT(0, "Trained 30 steps in ", "train", "-s", "scene", "-m", "rolling", SHORT_RUN, "--checkpoint_interval", "7",
            "--checkpoint_iterations", "14");
    assert_false(exists("rolling/chkpnt7.splatsmith"));
    assert_true(exists("rolling/chkpnt14.splatsmith"));
    assert_true(exists("rolling/chkpnt21.splatsmith"));
    assert_true(exists("rolling/chkpnt28.splatsmith"));
    read_text("rolling/point_cloud/iteration_30/point_cloud.ply", whole, sizeof whole);
    RUN_OUT(0, "Trained 2 steps in ", "train", "-s", "scene", "-m", "rolling", SHORT_RUN, "--start_checkpoint",
            "latest");
    read_text("rolling/point_cloud/iteration_30/point_cloud.ply", resumed, sizeof resumed);
    assert_memory_equal(whole, resumed, sizeof whole);
    RUN_ERR(1, "the model folder has no chkpntN.splatsmith", "train", "-s", "scene", "-m", "resumed", SHORT_RUN,
            "--start_checkpoint", "latest");
    RUN_ERR(2, "--delete_first and --start_checkpoint latest exclude each other", "train", "-s", "scene", "-m",
            "rolling", "--start_checkpoint", "latest", "--delete_first");
    assert_true(exists("rolling/chkpnt28.splatsmith"));
}

static void test_delete_first(void **state)
{
    (void)state;
    RUN_OUT(0, "Trained 1 steps", "train", "-s", "scene", "-m", "again", "-n", "1");
    write_text("again/marker", "");
    RUN_ERR(0, "again held an earlier run, which is now in again/earlier_", "train", "-s", "scene", "-m", "again", "-n",
            "1");
    assert_true(exists("again/marker"));
    assert_true(exists_like("again/earlier_*/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "Trained 1 steps", "train", "-s", "scene", "-m", "again/", "-n", "1", "--delete_first");
    assert_false(exists("again/marker") || exists_like("again/earlier_*"));
    assert_true(exists("again/point_cloud/iteration_1/point_cloud.ply"));
}

static void test_output_names(void **state)
{
    (void)state;
    RUN_ERR(0, NULL, "train", "-s", "scene/", "--experiment_name", "first", "--iterations", "1", "--quiet");
    assert_string_equal(standard_output, "");
    assert_string_equal(standard_error, "");
    assert_true(exists("scene_output/first/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "/scene_output/second\n", "train", "-s", "scene/images/..", "--experiment_name", "second", "-n", "1");
    assert_true(exists("scene_output/second/point_cloud/iteration_1/point_cloud.ply"));
    RUN_OUT(0, "/scene_output/third\n", "train", "-s", "scene/.", "--experiment_name", "third", "-n", "1");
    RUN_ERR(0, "--gpu has no effect: running on the CPU", "train", "-s", "scene", "-m", "on_cpu", "-n", "1",
            "--backend", "cpu", "--gpu", "1");
    RUN_OUT(0, "Output folder: scene_output/20", "train", "-s", "scene/", "--iterations", "1");
    assert_true(exists_like("scene_output/20[0-9][0-9][01][0-9][0-3][0-9]_[0-2][0-9][0-5][0-9][0-6][0-9]/cfg_args"));
}

static void eval_with_lpips(void)
{
    char weights[4096];
    if (!data_folder("lpips", "eval with LPIPS", weights)) return;
    RUN_OUT(0, "(alex)", "eval", "-m", "model", "--lpips_weights", weights, "--lpips_net", "alex");
    assert_true(file_contains("model/results.json", "\"LPIPS\""));
    RUN_OUT(0, "(squeeze normalized)", "eval", "-m", "model", "--lpips_weights", weights, "--lpips_net", "squeeze",
            "--lpips_normalize");
}

static void test_eval(void **state)
{
    (void)state;
    RUN_OUT(0, "PSNR (all channels)", "eval", "-m", "model");
    assert_non_null(strstr(standard_error, "LPIPS")); /* there are no weights: one sentence */
    assert_null(strstr(standard_output, "LPIPS"));
    assert_non_null(strstr(standard_output, "PSNR (per channel)"));
    assert_non_null(strstr(standard_output, "\ntest             3 ")); /* the split of the training, not every 8th */
    assert_true(file_contains("model/results.json", "\"ours_30\""));
    assert_true(exists("model/per_view.json"));
    RUN_OUT(0, "PSNR (all channels)", "eval", "-m", "model", "--enable_lpips", "False");
    assert_null(strstr(standard_error, "LPIPS"));
    RUN_ERR(1, "absent.safetensors", "eval", "-m", "model", "--lpips_weights", "absent.safetensors");
    RUN_ERR(1, "not a model folder", "eval", "-m", "absent_model", "model"); /* as metrics.py: the others go on */
    assert_non_null(strstr(standard_output, "PSNR (all channels)"));
    RUN_ERR(2, "--ply is one splat", "eval", "model", "--ply", "x.ply", "-s", "scene");
    eval_with_lpips();
    RUN_OUT(0, "iteration_20/point_cloud.ply", "eval", "-m", "model", "--iteration", "20", "--render-mode", "mip");
    assert_true(file_contains("model/results.json", "\"ours_20\""));
    RUN_OUT(0, "iteration_30/point_cloud.ply", "train", "--eval_only", "-m", "model");
    RUN_OUT(0, "\ntest             2 ", "eval", "--ply", "model/point_cloud/iteration_20/point_cloud.ply", "-s",
            "scene"); /* every 8th of 12 */
    RUN_ERR(1, "model", "eval", "-m", "model", "--iteration", "25");
}

static void test_render(void **state)
{
    (void)state;
    RUN_OUT(0, "3 pictures in model/test/ours_30", "render", "-m", "model", "--skip_train", "--data_device", "cpu");
    assert_true(exists("model/test/ours_30/test_preds_-1/00002.png"));
    assert_true(exists("model/test/ours_30/gt_-1/00002.png"));
    assert_false(exists("model/test/ours_30/test_preds_-1/00003.png"));
    assert_false(exists("model/train"));
    RUN_OUT(0, "9 pictures in pictures/train/ours_20", "render", "--ply",
            "model/point_cloud/iteration_20/point_cloud.ply", "-s", "scene", "-o", "pictures", "-r", "2", "--skip_test",
            "--eval", "--llffhold", "4");
    assert_true(exists("pictures/train/ours_20/test_preds_2/00008.png"));
}

static void test_render_maps(void **state)
{
    (void)state;
#define MAPS "render", "-m", "model", "--skip_train", "--data_device", "cpu", "-o"
    RUN_OUT(0, "maps of 3 views in maps/test/ours_30", MAPS, "maps", "--what", "depth,normal,alpha,density");
    assert_true(exists("maps/test/ours_30/depth_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/depth_-1/00002.pfm"));
    assert_true(exists("maps/test/ours_30/depth_-1/00002.json"));
    assert_true(exists("maps/test/ours_30/normal_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/alpha_-1/00002.png"));
    assert_true(exists("maps/test/ours_30/density_-1/00002.png"));
    assert_false(exists("maps/test/ours_30/median_-1"));
    assert_false(exists("maps/test/ours_30/test_preds_-1"));
    RUN_OUT(0, "3 pictures in both/test/ours_30", MAPS, "both", "--what", "rgb,median");
    assert_true(exists("both/test/ours_30/test_preds_-1/00002.png"));
    assert_true(exists("both/test/ours_30/median_-1/00002.json"));
    RUN_ERR(2, "not 'heat'", MAPS, "none", "--what", "depth,heat");
    RUN_ERR(2, "not ''", MAPS, "none", "--what", "depth,");
    RUN_ERR(2, "--what goes without", "render", "-m", "model", "--random_views", "2", "--what", "depth");
    assert_false(exists("none"));
}

static void test_export(void **state)
{
    (void)state;
    const char *fused = "model/point_cloud/iteration_30/point_cloud_fused.ply";
    assert_int_equal(unlink(fused), 0);
    RUN_OUT(0, "fused", "export", "-m", "model");
    assert_true(exists(fused));
    RUN_OUT(0, "fused", "export", "-m", "model", "--output_ply", "fused.ply");
    assert_true(file_contains("fused.ply", "SplatRenderMode: mip"));
    assert_false(file_contains("fused.ply", "filter_3D"));
    RUN_OUT(0, "Gaussians were floaters", "export", "-m", "model", "--remove_floaters", "-o", "clean.ply");
    RUN_OUT(0, "plain.ply", "export", "--ply", "model/point_cloud/iteration_30/point_cloud.ply", "-o", "plain.ply");
    assert_true(file_contains("plain.ply", "filter_3D"));
    RUN_OUT(0, "fused", "export", "-m", "model", "-o", "exported/here/fused.ply");
    assert_true(exists("exported/here/fused.ply"));
    RUN_ERR(2, "chooses the format of a splat: .ply (PLY)", "export", "-m", "model", "-o", "splat.splat");
    RUN_OUT(0, "chooses the format: .ply", "export", "--help");
    assert_false(exists("splat.splat"));
    write_text("garbage.ply", "ply\nformat ascii 1.0\nelement vertex 99999999999999999999\n");
    RUN_ERR(1, "garbage.ply", "export", "--ply", "garbage.ply", "-o", "never.ply");
    assert_false(exists("never.ply"));
}

static void test_contact_sheet(void **state)
{
    (void)state;
    RUN_OUT(0, "sheet.png", "contact-sheet", "-m", "model", "-o", "sheet.png", "--views", "2");
    assert_true(file_contains("sheet.png", "\x89PNG"));
    RUN_OUT(0, "sheet.png", "contact-sheet", "-m", "model", "-o", "exported/sheets/sheet.png", "--views", "1");
    RUN_ERR(2, "contact-sheet writes PNG and JPEG", "contact-sheet", "-m", "model", "-o", "sheet.bmp");
}

static void test_info(void **state)
{
    (void)state;
    RUN_OUT(0, "backend cpu ", "info", "--threads", "1");
    assert_non_null(strstr(standard_output, "backend cuda "));
}

/* A full disk under the standard output is not a success. */
static void test_output_that_fails(void **state)
{
    (void)state;
    char command[4200];
    if (!exists("/dev/full")) skip();
    snprintf(command, sizeof command, "'%s' help train > /dev/full 2> stderr.txt", getenv("SPLATSMITH_BINARY"));
    int status = system(command);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_true(file_contains("stderr.txt", "could not be written"));
}

/* The program starts itself once more, and stays what ps, top and killall know. */
static void test_process_name(void **state)
{
    (void)state;
    char path[64], name[64] = "";
    const char *kept = getenv("OMP_WAIT_POLICY");
    char *policy = kept ? strdup(kept) : NULL;
    if (!exists("/proc/self/comm")) skip();
    unlink("stdout.txt");
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    pid_t child = begin("monitor", "--interval", "0.1", (char *)NULL);
    if (policy) setenv("OMP_WAIT_POLICY", policy, 1);
    free(policy);
    for (int i = 0; i < LIMIT_S * 20 && !file_contains("stdout.txt", "Machine"); i++) usleep(50000);
    snprintf(path, sizeof path, "/proc/%d/comm", (int)child);
    read_text(path, name, sizeof name);
    kill(child, SIGKILL);
    finish(child);
    assert_string_equal(name, "splatsmith\n");
}

/* Runs a training whose standard error is a terminal so many columns wide; what the terminal got is in
 * standard_error. */
static void run_on_terminal(unsigned short columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    size_t length = 0;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int line = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(line >= 0 && ioctl(line, TIOCSWINSZ, &size) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("stdout.txt", "w", stdout) || dup2(line, STDERR_FILENO) < 0) _exit(126);
        alarm(LIMIT_S);
        execl(getenv("SPLATSMITH_BINARY"), "splatsmith", "train", "-s", "scene", "-m", "narrow", "-n", "60",
              "--delete_first", "--backend", "cpu", NULL);
        _exit(127);
    }
    close(line);
    for (ssize_t n; (n = read(terminal, standard_error + length, MAX_OUTPUT - 1 - length)) > 0;) length += (size_t)n;
    standard_error[length] = '\0';
    close(terminal);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What does not fit goes as a whole: the beginning of a number would be another number. */
static void test_narrow_terminal(void **state)
{
    (void)state;
    for (int columns = 45; columns <= 65; columns += 5) {
        size_t n_lines = 0;
        run_on_terminal((unsigned short)columns);
        for (const char *at = standard_error, *end; (end = strstr(at, "\x1b[K")); at = end + 3) {
            if (end == at || !memchr(at, '|', (size_t)(end - at))) continue;
            n_lines++;
            if (end - at > columns || !strchr(")s%B?m", end[-1]))
                fail_msg("cut within a word: %.*s", (int)(end - at), at);
        }
        assert_true(n_lines > 0);
    }
}

/* ---------------------------------------------------------------- signals */

static void stop_with(int number, const char *folder)
{
    char first[256], later[2][256];
    snprintf(first, sizeof first, "%s/point_cloud/iteration_1/point_cloud_fused.ply", folder);
    snprintf(later[0], sizeof later[0], "%s/point_cloud/iteration_[2-9]*/point_cloud.ply", folder);
    snprintf(later[1], sizeof later[1], "%s/point_cloud/iteration_1?*/point_cloud.ply", folder);
    pid_t child = begin("train", "-s", "scene", "-m", folder, "--iterations", "1000000", "--save_iterations", "1",
                        "--test_iterations", "-1", (char *)NULL);
    for (int i = 0; i < LIMIT_S * 20 && !exists(first); i++) usleep(50000); /* until it trains */
    usleep(300000);
    kill(child, number);
    expect(__LINE__, finish(child), 128 + number, standard_error, "stopped at step ");
    assert_non_null(strstr(standard_output, "Trained "));
    assert_non_null(strstr(standard_error, ".splatsmith goes on from there"));
    if (!exists_like(later[0]) && !exists_like(later[1])) fail_msg("no splat was saved in %s", folder);
    snprintf(later[0], sizeof later[0], "%s/chkpnt*.splatsmith", folder);
    if (!exists_like(later[0])) fail_msg("no checkpoint was saved in %s", folder);
}

static void test_signals(void **state)
{
    (void)state;
    stop_with(SIGINT, "interrupted");
    stop_with(SIGTERM, "terminated");
}

int main(void)
{
    if (!getenv("SPLATSMITH_BINARY")) {
        print_message("SKIPPED: SPLATSMITH_BINARY names no program\n");
        return 0;
    }
    unsetenv("NO_COLOR");
    if (system("rm -rf work") != 0 || mkdir("work", 0755) != 0 || chdir("work") != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_completion_in_bash),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_options_of_others),
        cmocka_unit_test(test_options_that_disagree),
        cmocka_unit_test(test_delete_first_is_careful),
        cmocka_unit_test(test_sample), /* the following use its scene, and the model of test_train */
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_checkpoint_interval),
        cmocka_unit_test(test_delete_first),
        cmocka_unit_test(test_output_names),
        cmocka_unit_test(test_eval),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_render_maps),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_contact_sheet),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_output_that_fails),
        cmocka_unit_test(test_process_name),
        cmocka_unit_test(test_narrow_terminal),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
