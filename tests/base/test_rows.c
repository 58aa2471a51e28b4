/* base/rows.h against one row after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/rows.h"

#include <stdlib.h>
#include <string.h>

/* Kept rows: none, all, single rows, long stretches. */
static uint8_t stays(int kind, size_t i)
{
    uint32_t random = splat_random(7, SPLAT_STREAM_TEST, (uint32_t)kind, kind == 3 ? i / 1000 : i).x[0];
    return kind == 0 ? 0 : kind == 1 ? 1 : (uint8_t)(random & 6); /* any value but 0 keeps */
}

static void check_keep(size_t row_bytes, size_t n, int kind, int threads)
{
    uint8_t *rows = malloc(n * row_bytes + 1), *expected = malloc(n * row_bytes + 1), *keep = malloc(n + 1);
    size_t n_expected = 0;
    assert_true(rows && expected && keep);
    for (size_t i = 0; i < n * row_bytes; i++) rows[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < n; i++) {
        keep[i] = stays(kind, i);
        if (keep[i]) memcpy(expected + n_expected++ * row_bytes, rows + i * row_bytes, row_bytes);
    }
    assert_int_equal(splat_keep_rows(rows, row_bytes, n, keep, threads), n_expected);
    assert_memory_equal(rows, expected, n_expected * row_bytes);
    free(rows);
    free(expected);
    free(keep);
}

static void rows_keep_their_order(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 5000, 8193, 400001}, sizes[] = {1, 4, 12, 24};
    for (size_t c = 0; c < 5; c++)
        for (size_t s = 0; s < 4; s++)
            for (int kind = 0; kind < 4; kind++)
                for (int threads = 1; threads <= 5; threads += 2) check_keep(sizes[s], counts[c], kind, threads);
}

static void sums_are_those_of_one_thread(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8192, 8193, 300007};
    for (size_t c = 0; c < 5; c++)
        for (int threads = 1; threads <= 5; threads += 2) {
            uint32_t *counts = malloc((sizes[c] + 1) * sizeof *counts), sum = 0;
            assert_non_null(counts);
            for (size_t i = 0; i < sizes[c]; i++) counts[i] = stays(2, i);
            splat_add_up(counts, sizes[c], threads);
            for (size_t i = 0; i < sizes[c]; i++) assert_int_equal(counts[i], sum += stays(2, i));
            free(counts);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_keep_their_order),
        cmocka_unit_test(sums_are_those_of_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
