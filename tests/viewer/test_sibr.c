/* SIBR's network protocol: requests, and the listener by a client of a few lines. tests/viewer/viewer_sibr.py compares
 * its pictures with the program's renders. */
#include "scene_fixture.h"
#include "deep_json.h"
#include "dial.h"
#include "red_model.h"
#include "viewer/message.h"
#include "viewer/sibr_request.h"
#include "viewer/state.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>

/* ---------------------------------------------------------------- requests */

#define SIDES "\"resolution_x\":320,\"resolution_y\":200,"
#define FOVS "\"fov_x\":1.5707963,\"fov_y\":1.0,"
#define VIEW "\"view_matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 4,5,6,1]"

static splat_status parse(const char *text, splat_sibr_request *request)
{
    splat_error error;
    return splat_sibr_request_parse(text, strlen(text), request, &error);
}

/* A camera of OpenGL without a turn looks along -z with y up; ours has y down and looks along z. */
static void test_axes_of_opengl_become_ours(void **state)
{
    (void)state;
    splat_sibr_request r;
    assert_int_equal(parse("{" SIDES FOVS VIEW "}", &r), SPLAT_OK);
    assert_true(r.has_picture && r.trains);
    assert_float_equal(r.scaling, 1, 0);
    assert_int_equal(r.camera.width, 320);
    assert_int_equal(r.camera.height, 200);
    assert_float_equal(r.camera.fx, 160, 1e-3);
    assert_float_equal(r.camera.fy, 100 / tan(0.5), 1e-3);
    assert_float_equal(r.camera.cx, 160, 0);
    const float rotation[9] = {1, 0, 0, 0, -1, 0, 0, 0, -1}, translation[3] = {4, -5, -6}, center[3] = {-4, -5, -6};
    for (int k = 0; k < 9; k++) assert_float_equal(r.camera.rotation[k], rotation[k], 1e-6);
    for (int k = 0; k < 3; k++) assert_float_equal(r.camera.translation[k], translation[k], 1e-6);
    for (int k = 0; k < 3; k++) assert_float_equal(r.camera.center[k], center[k], 1e-6);
}

/* Columns one after the other: the second column's third number is row 2, column 1. */
static void test_matrices_are_by_columns(void **state)
{
    (void)state;
    splat_sibr_request r;
    assert_int_equal(parse("{" SIDES FOVS "\"view_matrix\":[1,0,0,0, 0,0,1,0, 0,-1,0,0, 0,0,0,1]}", &r), SPLAT_OK);
    assert_float_equal(r.camera.rotation[7], -1, 1e-6); /* row 2, column 1, of 1, negated */
    assert_float_equal(r.camera.rotation[5], 1, 1e-6);
    /* a quarter turn about y: the first column is 0, 0, -1 */
    assert_int_equal(parse("{" SIDES FOVS "\"view_matrix\":[0,0,-1,0, 0,1,0,0, 1,0,0,0, 0,0,0,1]}", &r), SPLAT_OK);
    assert_float_equal(r.camera.rotation[6], 1, 1e-6);
    assert_float_equal(r.camera.rotation[2], 1, 1e-6);
}

static void test_truths_and_scaling(void **state)
{
    (void)state;
    splat_sibr_request r;
    assert_int_equal(parse("{\"resolution_x\":0,\"resolution_y\":200,\"train\":false}", &r), SPLAT_OK);
    assert_true(!r.has_picture && !r.trains);
    assert_int_equal(parse("{\"resolution_x\":0,\"resolution_y\":0,\"train\":0}", &r), SPLAT_OK);
    assert_false(r.trains);
    assert_int_equal(parse("{\"resolution_x\":0,\"resolution_y\":0,\"train\":1}", &r), SPLAT_OK);
    assert_true(r.trains);
    assert_int_equal(parse("{" SIDES FOVS VIEW ",\"scaling_modifier\":0.25}", &r), SPLAT_OK);
    assert_float_equal(r.scaling, 0.25, 0);
    assert_int_equal(parse("{" SIDES FOVS VIEW ",\"scaling_modifier\":0}", &r), SPLAT_OK);
    assert_float_equal(r.scaling, 1e-3, 1e-9);
}

static void test_bad_requests_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{", "[]", "7", "{}", "{\"resolution_x\":1}", "{\"resolution_x\":-1,\"resolution_y\":0}",
        "{\"resolution_x\":4097,\"resolution_y\":1}", "{\"resolution_x\":1.5,\"resolution_y\":1}",
        "{\"resolution_x\":0,\"resolution_x\":0,\"resolution_y\":0}", "{" SIDES FOVS "\"x\":1}", "{" SIDES VIEW "}",
        "{\"resolution_x\":4096,\"resolution_y\":4096," FOVS VIEW "}", "{" SIDES "\"fov_x\":0,\"fov_y\":1," VIEW "}",
        "{" SIDES "\"fov_x\":1,\"fov_y\":3.2," VIEW "}", "{" SIDES "\"fov_x\":NaN,\"fov_y\":1," VIEW "}",
        "{" SIDES "\"fov_x\":1e999,\"fov_y\":1," VIEW "}", "{" SIDES FOVS "\"view_matrix\":[1,0,0]}",
        "{" SIDES FOVS "\"view_matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 4,5,6,2]}",
        "{" SIDES FOVS "\"view_matrix\":[1,0,0,4, 0,1,0,5, 0,0,1,6, 0,0,0,1]}",
        "{" SIDES FOVS "\"view_matrix\":[1,0,0,0, 0,1,0,0, 0,0,-1,0, 4,5,6,1]}",
        "{" SIDES FOVS "\"view_matrix\":[2,0,0,0, 0,2,0,0, 0,0,2,0, 4,5,6,1]}",
        "{" SIDES FOVS "\"view_matrix\":[0,0,0,0, 0,0,0,0, 0,0,0,0, 0,0,0,1]}",
        "{" SIDES FOVS "\"view_matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, 1e30,5,6,1]}",
        "{" SIDES FOVS "\"view_matrix\":[1,0,0,0, 0,1,0,0, 0,0,1,0, null,5,6,1]}",
        "{" SIDES FOVS VIEW ",\"view_projection_matrix\":7}", "{" SIDES FOVS VIEW ",\"scaling_modifier\":11}",
        "{" SIDES FOVS VIEW ",\"scaling_modifier\":\"1\"}", "{" SIDES FOVS VIEW ",\"train\":\"no\"}"};
    splat_sibr_request r;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (parse(bad[i], &r) != SPLAT_ERROR_FORMAT) fail_msg("taken: %s", bad[i]);
    char *deep = deep_json(SPLAT_SIBR_REQUEST_MAX + 1);
    assert_int_equal(parse(deep, &r), SPLAT_ERROR_FORMAT);
    deep[SPLAT_SIBR_REQUEST_MAX] = 0;
    assert_int_equal(parse(deep, &r), SPLAT_ERROR_FORMAT);
    free(deep);
}

static void test_lengths(void **state)
{
    (void)state;
    assert_int_equal(splat_sibr_request_length((const uint8_t *)"\x34\x12\0\0"), 0x1234);
    assert_int_equal(splat_sibr_request_length((const uint8_t *)"\0\x20\0\0"), SPLAT_SIBR_REQUEST_MAX);
    assert_int_equal(splat_sibr_request_length((const uint8_t *)"\1\x20\0\0"), 0);
    assert_int_equal(splat_sibr_request_length((const uint8_t *)"\1\0\0\x80"), 0);
    assert_int_equal(splat_sibr_request_length((const uint8_t *)"GET "), 0);
}

/* ---------------------------------------------------------------- the listener */

static splat_viewer *open_viewer(void)
{
    splat_viewer_options options;
    splat_viewer *viewer;
    splat_error error;
    splat_viewer_options_init(&options);
    options.port = -1; /* no page, so that civetweb is not needed */
    options.sibr_port = 0;
    ASSERT_OK(splat_viewer_open(&options, &viewer, &error));
    assert_string_equal(splat_viewer_get_address(viewer), "");
    assert_int_equal(splat_viewer_get_port(viewer), -1);
    return viewer;
}

static int dial(const splat_viewer *viewer)
{
    return dial_port(splat_viewer_get_sibr_port(viewer));
}

static void ask(int s, const char *text)
{
    const size_t n = strlen(text);
    const uint8_t head[4] = {(uint8_t)n, (uint8_t)(n >> 8), 0, 0};
    assert_int_equal(send(s, head, 4, MSG_NOSIGNAL), 4);
    assert_int_equal(send(s, text, n, MSG_NOSIGNAL), n);
}

/* From (0, 0, 0) along the world's z, y down: what OpenGL calls a half turn about x. */
#define ALONG_Z                                                                                                        \
    "{\"resolution_x\":64,\"resolution_y\":48,\"fov_x\":1.2,\"fov_y\":1.0,"                                            \
    "\"view_matrix\":[1,0,0,0, 0,-1,0,0, 0,0,-1,0, 0,0,0,1]"

static void read_picture(int s, uint8_t rgb[48][64][3])
{
    uint8_t path[4];
    assert_int_equal(recv(s, rgb, 48 * 64 * 3, MSG_WAITALL), 48 * 64 * 3);
    assert_int_equal(recv(s, path, 4, MSG_WAITALL), 4);
    assert_memory_equal(path, "\0\0\0\0", 4); /* there is no scene */
}

static int count_red(uint8_t rgb[48][64][3])
{
    int n = 0;
    for (int i = 0; i < 48 * 64; i++) n += rgb[i / 64][i % 64][0] > 128;
    return n;
}

static void test_pictures_of_a_splat(void **state)
{
    (void)state;
    static uint8_t rgb[48][64][3];
    const float blue[3] = {0, 0, 1};
    splat_context_options options;
    splat_context *context;
    splat_error error;
    bool rendered;
    splat_viewer *v = open_viewer();
    splat_context_options_init(&options);
    options.backend = "cpu";
    ASSERT_OK(splat_context_create(&options, &context, &error));
    splat_model *model = red_model(context);
    int s = dial(v);
    ask(s, ALONG_Z "}");
    ASSERT_OK(splat_viewer_serve(v, model, blue, 10, &rendered, &error));
    assert_true(rendered);
    read_picture(s, rgb);
    assert_true(rgb[24][32][0] > 200 && rgb[24][32][2] < 50);
    assert_true(rgb[2][2][0] < 50 && rgb[2][2][2] > 200);
    const int n_whole = count_red(rgb);
    ask(s, ALONG_Z "}"); /* the model stays as it is, and so does its picture: none is made */
    read_picture(s, rgb);
    assert_int_equal(count_red(rgb), n_whole);
    ask(s, ALONG_Z ",\"scaling_modifier\":0.5}");
    ASSERT_OK(splat_viewer_serve(v, model, blue, 10, &rendered, &error));
    read_picture(s, rgb);
    assert_true(count_red(rgb) < n_whole / 2 && count_red(rgb) > 10);
    ask(s, ALONG_Z "}");
    ASSERT_OK(splat_viewer_serve(v, model, blue, 10, &rendered, &error));
    read_picture(s, rgb);
    assert_int_equal(count_red(rgb), n_whole);
    ask(s, ALONG_Z ",\"scaling_modifier\":0.9}"); /* never made, and the end does not wait for it */
    splat_viewer_close(v);
    assert_true(recv(s, rgb, 1, 0) <= 0);
    close(s);
    splat_model_destroy(model);
    splat_context_destroy(context);
}

static bool is_closed(int s)
{
    char byte;
    struct pollfd p = {s, POLLIN, 0};
    return poll(&p, 1, 10000) == 1 && recv(s, &byte, 1, 0) <= 0;
}

static void test_one_at_a_time_and_the_protocol_alone(void **state)
{
    (void)state;
    uint8_t path[4];
    splat_viewer *v = open_viewer();
    int first = dial(v);
    ask(first, "{\"resolution_x\":0,\"resolution_y\":0}");
    assert_int_equal(recv(first, path, 4, MSG_WAITALL), 4);
    int second = dial(v);
    assert_true(is_closed(second));
    close(second);
    ask(first, "{\"resolution_x\":-1,\"resolution_y\":0}");
    assert_true(is_closed(first));
    close(first);
    int third = dial(v);
    send(third, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    assert_true(is_closed(third));
    close(third);
    pthread_mutex_lock(&v->mutex);
    assert_true(v->has_refused);
    pthread_mutex_unlock(&v->mutex);
    splat_viewer_close(v);
}

static void test_ports_and_hosts_that_cannot_be(void **state)
{
    (void)state;
    splat_viewer_options options;
    splat_viewer *viewer, *taken = open_viewer();
    splat_error error;
    splat_viewer_options_init(&options);
    options.port = -1;
    options.sibr_port = splat_viewer_get_sibr_port(taken);
    assert_int_equal(splat_viewer_open(&options, &viewer, &error), SPLAT_ERROR_IO);
    assert_null(viewer);
    options.sibr_host = "gpubox";
    assert_int_equal(splat_viewer_open(&options, &viewer, &error), SPLAT_ERROR_ARGUMENT);
    options.sibr_port = 65536;
    assert_int_equal(splat_viewer_open(&options, &viewer, &error), SPLAT_ERROR_ARGUMENT);
    splat_viewer_close(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes_of_opengl_become_ours),
        cmocka_unit_test(test_matrices_are_by_columns),
        cmocka_unit_test(test_truths_and_scaling),
        cmocka_unit_test(test_bad_requests_are_refused),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_pictures_of_a_splat),
        cmocka_unit_test(test_one_at_a_time_and_the_protocol_alone),
        cmocka_unit_test(test_ports_and_hosts_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
