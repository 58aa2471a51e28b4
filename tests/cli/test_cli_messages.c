/* Sentences of the library name options between backquotes; the command line shows them with their dashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cli_fixture.h"

#include <ctype.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *completion; /* the script that holds every option */
static size_t n_named;

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), n = strlen(ending);
    return length >= n && strcmp(path + length - n, ending) == 0;
}

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_true(text && fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
    fclose(file);
    return text;
}

static void check_name(const char *path, const char *name, size_t length)
{
    char option[64];
    if (length == 0 || length > 60 || !islower((unsigned char)*name)) return; /* "`%s`" */
    snprintf(option, sizeof option, "--%.*s", (int)length, name);
    const char *found = strstr(completion, option);
    while (found && (isalnum((unsigned char)found[length + 2]) || found[length + 2] == '_'))
        found = strstr(found + 1, option);
    if (!found) fail_msg("%s: a sentence names `%.*s`, which is no option", path, (int)length, name);
    n_named++;
}

/* Backquotes in the string literals of one source file. */
static int check_file(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)at;
    bool is_source = has_ending(path, ".c") || has_ending(path, ".h") || has_ending(path, ".cu");
    if (kind != FTW_F || !is_source || has_ending(path, "_test.c") || strstr(path, "/src/program/cli/")) return 0;
    char *text = read_all(path);
    enum { CODE, COMMENT, STRING } state = CODE;
    for (const char *c = text; *c; c++) {
        if (state == CODE && c[0] == '\'' && c[1] && c[2] == '\'') c += 2;
        else if (state == CODE && c[0] == '/' && c[1] == '*') state = COMMENT;
        else if (state == COMMENT && c[0] == '*' && c[1] == '/') state = CODE;
        else if (state == STRING && *c == '\\') c++;
        else if (state != COMMENT && *c == '"') state = state == STRING ? CODE : STRING;
        else if (state == STRING && *c == '`') {
            check_name(path, c + 1, strcspn(c + 1, " `\"%"));
            c += 1 + strcspn(c + 1, "`\"");
            if (*c == '"') fail_msg("%s: a backquote stands alone in a string", path);
        }
    }
    free(text);
    return 0;
}

static void options_in_sentences_are_options(void **state)
{
    char folder[512];
    (void)state;
    RUN_OUT(0, "--images", "completion", "bash");
    completion = strdup(standard_output);
    snprintf(folder, sizeof folder, "%s/src", getenv("SPLATSMITH_SOURCE"));
    assert_int_equal(nftw(folder, check_file, 16, FTW_PHYS), 0);
    assert_true(n_named > 20);
    free(completion);
}

static void sentences_have_dashes(void **state)
{
    (void)state;
    assert_int_equal(system("rm -rf tiny out"), 0);
    RUN_OUT(0, "", "sample", "tiny", "--width", "48", "--height", "36", "--cameras", "6", "--points", "100",
            "--truth_points", "10", "--supersample", "1");
    RUN_ERR(1, "name another with --images (", "train", "-s", "tiny", "-m", "out", "--images", "absent");
    assert_null(strchr(standard_error, '`'));
    RUN_OUT(0, "", "train", "-s", "tiny", "-m", "out", "--iterations", "2", "--checkpoint_iterations", "2");
    RUN_ERR(2, "was made with --seed 0, from", "train", "-s", "tiny", "-m", "out", "--iterations", "4", "--seed", "1",
            "--start_checkpoint", "latest");
    assert_null(strchr(standard_error, '`'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_in_sentences_are_options),
                                       cmocka_unit_test(sentences_have_dashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
