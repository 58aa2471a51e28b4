/* The command line as newcomers meet it: names that would harm a terminal, words of other programs, the first help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli_fixture.h"

/* ---------------------------------------------------------------- names with control characters */

static void assert_no_controls(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < 0x20 && *c != '\n') || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) || *c == 0xff)
            fail_msg("byte %02x reaches the terminal: %s", *c, text);
}

/* A name clears no screen, sets no title and begins no line of its own. */
static void control_characters_are_shown(void **state)
{
    (void)state;
    RUN_ERR(1, "(a\\x1b[2Jb\\x07\\x0ac\\x7f\\x09\\xc2\\x9bd\\xff)", "train", "-s",
            "a\x1b[2Jb\x07\nc\x7f\t\xc2\x9b" "d\xff", "-m", "never");
    assert_no_controls(standard_error);
    RUN_ERR(1, "(K\u00f6ln \u6771\u4eac \U0001f600)", "train", "-s", "K\u00f6ln \u6771\u4eac \U0001f600", "-m",
            "never");
    RUN_ERR(2, "unknown command '\\x1b[31m'", "\x1b[31m");
    RUN_ERR(1, "\\xc0\\x9b", "train", "-s", "\xc0\x9b", "-m", "never"); /* the long way to write ESC is no UTF-8 */
    RUN_ERR(1, "(a\\xc1\\x81b)", "train", "-s", "a\xc1\x81" "b", "-m", "never"); /* nor the long way to write A, */
    RUN_ERR(1, "(\\xed\\xa0\\x80)", "train", "-s", "\xed\xa0\x80", "-m", "never"); /* half of a pair of UTF-16, */
    RUN_ERR(1, "(\\xf4\\x90\\x80\\x80)", "train", "-s", "\xf4\x90\x80\x80", "-m", "never"); /* or U+110000 */
}

/* Results and progress are lines as well. */
static void control_characters_of_results_are_shown(void **state)
{
    (void)state;
    RUN_OUT(0, "a\\x1b]0;x\\x07: 6 pictures", "sample", "a\x1b]0;x\x07", "--width", "48", "--height", "36", "--cameras",
            "6", "--points", "100", "--truth_points", "10", "--supersample", "1");
    assert_no_controls(standard_output);
    RUN_OUT(0, "Output folder: out\\x1b[1A", "train", "-s", "a\x1b]0;x\x07", "-m", "out\x1b[1A", "--iterations", "2");
    assert_no_controls(standard_output);
    assert_no_controls(standard_error);
    write_text("t\x1b.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    RUN_OUT(0, "\n\nTopology\n", "mesh-report", "t\x1b.obj");
    assert_no_controls(standard_output);
    assert_null(strstr(standard_output, "\\x0a")); /* empty lines between parts stay what they are */
}

/* ---------------------------------------------------------------- words of other programs */

static void words_of_other_programs_are_answered(void **state)
{
    static const char *const trainers[] = {"train.py", "gaussian_splatting", "gaussian-splatting", "gsplat",
                                           "ns-train"};
    static const char *const finders[] = {"convert.py", "colmap", "ns-process-data"};
    (void)state;
    for (size_t i = 0; i < sizeof trainers / sizeof trainers[0]; i++)
        RUN_ERR(2, ": type 'splatsmith train -s SCENE -m MODEL'", trainers[i], "-s", "photos");
    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++)
        RUN_ERR(2, ": type 'splatsmith cameras PHOTOS -o SCENE'", finders[i], "-s", "photos");
    RUN_ERR(2, "type 'splatsmith eval -m MODEL MODEL'", "full_eval.py");
    RUN_ERR(2, "type 'splatsmith render -m MODEL'", "render.py", "-m", "out");
}

static void paths_are_answered_with_a_command(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p photos 'my photos' model && touch photos/a.jpg garden.mp4 garden.ply "
                            "model/cfg_args"), 0);
    RUN_ERR(2, "'splatsmith train -s photos/ -m MODEL'", "photos/");
    assert_non_null(strstr(standard_error, "'splatsmith pipeline -s photos/ -o FOLDER'"));
    RUN_ERR(2, "'splatsmith train -s garden.mp4 -m MODEL'", "garden.mp4");
    RUN_ERR(2, "train -s 'my photos' -m MODEL", "my photos");
    RUN_ERR(2, "'splatsmith view garden.ply' shows it", "garden.ply");
    RUN_ERR(2, "'splatsmith view model' shows it", "model");
    RUN_ERR(2, "'absent.mp4': it is no command, and there is no such file or folder", "absent.mp4");
    RUN_ERR(2, "did you mean 'train'?", "trian");
}

/* -r before a whole number is the resolution in every command, as the README says; before a word the regularization. */
static void r_with_a_number_is_the_resolution(void **state)
{
    static const char *const commands[] = {"pipeline", "coarse"};
    static const char *const letters[] = {"-s", "-c"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        RUN_ERR(1, "absent", commands[i], letters[i], "absent", "-o", "never", "-r", "8");
        RUN_ERR(1, "absent", commands[i], letters[i], "absent", "-o", "never", "-r", "-1");
        RUN_ERR(1, "absent", commands[i], letters[i], "absent", "-o", "never", "-r8");
        RUN_ERR(1, "absent", commands[i], letters[i], "absent", "-o", "never", "-r", "density");
        RUN_ERR(2, "--resolution takes -1 or a whole number of at least 1", commands[i], "-r", "0");
        RUN_ERR(2, "--regularization_type takes one of", commands[i], "-r", "densty");
        RUN_ERR(2, "--regularization_type needs a value", commands[i], "-r");
    }
}

/* ---------------------------------------------------------------- files that are missing */

static void missing_files_are_reported_as_missing(void **state)
{
    static const char *const readers[] = {"eval", "render", "mesh", "export"};
    (void)state;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        RUN_ERR(1, "there is no such folder: name the model folder that train wrote (absent)", readers[i], "-m",
                "absent");
        assert_null(strstr(standard_error, "point_cloud/iteration_N"));
    }
    RUN_ERR(1, "there is no such file or folder: name the folder of a scene (absent)", "train", "-s", "absent", "-m",
            "never");
    write_text("file.txt", "no scene");
    RUN_ERR(1, "not a folder that can be opened (file.txt)", "train", "-s", "file.txt", "-m", "never");
    RUN_ERR(1, "this is not a model folder", "eval", "-m", "photos");
}

static void a_scene_to_try_is_suggested(void **state)
{
    (void)state;
    RUN_ERR(2, "'splatsmith sample FOLDER' writes a scene to try", "train");
    RUN_ERR(2, "'splatsmith sample FOLDER' writes a scene to try", "pipeline");
}

/* ---------------------------------------------------------------- counts */

static void one_thing_is_singular(void **state)
{
    (void)state;
    RUN_OUT(0, "", "sample", "few", "--width", "48", "--height", "36", "--cameras", "6", "--points", "100",
            "--truth_points", "10", "--supersample", "1");
    RUN_OUT(0, "5 train and 1 test view up to 48x36", "train", "-s", "few", "-m", "one", "--eval", "--llffhold", "6",
            "--iterations", "1");
    assert_non_null(strstr(standard_output, "Trained 1 step in "));
    RUN_OUT(0, "1 picture in one/test", "render", "-m", "one", "--skip_train");
    RUN_OUT(0, "4 train and 2 test views up to 48x36", "train", "-s", "few", "-m", "two", "--eval", "--llffhold",
            "3", "--iterations", "2");
    assert_non_null(strstr(standard_output, "Trained 2 steps in "));
    write_text("triangle.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    RUN_OUT(0, "1 in 1 piece\n", "mesh-report", "triangle.obj");
}

/* ---------------------------------------------------------------- a training that takes long */

/* Begins a training of 10^8 steps, and ends it after 40 steps and at least three seconds. */
static void train_for_a_while(const char *scene, const char *resolution)
{
    pid_t child = begin("train", "-s", scene, "-m", "long", "-r", resolution, "--backend", "cpu", "--iterations",
                        "100000000", "--test_iterations", "-1", "--save_iterations", "40", NULL);
    sleep(3);
    for (int i = 0; i < LIMIT_S && !file_contains("stdout.txt", "[ITER 40] Saving"); i++) sleep(1);
    kill(child, SIGINT);
    assert_int_equal(finish(child), 130);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

/* After 20 steps the notice says which size takes a sixteenth of the time. */
static void a_long_training_on_the_cpu_suggests_smaller_photos(void **state)
{
    (void)state;
    RUN_OUT(0, "", "sample", "large", "--width", "820", "--height", "100", "--cameras", "6", "--points", "100",
            "--truth_points", "10", "--supersample", "1");
    train_for_a_while("large", "-1");
    const char *notice = strstr(standard_error, "on the CPU this takes about ");
    assert_non_null(notice);
    assert_int_equal(count(standard_error, "on the CPU this takes"), 1);
    assert_non_null(strstr(notice, "photos of 820 x 100 pixels; with -r 4, a quarter of their sides"));
    int hours, fewer;
    assert_int_equal(sscanf(notice, "on the CPU this takes about %dh", &hours), 1);
    assert_int_equal(sscanf(strstr(notice, "would take about "), "would take about %dh", &fewer), 1);
    assert_in_range(hours, 16 * fewer - 1, 16 * fewer + 17);
    train_for_a_while("large", "2"); /* 410 pixels wide: small */
    assert_null(strstr(standard_error, "on the CPU this takes"));
}

/* A log file gets a line when the percent changes, and a training of 10^8 steps stays at 0 % for a while. */
static void a_log_file_gets_a_line_a_percent(void **state)
{
    (void)state;
    train_for_a_while("large", "4");
    assert_int_equal(count(standard_error, "it/s | "), 1);
    RUN_OUT(0, "", "train", "-s", "large", "-m", "short", "-r", "8", "--iterations", "300");
    assert_true(count(standard_error, "it/s | ") >= 1);
    assert_non_null(strstr(standard_error, "300/300 | "));
}

int main(void)
{
    if (!has_binary()) return 0;
    if (!enter_work_folder()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown),
        cmocka_unit_test(control_characters_of_results_are_shown),
        cmocka_unit_test(words_of_other_programs_are_answered),
        cmocka_unit_test(paths_are_answered_with_a_command),
        cmocka_unit_test(r_with_a_number_is_the_resolution),
        cmocka_unit_test(missing_files_are_reported_as_missing),
        cmocka_unit_test(a_scene_to_try_is_suggested),
        cmocka_unit_test(one_thing_is_singular),
        cmocka_unit_test(a_long_training_on_the_cpu_suggests_smaller_photos),
        cmocka_unit_test(a_log_file_gets_a_line_a_percent),
    };
    return cmocka_run_group_tests_name("cli_newcomers", tests, NULL, NULL);
}
