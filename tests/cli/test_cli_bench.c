/* splatsmith bench and render --random_views, seen from outside: exit codes, words, files, what each option does. */
#include "bench_fixture.h"
#include "text_fixture.h"

#include "io/json.h"
#include "lpips_fixture.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#define MAX_WORDS 64
static char out[1 << 17], err[1 << 15];

/* The words of one command line, cut at spaces. */
static int run(const char *line)
{
    char copy[2048], *words[MAX_WORDS], *rest = NULL;
    int n = 0, status = 0;
    snprintf(copy, sizeof copy, "%s", line);
    words[n++] = getenv("SPLATSMITH_BINARY");
    for (char *word = strtok_r(copy, " ", &rest); word && n < MAX_WORDS - 1; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    words[n] = NULL;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(240);
        if (!freopen("out.txt", "w", stdout) || !freopen("err.txt", "w", stderr)) _exit(126);
        execv(words[0], words);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    read_text("out.txt", out, sizeof out);
    read_text("err.txt", err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The exit code, and words that must be in either output. */
static void expect(int line, const char *command, int wanted, const char *words)
{
    int code = run(command);
    if (code == wanted && (strstr(out, words) || strstr(err, words))) return;
    fail_msg("line %d: %s\nexit code %d, not %d, or '%s' is missing\n%s\n%s", line, command, code, wanted, words, out,
             err);
}
#define RUN(command, wanted, words) expect(__LINE__, command, wanted, words)
#define CPU " --backend cpu --threads 1"
#define BENCH "bench run --warmup 1 --num_iterations 3" CPU

/* The number group.key of a result. */
static double number_in(const char *path, const char *group, const char *key)
{
    json_t *root;
    splat_error error;
    ASSERT_OK(splat_json_read(path, &root, &error));
    const json_t *value = json_object_get(json_object_get(root, group), key);
    if (!json_is_number(value)) fail_msg("%s: %s.%s is no number", path, group, key);
    double number = json_number_value(value);
    json_decref(root);
    return number;
}

static size_t size_of(const char *path, const char *key)
{
    json_t *root;
    splat_error error;
    ASSERT_OK(splat_json_read(path, &root, &error));
    const json_t *value = json_object_get(root, key);
    size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    json_decref(root);
    return n;
}

static int make_inputs(void **state)
{
    (void)state;
    if (system("rm -rf scene model start b1 b2 b4 random ours r.json r2.json s.json") != 0) return -1;
    if (run("sample scene --width 48 --height 32 --cameras 9 --points 200 --truth_points 10 --supersample 1") != 0 ||
        run("train -s scene -m model --eval --iterations 6 --save_iterations 3 --checkpoint_iterations 4 "
            "--test_iterations -1 --sh_degree 2" CPU) != 0) {
        print_message("%s\n", err);
        return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- run */

static void test_run_files(void **state)
{
    (void)state;
    RUN("bench -s scene --eval --warmup 2 --num_iterations 9 -o b1 --label before --notes fast --test_iterations 5" CPU,
        0, "it/s: ");
    assert_non_null(strstr(out, "2 test views after iteration 5: PSNR"));
    assert_non_null(strstr(out, "2 test views after iteration 11: PSNR"));
    assert_non_null(strstr(out, "training loss 0."));
    assert_non_null(strstr(out, "with 95 % confidence"));
    assert_non_null(strstr(out, "2 test views after iteration "));
    assert_non_null(strstr(out, "raster backward"));
    assert_non_null(strstr(out, "memory, evaluating"));
    assert_null(strstr(out, "driver")); /* which a CPU does not have */
    assert_non_null(strstr(out, "LPIPS not measured"));
    assert_xml_file("b1/iteration_times.svg");
    assert_xml_file("b1/iteration_histogram.svg");
    assert_int_equal(size_of("b1/training_benchmark_results.json", "iteration_ms"), 9);
    assert_int_equal(size_of("b1/training_benchmark_results.json", "stages_ms"), 7);
    assert_true(number_in("b1/training_benchmark_results.json", "measurement", "first_iteration") == 3);
    assert_true(number_in("b1/training_benchmark_results.json", "quality", "views") == 2);
    RUN(BENCH " -s scene --stages False -o r.json", 0, "without --eval there are no test views");
    assert_int_equal(size_of("r.json", "stages_ms"), 0);
    assert_int_equal(size_of("r.json", "quality"), 0);
    assert_false(splat_path_exists("r.json.tmp"));
    RUN("bench compare b1 r.json", 0, "training loss");
    assert_non_null(strstr(out, "%)\n")); /* the speed-up in percent */
    assert_non_null(strstr(out, "before"));
    RUN("bench report b1", 0, "- before: fast");
    RUN(BENCH " -s scene --mode data --test_iterations 5", 2, "--test_iterations is for --mode training");
    RUN(BENCH " -s scene --label \033[2J", 2, "--label takes a name");
}

static void test_run_lpips(void **state)
{
    splat_error error;
    (void)state;
    ASSERT_OK(fixture_write("alex", "lpips_alex.safetensors", &error));
    RUN(BENCH " -s scene --eval --lpips_net alex --lpips_weights . -o with.json", 0, "LPIPS 0.");
    assert_non_null(strstr(out, "(alex)"));
    assert_true(number_in("with.json", "quality", "LPIPS") > 0);
    RUN(BENCH " -s scene -r 2 --eval --lpips_net alex --lpips_weights .", 0,
        "LPIPS is not measured: a picture of 24x16 is too small"); /* the rest is */
    assert_non_null(strstr(out, "2 test views after iteration "));
    assert_null(strstr(out, "LPIPS 0"));
    RUN(BENCH " -s scene --eval -o without.json", 0, "2 test views after iteration ");
    RUN("bench compare with.json without.json", 0, "the network of LPIPS differs: \"alex\" and -");
}

static void test_run_starts(void **state)
{
    (void)state;
#define FIRST(command, wanted)                                                                                         \
    do {                                                                                                               \
        RUN(command " -o s.json", 0, "it/s");                                                                          \
        assert_int_equal((int)number_in("s.json", "measurement", "first_iteration"), wanted);                          \
    } while (0)
    FIRST(BENCH " -s scene", 2);
    FIRST(BENCH " -s scene --from_iteration 5", 7); /* five more before the warm-up */
    FIRST(BENCH " -m model", 8);                    /* the last saved */
    assert_int_equal((int)number_in("s.json", "options", "sh_degree"), 2); /* the model's */
    assert_int_equal((int)number_in("s.json", "scene", "test_views"), 2);  /* its split */
    FIRST(BENCH " -m model --from_iteration 3 --sh_degree 1", 5);
    assert_int_equal((int)number_in("s.json", "options", "sh_degree"), 1);
    FIRST(BENCH " -s scene --ply model/point_cloud/iteration_3/point_cloud.ply --from_iteration 20", 22);
    FIRST(BENCH " -s scene --eval --sh_degree 2 --start_checkpoint model/chkpnt4.splatsmith", 6);
    FIRST(BENCH " -s scene --eval --sh_degree 2 --start_checkpoint model/chkpnt4.splatsmith --from_iteration 6", 8);
    FIRST(BENCH " -s scene -r 2 --gaussians 321", 2);
    assert_int_equal((int)number_in("s.json", "scene", "width"), 24);
    assert_int_equal((int)number_in("s.json", "measurement", "gaussians_first"), 321);
    RUN(BENCH " -s scene --eval --sh_degree 2 --start_checkpoint model/chkpnt4.splatsmith --from_iteration 2", 2,
        "is at iteration 4, beyond --from_iteration 2");
    RUN(BENCH " -m model --from_iteration 5", 1, "iteration");
}

/* Each row moves its photos' bytes, three for a pixel of 48 x 32; hits of the cache move none. */
static void check_speeds(const char *path)
{
    json_t *root, *row;
    splat_error error;
    size_t i;
    ASSERT_OK(splat_json_read(path, &root, &error));
    const json_t *rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 6);
    json_array_foreach(rows, i, row) {
        const char *name = json_string_value(json_object_get(row, "name"));
        double photos = json_number_value(json_object_get(row, "per_second"));
        double found = json_number_value(json_object_get(row, "mb_per_s"));
        double wanted = strstr(name, "cache") ? 0 : 1e-6 * photos * 3 * 48 * 32;
        if (!(photos > 0) || fabs(found - wanted) > 1e-6 * wanted) fail_msg("%s: %g MB/s", name, found);
    }
    json_decref(root);
}

static void test_run_modes(void **state)
{
    (void)state;
    RUN(BENCH " --mode data -s scene -o b1", 0, "upload, ahead");
    check_speeds("b1/data_benchmark_results.json");
    RUN(BENCH " --mode render -m model -o b1", 0, "200 Gaussians, 48 x 32");
    assert_non_null(strstr(out, "random view on the host"));
    assert_int_equal(size_of("b1/render_benchmark_results.json", "rows"), 4);
    RUN(BENCH " --mode render -s scene --ply model/point_cloud/iteration_3/point_cloud.ply --width 70 --height 50", 0,
        "Gaussians, 70 x 50");
}

/* The same tool compares photos and views. */
static void test_compare_rows(void **state)
{
    (void)state;
#define ROW(name, n, ms, low, high) "{\"name\": \"" name "\", \"n\": 9, \"together\": " n ", \"per_second\": 2e3, " \
    "\"mb_per_s\": 0, \"ms_mean\": " ms ", \"ms_mean_low\": " low ", \"ms_mean_high\": " high ", \"batches\": 4}"
#define ROWS(rows) "{\"schema\": \"splatsmith-bench-2\", \"mode\": \"render\", \"width\": 64, \"rows\": [" rows "]}"
    fixture_folder("quick");
    fixture_folder("late");
    fixture_text("quick/render_benchmark_results.json",
                 ROWS(ROW("view", "2", "1.0", "0.99", "1.01") ", " ROW("host", "2", "1.0", "0.5", "1.5") ", "
                      ROW("all", "2", "1.0", "1.0", "1.0")));
    fixture_text("late/render_benchmark_results.json",
                 ROWS(ROW("view", "2", "1.25", "1.24", "1.26") ", " ROW("host", "2", "1.1", "0.6", "1.6") ", "
                      ROW("all", "4", "2.0", "2.0", "2.0")));
    RUN("bench compare quick late", 0, "baseline:  quick\ncandidate: late\n");
    assert_non_null(strstr(out, " -20.00 %   -2")); /* 1 / 1.25 views a second, and its interval */
    assert_non_null(strstr(out, " -9.09 %   -"));
    assert_non_null(strstr(strstr(out, "\nall"), " +0.00 %   +0.00 to +0.00 %: no")); /* twice the time and the count */
    assert_non_null(strstr(strstr(out, "\nhost"), ": no difference is shown"));
    assert_null(strstr(err, "warning"));
    RUN("bench compare quick late --max_slowdown 30%", 0, "view");
    RUN("bench compare quick late --max_slowdown 20%", 4, "late: view takes 25.00 % more time");
    RUN("bench compare quick late --max_slowdown 5%", 4, "host takes 10.00 %");
    RUN("bench compare quick late --quality_tolerance 5%", 2, "have no quality");
    RUN("bench report quick late", 2, "one of --mode training is needed");
    fixture_text("bad.json", ROWS(ROW("view", "2", "-1", "-1", "-1")));
    RUN("bench compare quick bad.json", 2, "row 1 has no name, or its times");
    fixture_text("bad.json", ROWS(ROW("view\\u001b[2J", "2", "1", "1", "1"))); /* it would clear the terminal */
    RUN("bench compare quick bad.json", 2, "row 1 has no name");
    fixture_text("bad.json", ROWS(""));
    RUN("bench compare quick bad.json", 2, "1 to 8 measurements, not 0");
    fixture_text("one.json", ROWS(ROW("host", "2", "1.0", "0.5", "1.5")));
    RUN("bench compare quick one.json", 0, "view                                       2000.0            -");
    RUN(BENCH " --mode data -s scene -o b4", 0, "results in b4");
    RUN("bench compare b4 b4/data_benchmark_results.json", 0, "upload, ahead");
    RUN("bench compare b4 quick", 2, "quick is a result of --mode render, and one of --mode data is needed");
}

static void test_run_usage(void **state)
{
    (void)state;
    RUN("bench", 2, "give the scene's folder");
    RUN("bench measure -s scene", 2, "give run, compare or report");
    RUN("bench run scene", 2, "cannot use the word 'scene'");
    RUN("bench run -s scene --mode fast", 2, "training|data|render");
    RUN("bench run -s scene --width 10", 2, "together");
    RUN("bench run -s scene --width 10 --height 10", 2, "--mode render");
    RUN("bench run -s scene --mode data --stages", 2, "--mode training");
    RUN("bench run -s scene --max_slowdown 5%", 2, "bench compare");
    RUN("bench run -s scene --ply x.ply --start_checkpoint y", 2, "excludes --ply");
    RUN("bench run -s absent" CPU, 1, "absent");
    RUN(BENCH " -s scene -o out.txt/below", 1, "out.txt");
    assert_null(strstr(out, "it/s")); /* nothing was measured in vain */
    RUN(BENCH " -s scene -o absent/r.json", 1, "absent/r.json");
    assert_null(strstr(out, "it/s"));
    assert_false(splat_path_exists("r2.json"));
    RUN(BENCH " -s absent -o r2.json", 1, "absent");
    assert_false(splat_path_exists("r2.json")); /* the check leaves nothing */
    RUN("bench run --mode render -s scene" CPU, 2, "-m");
}

/* ---------------------------------------------------------------- compare, report */

static void test_compare_codes(void **state)
{
    (void)state;
    fixture_result("base.json", 10, 200, 1, 30, "\"options\": {\"seed\": 0}, ");
    fixture_result("slow.json", 10.4, 200, 2, 29.9, "\"options\": {\"seed\": 1}, ");
    fixture_result("fast.json", 5, 200, 4, 29, "\"options\": {\"seed\": 0}, ");
    fixture_result("blind.json", 10, 200, 5, 0, "\"options\": {\"seed\": 0}, ");
    RUN("bench compare base.json slow.json", 0, "the option seed differs: 0 and 1");
    assert_non_null(strstr(out, "The mean time changes by +3."));
    assert_non_null(strstr(out, "time to convergence (30k)             5m00s          5m12s"));
    RUN("bench compare base.json slow.json --max_slowdown 5% --quality_tolerance 0.5%", 0, "speed-up");
    RUN("bench compare base.json slow.json --max_slowdown 3%", 4, "more time than the baseline; 3 % is allowed");
    RUN("bench compare base.json slow.json --quality_tolerance 0.3%", 4, "loses 0.33 % of the quality");
    RUN("bench compare slow.json base.json", 0, "\ntime saved                                             12s\n");
    RUN("bench compare base.json slow.json", 0, "\ntime saved                                            -12s\n");
    RUN("bench compare base.json fast.json --max_slowdown 5%", 0, "2.0");
    assert_null(strstr(err, "warning"));
    RUN("bench compare base.json fast.json --max_slowdown 5% --quality_tolerance 0.5%", 4, "fast loses 3.33 %");
    RUN("bench compare base.json fast.json slow.json --max_slowdown 3%", 4, "slow takes");
    RUN("bench compare base.json slow.json fast.json --max_slowdown 3%", 4, "slow takes");
    RUN("bench compare base.json blind.json", 0, "no difference is shown");
    RUN("bench compare base.json blind.json --quality_tolerance 1%", 2, "cannot be judged for blind");
    RUN("bench compare base.json blind.json slow.json --quality_tolerance 1% --max_slowdown 1%", 2, "cannot be judged");
    fixture_text("old.json", "{\"schema\": \"splatsmith-bench-1\"}");
    RUN("bench compare base.json old.json", 2, "measure again");
    RUN("bench compare old.json base.json", 2, "measure again");
    RUN("bench compare base.json absent.json", 2, "absent.json");
    RUN("bench compare base.json", 2, "at least one candidate");
    RUN("bench compare base.json slow.json --max_slowdown 5", 2, "a percentage such as 5%");
    RUN("bench compare base.json slow.json --max_slowdown x%", 2, "a percentage such as 5%");
    RUN("bench compare base.json slow.json --max_slowdown -1%", 2, "");
    RUN("bench compare base.json slow.json -o folder", 2, "bench report does");
    fixture_result("a_rather_long_name_1.json", 10, 200, 1, 30, "");
    fixture_result("a_rather_long_name_2.json", 10, 200, 1, 30, "");
    RUN("bench compare a_rather_long_name_1.json a_rather_long_name_2.json", 0,
        "baseline:  a_rather_long_name_1\ncandidate: a_rather_long_name_2\n");
    fixture_folder("folder");
    fixture_result("folder/base.json", 10, 200, 1, 30, "");
    RUN("bench compare base.json folder/base.json", 0, "candidate: folder/base.json\n"); /* names alone are the same */
}

static void test_report_files(void **state)
{
    (void)state;
    fixture_result("base.json", 10, 200, 1, 30, "");
    fixture_result("fast.json", 5, 200, 4, 29, "");
    RUN("bench report base.json fast.json -o ours", 0, "| quality lost |");
    assert_true(splat_path_exists("ours/benchmark_report.md"));
    assert_xml_file("ours/benchmark_report.html");
    RUN("bench report base.json fast.json --quality_tolerance 5%", 0, "| faster, quality kept |");
    fixture_result("other.json", 5, 200, 4, 30, "\"scene\": {\"name\": \"x\"}, \"options\": {\"seed\": 1}, ");
    RUN("bench report base.json other.json -o ours", 0, "| not comparable |");
    assert_non_null(strstr(out, "- other: the scene differs: - and \"x\"\n- other: the option seed differs: - and 1"));
    assert_xml_file("ours/benchmark_report.html");
    RUN("bench report", 2, "needs results");
    RUN("bench report base.json --max_slowdown 1%", 2, "is for bench compare");
    RUN("bench report base.json absent", 2, "absent");
}

/* ---------------------------------------------------------------- render */

static bool same_file(const char *a, const char *b)
{
    uint8_t *first, *second;
    size_t n, m;
    splat_error error;
    ASSERT_OK(splat_file_read(a, &first, &n, &error));
    ASSERT_OK(splat_file_read(b, &second, &m, &error));
    bool same = n == m && memcmp(first, second, n) == 0;
    free(first);
    free(second);
    return same;
}

static void test_random_views(void **state)
{
    (void)state;
    RUN("render -m model --random_views 3" CPU, 0, "3 pictures in model/random/ours_6/images");
    assert_false(splat_path_exists("model/train"));
#define VIEWS "render -m model --random_views 3" CPU " -o random/"
    RUN(VIEWS "a", 0, "random/a/images");
    RUN(VIEWS "b --seed 0 --perturb 0.1,2", 0, "random/b"); /* the defaults */
    RUN(VIEWS "c --seed 1", 0, "random/c");
    RUN(VIEWS "d --perturb 0,2", 0, "random/d");
    RUN(VIEWS "e --perturb 0.1,0", 0, "random/e");
    assert_true(same_file("random/a/transforms.json", "random/b/transforms.json"));
    assert_true(same_file("random/a/images/000002.png", "random/b/images/000002.png"));
    assert_true(same_file("random/a/transforms.json", "model/random/ours_6/transforms.json"));
    assert_false(same_file("random/a/transforms.json", "random/c/transforms.json"));
    assert_false(same_file("random/a/transforms.json", "random/d/transforms.json"));
    assert_false(same_file("random/a/transforms.json", "random/e/transforms.json"));
    assert_false(same_file("random/a/images/000002.png", "random/c/images/000002.png"));
    RUN("eval -s random/a --ply model/point_cloud/iteration_6/point_cloud.ply --test_camera_count 2" CPU, 0, "PSNR");
    RUN(VIEWS "f --perturb 1", 2, "two numbers");
    RUN(VIEWS "f --perturb 1,2,3", 2, "two numbers");
    RUN(VIEWS "f --perturb -1,2", 2, "");
    RUN(VIEWS "f --skip_test", 2, "--random_views writes no views of the scene");
    RUN("render -m model --seed 1" CPU, 2, "need --random_views");
    RUN("render -m model --perturb 1,1" CPU, 2, "need --random_views");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_lpips),     cmocka_unit_test(test_compare_rows),
        cmocka_unit_test(test_run_files),     cmocka_unit_test(test_run_starts),   cmocka_unit_test(test_run_modes),
        cmocka_unit_test(test_run_usage),     cmocka_unit_test(test_compare_codes), cmocka_unit_test(test_report_files),
        cmocka_unit_test(test_random_views),
    };
    return cmocka_run_group_tests(tests, make_inputs, NULL);
}
