/* The viewer: messages, headers, and the server by a small WebSocket client. Without civetweb the latter is skipped. */
#include "scene_fixture.h"
#include "deep_json.h"
#include "red_model.h"
#include "web_client.h"

#include <math.h>
#include <turbojpeg.h>

/* ---------------------------------------------------------------- messages */

#define CAMERA "\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[2,0,0,0],\"fov_y\":90},\"size\":[320,200]"

static splat_status parse(const char *text, splat_viewer_message *message)
{
    splat_error error;
    return splat_viewer_message_parse(text, strlen(text), message, &error);
}

static void test_camera_of_a_message(void **state)
{
    (void)state;
    splat_viewer_message m;
    assert_int_equal(parse("{" CAMERA ",\"what\":\"normal\",\"moving\":true}", &m), SPLAT_OK);
    assert_true(m.has_wish && !m.has_ack && m.wish.moving);
    assert_int_equal(m.wish.seq, 7);
    assert_int_equal(m.wish.kind, SPLAT_VIEWER_NORMAL);
    assert_int_equal(m.wish.camera.width, 320);
    assert_float_equal(m.wish.camera.fy, 100, 1e-4); /* half the height at 90 degrees */
    assert_float_equal(m.wish.camera.rotation[0], 1, 1e-6);
    assert_float_equal(m.wish.camera.translation[2], -3, 1e-6);
}

static void test_commands_views_and_boxes(void **state)
{
    (void)state;
    splat_viewer_message m;
    static const char *const names[] = {"pause", "go on", "save", "stop"};
    for (int i = 0; i < SPLAT_VIEWER_N_COMMANDS; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"do\":\"%s\"}", names[i]);
        assert_int_equal(parse(text, &m), SPLAT_OK);
        assert_true(m.has_command && !m.has_wish && !m.has_ack && !m.has_sight);
        assert_int_equal(m.command, i);
    }
    assert_int_equal(parse("{\"sees\":false}", &m), SPLAT_OK);
    assert_true(m.has_sight && !m.sees);
    assert_int_equal(parse("{" CAMERA "}", &m), SPLAT_OK);
    assert_int_equal(m.wish.view, -1);
    assert_false(m.wish.has_box);
    assert_int_equal(parse("{" CAMERA ",\"what\":\"error\",\"view\":3,\"box\":[-1,-2,-3,4,5,6]}", &m), SPLAT_OK);
    assert_int_equal(m.wish.kind, SPLAT_VIEWER_ERROR);
    assert_int_equal(m.wish.view, 3);
    assert_true(m.wish.has_box);
    assert_float_equal(m.wish.box.low[1], -2, 0);
    assert_float_equal(m.wish.box.high[2], 6, 0);
}

/* A quarter turn about y takes the camera's z to the world's x. */
static void test_quaternion_turns_the_axes_of_the_camera_into_the_world(void **state)
{
    (void)state;
    splat_viewer_message m;
    assert_int_equal(parse("{\"camera\":{\"seq\":0,\"position\":[0,0,0],\"quaternion\":[1,0,1,0],\"fov_y\":60},"
                           "\"size\":[64,64]}", &m), SPLAT_OK);
    const float *r = m.wish.camera.rotation; /* world to camera: its last row is the camera's z in the world */
    assert_float_equal(r[6], 1, 1e-6);
    assert_float_equal(r[7], 0, 1e-6);
    assert_float_equal(r[8], 0, 1e-6);
    assert_float_equal(r[2], -1, 1e-6);
}

static void test_bad_messages_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{", "[]", "7", "{}", "{\"ack\":-1}", "{\"ack\":1.5}", "{\"ack\":4294967296}", "{\"ack\":1,\"ack\":1}",
        "{\"camera\":[]}", "{" CAMERA ",\"what\":\"money\"}", "{" CAMERA ",\"what\":1}", "{" CAMERA ",\"moving\":1}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2],\"quaternion\":[1,0,0,0],\"fov_y\":90},\"size\":[320,200]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,1e30],\"quaternion\":[1,0,0,0],\"fov_y\":90},\"size\":[320,200]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[0,0,0,0],\"fov_y\":90},\"size\":[320,200]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[1,0,0,0],\"fov_y\":180},\"size\":[320,200]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[1,0,0,0],\"fov_y\":90},\"size\":[15,200]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[1,0,0,0],\"fov_y\":90},\"size\":[4097,16]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[1,0,0,0],\"fov_y\":90},\"size\":[4096,4096]}",
        "{\"camera\":{\"seq\":7,\"position\":[1,2,3],\"quaternion\":[1,0,0,0],\"fov_y\":90}}", "{\"do\":\"dance\"}",
        "{\"do\":7}", "{\"sees\":1}", "{" CAMERA ",\"view\":-2}", "{" CAMERA ",\"view\":1.5}",
        "{" CAMERA ",\"view\":4294967296}", "{" CAMERA ",\"what\":\"error\"}", "{" CAMERA ",\"what\":\"photo\"}",
        "{" CAMERA ",\"box\":[0,0,0,1,1]}", "{" CAMERA ",\"box\":[0,0,0,1,-1,1]}", "{" CAMERA ",\"box\":7}",
        "{" CAMERA ",\"box\":[0,0,0,1,1,1e30]}"};
    splat_viewer_message m;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse(bad[i], &m) != SPLAT_ERROR_FORMAT) fail_msg("taken: %s", bad[i]);
    char *deep = deep_json(SPLAT_VIEWER_MESSAGE_MAX + 1);
    assert_int_equal(parse(deep, &m), SPLAT_ERROR_FORMAT);
    deep[SPLAT_VIEWER_MESSAGE_MAX] = 0;
    assert_int_equal(parse(deep, &m), SPLAT_ERROR_FORMAT);
    free(deep);
}

static void test_hosts_and_origins(void **state)
{
    (void)state;
    static const char *const good[] = {"localhost", "LocalHost:8080", "127.0.0.1:1", "192.168.1.7", "[::1]:80"};
    static const char *const bad[] = {"", "evil.example", "evil.example:8080", "localhost.evil", "127.0.0.1.evil",
                                      "127.0.0.1:80:80", "localhost:", "[::1", "1.2.3.4@evil", "localhost:8x"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_true(splat_viewer_host_is_good(good[i], ""));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (splat_viewer_host_is_good(bad[i], "")) fail_msg("taken: %s", bad[i]);
    assert_false(splat_viewer_host_is_good(NULL, ""));
    assert_true(splat_viewer_origin_is_good(NULL, "localhost:80"));
    assert_true(splat_viewer_origin_is_good("http://localhost:80", "localhost:80"));
    assert_false(splat_viewer_origin_is_good("http://localhost:81", "localhost:80"));
    assert_false(splat_viewer_origin_is_good("http://evil.example", "localhost:80"));
    assert_false(splat_viewer_origin_is_good("null", "localhost:80"));
    assert_false(splat_viewer_origin_is_good("http://localhost:8080.evil.example", "localhost:8080"));
    assert_false(splat_viewer_origin_is_good("http://localhost:80801", "localhost:8080"));
    assert_false(splat_viewer_origin_is_good("http://localhost:80", "localhost:8080"));
}

/* ---------------------------------------------------------------- the server */

#define AT_8080 "Host: localhost:8080\r\n"

static void test_pages_need_token_host_and_origin(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    char wrong[SPLAT_VIEWER_TOKEN_LENGTH + 1];
    memcpy(wrong, v->token, sizeof wrong);
    wrong[SPLAT_VIEWER_TOKEN_LENGTH - 1] = wrong[SPLAT_VIEWER_TOKEN_LENGTH - 1] == '0' ? '1' : '0';
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    assert_int_equal(ask(v, "GET", "/api/scene", v->token, LOCAL), 200);
    assert_int_equal(ask(v, "GET", "/etc/passwd", v->token, LOCAL), 404);
    assert_int_equal(ask(v, "GET", "/../../etc/passwd", v->token, LOCAL) / 100, 4);
    assert_int_equal(ask(v, "POST", "/", v->token, LOCAL "Content-Length: 0\r\n"), 405);
    assert_int_equal(ask(v, "GET", "/api/curves", v->token, LOCAL), 200);
    assert_int_equal(ask(v, "POST", "/api/path", wrong, LOCAL "Content-Length: 0\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/", wrong, LOCAL), 403);
    assert_int_equal(ask(v, "GET", "/", "", LOCAL), 403);
    assert_int_equal(ask(v, "GET", "/", v->token, "Host: evil.example\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL "Origin: http://evil.example\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/", v->token, AT_8080 "Origin: http://localhost:8080\r\n"), 200);
    assert_int_equal(ask(v, "GET", "/", v->token, AT_8080 "Origin: http://localhost:80801\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/", v->token, AT_8080 "Origin: http://localhost:8080.evil.example\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/ws", v->token, AT_8080 "Origin: http://localhost:80801\r\n" UPGRADE), 0);
    assert_int_equal(ask(v, "GET", "/ws", v->token, LOCAL UPGRADE), 101);
    assert_int_not_equal(ask(v, "GET", "/ws", wrong, LOCAL UPGRADE), 101);
    assert_int_not_equal(ask(v, "GET", "/ws", v->token, LOCAL "Origin: http://evil.example\r\n" UPGRADE), 101);
    assert_int_not_equal(ask(v, "GET", "/ws", v->token, "Host: evil.example\r\n" UPGRADE), 101);
    splat_viewer_close(v);
}

static void wish(int s, int seq)
{
    char text[512];
    snprintf(text, sizeof text, "{\"camera\":{\"seq\":%d,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":60},"
             "\"size\":[64,48],\"what\":\"color\",\"moving\":false}", seq);
    send_frame(s, 0x81, text);
}

static uint8_t *picture(size_t n)
{
    uint8_t *rgb = malloc(n);
    memset(rgb, 99, n);
    return rgb;
}

static void test_newest_camera_wins_and_one_picture_is_on_its_way(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    splat_viewer_job job;
    uint8_t data[65536];
    int s = dial_socket(v);
    wish(s, 1);
    assert_true(splat_viewer_take(v, 10, false, &job));
    assert_int_equal(job.wish.seq, 1);
    wish(s, 2);
    wish(s, 3);
    assert_false(splat_viewer_take(v, 0.3, false, &job)); /* 1 is not made yet */
    splat_viewer_deliver(v, &job, (splat_viewer_image){64, 48, NULL, picture(3 * 64 * 48)});
    size_t n = read_frame(s, data, sizeof data);
    assert_true(n > SPLAT_VIEWER_HEADER_BYTES + 100);
    assert_memory_equal(data, "SPLV\1\0\0\0", 8);
    assert_int_equal(data[12], 64);
    assert_int_equal(data[14], 48);
    assert_int_equal(data[18], 1);
    assert_memory_equal(data + SPLAT_VIEWER_HEADER_BYTES, "\xff\xd8\xff", 3); /* a JPEG */
    assert_false(splat_viewer_take(v, 0.3, false, &job)); /* nor has 1 been acknowledged */
    send_frame(s, 0x81, "{\"ack\":1}");
    assert_true(splat_viewer_take(v, 10, false, &job));
    assert_int_equal(job.wish.seq, 3);
    splat_viewer_deliver(v, &job, (splat_viewer_image){0}); /* failed: the client may ask again */
    wish(s, 4);
    assert_true(splat_viewer_take(v, 10, false, &job));
    close(s);
    splat_viewer_deliver(v, &job, (splat_viewer_image){64, 48, NULL, picture(3 * 64 * 48)}); /* gone, or about to go */
    splat_viewer_close(v);
}

static void test_what_the_page_does_not_send_closes(void **state)
{
    (void)state;
    static const struct {
        int bits;
        const char *text;
    } bad[] = {{0x81, "hello"}, {0x82, "{\"ack\":1}"}, {0x01, "{\"ack\":1}"}, {0xc1, "{\"ack\":1}"}};
    splat_viewer *v = open_viewer();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int s = dial_socket(v);
        send_frame(s, bad[i].bits, bad[i].text);
        if (!is_closed(s)) fail_msg("message %zu was taken", i);
        close(s);
    }
    int s = dial_socket(v);
    for (int i = 0; i < 300; i++) {
        uint8_t frame[] = {0x81, 0x80 | 9, 0, 0, 0, 0, '{', '"', 'a', 'c', 'k', '"', ':', '1', '}'};
        if (send(s, frame, sizeof frame, MSG_NOSIGNAL) < 0) break;
    }
    assert_true(is_closed(s)); /* too many a second */
    close(s);
    splat_viewer_close(v);
}

static void test_clients_are_few(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    int s[SPLAT_VIEWER_CLIENTS_MAX];
    splat_viewer_job job;
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
        s[i] = dial_socket(v);
        wish(s[i], i); /* seen: the client is in the list */
        assert_true(splat_viewer_take(v, 10, false, &job));
    }
    assert_int_not_equal(ask(v, "GET", "/ws", v->token, LOCAL UPGRADE), 101);
    assert_int_equal(ask(v, "GET", "/", v->token, LOCAL), 200);
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) close(s[i]);
    splat_viewer_close(v);
}

#define PATH_BEGIN "{\"format\":\"splatsmith camera path\",\"keyframes\":["
#define PATH_KEY "{\"time\":0,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":50}"

static void assert_kept_path(splat_viewer *v, const char *text)
{
    pthread_mutex_lock(&v->mutex);
    assert_string_equal(v->path_json, text);
    pthread_mutex_unlock(&v->mutex);
}

static void test_a_path_is_kept_as_it_came(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    char *long_text = malloc(70001);
    memset(long_text, ' ', 70000);
    long_text[70000] = '\0';
    assert_int_equal(post_path(v, PATH_BEGIN PATH_KEY "]} ", NULL), 200);
    assert_kept_path(v, PATH_BEGIN PATH_KEY "]} ");
    assert_int_equal(post_path(v, PATH_BEGIN "]}", NULL), 400);
    assert_int_equal(post_path(v, "hello", NULL), 400);
    assert_int_equal(post_path(v, long_text, NULL), 413);
    assert_kept_path(v, PATH_BEGIN PATH_KEY "]} ");
    free(long_text);
    splat_viewer_close(v);
}

static void test_the_picture_shows_the_splat(void **state)
{
    (void)state;
    splat_viewer *v = open_viewer();
    splat_context_options options;
    splat_context *context;
    splat_error error;
    const float blue[3] = {0, 0, 1};
    uint8_t data[65536], rgb[48][64][3];
    bool rendered;
    double opacity;
    splat_context_options_init(&options);
    options.backend = "cpu";
    ASSERT_OK(splat_context_create(&options, &context, &error));
    splat_model *model = red_model(context);
    ASSERT_OK(splat_viewer_serve(v, model, blue, 0, &rendered, &error));
    assert_false(rendered); /* nobody looks */
    int s = dial_socket(v);
    wish(s, 1);
    ASSERT_OK(splat_viewer_serve(v, model, blue, 10, &rendered, &error));
    assert_true(rendered);
    size_t n = read_frame(s, data, sizeof data);
    tjhandle decoder = tjInitDecompress();
    assert_int_equal(tjDecompress2(decoder, data + SPLAT_VIEWER_HEADER_BYTES, n - SPLAT_VIEWER_HEADER_BYTES, rgb[0][0],
                                   64, 0, 48, TJPF_RGB, 0), 0);
    tjDestroy(decoder);
    assert_true(rgb[24][32][0] > 200 && rgb[24][32][2] < 50);
    assert_true(rgb[2][2][0] < 50 && rgb[2][2][2] > 200);
    send_frame(s, 0x81, "{\"ack\":1}");
    send_frame(s, 0x81, "{\"camera\":{\"seq\":2,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":60},"
                        "\"size\":[64,48],\"box\":[-1,-1,2.1,1,1,3]}");
    ASSERT_OK(splat_viewer_serve(v, model, blue, 10, &rendered, &error));
    n = read_frame(s, data, sizeof data);
    decoder = tjInitDecompress();
    assert_int_equal(tjDecompress2(decoder, data + SPLAT_VIEWER_HEADER_BYTES, n - SPLAT_VIEWER_HEADER_BYTES, rgb[0][0],
                                   64, 0, 48, TJPF_RGB, 0), 0);
    tjDestroy(decoder);
    assert_true(rgb[24][32][0] < 50 && rgb[24][32][2] > 200); /* it lies outside the box */
    ASSERT_OK(splat_model_get_mean_opacity(model, &opacity, &error));
    assert_float_equal(opacity, 1 / (1 + exp(-8)), 1e-6); /* and was hidden for that picture alone */
    close(s);
    splat_model_destroy(model);
    splat_context_destroy(context);
    splat_viewer_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_camera_of_a_message),
        cmocka_unit_test(test_commands_views_and_boxes),
        cmocka_unit_test(test_quaternion_turns_the_axes_of_the_camera_into_the_world),
        cmocka_unit_test(test_bad_messages_are_refused),
        cmocka_unit_test(test_hosts_and_origins),
        cmocka_unit_test(test_pages_need_token_host_and_origin),
        cmocka_unit_test(test_newest_camera_wins_and_one_picture_is_on_its_way),
        cmocka_unit_test(test_what_the_page_does_not_send_closes),
        cmocka_unit_test(test_clients_are_few),
        cmocka_unit_test(test_a_path_is_kept_as_it_came),
        cmocka_unit_test(test_the_picture_shows_the_splat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
