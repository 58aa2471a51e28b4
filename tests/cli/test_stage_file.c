/* stage.json and pipeline.json under faults: each system call of their one writer fails once. The old file stays or the
 * new one is whole, no temporary and no descriptor is left, and the command says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "pipeline/stage_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the calls, as stage_file.c sees them */

static int fail_at, n_calls; /* the call that fails, 1 is the first; 0: none */
static bool half;            /* write() takes half before it fails at the next call */

static bool fails(void)
{
    n_calls++;
    if (n_calls != fail_at) return false;
    errno = ENOSPC;
    return true;
}

static int try_open(const char *path, int flags, mode_t mode)
{
    bool is_folder = (flags & O_DIRECTORY) != 0; /* its flush is not in question: the file exists by then */
    return !is_folder && fails() ? -1 : open(path, flags, mode);
}

static ssize_t try_write(int descriptor, const void *data, size_t size)
{
    static bool full;
    bool now = fails();
    if (full || (now && !half)) {
        full = false;
        errno = ENOSPC;
        return -1;
    }
    full = now;
    return write(descriptor, data, now ? (size + 1) / 2 : size);
}

static int try_fsync(int descriptor)
{
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    return !S_ISDIR(status.st_mode) && fails() ? -1 : 0;
}

static int try_close(int descriptor)
{
    struct stat status;
    assert_int_equal(fstat(descriptor, &status), 0);
    close(descriptor);
    return !S_ISDIR(status.st_mode) && fails() ? -1 : 0;
}

static int try_rename(const char *from, const char *to)
{
    return fails() ? -1 : rename(from, to);
}

/* The file is compiled into the test, with the calls above. */
#define open(path, flags, ...) try_open(path, flags, (mode_t)(0 __VA_OPT__(+) __VA_ARGS__))
#define write try_write
#define fsync try_fsync
#define close try_close
#define rename try_rename
#include "pipeline/stage_file.c"
#undef open
#undef write
#undef fsync
#undef close
#undef rename

static splat_error failure;

/* ---------------------------------------------------------------- the test */

#define FOLDER "stage"
#define PATH FOLDER "/stage.json"

static int save(int version)
{
    splat_stage_file file = {.complete = version == 1, .seconds = version, .settings = json_object(),
                       .inputs = json_object(), .results = json_object()};
    splat_stage_json_set_text(file.settings, "regularization", version ? "sdf" : "density");
    int code = splat_stage_file_write(PATH, "coarse", &file, &failure);
    splat_stage_file_free(&file);
    return code;
}

static int entries_of(const char *path)
{
    int n = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    if (mkdir(FOLDER, 0777) != 0) assert_int_equal(errno, EEXIST);
    for (int i = 0; i < 2; i++) {
        half = i == 1;
        for (fail_at = 1;; fail_at++) {
            splat_stage_file file;
            int at = fail_at, before = entries_of("/proc/self/fd");
            fail_at = 0;
            assert_int_equal(save(0), SPLAT_OK);
            fail_at = at;
            n_calls = 0;
            failure = (splat_error){0};
            int code = save(1), n = n_calls;
            assert_int_equal(entries_of("/proc/self/fd"), before);
            assert_int_equal(entries_of(FOLDER), 1); /* no temporary */
            assert_int_equal(splat_stage_file_read(PATH, "coarse", &file), SPLAT_STAGE_FILE_READ);
            assert_int_equal(file.complete, code == SPLAT_OK);
            assert_string_equal(splat_stage_json_text(file.settings, "regularization"),
                                code == SPLAT_OK ? "sdf" : "density");
            splat_stage_file_free(&file);
            if (n < at) {
                assert_int_equal(code, SPLAT_OK);
                break;
            }
            assert_int_equal(code, SPLAT_ERROR_IO);
            assert_string_equal(failure.message, "cannot write " PATH ": No space left on device");
        }
        assert_int_equal(fail_at, 6); /* open, write, fsync, close, rename, and none */
    }
}

/* A file that was cut anywhere is damaged, never half believed. */
static void a_torn_file_is_damaged(void **state)
{
    (void)state;
    static char text[4096];
    splat_stage_file file;
    fail_at = 0;
    assert_int_equal(save(1), SPLAT_OK);
    FILE *in = fopen(PATH, "rb");
    assert_non_null(in);
    size_t size = fread(text, 1, sizeof text, in);
    fclose(in);
    assert_true(size > 100 && size < sizeof text);
    for (size_t n = 0; n < size; n++) {
        FILE *out = fopen(PATH, "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(text, 1, n, out), n);
        fclose(out);
        assert_int_equal(splat_stage_file_read(PATH, "coarse", &file), SPLAT_STAGE_FILE_DAMAGED);
        splat_stage_file_free(&file);
    }
}

/* The checksum of a file, which threads take in pieces, is that of its bytes at once. */
static void a_checksum_is_of_all_bytes(void **state)
{
    static const size_t sizes[] = {0, 1, 16 << 20, (40 << 20) + 3};
    (void)state;
    fail_at = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        unsigned char *bytes = malloc(sizes[k] + 1);
        char text[16];
        assert_non_null(bytes);
        for (size_t i = 0; i < sizes[k]; i++) bytes[i] = (unsigned char)(i * 2654435761u >> 24);
        FILE *out = fopen(FOLDER "/bytes", "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(bytes, 1, sizes[k], out), sizes[k]);
        fclose(out);
        json_t *object = json_object();
        assert_int_equal(splat_stage_json_set_content(object, FOLDER "/bytes", &failure), SPLAT_OK);
        snprintf(text, sizeof text, "%08lx", crc32(crc32(0, NULL, 0), bytes, (uInt)sizes[k]));
        assert_string_equal(json_string_value(json_object_get(object, "crc32")), text);
        assert_int_equal(json_integer_value(json_object_get(object, "bytes")), sizes[k]);
        json_decref(object);
        free(bytes);
    }
    unlink(FOLDER "/bytes");
    assert_int_not_equal(splat_stage_json_set_content(NULL, FOLDER "/bytes", &failure), SPLAT_OK);
    assert_non_null(strstr(failure.message, "cannot read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call_may_fail), cmocka_unit_test(a_torn_file_is_damaged),
                                       cmocka_unit_test(a_checksum_is_of_all_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
