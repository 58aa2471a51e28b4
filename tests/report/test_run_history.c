/* history.jsonl on a disk that becomes full at any byte: opening it again, after a stop, keeps what was there, a loss
 * is reported, and what is read later is the beginning of what was written. */
#include "base/file.h"
#include "check.h"
#include "report/page/run_history.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define FOLDER "history"
#define FILE_PATH FOLDER "/" SPLAT_HISTORY_FILE
#define N_OLD 4 /* points of the first run */
#define N_ALL 8 /* with those of the one that goes on */

/* Points `first` to `last`, and an evaluation after each second one. Returns whether nothing was given up. */
static bool add_points(splat_run_history *h, int first, int last)
{
    bool good = true;
    for (int i = first; i <= last; i++) {
        splat_history_point point = splat_history_point_make(10 * i);
        splat_history_evaluation evaluation = {.iteration = 10 * i, .is_test = true, .n_views = 3, .psnr = 20 + i};
        point.loss = 1.0 / i;
        good = splat_run_history_add(h, &point) && good;
        if (i % 2 == 0) good = splat_run_history_add_evaluation(h, &evaluation) && good;
        good = splat_run_history_flush(h) && good;
    }
    return good;
}

static void write_run(int last)
{
    splat_error error;
    splat_run_history h;
    ASSERT_OK(splat_folder_delete(FOLDER, &error));
    ASSERT_OK(splat_folder_create(FOLDER, &error));
    ASSERT_OK(splat_run_history_open(&h, FOLDER, 0, NULL, &error));
    assert_true(add_points(&h, 1, last));
    splat_run_history_close(&h);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Checks that a later run reads the beginning of the written points. Returns their number; *all: none is lost. */
static size_t read_back(bool *all)
{
    splat_error error;
    splat_run_history h;
    ASSERT_OK(splat_run_history_open(&h, FOLDER, 10 * N_ALL, NULL, &error));
    for (size_t i = 0; i < h.n_points; i++) {
        assert_int_equal(h.points[i].iteration, 10 * (i + 1));
        assert_true(fabs(h.points[i].loss - 1.0 / (double)(i + 1)) < 1e-6);
    }
    for (size_t i = 0; i < h.n_evaluations; i++)
        assert_true(h.evaluations[i].iteration == 20 * (int)(i + 1) &&
                    h.evaluations[i].psnr == 20 + 2 * (double)(i + 1));
    assert_true(h.n_evaluations == h.n_points / 2 || h.n_evaluations + 1 == h.n_points / 2);
    size_t n = h.n_points;
    *all = n == N_ALL && h.n_evaluations == N_ALL / 2;
    splat_run_history_close(&h);
    return n;
}

/* A run that goes on from iteration 10 N_OLD of a whole one, on a disk with room for `bytes`: its first write replaces
 * the file, the others append. */
static bool go_on_with(size_t bytes)
{
    splat_error error = {0};
    splat_run_history h;
    uint8_t *before, *after;
    size_t size, size_after, n;
    char **names;
    ASSERT_OK(splat_file_read(FILE_PATH, &before, &size, &error));
    limit_files(bytes);
    splat_status opened = splat_run_history_open(&h, FOLDER, 10 * N_OLD, NULL, &error);
    bool good = opened == SPLAT_OK && add_points(&h, N_OLD + 1, N_ALL);
    splat_run_history_close(&h);
    limit_files(RLIM_INFINITY);
    if (opened != SPLAT_OK) {
        splat_error read_error;
        assert_int_equal(opened, SPLAT_ERROR_IO);
        assert_string_equal(error.file, FILE_PATH);
        assert_non_null(strstr(error.message, "File too large"));
        if (splat_file_read(FILE_PATH, &after, &size_after, &read_error) != SPLAT_OK)
            fail_msg("%s", read_error.message);
        assert_int_equal(size_after, size);
        assert_memory_equal(after, before, size);
        free(after);
    } else {
        bool all;
        n = read_back(&all);
        assert_true(n >= N_OLD && n <= N_ALL);
        if (good && !all) fail_msg("room for %zu bytes: %zu points, and no word of it", bytes, n);
    }
    free(before);
    ASSERT_OK(splat_folder_list(FOLDER, &names, &n, &error));
    assert_int_equal(n, 1); /* no temporary */
    splat_names_free(names, n);
    return good;
}

static void the_disk_may_be_full_at_any_byte(void **state)
{
    (void)state;
    int n_refused = 0;
    bool good = false;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t bytes = 0; !good; bytes++) {
        write_run(N_ALL);
        good = go_on_with(bytes);
        n_refused += !good;
        assert_true(bytes < 10000);
    }
    print_message("%d sizes were too small\n", n_refused); /* all of them: a lost line is never kept quiet */
    assert_true(n_refused > 500);
}

/* A long run takes no more memory than a short one; its file has every point, and one that goes on has curves from the
 * first step to the last. */
static void long_runs_keep_fewer_points(void **state)
{
    (void)state;
    splat_error error;
    splat_run_history h;
    const int n = 3 * SPLAT_HISTORY_POINTS_MAX;
    ASSERT_OK(splat_folder_delete(FOLDER, &error));
    ASSERT_OK(splat_folder_create(FOLDER, &error));
    ASSERT_OK(splat_run_history_open(&h, FOLDER, 0, NULL, &error));
    for (int i = 1; i <= n; i++) {
        splat_history_point point = splat_history_point_make(10 * i);
        assert_true(splat_run_history_add(&h, &point));
        assert_true(h.n_points <= SPLAT_HISTORY_POINTS_MAX);
    }
    assert_true(splat_run_history_flush(&h));
    uint8_t *text;
    size_t size, n_lines = 0;
    ASSERT_OK(splat_file_read(FILE_PATH, &text, &size, &error));
    for (size_t i = 0; i < size; i++) n_lines += text[i] == '\n';
    free(text);
    assert_int_equal(n_lines, n);
    for (int again = 0; again < 2; again++) {
        assert_true(h.n_points > SPLAT_HISTORY_POINTS_MAX / 2 && h.points[0].iteration <= 40);
        assert_true(h.points[h.n_points - 1].iteration > 10 * n - 40);
        for (size_t i = 1; i < h.n_points; i++) /* evenly */
            assert_int_equal(h.points[i].iteration - h.points[i - 1].iteration, 40);
        splat_run_history_close(&h);
        ASSERT_OK(splat_run_history_open(&h, FOLDER, 10 * n, NULL, &error));
    }
    splat_run_history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_disk_may_be_full_at_any_byte),
                                       cmocka_unit_test(long_runs_keep_fewer_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
