/* The value of a rank against sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compare.h"
#include "base/rng.h"
#include "base/select.h"

#include <stdlib.h>
#include <string.h>

static void ranks_are_those_of_sorting(void **state)
{
    (void)state;
    enum { MOST = 2000 };
    static const size_t counts[] = {1, 2, 3, 7, 100, MOST};
    float values[MOST], sorted[MOST], work[MOST];
    for (int kind = 0; kind < 5; kind++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            size_t n = counts[c];
            for (size_t i = 0; i < n; i++) {
                float u = splat_uniform(splat_random(3, SPLAT_STREAM_TEST, (uint32_t)kind, i).x[0]);
                /* random, few values, all equal, sorted, sorted backwards */
                values[i] = kind == 0 ? u - 0.5f : kind == 1 ? (float)(int)(4 * u) : kind == 2 ? 7 : (float)i;
                if (kind == 4) values[i] = -values[i];
            }
            memcpy(sorted, values, n * sizeof *sorted);
            qsort(sorted, n, sizeof *sorted, splat_compare_floats);
            for (size_t rank = 0; rank < n; rank += 1 + n / 37) {
                memcpy(work, values, n * sizeof *work);
                assert_true(splat_select_float(work, n, rank) == sorted[rank]);
                assert_true(work[rank] == sorted[rank]);
                for (size_t i = 0; i < n; i++)
                    assert_true(i < rank ? work[i] <= sorted[rank] : work[i] >= sorted[rank]);
                qsort(work, n, sizeof *work, splat_compare_floats); /* nothing is lost */
                assert_memory_equal(work, sorted, n * sizeof *work);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_are_those_of_sorting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
