/* Codebooks and palettes: numbers and rows that come in groups are replaced by the middles of their groups. */
#include "check.h"
#include "io/splat/codebook.h"
#include "ops/densify/densify_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number of [0, 1), the same for the same i. */
static float noise(uint64_t i)
{
    return splat_uniform(splat_random(3, SPLAT_STREAM_TEST, 0, i).x[0]);
}

/* Many values near 0 and few up to 100: the many lie near a number of the codebook, the few not far from one. */
static void numbers_lie_near_a_codebook(void **state)
{
    (void)state;
    enum { N = 20000 };
    static float values[N], book[SPLAT_CODEBOOK_SIZE];
    splat_error error;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < N; i++) values[i] = i % 100 ? noise(i) : 100 * noise(i);
    ASSERT_OK(splat_codebook_make(values, N, book, &error));
    for (int k = 1; k < SPLAT_CODEBOOK_SIZE; k++) assert_true(book[k] >= book[k - 1]);
    for (size_t i = 0; i < N; i++) {
        float least = INFINITY, found = fabsf(book[splat_codebook_find(book, values[i])] - values[i]);
        for (int k = 0; k < SPLAT_CODEBOOK_SIZE; k++) least = fminf(least, fabsf(book[k] - values[i]));
        assert_true(found == least);
        sum += i % 100 ? (double)found : 0;
        largest = fmax(largest, (double)found);
    }
    assert_true(sum / N < 0.25 / 100);    /* 100 even steps in [0, 1) are that far off on average */
    assert_true(largest < 0.5 * 100 / 64); /* 64 even steps in [0, 100) */
}

/* Numbers below, above and halfway. */
static void the_nearest_number_is_found(void **state)
{
    (void)state;
    float book[SPLAT_CODEBOOK_SIZE];
    for (int k = 0; k < SPLAT_CODEBOOK_SIZE; k++) book[k] = (float)(k * k);
    assert_int_equal(splat_codebook_find(book, -5), 0);
    assert_int_equal(splat_codebook_find(book, 1e9f), 255);
    for (int k = 0; k < 255; k++) {
        assert_int_equal(splat_codebook_find(book, book[k]), k);
        assert_int_equal(splat_codebook_find(book, book[k] + 0.49f * (book[k + 1] - book[k])), k);
        assert_int_equal(splat_codebook_find(book, book[k] + 0.51f * (book[k + 1] - book[k])), k + 1);
    }
}

/* Sixteen groups of rows, tight and of unequal sizes, whose middles differ in every pair of the columns: each becomes a
 * colour of its own. */
static void groups_become_colors(void **state)
{
    (void)state;
    enum { GROUPS = 16, N = 1000, WIDTH = 3 };
    for (int turn = 0; turn < WIDTH; turn++) {
        static float rows[N * WIDTH], colors[GROUPS * WIDTH];
        static uint32_t labels[N];
        double mean[GROUPS][WIDTH] = {{0}};
        size_t n_made, sizes[GROUPS] = {0};
        uint32_t label_of[GROUPS];
        splat_error error;
        for (size_t i = 0; i < N; i++) {
            size_t g = i < 400 ? i % 2 : i % GROUPS;
            const float middle[WIDTH] = {(float)(g % 4) * 10, (float)(g / 4) * 7, 0};
            sizes[g]++;
            for (size_t k = 0; k < WIDTH; k++) {
                rows[WIDTH * i + k] = middle[(k + (size_t)turn) % WIDTH] + 0.2f * noise(WIDTH * i + k);
                mean[g][k] += (double)rows[WIDTH * i + k];
            }
            label_of[g] = UINT32_MAX;
        }
        ASSERT_OK(splat_palette_make(rows, N, WIDTH, GROUPS, colors, &n_made, labels, &error));
        assert_int_equal(n_made, GROUPS);
        for (size_t i = 0; i < N; i++) {
            size_t g = i < 400 ? i % 2 : i % GROUPS;
            if (label_of[g] == UINT32_MAX) label_of[g] = labels[i];
            assert_int_equal(labels[i], label_of[g]);
            assert_true(labels[i] < GROUPS);
        }
        for (size_t g = 0; g < GROUPS; g++)
            for (size_t k = 0; k < WIDTH; k++)
                assert_float_equal(colors[WIDTH * label_of[g] + k], mean[g][k] / (double)sizes[g], 1e-4);
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double square_error(const float *x, size_t n, double *mean)
{
    double sum = 0;
    *mean = 0;
    for (size_t i = 0; i < n; i++) *mean += (double)x[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    return sum;
}

/* With rows of one number the rule is short: of the sorted numbers, the run with the largest error is cut at its
 * mean. */
static void the_worst_set_is_cut_first(void **state)
{
    (void)state;
    enum { N = 300, MOST = 40 };
    static float rows[N], sorted[N], colors[MOST];
    static uint32_t labels[N];
    for (size_t i = 0; i < N; i++) sorted[i] = rows[i] = powf(noise(i), 3) * 100;
    qsort(sorted, N, sizeof *sorted, by_size);
    for (size_t wanted = 1; wanted <= MOST; wanted++) {
        size_t starts[MOST + 1] = {0, N}, n_made;
        splat_error error;
        for (size_t n = 1; n < wanted; n++) {
            size_t worst = 0, at;
            double most = -1, mean, middle = 0;
            for (size_t s = 0; s < n; s++) {
                double own = square_error(sorted + starts[s], starts[s + 1] - starts[s], &mean);
                if (own > most) most = own, worst = s, middle = mean;
            }
            for (at = starts[worst]; (double)sorted[at] < middle; at++) continue;
            memmove(starts + worst + 2, starts + worst + 1, (n - worst) * sizeof *starts);
            starts[worst + 1] = at;
        }
        ASSERT_OK(splat_palette_make(rows, N, 1, wanted, colors, &n_made, labels, &error));
        assert_int_equal(n_made, wanted);
        qsort(colors, wanted, sizeof *colors, by_size);
        for (size_t s = 0; s < wanted; s++) {
            double mean;
            square_error(sorted + starts[s], starts[s + 1] - starts[s], &mean);
            assert_float_equal(colors[s], mean, 1e-4);
        }
    }
}

/* Rows that are all the same need one colour, whatever is allowed. */
static void equal_rows_need_one_color(void **state)
{
    (void)state;
    float rows[20], colors[20];
    uint32_t labels[10];
    size_t n_made;
    splat_error error;
    for (int i = 0; i < 20; i++) rows[i] = i % 2 ? 4 : -1.5f;
    ASSERT_OK(splat_palette_make(rows, 10, 2, 10, colors, &n_made, labels, &error));
    assert_int_equal(n_made, 1);
    assert_true(colors[0] == -1.5f && colors[1] == 4);
    for (int i = 0; i < 10; i++) assert_int_equal(labels[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_lie_near_a_codebook),
        cmocka_unit_test(the_nearest_number_is_found),
        cmocka_unit_test(groups_become_colors),
        cmocka_unit_test(the_worst_set_is_cut_first),
        cmocka_unit_test(equal_rows_need_one_color),
    };
    return cmocka_run_group_tests_name("codebook", tests, NULL, NULL);
}
