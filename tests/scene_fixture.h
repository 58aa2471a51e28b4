/* Small scenes on the disk, for the tests that read them. */
#ifndef SPLAT_TESTS_SCENE_FIXTURE_H
#define SPLAT_TESTS_SCENE_FIXTURE_H

#include "base/file.h"
#include "base/rng.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ASSERT_OK(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != SPLAT_OK) fail_msg("%s: %s (%s)", #expression, error.message, error.file);                 \
    } while (0)

/* An empty folder, whatever was there before. */
static inline void fixture_folder(const char *path)
{
    splat_error error;
    ASSERT_OK(splat_folder_delete(path, &error));
    ASSERT_OK(splat_folder_create(path, &error));
}

static inline void fixture_bytes(const char *path, const void *data, size_t size)
{
    /* cut to length after writing: sweeps write thousands of files, and ext4 flushes one that was cut to zero before */
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, size), size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

static inline void fixture_text(const char *path, const char *text)
{
    fixture_bytes(path, text, strlen(text));
}

/* The call failed with this status, and its message or file contains the words. */
static inline void assert_failure(splat_status status, splat_status wanted, const splat_error *error, const char *words)
{
    char text[2048];
    if (status == SPLAT_OK) fail_msg("no error, but expected: %s", words);
    splat_error_format(error, text, sizeof text);
    if (status != wanted || !strstr(text, words))
        fail_msg("expected status %d, \"%s\"; got %d, %s", wanted, words, status, text);
}

/* Calls `check` with every prefix of the data, then with thousands of damaged copies. */
typedef void fixture_check(const uint8_t *data, size_t size, bool is_prefix);
static inline void fixture_sweep(const uint8_t *data, size_t size, fixture_check *check, uint32_t n_damaged)
{
    for (size_t length = 0; length < size; length++) check(data, length, true);
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    for (uint32_t i = 0; i < n_damaged; i++) {
        memcpy(copy, data, size);
        splat_random4 random = splat_random(7, SPLAT_STREAM_TEST, i, size);
        for (uint32_t k = 0; k <= random.x[0] % 3; k++) /* one to three bytes */
            copy[random.x[1 + k] % size] = (uint8_t)(random.x[1 + k] >> 24);
        check(copy, size, false);
    }
    free(copy);
}

#endif
