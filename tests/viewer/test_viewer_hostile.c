/* The viewer's server against clients that mean ill, through its socket. Without civetweb all is skipped. */
#include "scene_fixture.h"
#include "base/clock.h"
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

/* ---------------------------------------------------------------- connections that hold workers */

#define N_IDLE 40 /* more than there were workers, fewer than there are */

/* They are served by threads of their own, and go when their header does not come. */
static void test_idle_connections_hold_up_nobody(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    int idle[N_IDLE];
    for (int i = 0; i < N_IDLE; i++) idle[i] = dial(v);
    const char half[] = "GET / HTTP/1.1\r\nHost: loc";
    for (int i = 0; i < N_IDLE; i += 2)
        assert_int_equal(send(idle[i], half, sizeof half - 1, MSG_NOSIGNAL), sizeof half - 1);
    const double begin = splat_clock_seconds();
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    assert_true(splat_clock_seconds() - begin < 3);
    for (int i = 0; i < N_IDLE; i++) {
        assert_true(is_closed(idle[i]));
        close(idle[i]);
    }
    assert_true(splat_clock_seconds() - begin < 9);
    splat_viewer_close(v);
}

#define N_FLOOD 200 /* several times as many as there are workers */

/* A flood of halves of a header ends the oldest of them, not the wait of somebody who sends a whole one. */
static void test_half_headers_hold_up_nobody(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    int half[N_FLOOD];
    const char text[] = "GET / HTTP/1.1\r\nHost: loc";
    for (int i = 0; i < N_FLOOD; i++) {
        half[i] = dial(v);
        assert_int_equal(send(half[i], text, sizeof text - 1, MSG_NOSIGNAL), sizeof text - 1);
    }
    const double begin = splat_clock_seconds();
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    const int page = dial_socket(v);
    const double seconds = splat_clock_seconds() - begin;
    if (seconds > 2) fail_msg("the page came after %.1f s", seconds);
    for (int i = 0; i < N_FLOOD; i++) close(half[i]);
    close(page);
    splat_viewer_close(v);
}

/* A header of which a letter comes now and then is no better. */
static void test_a_header_must_be_there_in_time(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    int s = dial(v);
    const double begin = splat_clock_seconds();
    struct pollfd p = {s, POLLIN, 0};
    while (poll(&p, 1, 300) == 0 && splat_clock_seconds() - begin < 15) send(s, "G", 1, MSG_NOSIGNAL);
    assert_true(splat_clock_seconds() - begin < 9);
    close(s);
    splat_viewer_close(v);
}

/* ---------------------------------------------------------------- frames */

/* The code of the close frame that comes next, after whatever else. */
static int read_close(int s)
{
    for (;;) {
        uint8_t head[2], data[65536];
        if (recv(s, head, 2, MSG_WAITALL) != 2) return 0;
        size_t n = head[1];
        if (n == 126) {
            if (recv(s, data, 2, MSG_WAITALL) != 2) return 0;
            n = (size_t)data[0] << 8 | data[1];
        }
        if (n > 126 && n >= sizeof data) return 0;
        if (n && recv(s, data, n, MSG_WAITALL) != (ssize_t)n) return 0;
        if ((head[0] & 15) == 8) return n >= 2 ? data[0] << 8 | data[1] : 0;
    }
}

static size_t resident_bytes(void)
{
    size_t all, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &all, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Announces a frame of this length and sends up to 128 MiB of it. The server must hold none of them. */
static void send_long(const splat_viewer *v, uint64_t length)
{
    static uint8_t megabyte[1 << 20];
    uint8_t head[14] = {0x81, 0x80 | 127};
    int s = dial_socket(v);
    for (int i = 0; i < 8; i++) head[2 + i] = (uint8_t)(length >> 8 * (7 - i));
    memset(megabyte, 'x', sizeof megabyte);
    const size_t before = resident_bytes();
    assert_int_equal(send(s, head, sizeof head, MSG_NOSIGNAL), sizeof head);
    for (int i = 0; i < 128 && send(s, megabyte, sizeof megabyte, MSG_NOSIGNAL) > 0; i++) continue;
    const size_t after = resident_bytes();
    if (after > before + (16 << 20))
        fail_msg("a frame of %llu bytes: the program grew by %zu MiB", (unsigned long long)length,
                 (after - before) >> 20);
    close(s);
}

static void test_a_long_frame_is_not_buffered(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    send_long(v, 0x7fff0000);
    send_long(v, 0x80000000);
    send_long(v, 100 << 20);
    send_long(v, UINT64_MAX);
    char *text = repeat("x", SPLAT_VIEWER_MESSAGE_MAX + 1);
    int s = dial_socket(v);
    send_frame(s, 0x81, text);
    assert_int_equal(read_close(s), 1009);
    close(s);
    free(text);
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    splat_viewer_close(v);
}

static void test_frames_must_be_masked(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    const uint8_t bare[] = {0x81, 9, '{', '"', 'a', 'c', 'k', '"', ':', '1', '}'};
    int s = dial_socket(v);
    send_frame(s, 0x81, "{\"ack\":1}");
    assert_int_equal(send(s, bare, sizeof bare, MSG_NOSIGNAL), sizeof bare);
    assert_int_equal(read_close(s), 1002);
    assert_true(is_closed(s));
    close(s);
    splat_viewer_close(v);
}

static void test_pings_and_goodbyes_are_answered(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    uint8_t data[7];
    int s = dial_socket(v);
    send_frame(s, 0x89, "there");
    do { /* the first text may come before */
        assert_int_equal(recv(s, data, 1, MSG_WAITALL), 1);
    } while (data[0] != 0x8a);
    assert_int_equal(recv(s, data + 1, 6, MSG_WAITALL), 6);
    assert_memory_equal(data, "\x8a\x05there", 7);
    send_frame(s, 0x88, "\x03\xe9");
    assert_int_equal(read_close(s), 1001);
    assert_true(is_closed(s));
    close(s);
    splat_viewer_close(v);
}

/* ---------------------------------------------------------------- headers */

static void test_one_host_alone(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL "Host: evil.example\r\n"), 400);
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL "host: localhost\r\n"), 400);
    assert_int_equal(ask(v, "GET", "/ws", v->token, LOCAL "Host: evil.example\r\n" UPGRADE), 0);
    assert_int_equal(ask(v, "GET", "/ws", v->token, LOCAL UPGRADE), 101);
    splat_viewer_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_json_is_refused_before_it_is_parsed),
        cmocka_unit_test(test_brackets_in_strings_do_not_count),
        cmocka_unit_test(test_idle_connections_hold_up_nobody),
        cmocka_unit_test(test_half_headers_hold_up_nobody),
        cmocka_unit_test(test_a_header_must_be_there_in_time),
        cmocka_unit_test(test_a_long_frame_is_not_buffered),
        cmocka_unit_test(test_frames_must_be_masked),
        cmocka_unit_test(test_pings_and_goodbyes_are_answered),
        cmocka_unit_test(test_one_host_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
