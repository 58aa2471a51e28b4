/* Blocks of large pages: aligned, zeroed, whole, and given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/large_pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void blocks_are_aligned_and_zero(void **state)
{
    (void)state;
    static const size_t sizes[4] = {1, SPLAT_LARGE_PAGE - 1, SPLAT_LARGE_PAGE, 3 * SPLAT_LARGE_PAGE + 5};
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 4; k++) {
            uint8_t *block = splat_large_alloc(sizes[k]);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % SPLAT_LARGE_PAGE, 0);
            assert_int_equal(block[0] | block[sizes[k] / 2] | block[sizes[k] - 1], 0);
            memset(block, 0xA5, sizes[k]);
            splat_large_free(block, sizes[k]);
        }
}

/* Pages of the system that the process has mapped. */
static long mapped(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

static void freed_blocks_go_back(void **state)
{
    (void)state;
    const long before = mapped(), large = (long)SPLAT_LARGE_PAGE / sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 100; i++) {
        void *block = splat_large_alloc(SPLAT_LARGE_PAGE + 1);
        assert_non_null(block);
        assert_true(mapped() - before < 4 * large);
        splat_large_free(block, SPLAT_LARGE_PAGE + 1);
    }
    assert_true(mapped() - before < large);
}

static void zeroed_blocks_are_zero_at_any_size(void **state)
{
    (void)state;
    static const size_t sizes[4] = {0, 1000, SPLAT_LARGE_BLOCK, SPLAT_LARGE_BLOCK + 1};
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 4; k++) {
            uint8_t *block = splat_zeroed_alloc(sizes[k]);
            assert_non_null(block);
            for (size_t i = 0; i < sizes[k]; i += 100) assert_int_equal(block[i], 0);
            if (sizes[k] > SPLAT_LARGE_BLOCK) assert_int_equal((uintptr_t)block % SPLAT_LARGE_PAGE, 0);
            memset(block, 0xA5, sizes[k]);
            splat_zeroed_free(block, sizes[k]);
        }
    assert_null(splat_zeroed_alloc(SIZE_MAX));
    splat_zeroed_free(NULL, SPLAT_LARGE_BLOCK + 1);
    splat_zeroed_free(NULL, 1);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_null(splat_large_alloc(0));
    assert_null(splat_large_alloc(SIZE_MAX));
    assert_null(splat_large_alloc(SIZE_MAX - SPLAT_LARGE_PAGE));
    assert_null(splat_large_alloc(SIZE_MAX / 2));
    splat_large_free(NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_zero),
        cmocka_unit_test(freed_blocks_go_back),
        cmocka_unit_test(zeroed_blocks_are_zero_at_any_size),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
