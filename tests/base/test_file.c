/* Atomic saves where they are not plain: through links, over files with modes of their own. */
#include "scene_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_empty_folder(void **state)
{
    (void)state;
    splat_error error;
    ASSERT_OK(splat_folder_delete("file_test", &error));
    ASSERT_OK(splat_folder_create("file_test/elsewhere", &error));
    return chdir("file_test");
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("..");
}

static void assert_holds(const char *path, const char *text)
{
    splat_error error;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    assert_string_equal((const char *)data, text);
    free(data);
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void a_link_stays_and_its_target_is_written(void **state)
{
    (void)state;
    fixture_text("elsewhere/target", "old");
    assert_int_equal(symlink("elsewhere/target", "link"), 0);       /* relative to the link's folder, not to ours */
    assert_int_equal(symlink("../link", "elsewhere/link_of_link"), 0);
    fixture_text("elsewhere/link_of_link", "new");
    assert_true(is_link("link") && is_link("elsewhere/link_of_link") && !is_link("elsewhere/target"));
    assert_holds("elsewhere/target", "new");
    char absolute[4096], path[4200];
    assert_non_null(getcwd(absolute, sizeof absolute));
    snprintf(path, sizeof path, "%s/elsewhere/target", absolute);
    assert_int_equal(symlink(path, "absolute"), 0);
    fixture_text("absolute", "newer");
    assert_true(is_link("absolute"));
    assert_holds("elsewhere/target", "newer");
    assert_int_equal(fixture_count("elsewhere"), 2); /* no temporary is left */
    assert_int_equal(fixture_count("."), 3);
}

static void a_link_to_nothing_makes_the_file_it_names(void **state)
{
    (void)state;
    assert_int_equal(symlink("elsewhere/later", "link"), 0);
    fixture_text("link", "made");
    assert_true(is_link("link"));
    assert_holds("elsewhere/later", "made");
}

static void links_that_lead_nowhere_are_an_error(void **state)
{
    (void)state;
    splat_error error;
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(splat_file_write("a", "x", 1, &error), SPLAT_ERROR_IO);
    assert_non_null(strstr(error.message, "symbolic links"));
    assert_int_equal(symlink("absent/file", "dangling"), 0);
    assert_int_equal(splat_file_write("dangling", "x", 1, &error), SPLAT_ERROR_IO);
    assert_true(is_link("a") && is_link("b") && is_link("dangling"));
}

static void a_save_that_is_given_up_leaves_link_and_target(void **state)
{
    (void)state;
    splat_error error;
    splat_save given_up;
    fixture_text("elsewhere/target", "old");
    assert_int_equal(symlink("elsewhere/target", "link"), 0);
    ASSERT_OK(splat_save_open(&given_up, "link", &error));
    fputs("half of", given_up.stream);
    assert_int_equal(fixture_count("elsewhere"), 2); /* the temporary lies next to the file that it will replace */
    splat_save_abort(&given_up);
    assert_true(is_link("link"));
    assert_holds("elsewhere/target", "old");
    assert_int_equal(fixture_count("elsewhere"), 1);
}

static void a_file_keeps_its_mode(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0664, 0755, 0444};
    mode_t mask = umask(022);
    fixture_text("file", "first");
    assert_int_equal(mode_of("file"), 0644); /* what a plain open gives */
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod("file", modes[i]), 0);
        fixture_text("file", "next");
        assert_int_equal(mode_of("file"), modes[i]);
    }
    assert_int_equal(chmod("file", 0600), 0);
    assert_int_equal(symlink("file", "link"), 0);
    fixture_text("link", "through a link");
    assert_int_equal(mode_of("file"), 0600);
    assert_holds("file", "through a link");
    umask(mask);
}

/* One file under two names; saves of one of them leave the other as it was. */
static void a_shared_file_is_there_twice(void **state)
{
    (void)state;
    splat_error error;
    struct stat a, b;
    fixture_text("from", "one");
    fixture_text("to", "old");
    for (int i = 0; i < 2; i++) { /* the second time it is there already */
        ASSERT_OK(splat_file_share("from", "to", &error));
        assert_holds("to", "one");
        assert_true(stat("from", &a) == 0 && stat("to", &b) == 0);
        assert_true(a.st_ino == b.st_ino);
        assert_false(splat_path_exists("to.tmp"));
    }
    ASSERT_OK(splat_file_write("from", "two", 3, &error));
    assert_holds("to", "one");
    assert_int_equal(splat_file_share("absent", "to", &error), SPLAT_ERROR_IO);
    assert_holds("to", "one");
    assert_false(splat_path_exists("to.tmp"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_empty_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_link_stays_and_its_target_is_written),
        IN_FOLDER(a_link_to_nothing_makes_the_file_it_names),
        IN_FOLDER(links_that_lead_nowhere_are_an_error),
        IN_FOLDER(a_save_that_is_given_up_leaves_link_and_target),
        IN_FOLDER(a_file_keeps_its_mode),
        IN_FOLDER(a_shared_file_is_there_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
