/* Pictures that are damaged, cut or lie about themselves, and files that are none: always an error with a sentence. */
#include "image_fixture.h"

#include "base/file.h"
#include "io/picture/image_read.h"

#include <zlib.h>

/* An error with a sentence and a file, or a whole picture. */
static splat_status decode_any(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* exactly as long: reading beyond is seen by the sanitizers */
    assert_non_null(copy);
    if (size) memcpy(copy, data, size);
    splat_image image;
    splat_error error = {0};
    splat_status status = splat_image_decode("damaged", copy, size, &image, &error);
    if (status == SPLAT_OK) {
        assert_true(image.width > 0 && image.height > 0 && image.pixels);
        volatile uint8_t last = image.pixels[image_bytes(&image) - 1];
        (void)last;
        splat_image_free(&image);
    } else {
        assert_null(image.pixels);
        assert_int_equal(error.status, status);
        assert_true(strlen(error.message) > 20);
        assert_string_equal(error.file, "damaged");
        assert_true(error.offset == SPLAT_NO_OFFSET || error.offset <= size);
    }
    free(copy);
    return status;
}

/* Every prefix must fail, also when only the header is read and it is incomplete. */
static void check_prefixes(const char *name, const uint8_t *data, size_t size)
{
    assert_int_equal(decode_any(data, size), SPLAT_OK);
    for (size_t length = 0; length < size; length++) {
        splat_status status = decode_any(data, length);
        if (status != SPLAT_ERROR_FORMAT && !(length < 8 && status == SPLAT_ERROR_UNSUPPORTED))
            fail_msg("%s cut to %zu bytes gives status %d", name, length, status);
    }
}

static void check_corruptions(const uint8_t *data, size_t size, bool fix_crc)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xFF, 0x10};
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    size_t chunk = 8, chunk_length = fix_crc ? png_get_uint_32(data + chunk) : 0;
    for (size_t i = 0; i < size; i++) {
        while (fix_crc && i >= chunk + 12 + chunk_length && chunk + 12 + chunk_length < size) {
            chunk += 12 + chunk_length;
            chunk_length = png_get_uint_32(data + chunk);
        }
        for (size_t k = 0; k < sizeof flips; k++) {
            memcpy(copy, data, size);
            copy[i] ^= flips[k];
            if (fix_crc) { /* keeps the checksum right, as an attacker would */
                uint32_t crc = (uint32_t)crc32(0, copy + chunk + 4, (unsigned)chunk_length + 4);
                png_save_uint_32(copy + chunk + 8 + chunk_length, crc);
            }
            decode_any(copy, size);
        }
    }
    free(copy);
}

static void test_damaged_jpeg(void **state)
{
    (void)state;
    check_prefixes("JPEG", jpeg_tiny, sizeof jpeg_tiny);
    check_prefixes("progressive JPEG", jpeg_tiny_progressive, sizeof jpeg_tiny_progressive);
    check_corruptions(jpeg_tiny, sizeof jpeg_tiny, false);
    check_corruptions(jpeg_tiny_progressive, sizeof jpeg_tiny_progressive, false);
}

static void test_damaged_png(void **state)
{
    (void)state;
    static const struct { int color_type, depth; bool interlaced, transparent; } kinds[] = {
        {PNG_COLOR_TYPE_RGB, 8, false, false},
        {PNG_COLOR_TYPE_PALETTE, 4, true, true},
        {PNG_COLOR_TYPE_GRAY, 16, false, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        memory_file file = odd_png(kinds[i].color_type, kinds[i].depth, kinds[i].interlaced, kinds[i].transparent);
        check_prefixes("PNG", file.data, file.size);
        check_corruptions(file.data, file.size, false);
        check_corruptions(file.data, file.size, true);
        free(file.data);
    }
}

static void test_probe_of_prefixes(void **state)
{
    (void)state;
    memory_file png = odd_png(PNG_COLOR_TYPE_PALETTE, 4, false, true);
    const struct { const uint8_t *data; size_t size; } files[] = {{jpeg_tiny, sizeof jpeg_tiny}, {png.data, png.size}};
    for (size_t i = 0; i < 2; i++) {
        bool seen = false;
        for (size_t length = 0; length <= files[i].size; length++) {
            int probed[3];
            splat_error error = {0};
            assert_int_equal(splat_file_write("probe", files[i].data, length, NULL), SPLAT_OK);
            splat_status status = splat_image_probe("probe", &probed[0], &probed[1], &probed[2], &error);
            if (status != SPLAT_OK) {
                assert_false(seen); /* what a short file says, a longer one says too */
                assert_true(strlen(error.message) > 20);
                assert_string_equal(error.file, "probe");
            } else {
                seen = true;
                assert_int_equal(probed[2], i == 0 ? 3 : 4);
            }
        }
        assert_true(seen);
    }
    free(png.data);
}

static void test_absurd_sizes(void **state)
{
    (void)state;
    /* A PNG whose header, with a right checksum, claims more than the file can hold: refused before allocating. */
    static const struct { uint32_t width, height; splat_status status; const char *text; } sizes[] = {
        {65501, 1, SPLAT_ERROR_FORMAT, "sides"}, {1, 0x7FFFFFFF, SPLAT_ERROR_FORMAT, "damaged"},
        {65500, 65500, SPLAT_ERROR_UNSUPPORTED, "2 GiB"}, {20000, 20000, SPLAT_ERROR_FORMAT, "cannot fit"},
        {0, 5, SPLAT_ERROR_FORMAT, "damaged"}};
    memory_file file = odd_png(PNG_COLOR_TYPE_RGB, 8, false, false);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        png_save_uint_32(file.data + 16, sizes[i].width);
        png_save_uint_32(file.data + 20, sizes[i].height);
        png_save_uint_32(file.data + 29, (uint32_t)crc32(0, file.data + 12, 17));
        splat_image image;
        splat_error error = {0};
        assert_int_equal(splat_image_decode("huge.png", file.data, file.size, &image, &error), sizes[i].status);
        if (!strstr(error.message, sizes[i].text)) fail_msg("size %zu: %s", i, error.message);
    }
    free(file.data);
    uint8_t data[sizeof jpeg_tiny];
    memcpy(data, jpeg_tiny, sizeof data);
    size_t frame = find_marker(data, sizeof data, 0xC0);
    memset(data + frame + 4, 0x40, 4); /* 16448 x 16448 */
    splat_image image;
    splat_error error = {0};
    assert_int_equal(splat_image_decode("huge.jpg", data, sizeof data, &image, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "cannot fit"));
}

static void test_files_that_are_no_pictures(void **state)
{
    (void)state;
    splat_image image;
    splat_error error = {0};
    int probed[3];
    assert_int_equal(splat_image_read("absent.png", &image, &error), SPLAT_ERROR_IO);
    assert_string_equal(error.file, "absent.png");
    assert_int_equal(splat_image_probe("absent.png", &probed[0], &probed[1], &probed[2], &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_image_read(".", &image, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_image_probe(".", &probed[0], &probed[1], &probed[2], &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_file_write("text.png", "GIF89a is another format", 24, NULL), SPLAT_OK);
    assert_int_equal(splat_image_read("text.png", &image, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "JPEG"));
    assert_non_null(strstr(error.message, "PNG"));
    assert_string_equal(error.file, "text.png");
    assert_int_equal(splat_image_probe("text.png", &probed[0], &probed[1], &probed[2], &error),
                     SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(splat_image_read("absent.png", &image, NULL), SPLAT_ERROR_IO); /* error may be NULL */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_jpeg),      cmocka_unit_test(test_damaged_png),
        cmocka_unit_test(test_probe_of_prefixes), cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_files_that_are_no_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
