/* Charts as SVG: well-formed for any text and any values, with what they should show. */
#include "bench_fixture.h"

#include "io/svg/svg_areas.h"
#include "io/svg/svg_chart.h"

#include <locale.h>
#include <math.h>

static const splat_chart chart = {"a <b> & \"c\" \x01", "x & y", "ms"};

static char *read_chart(const char *path)
{
    assert_xml_file(path);
    return fixture_read_text(path);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    while ((text = strstr(text, part))) {
        text++;
        n++;
    }
    return n;
}

static void test_series(void **state)
{
    const double values[5] = {10, 12, 11, 19, 10};
    splat_error error;
    (void)state;
    ASSERT_OK(splat_svg_series("series.svg", &chart, 100, values, 5, &error));
    char *text = read_chart("series.svg");
    assert_non_null(strstr(text, "a &lt;b&gt; &amp; &quot;c&quot; <"));
    assert_non_null(strstr(text, ">100<")); /* the first and the last number are on the axis */
    assert_non_null(strstr(text, ">104<"));
    assert_non_null(strstr(text, ">0<")); /* values far apart: from zero */
    assert_non_null(strstr(text, "points=\"80.00,"));
    assert_non_null(strstr(text, "880.00,")); /* to the right end */
    assert_int_equal(count(text, "<polyline"), 1);
    free(text);
}

/* No tick is missing, twice, or outside; no coordinate is NaN: constant, huge, tiny and negative values. */
static void test_odd_values(void **state)
{
    static const double sets[][3] = {{5, 5, 5},          {0, 0, 0},           {-3, -1, -2},
                                     {1e-9, 2e-9, 3e-9}, {1e12, 1e12 + 1, 1e12}, {1e-300, 1e300, 1}};
    splat_error error;
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        for (size_t n = 1; n <= 3; n += 2) {
            ASSERT_OK(splat_svg_series("odd.svg", &chart, 1, sets[i], n, &error));
            char *text = read_chart("odd.svg");
            int n_ticks = count(text, "stroke=\"#ddd\"");
            if (strstr(text, "nan") || strstr(text, "inf") || n_ticks < 3 || n_ticks > 14)
                fail_msg("set %zu, %zu values: %d ticks\n%s", i, n, n_ticks, text);
            free(text);
            ASSERT_OK(splat_svg_histogram("odd.svg", &chart, sets[i], n, &error));
            text = read_chart("odd.svg");
            assert_null(strstr(text, "nan"));
            free(text);
        }
}

static void test_many_values(void **state)
{
    enum { N = 100001 };
    static double values[N];
    splat_error error;
    (void)state;
    for (int i = 0; i < N; i++) values[i] = 10 + sin(i);
    values[70000] = 50; /* one spike must be seen */
    ASSERT_OK(splat_svg_series("many.svg", &chart, 0, values, N, &error));
    char *text = read_chart("many.svg");
    assert_int_equal(count(text, "<polyline"), 0);
    assert_int_equal(count(text, "stroke=\"#3366aa\""), 800);
    assert_true(strlen(text) < 100000);
    assert_int_equal(count(text, "y2=\"43.50\""), 1); /* up to the top */
    free(text);
}

static void test_histogram(void **state)
{
    enum { N = 1000 };
    static double values[N];
    splat_error error;
    (void)state;
    for (int i = 0; i < N; i++) values[(i * 7) % N] = 1 + i / 1000.0;
    values[3] = values[500] = 90; /* beyond */
    ASSERT_OK(splat_svg_histogram("histogram.svg", &chart, values, N, &error));
    char *text = read_chart("histogram.svg");
    assert_int_equal(count(text, "<rect"), 1 + 48);
    assert_int_equal(count(text, "<rect x="), 48);
    assert_int_equal(count(text, "#aa7733"), 2); /* the last bar, and its note */
    assert_non_null(strstr(text, "up to 90"));
    assert_non_null(strstr(text, "mean 1.677")); /* (1499.5 - 1.429 - 1.5 + 180) / 1000 */
    assert_non_null(strstr(text, "median 1.50"));
    assert_int_equal(count(text, "text-anchor=\"end\" stroke=\"white\""), 1); /* words go outwards: the median's, */
    assert_int_equal(count(text, "text-anchor=\"start\" stroke=\"white\""), 1); /* and the mean's */
    assert_true(strstr(text, "median 1.50") < strstr(text, "mean 1.677"));
    free(text);
}

static void test_errors(void **state)
{
    const double bad[2] = {1, NAN};
    splat_error error;
    (void)state;
    assert_failure(splat_svg_series("no.svg", &chart, 1, bad, 2, &error), SPLAT_ERROR_ARGUMENT, &error, "finite");
    assert_failure(splat_svg_histogram("no.svg", &chart, bad, 2, &error), SPLAT_ERROR_ARGUMENT, &error, "finite");
    assert_failure(splat_svg_series("no.svg", &chart, 1, bad, 0, &error), SPLAT_ERROR_ARGUMENT, &error, "at least one");
    assert_failure(splat_svg_series("absent/no.svg", &chart, 1, bad, 1, &error), SPLAT_ERROR_IO, &error, "absent");
    assert_false(splat_path_exists("no.svg"));
}

static double height_of(const char *text, const char *label)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "text-anchor=\"end\">%s<", label);
    const char *at = strstr(text, wanted);
    if (!at) fail_msg("no tick %s", label);
    while (strncmp(at, "y=\"", 3) != 0) at--;
    return strtod(at + 3, NULL);
}

/* Decades are as high as one another, ticks are 1, 2 and 5, zeros and gaps break the line. */
static void test_logarithmic_lines(void **state)
{
    (void)state;
    const double x[7] = {1, 2, 3, 4, 5, 6, 7}, values[7] = {0.03, 0.4, 0, 5, NAN, 20, 7};
    const splat_area_series line = {"loss", "#332288", values};
    splat_area_chart made = {.words = chart, .x = x, .n_points = 7, .lines = &line, .n_lines = 1, .log_y = true};
    splat_error error;
    ASSERT_OK(splat_svg_areas("log.svg", &made, &error));
    char *text = read_chart("log.svg");
    double decade = height_of(text, "0.1") - height_of(text, "1");
    assert_true(decade > 50);
    assert_true(fabs(height_of(text, "1") - height_of(text, "10") - decade) < 0.2);
    assert_true(fabs(height_of(text, "0.2") - height_of(text, "2") - decade) < 0.2);
    assert_true(fabs(height_of(text, "0.1") - height_of(text, "0.2") - decade * log10(2)) < 0.2);
    assert_null(strstr(text, ">0.01<")); /* from 0.02 to 20 */
    assert_null(strstr(text, ">50<"));
    height_of(text, "0.02");
    height_of(text, "20");
    const char *path = strstr(text, "stroke-width=\"2\" d=\"");
    int n_moves = 0, n_lines = 0;
    for (const char *at = path + 20; *at && *at != '"'; at++) {
        n_moves += *at == 'M';
        n_lines += *at == 'L';
    }
    assert_int_equal(n_moves, 3);
    assert_int_equal(n_lines, 2);
    assert_null(strstr(text, "nan"));
    free(text);
    for (int i = -9; i < 9; i++) assert_int_equal(splat_svg_log_number(splat_svg_log_tick(i), i % 2), i);
    assert_true(splat_svg_log_tick(-1) == 0.5 && splat_svg_log_tick(-3) == 0.1 && splat_svg_log_tick(5) == 50);
    const double nothing[1] = {0}; /* no value that could be shown */
    const splat_area_series empty = {"loss", "#332288", nothing};
    const double far[2] = {1e-300, 1e300}; /* few ticks all the same */
    const splat_area_series wide = {"loss", "#332288", far};
    for (int i = 0; i < 2; i++) {
        made.lines = i ? &wide : &empty;
        made.n_points = i ? 2 : 1;
        ASSERT_OK(splat_svg_areas("log.svg", &made, &error));
        text = read_chart("log.svg");
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        int n_ticks = count(text, "stroke=\"#ddd\"");
        if (n_ticks < 2 || n_ticks > 40) fail_msg("%d ticks", n_ticks);
        free(text);
    }
}

/* A program with decimal commas gets the same bytes. */
static void test_locale(void **state)
{
    const double values[3] = {1.5, 2.25, 1.75};
    splat_error error;
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8")) {
        print_message("SKIPPED: no locale with decimal commas is installed\n");
        return;
    }
    splat_status status = splat_svg_series("comma.svg", &chart, 1, values, 3, &error);
    setlocale(LC_ALL, "C");
    assert_int_equal(status, SPLAT_OK);
    ASSERT_OK(splat_svg_series("point.svg", &chart, 1, values, 3, &error));
    char *comma = read_chart("comma.svg"), *point = read_chart("point.svg");
    assert_string_equal(comma, point);
    free(comma);
    free(point);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_series),      cmocka_unit_test(test_odd_values),
                                       cmocka_unit_test(test_many_values), cmocka_unit_test(test_histogram),
                                       cmocka_unit_test(test_errors),      cmocka_unit_test(test_logarithmic_lines),
                                       cmocka_unit_test(test_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
