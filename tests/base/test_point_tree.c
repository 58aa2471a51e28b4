/* Nearest points against all pairs, and outliers against their definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/point_outliers.h"
#include "base/point_select.h"
#include "base/point_tree.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum layout { UNIFORM, LATTICE, IDENTICAL, N_LAYOUTS } layout;

static float *make_points(layout kind, size_t n, uint32_t seed)
{
    float *points = calloc(3 * n + 1, sizeof *points);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            float u = splat_uniform(splat_random(7, SPLAT_STREAM_TEST, seed, i).x[k]);
            points[3 * i + (size_t)k] = kind == UNIFORM ? u : kind == LATTICE ? floorf(6 * u) : 0.25f * (float)k;
        }
    return points;
}

typedef struct pair {
    float distance2;
    uint32_t index;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->distance2 != y->distance2) return x->distance2 < y->distance2 ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Row of k by sorting all distances; without neighbours: as the header says. */
static void search_all(const float *points, size_t n, const float *place, uint32_t k, uint32_t skip, float *distances2,
                       uint32_t *indices)
{
    pair *pairs = malloc((n + 1) * sizeof *pairs);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        float dx = place[0] - points[3 * i], dy = place[1] - points[3 * i + 1], dz = place[2] - points[3 * i + 2];
        if (i != skip) pairs[found++] = (pair){dx * dx + dy * dy + dz * dz, (uint32_t)i};
    }
    qsort(pairs, found, sizeof *pairs, compare_pairs);
    for (uint32_t m = 0; m < k; m++) {
        distances2[m] = m < found ? pairs[m].distance2 : INFINITY;
        indices[m] = m < found ? pairs[m].index : SPLAT_NO_POINT;
    }
    free(pairs);
}

static void compare_with_all(layout kind, size_t n, uint32_t k)
{
    enum { PLACES = 60 };
    float *points = make_points(kind, n, 1), *places = make_points(kind == UNIFORM ? UNIFORM : LATTICE, PLACES, 2);
    float distances2[32], expected_distances2[32], *rows = malloc(PLACES * k * sizeof *rows);
    uint32_t indices[32], expected[32], *row_indices = malloc(PLACES * k * sizeof *row_indices);
    splat_point_tree tree;
    splat_error error;
    for (size_t i = 0; i < 3 * PLACES; i++) places[i] = 1.5f * places[i] - 0.2f; /* outside of the points, too */
    if (n) memcpy(places, points, 12); /* and on one */
    assert_int_equal(splat_point_tree_make(&tree, points, n, 2, &error), SPLAT_OK);
    assert_int_equal(splat_point_tree_query(&tree, places, PLACES, k, 2, rows, row_indices, &error), SPLAT_OK);
    for (size_t i = 0; i < PLACES; i++) {
        search_all(points, n, places + 3 * i, k, SPLAT_NO_POINT, expected_distances2, expected);
        assert_memory_equal(rows + i * k, expected_distances2, 4 * k);
        assert_memory_equal(row_indices + i * k, expected, 4 * k);
        search_all(points, n, places + 3 * i, k, 0, expected_distances2, expected);
        for (uint32_t m = 0; m < k; m++) { /* no point is nearer than the nearest, and that one is as near as it is */
            float nearest = rows[i * k], reach = rows[i * k + m];
            assert_int_equal(splat_point_tree_has_within(&tree, places + 3 * i, reach), n > 0);
            assert_int_equal(splat_point_tree_has_within(&tree, places + 3 * i, 0.999f * nearest), n && nearest == 0);
        }
        splat_point_tree_nearest(&tree, places + 3 * i, k, 0, distances2, indices);
        assert_memory_equal(distances2, expected_distances2, 4 * k);
        assert_memory_equal(indices, expected, 4 * k);
    }
    splat_point_tree_free(&tree);
    free(points), free(places), free(rows), free(row_indices);
}

static void test_nearest(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 5, 16, 17, 40, 3000};
    static const uint32_t ks[] = {1, 5, 20, 32};
    for (layout kind = 0; kind < N_LAYOUTS; kind++)
        for (int c = 0; c < 7; c++)
            for (int k = 0; k < 4; k++) compare_with_all(kind, counts[c], ks[k]);
}

/* Trees and answers do not depend on the threads. */
static void test_threads(void **state)
{
    (void)state;
    enum { N = 20000, K = 7 };
    float *points = make_points(LATTICE, N, 3), *places = make_points(UNIFORM, N, 4);
    uint32_t *one = malloc(N * K * sizeof *one), *three = malloc(N * K * sizeof *three);
    splat_point_tree a, b;
    assert_int_equal(splat_point_tree_make(&a, points, N, 1, NULL), SPLAT_OK);
    assert_int_equal(splat_point_tree_make(&b, points, N, 3, NULL), SPLAT_OK);
    assert_memory_equal(a.points, b.points, splat_point_tree_bytes(N));
    assert_int_equal(splat_point_tree_query(&a, places, N, K, 1, NULL, one, NULL), SPLAT_OK);
    assert_int_equal(splat_point_tree_query(&b, places, N, K, 3, NULL, three, NULL), SPLAT_OK);
    assert_memory_equal(one, three, N * K * sizeof *one);
    assert_true(splat_point_tree_bytes(N) <= 24 * N); /* levels are powers of two: 18 to 23 bytes a point */
    splat_point_tree_free(&a);
    splat_point_tree_free(&b);
    free(points), free(places), free(one), free(three);
}

static int compare_indices(const void *a, const void *b)
{
    const splat_tree_point *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_lower(const splat_tree_point *a, const splat_tree_point *b)
{
    return a->place[1] < b->place[1] || (a->place[1] == b->place[1] && a->index < b->index);
}

/* Ranks of many points, which all threads look for together. */
static void test_select(void **state)
{
    (void)state;
    enum { N = 300001 };
    splat_tree_point *one = malloc(N * sizeof *one), *three = malloc(N * sizeof *three);
    for (layout kind = 0; kind < N_LAYOUTS; kind++)
        for (uint32_t rank = 0; rank < N; rank += N / 4) {
            float *points = make_points(kind, N, 5);
            for (uint32_t i = 0; i < N; i++) {
                memcpy(one[i].place, points + 3 * (size_t)i, sizeof one->place);
                one[i].index = i;
            }
            memcpy(three, one, N * sizeof *one);
            splat_points_select(one, 0, N, rank, 1, 1);
            splat_points_select(three, 0, N, rank, 1, 3);
            assert_memory_equal(one, three, N * sizeof *one);
            for (uint32_t i = 0; i < N; i++) assert_true(i == rank || is_lower(&one[i], &one[rank]) == (i < rank));
            qsort(one, N, sizeof *one, compare_indices); /* nothing is lost */
            for (uint32_t i = 0; i < N; i++)
                assert_true(one[i].index == i && memcmp(one[i].place, points + 3 * (size_t)i, 12) == 0);
            free(points);
        }
    free(one), free(three);
}

/* A tree whose first levels all threads make together. */
static void test_large_tree(void **state)
{
    (void)state;
    enum { N = 600000, K = 5 };
    float *points = make_points(UNIFORM, N, 8);
    uint32_t found[K], expected[K];
    float distances2[K], expected2[K];
    splat_point_tree a, b;
    assert_int_equal(splat_point_tree_make(&a, points, N, 1, NULL), SPLAT_OK);
    assert_int_equal(splat_point_tree_make(&b, points, N, 3, NULL), SPLAT_OK);
    assert_memory_equal(a.points, b.points, splat_point_tree_bytes(N));
    for (uint32_t i = 0; i < 3; i++) { /* search_all sorts all of them */
        const float *place = points + 3 * (size_t)(i * 199999);
        splat_point_tree_nearest(&b, place, K, SPLAT_NO_POINT, distances2, found);
        search_all(points, N, place, K, SPLAT_NO_POINT, expected2, expected);
        assert_memory_equal(found, expected, sizeof found);
        assert_memory_equal(distances2, expected2, sizeof distances2);
    }
    splat_point_tree_free(&a);
    splat_point_tree_free(&b);
    free(points);
}

static void test_tree_errors(void **state)
{
    (void)state;
    splat_point_tree tree;
    splat_error error;
    float points[9] = {0, 0, 0, 1, NAN, 1, 2, 2, 2}, distance2;
    uint32_t index;
    assert_int_equal(splat_point_tree_make(&tree, points, 3, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_string_equal(error.message, "point 1 has a coordinate that is not finite; remove it");
    splat_point_tree_free(&tree); /* nothing to free, but allowed */
    assert_int_equal(splat_point_tree_make(&tree, points, UINT32_MAX, 1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_point_tree_make(&tree, points, 1, 0, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_point_tree_make(&tree, points, 1, 1, &error), SPLAT_OK);
    assert_int_equal(splat_point_tree_query(&tree, points, 1, 0, 1, NULL, &index, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_point_tree_query(&tree, points, 1, 33, 1, NULL, &index, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_point_tree_query(&tree, points, 1, 1, 0, NULL, &index, &error), SPLAT_ERROR_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        const float place[3] = {0, i ? INFINITY : NAN, 0};
        splat_point_tree_nearest(&tree, place, 1, SPLAT_NO_POINT, &distance2, &index);
        assert_int_equal(index, SPLAT_NO_POINT);
        assert_true(isinf(distance2));
        assert_false(splat_point_tree_has_within(&tree, place, INFINITY));
    }
    splat_point_tree_free(&tree);
}

/* ---------------------------------------------------------------- outliers */

static splat_point_outlier_counts find_outliers(const float *points, size_t n, uint32_t k, double ratio, int threads,
                                                uint8_t *keep)
{
    const splat_point_outlier_options options = {.n_neighbors = k, .std_ratio = ratio, .threads = threads};
    splat_point_outlier_counts counts;
    assert_int_equal(splat_point_outliers(points, n, &options, keep, &counts, NULL), SPLAT_OK);
    assert_int_equal(counts.n_kept + counts.n_far + counts.n_duplicates, n);
    return counts;
}

/* Against the definition, in double, with 25 points in one place and two stragglers. */
static void test_outliers(void **state)
{
    (void)state;
    enum { N = 1500, K = 20, HEAP = 25 };
    const double ratio = 3;
    float *points = make_points(UNIFORM, N, 5), distances2[K];
    uint32_t indices[K];
    uint8_t keep[N], again[N];
    double d[N], mean = 0, squares = 0;
    for (size_t i = 0; i < HEAP; i++) memcpy(points + 3 * i, points, 12);
    points[3 * 700] = 9;
    points[3 * 900 + 2] = -4;
    splat_point_outlier_counts counts = find_outliers(points, N, K, ratio, 1, keep);
    for (size_t i = 0; i < N; i++) {
        search_all(points, N, points + 3 * i, K, SPLAT_NO_POINT, distances2, indices);
        d[i] = 0;
        for (int m = 0; m < K; m++) d[i] += sqrt((double)distances2[m]) / K;
        mean += d[i] / (N - HEAP);
    }
    for (size_t i = 0; i < N; i++) squares += d[i] > 0 ? (d[i] - mean) * (d[i] - mean) : 0;
    double threshold = mean + ratio * sqrt(squares / (N - HEAP - 1));
    for (size_t i = 0; i < N; i++) assert_int_equal(keep[i], d[i] > 0 && d[i] < threshold);
    assert_float_equal(counts.threshold / threshold, 1, 1e-5); /* d_i are floats */
    assert_int_equal(counts.n_duplicates, HEAP);
    assert_int_equal(counts.n_far, 2);
    assert_false(keep[0] || keep[HEAP - 1] || keep[700] || keep[900]);
    splat_point_outlier_counts other = find_outliers(points, N, K, ratio, 3, again);
    assert_memory_equal(keep, again, N);
    assert_memory_equal(&counts, &other, sizeof counts);
    free(points);
}

/* A cloud twenty times as sparse next to a dense one is no outlier where that is the size of its points. */
static void test_outlier_sizes(void **state)
{
    (void)state;
    enum { N = 3000, FAR = 60 };
    float *points = make_points(UNIFORM, N, 6), sizes[N];
    uint8_t keep[N];
    size_t n_kept[2] = {0};
    splat_point_outlier_options options = {.n_neighbors = 20, .std_ratio = 3, .threads = 2};
    for (size_t i = 0; i < N; i++) {
        sizes[i] = i < FAR ? 20 : 1;
        for (size_t k = 0; k < 3 && i < FAR; k++) points[3 * i + k] = 20 + 3 * points[3 * i + k];
    }
    for (int i = 0; i < 2; i++) {
        options.sizes = i ? sizes : NULL;
        assert_int_equal(splat_point_outliers(points, N, &options, keep, NULL, NULL), SPLAT_OK);
        for (size_t k = 0; k < FAR; k++) n_kept[i] += keep[k];
    }
    assert_int_equal(n_kept[0], 0);
    assert_int_equal(n_kept[1], FAR);
    free(points);
}

static void test_few_points(void **state)
{
    (void)state;
    const float points[9] = {0, 0, 0, 1, 0, 0, 0.5f, 0.8660254f, 0};
    uint8_t keep[3];
    splat_point_outlier_counts counts = find_outliers(points, 3, 20, 20, 1, keep); /* fewer than neighbours */
    assert_int_equal(counts.n_kept, 3); /* all on the threshold */
    assert_float_equal(counts.mean, 2.0 / 3, 1e-6);
    assert_int_equal(find_outliers(points, 1, 20, 20, 1, keep).n_duplicates, 1); /* alone: nothing to compare with */
    assert_int_equal(find_outliers(points, 0, 20, 20, 1, keep).n_kept, 0);
}

static void test_outlier_errors(void **state)
{
    (void)state;
    float points[6] = {0, 0, 0, 1, 1, INFINITY};
    uint8_t keep[2];
    splat_error error;
    splat_point_outlier_options options, good;
    splat_point_outlier_options_init(&good);
    options = good, options.n_neighbors = 1;
    assert_int_equal(splat_point_outliers(points, 1, &options, keep, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_string_equal(error.message, "outliers are found by 2 to 32 neighbours, not 1");
    options = good, options.std_ratio = NAN;
    assert_int_equal(splat_point_outliers(points, 1, &options, keep, NULL, &error), SPLAT_ERROR_ARGUMENT);
    options = good, options.threads = 0;
    assert_int_equal(splat_point_outliers(points, 1, &options, keep, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_point_outliers(points, 1, &good, keep, NULL, &error), SPLAT_OK);
    assert_int_equal(splat_point_outliers(points, 2, &good, keep, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_string_equal(error.message, "point 1 has a coordinate that is not finite; remove it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),    cmocka_unit_test(test_threads),    cmocka_unit_test(test_tree_errors),
        cmocka_unit_test(test_select),     cmocka_unit_test(test_large_tree),
        cmocka_unit_test(test_outliers),   cmocka_unit_test(test_few_points), cmocka_unit_test(test_outlier_errors),
        cmocka_unit_test(test_outlier_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
