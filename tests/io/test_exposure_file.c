/* exposure.json: written and read again, and what is no such file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "io/exposure_file.h"

#include <stdlib.h>
#include <string.h>

#define CAMERA_X ", \"cameras\": {\"x\": [0, 0, 0]}}"
#define PHOTO_A(row) "{\"photos\": {\"a\": " row "}" CAMERA_X

static void a_file_comes_back(void **state)
{
    (void)state;
    splat_error error;
    splat_photo_exposure photos[] = {{"b.jpg", -0.5, {0.5, 0.75, 0.8}, 1}, {"sub/\xc3\xa4.png", 0.25, {1, 2, 3}, 0}};
    double cameras[2][3] = {{-0.1, 0.2, -0.3}, {0, 0, 1}};
    const splat_exposures written = {photos, 2, cameras, 2};
    splat_exposures read;
    assert_int_equal(splat_exposures_write(SPLAT_EXPOSURE_FILE, &written, &error), SPLAT_OK);
    assert_int_equal(splat_exposures_read(SPLAT_EXPOSURE_FILE, &read, &error), SPLAT_OK);
    assert_int_equal(read.n_photos, 2);
    assert_int_equal(read.n_cameras, 2);
    assert_null(splat_exposures_find(&read, "a.jpg"));
    for (int i = 0; i < 2; i++) {
        const splat_photo_exposure *photo = splat_exposures_find(&read, photos[i].name);
        assert_non_null(photo);
        assert_true(photo->ev == photos[i].ev && memcmp(photo->gain, photos[i].gain, sizeof photo->gain) == 0);
        assert_memory_equal(read.cameras[photo->camera], cameras[photos[i].camera], sizeof cameras[0]);
    }
    splat_exposures_file_free(&read);
}

static splat_status read_text(const char *text, size_t size)
{
    splat_error error;
    splat_exposures read;
    assert_int_equal(splat_file_write("hostile.json", text, size, &error), SPLAT_OK);
    splat_status status = splat_exposures_read("hostile.json", &read, &error);
    if (status == SPLAT_OK) splat_exposures_file_free(&read);
    else assert_true(read.photos == NULL && read.cameras == NULL && error.message[0]);
    return status;
}

static void other_files_are_refused(void **state)
{
    (void)state;
    static const char good[] = PHOTO_A("{\"ev\": 1, \"gain\": [1, 2, 3], \"camera\": \"x\"}");
    static const char *const wrong[] = {
        "[]", "{}", "{\"photos\": {}}", "{\"photos\": [], \"cameras\": {}}", PHOTO_A("1"),
        PHOTO_A("{\"ev\": \"1\", \"gain\": [1, 2, 3], \"camera\": \"x\"}"),
        PHOTO_A("{\"ev\": 1, \"gain\": [1, 2], \"camera\": \"x\"}"),
        PHOTO_A("{\"ev\": 1, \"gain\": [1, 0, 3], \"camera\": \"x\"}"),
        PHOTO_A("{\"ev\": 1, \"gain\": [1, -2, 3], \"camera\": \"x\"}"),
        PHOTO_A("{\"ev\": 1, \"gain\": [1, 1e300, 3], \"camera\": \"x\"}"),
        PHOTO_A("{\"ev\": 1e300, \"gain\": [1, 2, 3], \"camera\": \"x\"}"),
        "{\"photos\": {}, \"cameras\": {\"x\": [0, 0, -1e300]}}",
        PHOTO_A("{\"ev\": 1, \"gain\": [1, 2, 3], \"camera\": \"y\"}"),
        PHOTO_A("{\"ev\": 1, \"gain\": [1, 2, 3]}"),
        "{\"photos\": {}, \"cameras\": {\"x\": [0, 0, \"\"]}}"};
    assert_int_equal(read_text(good, strlen(good)), SPLAT_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(read_text(wrong[i], strlen(wrong[i])), SPLAT_ERROR_FORMAT);
    for (size_t n = 0; n < strlen(good); n++) assert_int_equal(read_text(good, n), SPLAT_ERROR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_comes_back), cmocka_unit_test(other_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
