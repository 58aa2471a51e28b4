/* Camera paths: what is one, and the cameras along it. */
#include "scene_fixture.h"
#include "io/camera_path.h"

#include <math.h>
#include <stdio.h>

#define HEAD "{\"format\":\"splatsmith camera path\",\"fps\":2,\"width\":320,\"height\":200,\"keyframes\":["
#define KEY(time) "{\"time\":" #time ",\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":40}"

static splat_status parse(const char *text, splat_camera_path *path, splat_error *error)
{
    return splat_camera_path_parse("path.json", text, strlen(text), path, error);
}

/* The same numbers as the page's pathAt has (tests/viewer/viewer_page.py): the middle of a camera is at `position`, its
 * axis is what the quaternion turns z to. */
static void test_cameras_run_through_the_keyframes(void **state)
{
    (void)state;
    splat_camera_path path;
    splat_error error;
    static const double wanted[] = {1.296875, 1.78125, 0.8125};
    const double w = 0.72829020, y = 0.68526884, length = sqrt(w * w + y * y);
    ASSERT_OK(parse(HEAD KEY(0) ",{\"time\":1,\"position\":[1,2,0],\"quaternion\":[-0.8,0,-0.6,0],\"fov_y\":50},"
                    "{\"time\":3,\"position\":[2,0,4],\"quaternion\":[6,0,8,0],\"fov_y\":60}]}", &path, &error));
    assert_int_equal(splat_camera_path_frames(&path), 7); /* both ends of three seconds at two a second */
    splat_camera c = splat_camera_path_at(&path, 3); /* at 1.5 s */
    for (int k = 0; k < 3; k++) assert_float_equal(c.center[k], wanted[k], 1e-5);
    assert_float_equal(c.rotation[6], 2 * w * y / (length * length), 1e-5); /* sin of the turn about y */
    assert_float_equal(c.rotation[8], (w * w - y * y) / (length * length), 1e-5);
    assert_float_equal(c.fy, 100 / tan(52.96875 * 3.14159265358979 / 360), 1e-3);
    assert_int_equal(c.width, 320);
    assert_float_equal(c.cx, 160, 0);
    c = splat_camera_path_at(&path, 2);
    assert_float_equal(c.center[1], 2, 1e-6); /* a keyframe */
    c = splat_camera_path_at(&path, 6);
    assert_float_equal(c.center[2], 4, 1e-6);
    splat_camera_path_free(&path);
    ASSERT_OK(parse(HEAD KEY(7) "]}", &path, &error));
    assert_int_equal(splat_camera_path_frames(&path), 1);
    c = splat_camera_path_at(&path, 0);
    assert_float_equal(c.center[0], 0, 0);
    splat_camera_path_free(&path);
}

static void test_pictures_of_the_least_and_the_largest_size(void **state)
{
    (void)state;
    static const int sides[] = {16, 16384};
    splat_camera_path path;
    splat_error error;
    for (int i = 0; i < 2; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"format\":\"splatsmith camera path\",\"fps\":2,\"width\":%d,\"height\":%d,"
                                    "\"keyframes\":[%s]}", sides[i], sides[i], KEY(0));
        ASSERT_OK(parse(text, &path, &error));
        assert_int_equal(path.width, sides[i]);
        assert_int_equal(path.height, sides[i]);
        splat_camera_path_free(&path);
    }
}

static void test_what_is_no_path_is_refused(void **state)
{
    (void)state;
    splat_camera_path path;
    splat_error error;
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "not JSON"}, {"[]", "no camera path"}, {"{}", "its format"}, {HEAD "]}", "1 to 10000 keyframes"},
               {HEAD KEY(0) "," KEY(0) "]}", "keyframe 2 is not a millisecond"}, {HEAD KEY(-1) "]}", "no time"},
               {HEAD KEY(0) "," KEY(86401) "]}", "no time"}, {HEAD "7]}", "keyframe 1 has no time"},
               {HEAD "{\"time\":0,\"position\":[0,0],\"quaternion\":[1,0,0,0],\"fov_y\":40}]}", "position"},
               {HEAD "{\"time\":0,\"position\":[0,0,1e9],\"quaternion\":[1,0,0,0],\"fov_y\":40}]}", "position"},
               {HEAD "{\"time\":0,\"position\":[0,0,0],\"quaternion\":[0,0,0,0],\"fov_y\":40}]}", "length 0"},
               {HEAD "{\"time\":0,\"position\":[0,0,0],\"quaternion\":[1,0,0],\"fov_y\":40}]}", "quaternion"},
               {HEAD "{\"time\":0,\"position\":[0,0,0],\"quaternion\":[1,0,0,0],\"fov_y\":161}]}", "fov_y"},
               {"{\"format\":\"splatsmith camera path\",\"fps\":0,\"keyframes\":[" KEY(0) "]}", "fps"},
               {"{\"format\":\"splatsmith camera path\",\"width\":15,\"keyframes\":[" KEY(0) "]}", "width"},
               {"{\"format\":\"splatsmith camera path\",\"height\":15,\"keyframes\":[" KEY(0) "]}", "height"},
               {"{\"format\":\"splatsmith camera path\",\"width\":99999,\"keyframes\":[" KEY(0) "]}", "width"},
               {"{\"format\":\"splatsmith camera path\",\"fps\":1000,\"keyframes\":[" KEY(0) "," KEY(5000) "]}",
                "at most 1000000 pictures"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_failure(parse(bad[i].text, &path, &error), SPLAT_ERROR_FORMAT, &error, bad[i].words);
    assert_failure(splat_camera_path_read("there/is/none.json", &path, &error), SPLAT_ERROR_IO, &error, "none.json");
}

static void sweep(const uint8_t *data, size_t size, bool is_prefix)
{
    splat_camera_path path;
    splat_error error;
    if (splat_camera_path_parse("path.json", (const char *)data, size, &path, &error) != SPLAT_OK) return;
    assert_false(is_prefix);
    const splat_camera c = splat_camera_path_at(&path, splat_camera_path_frames(&path) / 2);
    assert_true(isfinite(c.center[0]) && c.fx > 0);
    splat_camera_path_free(&path);
}

static void test_damaged_texts(void **state)
{
    (void)state;
    static const char text[] = HEAD KEY(0) "," KEY(1.5) "," KEY(3) "]}";
    fixture_sweep((const uint8_t *)text, sizeof text - 1, sweep, 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cameras_run_through_the_keyframes),
        cmocka_unit_test(test_pictures_of_the_least_and_the_largest_size),
        cmocka_unit_test(test_what_is_no_path_is_refused),
        cmocka_unit_test(test_damaged_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
