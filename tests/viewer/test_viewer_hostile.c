/* The viewer's server against clients that mean ill, through its socket. Without civetweb all is skipped. */
#include "scene_fixture.h"
#include "web_client.h"

#define PATH_BEGIN "{\"format\":\"splatsmith camera path\",\"keyframes\":["
#define PATH_KEY "{\"time\":0,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":50}"

/* A text n times, in malloc'd memory. */
static char *repeat(const char *text, size_t n)
{
    const size_t length = strlen(text);
    char *all = malloc(n * length + 1);
    for (size_t i = 0; i < n; i++) memcpy(all + i * length, text, length);
    all[n * length] = '\0';
    return all;
}

/* ---------------------------------------------------------------- nested JSON */

static void post_nested(const splat_viewer *v, const char *text, size_t n)
{
    char said[SAID_MAX], *deep = repeat(text, n);
    assert_int_equal(post_path(v, deep, said), 400);
    assert_non_null(strstr(said, "nests arrays and objects deeper than 8 levels"));
    free(deep);
}

static void send_nested(const splat_viewer *v, const char *text, size_t n)
{
    char *deep = repeat(text, n);
    int s = dial_socket(v);
    send_frame(s, 0x81, deep);
    assert_true(is_closed(s));
    close(s);
    free(deep);
}

/* civetweb's threads have stacks of 100 KiB, which a parser that follows 2,000 levels does not fit. */
static void test_nested_json_is_refused_before_it_is_parsed(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    post_nested(v, "[", 2000);
    post_nested(v, "{\"a\":", 2000);
    post_nested(v, "[", 9);
    send_nested(v, "[", 2000);
    send_nested(v, "{\"a\":", 800);
    send_nested(v, "{\"a\":[", 600);
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    splat_viewer_close(v);
}

static void test_brackets_in_strings_do_not_count(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    splat_viewer_job job;
    char said[SAID_MAX], *brackets = repeat("[{\\\"", 500);
    char *path = splat_format(PATH_BEGIN PATH_KEY "],\"name\":\"%s\"}", brackets);
    assert_int_equal(post_path(v, path, NULL), 200);
    assert_int_equal(post_path(v, "[[[[[[[[]]]]]]]]", said), 400); /* eight levels are parsed, and are no path */
    assert_non_null(strstr(said, "this is no camera path"));
    char *text = splat_format("{\"camera\":{\"seq\":1,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":60},"
                              "\"size\":[64,48],\"name\":\"%s\"}", brackets);
    int s = dial_socket(v);
    send_frame(s, 0x81, text);
    assert_true(splat_viewer_take(v, 10, false, &job));
    close(s);
    free(text);
    free(path);
    free(brackets);
    splat_viewer_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_json_is_refused_before_it_is_parsed),
        cmocka_unit_test(test_brackets_in_strings_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
