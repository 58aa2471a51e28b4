/* The command line from outside: help, documents, completion, and what it says of options, right and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

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
        RUN_OUT(0, "usage: splatsmith ", commands[i], "--help", "all");
        assert_true(longest_line(standard_output) <= 100);
        RUN_OUT(0, "usage: splatsmith ", "help", commands[i]);
    }
    RUN_OUT(0, "-n, --iterations N                training steps [default: 25000, with --strategy fast 12000,", "train",
            "-h");
    RUN_OUT(0, "[default: 1.6e-06]", "help", "train", "all"); /* the library's own default, as a float prints */
    RUN_ERR(2, "did you mean 'train'", "help", "trian");
}

/* Lines of options in the help. */
static size_t count_options(const char *text)
{
    size_t n = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, "      --", 8) == 0 || (strncmp(line, "  -", 3) == 0 && strncmp(line + 4, ", --", 4) == 0);
    }
    return n;
}

/* --help has what people need, and its last line says how many there are and how to see them. */
static void test_levels_of_help(void **state)
{
    static const char *const needed[] = {"--source_path", "--model_path", "--resolution", "--eval", "--iterations",
                                         "--target_gaussian_count", "--save_iterations", "--viewer", "--vram_limit"};
    static char basic[MAX_OUTPUT];
    (void)state;
    RUN_OUT(0, "'splatsmith train --help all' shows all of them.\n", "train", "--help");
    strcpy(basic, standard_output);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) assert_non_null(strstr(basic, needed[i]));
    assert_null(strstr(basic, "--position_lr_final"));
    assert_true(count_options(basic) >= 20 && count_options(basic) <= 28);
    RUN_OUT(0, "--position_lr_final", "train", "--help", "all");
    assert_null(strstr(standard_output, "--help all' shows"));
    size_t n_all = count_options(standard_output), n_basic, n_said;
    assert_int_equal(sscanf(strstr(basic, "These are"), "These are %zu of %zu options", &n_basic, &n_said), 2);
    assert_int_equal(n_basic, count_options(basic));
    assert_true(n_said >= n_all && n_all > 90); /* those without effect share a paragraph */
    RUN_OUT(0, "--position_lr_final", "help", "train", "all");
    RUN_OUT(0, "--position_lr_final", "train", "--help=all");
    RUN_OUT(0, "--help all' shows", "pipeline", "-s", "x", "-h", "--eval");
    RUN_OUT(0, "--help all' shows", "pipeline", "-h");
    assert_true(count_options(standard_output) <= 28);
    RUN_OUT(0, "--threads", "info", "--help"); /* has three options */
    for (size_t i = 0; i < N_COMMANDS; i++) {
        RUN_OUT(0, "usage: splatsmith ", commands[i], "--help");
        assert_true(count_options(standard_output) <= 35);
    }
    RUN_ERR(2, "--help takes nothing or all, not 'some'", "train", "--help=some");
    RUN_ERR(2, "splatsmith help train all", "help", "train", "everything");
    RUN_ERR(2, "'--help all' shows every option", "train", "--help-all");
}

static void test_documents(void **state)
{
    (void)state;
    RUN_OUT(0, ".TH SPLATSMITH 1", "man");
    assert_memory_equal(standard_output, ".TH", 3);
    assert_non_null(strstr(standard_output, "photos or a video"));
    assert_non_null(strstr(standard_output, "textured mesh"));
    static char page[MAX_OUTPUT];
    strcpy(page, standard_output);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char name[64], heading[96];
        const char *dash = strchr(commands[i], '-'); /* roff writes hyphens as \- */
        snprintf(name, sizeof name, "splatsmith\\-%.*s%s%s", (int)strcspn(commands[i], "-"), commands[i],
                 dash ? "\\-" : "", dash ? dash + 1 : "");
        snprintf(heading, sizeof heading, ".BR %s (1)\n", name);
        assert_non_null(strstr(page, heading));
        snprintf(heading, sizeof heading, ".SH NAME\n%s \\- ", name);
        RUN_OUT(0, heading, "man", commands[i]);
        assert_memory_equal(standard_output, ".TH SPLATSMITH\\-", 16);
    }
    RUN_OUT(0, "\\-\\-position_lr_final", "man", "train"); /* every option, whatever its level */
    RUN_ERR(2, "did you mean 'train'", "man", "trian");
    RUN_OUT(0, "complete -F _splatsmith splatsmith", "completion", "bash");
    assert_non_null(strstr(standard_output, "--position_lr_final"));
    for (size_t i = 0; i < N_COMMANDS; i++) assert_non_null(strstr(standard_output, commands[i]));
    RUN_ERR(2, "bash", "completion", "fish");
}

/* docs/options.md is made by the program: splatsmith reference > docs/options.md */
static void test_reference(void **state)
{
    static char page[MAX_OUTPUT];
    char path[4096];
    (void)state;
    RUN_OUT(0, "# Options\n", "reference");
    assert_non_null(strstr(standard_output, "\n* `--fisheye_degrees X`: "));
    assert_non_null(strstr(standard_output, " beyond it do not count [190] 1..200 or 0\n"));
    assert_non_null(strstr(standard_output, "\n\n*train, bench, pipeline, plan*\n\n* `"));
    assert_non_null(strstr(standard_output, "`--invert_masks`, ")); /* shares its words, "as for train" */
    assert_non_null(strstr(standard_output, "* `--two_bands`: photos: take details from one photo at each place, and "
                                            "average the rest [True]\n"));
    snprintf(path, sizeof path, "%s/docs/options.md", getenv("SPLATSMITH_SOURCE"));
    read_text(path, page, sizeof page);
    if (strcmp(page, standard_output) != 0)
        fail_msg("docs/options.md is out of date; run: build/splatsmith reference > docs/options.md");
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
    RUN_ERR(2, "unknown option '--depths'", "eval", "-s", "x", "--depths", "d");
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
    RUN_ERR(1, "there is no such file or folder: name the folder of a scene (absent)", "train", "--data_dir",
            "absent", "-m", "never");
}

/* Words of other programs' scripts, and words that do not exist. */
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
    RUN_ERR(2, "unknown option '--train_test_exp' for train: '--exposure' of train", "train", "--train_test_exp");
    RUN_ERR(2, "'--resolution' takes a width", "train", "--max-resolution", "1920");
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
    RUN_ERR(2, "--poisson_depth takes a whole number from 6 to 14, or 0, not '5'", "mesh", "--poisson_depth", "5");
    RUN_ERR(2, "--texture_size takes a whole number from 64 to 65500, or 0, not '9'", "texture", "--texture_size", "9");
    RUN_ERR(2, "--fisheye_degrees takes a number from 1 to 200, or 0, not '0.5'", "train", "--fisheye_degrees", "0.5");
    RUN_ERR(2, "--min_alpha takes a number from 1e-06 to 1, not '0'", "mesh", "--min_alpha", "0");
    RUN_ERR(1, "absent", "train", "-s", "absent", "--fisheye_degrees", "0", "--resolution_scale", "0");
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
    RUN_ERR(1, "notice: --position_lr_delay_mult has no effect: the rate of the means has no delayed start", "train",
            "-s", "absent", "--position_lr_delay_mult", "0.01");
    assert_null(strstr(standard_error, "\x1b")); /* no colours outside of a terminal */
    RUN_ERR(1, "splatsmith: error: ", "train", "-s", "absent", "--port", "6009", "--quiet");
    assert_null(strstr(standard_error, "notice"));
    RUN_ERR(1, "--ray_jitter has no effect: only training samples", "render", "-m", "absent", "--ray_jitter",
            "--resample_gt_image", "--sample_more_highres", "--antialiasing");
    RUN_ERR(1, "--mask_mode has no effect without --remove_floaters", "export", "-m", "absent", "--mask_mode", "alpha",
            "-o", "a.ply");
    RUN_ERR(1, "--strict has no effect without --remove_floaters", "export", "-m", "absent", "--strict", "-o", "a.ply");
    RUN_ERR(1, "--depth_l1_weight_init has no effect without --depths", "train", "-s", "absent",
            "--depth_l1_weight_init", "2");
    RUN_ERR(1, "--sfm_depth_weight has no effect without --sfm_depth", "train", "-s", "absent", "--sfm_depth_weight",
            "2");
    RUN_ERR(2, "--what leaves out", "render", "-m", "absent", "--exposure", "own", "--what", "depth");
    RUN_ERR(2, "--mesh and --random_views go without it", "render", "-s", "x", "-o", "y", "--mesh", "absent.ply",
            "--exposure", "own");
    RUN_ERR(2, "--eval_masks' for texture", "texture", "-m", "absent", "--eval_masks", "False");
    RUN_ERR(1, "--eval has no effect without --remove_floaters", "export", "-m", "absent", "-s", "x", "-r",
            "2", "--eval", "-k", "0.1", "--output_ply", "x.ply", "--data_device", "cpu");
    RUN_ERR(1, "absent", "eval", "--model_paths", "absent", "absent");
    RUN_ERR(1, "absent", "train", "--scene_path", "absent", "--resolution_scale", "0.5", "-m", "never");
}

/* They say what they stand for; an option that is given, too, wins over --low_dram, and else must agree. */
static void test_aliases(void **state)
{
    (void)state;
    RUN_ERR(1, "notice: --quality high is --strategy high", "train", "-s", "absent", "--quality", "high");
    RUN_ERR(1, "notice: --optimize_memory is --sh_storage float16", "train", "-s", "absent", "--optimize_memory");
    RUN_ERR(1, "notice: --low_dram is --image_cache_gb 0.25", "eval", "-m", "absent", "--low_dram");
    RUN_ERR(1, "notice: --use_marching_cubes is --method marching_cubes", "mesh", "-m", "absent",
            "--use_marching_cubes");
    RUN_ERR(1, "notice: --use_centers_to_extract_mesh is --points centers", "mesh", "-m", "absent",
            "--use_centers_to_extract_mesh");
    RUN_ERR(1, "absent", "eval", "-m", "absent", "--low_dram", "--image_cache_gb", "3");
    assert_null(strstr(standard_error, "--low_dram is"));
    RUN_ERR(1, "absent", "train", "-s", "absent", "--quality", "normal", "--optimize_memory", "False",
            "--backend", "cpu"); /* without a GPU "auto" prints a notice */
    assert_null(strstr(standard_error, "notice"));
    RUN_ERR(1, "absent", "train", "-s", "absent", "--strategy", "high", "--quality", "high");
    RUN_ERR(2, "--quality high is --strategy high, and cannot be --strategy classic", "train", "-s", "absent",
            "--strategy", "classic", "--quality", "high");
    RUN_ERR(2, "--optimize_memory is --sh_storage float16, and cannot be --sh_storage float32", "train", "-s", "absent",
            "--sh_storage", "float32", "--optimize_memory");
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

int main(void)
{
    if (!has_binary()) return 0;
    unsetenv("NO_COLOR");
    if (!enter_work_folder()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_levels_of_help),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_completion_in_bash),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_options_of_others),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_options_that_disagree),
    };
    return cmocka_run_group_tests_name("cli_options", tests, NULL, NULL);
}
