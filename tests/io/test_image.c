/* Pictures: decoding and the resize against Pillow, PNG round trips, and files that decoders only warn of. */
#include "image_fixture.h"

#include "base/clock.h"
#include "base/file.h"
#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "io/picture/image_write.h"
#include "io/picture/text.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static uint64_t fnv(const uint8_t *data, size_t n)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash;
}

static splat_image make_source(int kind, int channels, int width, int height)
{
    splat_image image = {width, height, channels, malloc((size_t)width * (size_t)height * (size_t)channels)};
    assert_non_null(image.pixels);
    uint8_t *p = image.pixels;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) *p++ = source_value(kind, x, y, c, width, height);
    return image;
}

/* ---------------------------------------------------------------- resize and compositing */

static void test_resize_equals_pillow(void **state)
{
    (void)state;
    size_t n_different = 0, n_compared = 0;
    for (size_t i = 0; i < sizeof golden_resizes / sizeof golden_resizes[0]; i++) {
        const golden_resize *golden = &golden_resizes[i];
        splat_image image = make_source(golden->kind, golden->channels, golden->width, golden->height);
        double start = splat_clock_seconds();
        assert_int_equal(splat_image_resize(&image, golden->new_width, golden->new_height, NULL), SPLAT_OK);
        double ms = 1e3 * (splat_clock_seconds() - start);
        assert_int_equal(image.width, golden->new_width);
        assert_int_equal(image.height, golden->new_height);
        assert_int_equal(image.channels, golden->channels);
        /* Weights are the same doubles, sums the same integers: large pictures must agree in every byte. */
        if (!golden->pixels) {
            print_message("%s: %d x %d in %.1f ms\n", golden->name, golden->width, golden->height, ms);
            assert_true(fnv(image.pixels, image_bytes(&image)) == golden->hash);
        } else {
            n_compared += image_bytes(&image);
            for (size_t k = 0; k < image_bytes(&image); k++) {
                int difference = abs(image.pixels[k] - golden->pixels[k]);
                n_different += difference != 0;
                if (difference > 1) /* the contract: equal to Pillow to 1/255 */
                    fail_msg("%s: byte %zu is %d, Pillow has %d", golden->name, k, image.pixels[k], golden->pixels[k]);
            }
        }
        splat_image_free(&image);
    }
    print_message("resize: %zu of %zu bytes differ from Pillow\n", n_different, n_compared);
    assert_int_equal(n_different, 0);
}

static void test_resize_refuses_bad_sizes(void **state)
{
    (void)state;
    splat_image image = make_source(0, 3, 4, 4);
    splat_error error;
    assert_int_equal(splat_image_resize(&image, 0, 4, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_image_resize(&image, 4, -1, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_image_resize(&image, SPLAT_IMAGE_MAX_SIDE + 1, 4, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(image.width, 4);
    splat_image_free(&image);
}

/* Hash of all 65536 (colour, alpha) pairs over a background. */
static uint64_t composite_hash(uint8_t background, bool truncate)
{
    splat_image image = {256, 256, 4, malloc(256 * 256 * 4)};
    assert_non_null(image.pixels);
    for (int i = 0; i < 65536; i++) {
        memset(image.pixels + 4 * i, i & 255, 3);
        image.pixels[4 * i + 3] = (uint8_t)(i >> 8);
    }
    assert_int_equal(splat_image_composite(&image, background, truncate, NULL), SPLAT_OK);
    assert_int_equal(image.channels, 3);
    for (size_t i = 0; i < 65536; i++) {
        assert_int_equal(image.pixels[3 * i], image.pixels[3 * i + 2]);
        image.pixels[i] = image.pixels[3 * i];
    }
    uint64_t hash = fnv(image.pixels, 65536);
    splat_image_free(&image);
    return hash;
}

static void test_composite_equals_numpy(void **state)
{
    (void)state;
    assert_true(composite_hash(0, true) == GOLDEN_COMPOSITE_TRUNCATED_0);
    assert_true(composite_hash(255, true) == GOLDEN_COMPOSITE_TRUNCATED_255);
    assert_true(composite_hash(0, false) == GOLDEN_COMPOSITE_ROUNDED_0);
    assert_true(composite_hash(255, false) == GOLDEN_COMPOSITE_ROUNDED_255);

    splat_image rgb = make_source(2, 3, 5, 4);
    uint64_t before = fnv(rgb.pixels, image_bytes(&rgb));
    assert_int_equal(splat_image_composite(&rgb, 255, true, NULL), SPLAT_OK);
    assert_true(fnv(rgb.pixels, image_bytes(&rgb)) == before);
    splat_image_free(&rgb);
}

static void test_from_planar(void **state)
{
    (void)state;
    static const float planar[3 * 4] = {0.0f, 1.0f, 0.5f, -3.0f, 2.0f, 0.25f, 1.0f / 255, 0.4f / 255,
                                        0.6f / 255, 254.4f / 255, NAN, INFINITY};
    static const uint8_t wanted[12] = {0, 255, 1, 255, 64, 254, 128, 1, 0, 0, 0, 255};
    uint8_t rgb[12];
    splat_image_from_planar(planar, 2, 2, rgb);
    assert_memory_equal(rgb, wanted, 12);
}

/* ---------------------------------------------------------------- PNG */

static void test_png_round_trip(void **state)
{
    (void)state;
    static const int channel_counts[] = {1, 3, 4};
    const int width = 23, height = 17;
    for (int i = 0; i < 3; i++)
        for (int depth = 8; depth <= 16; depth += 8) {
            int channels = channel_counts[i];
            splat_image source = make_source(2, channels, width, height);
            uint16_t wide[23 * 17 * 4]; /* the sample in the high byte, noise in the low one */
            for (size_t k = 0; k < image_bytes(&source); k++)
                wide[k] = (uint16_t)(source.pixels[k] << 8 | (k * 37 & 255));
            const void *pixels = depth == 8 ? (const void *)source.pixels : (const void *)wide;
            assert_int_equal(splat_png_write("round.png", width, height, channels, depth, pixels, NULL), SPLAT_OK);
            int probed[3];
            assert_int_equal(splat_image_probe("round.png", &probed[0], &probed[1], &probed[2], NULL), SPLAT_OK);
            splat_image image;
            assert_int_equal(splat_image_read("round.png", &image, NULL), SPLAT_OK);
            assert_int_equal(image.width, width);
            assert_int_equal(image.height, height);
            assert_int_equal(image.channels, channels == 4 ? 4 : 3);
            assert_int_equal(probed[0], width);
            assert_int_equal(probed[1], height);
            assert_int_equal(probed[2], image.channels);
            for (size_t k = 0; k < image_bytes(&image); k++)
                assert_int_equal(image.pixels[k], source.pixels[channels == 1 ? k / 3 : k]);
            splat_image_free(&image);
            splat_image_free(&source);
        }
}

static void test_png_write_errors(void **state)
{
    (void)state;
    splat_error error;
    uint8_t pixels[12] = {0};
    remove("bad.png");
    assert_int_equal(splat_png_write("bad.png", 2, 2, 2, 8, pixels, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_png_write("bad.png", 2, 2, 3, 4, pixels, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_png_write("bad.png", 0, 2, 3, 8, pixels, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_png_write("absent/bad.png", 2, 2, 3, 8, pixels, &error), SPLAT_ERROR_IO);
    assert_false(splat_path_exists("bad.png"));

    /* A disk that is full after 10 kB: an error, the old file as it was, and no temporary left. */
    assert_int_equal(splat_folder_delete("full", NULL), SPLAT_OK);
    assert_int_equal(splat_folder_create("full", NULL), SPLAT_OK);
    assert_int_equal(splat_file_write("full/old.png", "old", 3, NULL), SPLAT_OK);
    splat_image noise = make_source(2, 3, 200, 200);
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 10000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    splat_status status = splat_png_write("full/old.png", 200, 200, 3, 8, noise.pixels, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, SPLAT_ERROR_IO);
    assert_string_equal(error.file, "full/old.png");
    char **names;
    size_t n_names;
    assert_int_equal(splat_folder_list("full", &names, &n_names, NULL), SPLAT_OK);
    assert_int_equal(n_names, 1);
    splat_names_free(names, n_names);
    uint8_t *data;
    size_t size;
    assert_int_equal(splat_file_read("full/old.png", &data, &size, NULL), SPLAT_OK);
    assert_string_equal((char *)data, "old");
    free(data);
    splat_image_free(&noise);
}

/* The correct picture of odd_png, RGBA. */
static void odd_expected(int color_type, int depth, bool transparent, int x, int y, uint8_t rgba[4])
{
    unsigned s[4] = {0}, scale = depth < 8 ? 255 / ((1u << depth) - 1) : 1, shift = depth == 16 ? 8 : 0;
    bool is_key = true;
    int n_samples = samples_of(color_type);
    for (int c = 0; c < n_samples; c++) {
        s[c] = odd_sample(x, y, c, depth);
        if (s[c] != odd_sample(0, 0, c, depth)) is_key = false;
    }
    rgba[3] = transparent && is_key ? 0 : 255;
    if (color_type == PNG_COLOR_TYPE_PALETTE) {
        rgba[0] = (uint8_t)(s[0] * 5);
        rgba[1] = (uint8_t)(255 - s[0]);
        rgba[2] = (uint8_t)(s[0] * 3);
        rgba[3] = transparent ? (uint8_t)(s[0] * 3) : 255;
        return;
    }
    for (int c = 0; c < 3; c++) rgba[c] = (uint8_t)((s[n_samples >= 3 ? c : 0] >> shift) * scale);
    if (n_samples == 2 || n_samples == 4) rgba[3] = (uint8_t)(s[n_samples - 1] >> shift);
}

static void check_odd_png(int color_type, int depth, bool interlaced, bool transparent)
{
    memory_file file = odd_png(color_type, depth, interlaced, transparent);
    splat_image image;
    splat_error error = {0};
    if (splat_image_decode("odd.png", file.data, file.size, &image, &error) != SPLAT_OK)
        fail_msg("colour type %d, %d bits: %s", color_type, depth, error.message);
    bool alpha = transparent || (color_type & PNG_COLOR_MASK_ALPHA) != 0;
    assert_int_equal(image.channels, alpha ? 4 : 3);
    assert_int_equal(image.width, ODD_WIDTH);
    assert_int_equal(image.height, ODD_HEIGHT);
    for (int y = 0; y < ODD_HEIGHT; y++)
        for (int x = 0; x < ODD_WIDTH; x++) {
            uint8_t wanted[4];
            odd_expected(color_type, depth, transparent, x, y, wanted);
            const uint8_t *p = image.pixels + (y * ODD_WIDTH + x) * image.channels;
            if (memcmp(p, wanted, (size_t)image.channels) != 0)
                fail_msg("colour type %d, %d bits, interlaced %d, tRNS %d: pixel %d, %d is %d %d %d, not %d %d %d",
                         color_type, depth, interlaced, transparent, x, y, p[0], p[1], p[2], wanted[0], wanted[1],
                         wanted[2]);
        }
    int probed[3];
    assert_int_equal(splat_file_write("odd.png", file.data, file.size, NULL), SPLAT_OK);
    assert_int_equal(splat_image_probe("odd.png", &probed[0], &probed[1], &probed[2], NULL), SPLAT_OK);
    assert_int_equal(probed[0], ODD_WIDTH);
    assert_int_equal(probed[1], ODD_HEIGHT);
    assert_int_equal(probed[2], image.channels);
    splat_image_free(&image);
    free(file.data);
}

static void test_png_of_every_kind(void **state)
{
    (void)state;
    static const struct { int color_type, depth; } kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1},    {PNG_COLOR_TYPE_GRAY, 2},       {PNG_COLOR_TYPE_GRAY, 4},
        {PNG_COLOR_TYPE_GRAY, 8},    {PNG_COLOR_TYPE_GRAY, 16},      {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
        {PNG_COLOR_TYPE_RGB, 8},     {PNG_COLOR_TYPE_RGB, 16},       {PNG_COLOR_TYPE_GRAY_ALPHA, 16},
        {PNG_COLOR_TYPE_RGBA, 8},    {PNG_COLOR_TYPE_RGBA, 16},      {PNG_COLOR_TYPE_PALETTE, 1},
        {PNG_COLOR_TYPE_PALETTE, 2}, {PNG_COLOR_TYPE_PALETTE, 4},    {PNG_COLOR_TYPE_PALETTE, 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            check_odd_png(kinds[i].color_type, kinds[i].depth, interlaced, false);
            if (!(kinds[i].color_type & PNG_COLOR_MASK_ALPHA))
                check_odd_png(kinds[i].color_type, kinds[i].depth, interlaced, true);
        }
}

/* ---------------------------------------------------------------- JPEG */

static void check_jpeg(const char *name, const uint8_t *data, size_t size, const uint8_t *pixels)
{
    splat_image image;
    splat_error error = {0};
    if (splat_image_decode(name, data, size, &image, &error) != SPLAT_OK) fail_msg("%s: %s", name, error.message);
    assert_int_equal(image.width, 37);
    assert_int_equal(image.height, 29);
    assert_int_equal(image.channels, 3);
    int largest = 0;
    for (size_t i = 0; i < image_bytes(&image); i++) {
        int difference = abs(image.pixels[i] - pixels[i]);
        if (difference > largest) largest = difference;
    }
    print_message("%s JPEG: largest difference from Pillow %d\n", name, largest);
    assert_true(largest <= 2); /* decoders may round the inverse DCT and the colour transform differently */
    splat_image_free(&image);
    int probed[3];
    assert_int_equal(splat_file_write("photo.jpg", data, size, NULL), SPLAT_OK);
    assert_int_equal(splat_image_probe("photo.jpg", &probed[0], &probed[1], &probed[2], NULL), SPLAT_OK);
    assert_int_equal(probed[0], 37);
    assert_int_equal(probed[1], 29);
    assert_int_equal(probed[2], 3);
}

static void test_jpeg_equals_pillow(void **state)
{
    (void)state;
    check_jpeg("baseline", jpeg_baseline, sizeof jpeg_baseline, jpeg_baseline_pixels);
    check_jpeg("progressive", jpeg_progressive, sizeof jpeg_progressive, jpeg_progressive_pixels);
    check_jpeg("gray", jpeg_gray, sizeof jpeg_gray, jpeg_gray_pixels);
}

static void test_jpeg_that_is_not_supported(void **state)
{
    (void)state;
    splat_image image;
    splat_error error;
    assert_int_equal(splat_image_decode("cmyk.jpg", jpeg_cmyk, sizeof jpeg_cmyk, &image, &error),
                     SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "CMYK"));
    assert_string_equal(error.file, "cmyk.jpg");
    uint8_t data[sizeof jpeg_tiny];
    memcpy(data, jpeg_tiny, sizeof data);
    size_t frame = find_marker(data, sizeof data, 0xC0);
    data[frame] = 0xC3; /* lossless */
    assert_int_equal(splat_image_decode("x", data, sizeof data, &image, &error), SPLAT_ERROR_UNSUPPORTED);
    data[frame] = 0xC1;
    data[frame + 3] = 12; /* bits */
    assert_int_equal(splat_image_decode("x", data, sizeof data, &image, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "12 bits"));
}

static void test_jpeg_with_padding_is_read(void **state)
{
    (void)state;
    /* Some cameras pad before the end marker, which decoders warn of: the picture is whole. */
    uint8_t data[sizeof jpeg_tiny + 3];
    size_t end = sizeof jpeg_tiny - 2;
    memcpy(data, jpeg_tiny, end);
    memset(data + end, 0, 3);
    memcpy(data + end + 3, jpeg_tiny + end, 2);
    splat_image image;
    splat_error error = {0};
    if (splat_image_decode("padded", data, sizeof data, &image, &error) != SPLAT_OK) fail_msg("%s", error.message);
    assert_int_equal(image.width, 9);
    splat_image_free(&image);
}

static void test_jpeg_with_missing_data_is_refused(void **state)
{
    (void)state;
    /* Half the coded data, but an end marker: decoders only warn, and fill the rest with gray. */
    uint8_t data[sizeof jpeg_tiny + 3];
    size_t scan = find_marker(jpeg_tiny, sizeof jpeg_tiny, 0xDA), kept = (scan + sizeof jpeg_tiny) / 2;
    memcpy(data, jpeg_tiny, kept);
    memcpy(data + kept, "\xFF\xD9", 2);
    splat_image image;
    splat_error error;
    assert_int_equal(splat_image_decode("half", data, kept + 2, &image, &error), SPLAT_ERROR_FORMAT);
    /* Harmless padding at the start must not hide that the end is missing. */
    memcpy(data, jpeg_tiny, 2);
    memcpy(data + 2, "\xFF\x00\x00", 3); /* begins like a marker, as the signature wants */
    memcpy(data + 5, jpeg_tiny + 2, sizeof jpeg_tiny - 2);
    if (splat_image_decode("padded", data, sizeof data, &image, &error) != SPLAT_OK) fail_msg("%s", error.message);
    splat_image_free(&image);
    for (size_t size = 3; size < sizeof data; size++)
        assert_int_equal(splat_image_decode("cut", data, size, &image, &error), SPLAT_ERROR_FORMAT);
}

/* Reading a photo in the size that is wanted gives the bytes of the three steps, whichever way it takes. */
static void test_wanted_equals_three_steps(void **state)
{
    (void)state;
    for (int channels = 3; channels <= 4; channels++)
        for (int narrow = 0; narrow < 2; narrow++)
            for (int truncate = 0; truncate < 2; truncate++) {
                splat_image image = make_source(1, channels, 61, 47), read;
                splat_image_request wanted = {narrow ? 23 : 70, 17, 255, truncate};
                assert_int_equal(splat_png_write("wanted.png", 61, 47, channels, 8, image.pixels, NULL), SPLAT_OK);
                assert_int_equal(splat_image_composite(&image, 255, truncate, NULL), SPLAT_OK);
                assert_int_equal(splat_image_resize(&image, wanted.width, wanted.height, NULL), SPLAT_OK);
                assert_int_equal(splat_image_read_as("wanted.png", &wanted, &read, NULL), SPLAT_OK);
                assert_int_equal(read.width, wanted.width);
                assert_int_equal(read.height, wanted.height);
                assert_int_equal(read.channels, 3);
                assert_memory_equal(read.pixels, image.pixels, image_bytes(&image));
                splat_image_free(&image);
                splat_image_free(&read);
            }
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A small file may ask for much: a large photo that is shrunk never is whole in memory. */
static void test_large_png_is_shrunk_row_by_row(void **state)
{
    (void)state;
    const int side = 7000; /* 140 MiB as RGB */
    uint8_t *gray = calloc((size_t)side, (size_t)side);
    assert_non_null(gray);
    assert_int_equal(splat_png_write("large.png", side, side, 1, 8, gray, NULL), SPLAT_OK);
    free(gray);
    splat_image image;
    splat_image_request wanted = {160, 160, 0, false};
    long before = peak_kib();
    assert_int_equal(splat_image_read_as("large.png", &wanted, &image, NULL), SPLAT_OK);
    assert_true(peak_kib() - before < 40 * 1024);
    splat_image_free(&image);
    unlink("large.png");
}

/* ---------------------------------------------------------------- text */

/* An L of pixels of 2 x 2: a stem of one and a foot of five. Its cell's corner is at 4, 2; all else keeps its gray. */
static void test_a_letter_is_whole(void **state)
{
    (void)state;
    enum { W = 20, H = 32 };
    uint8_t rgb[3 * W * H];
    memset(rgb, 255, sizeof rgb);
    splat_text_draw(rgb, W, H, 4, 2, 2, 40, "L");
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            bool stem = x >= 4 && x < 6 && y >= 6 && y < 24, foot = x >= 4 && x < 14 && y >= 22 && y < 24;
            for (int c = 0; c < 3; c++) assert_int_equal(rgb[3 * (W * y + x) + c], stem || foot ? 40 : 255);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_equals_pillow),       cmocka_unit_test(test_resize_refuses_bad_sizes),
        cmocka_unit_test(test_composite_equals_numpy),     cmocka_unit_test(test_from_planar),
        cmocka_unit_test(test_png_round_trip),             cmocka_unit_test(test_png_write_errors),
        cmocka_unit_test(test_png_of_every_kind),          cmocka_unit_test(test_jpeg_equals_pillow),
        cmocka_unit_test(test_jpeg_that_is_not_supported), cmocka_unit_test(test_jpeg_with_padding_is_read),
        cmocka_unit_test(test_jpeg_with_missing_data_is_refused),
        cmocka_unit_test(test_wanted_equals_three_steps),  cmocka_unit_test(test_large_png_is_shrunk_row_by_row),
        cmocka_unit_test(test_a_letter_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
