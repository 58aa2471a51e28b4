/* Pictures: decoding against Pillow, the resize against Pillow, PNG round trips, and damaged files of every kind. */
#include "base/clock.h"
#include "base/file.h"
#include "golden/resize_golden.h"
#include "io/image.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zlib.h>

#include <stdarg.h>
#include <cmocka.h>

static uint64_t fnv(const uint8_t *data, size_t n)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001B3u;
    return hash;
}

/* The pictures of make_resize_golden.py. */
static uint8_t source_value(int kind, int x, int y, int c, int width, int height)
{
    uint32_t h = (uint32_t)x * 374761393u + (uint32_t)y * 668265263u + (uint32_t)c * 2246822519u;
    h = ((h ^ (h >> 13)) * 1274126177u) >> 24;
    if (c == 3) return (uint8_t)(h < 64 ? 0 : h > 192 ? 255 : h);
    if (kind == 0) return (uint8_t)(x * 7 + y * 13 + c * 29);
    if (kind == 2) return (uint8_t)h;
    int value = 96 + x * 64 / width + y * 64 / height + (int)(h & 63);
    return (uint8_t)(value > 255 ? 255 : value);
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

static size_t image_bytes(const splat_image *image)
{
    return (size_t)image->width * (size_t)image->height * (size_t)image->channels;
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

typedef struct memory_file { uint8_t *data; size_t size; } memory_file;

static void memory_write(png_structp png, png_bytep data, size_t n)
{
    memory_file *file = png_get_io_ptr(png);
    file->data = realloc(file->data, file->size + n);
    assert_non_null(file->data);
    memcpy(file->data + file->size, data, n);
    file->size += n;
}

static void memory_flush(png_structp png)
{
    (void)png;
}

#define ODD_WIDTH 13
#define ODD_HEIGHT 11

/* A sample of the odd PNGs below, `depth` bits. */
static unsigned odd_sample(int x, int y, int c, int depth)
{
    unsigned wide = (unsigned)source_value(2, x, y, c == 3 ? 2 : c, 1, 1) << 8 | (unsigned)(x * 11 + y * 5 + c);
    return wide >> (16 - depth);
}

static int samples_of(int color_type)
{
    return color_type == PNG_COLOR_TYPE_RGB          ? 3
           : color_type == PNG_COLOR_TYPE_RGBA       ? 4
           : color_type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                     : 1;
}

/* Any PNG, made by libpng itself. tRNS: the samples of pixel (0, 0) are clear, or palette entry i has alpha 3 i. */
static memory_file odd_png(int color_type, int depth, bool interlaced, bool transparent)
{
    memory_file file = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_int_equal(setjmp(png_jmpbuf(png)), 0);
    png_set_write_fn(png, &file, memory_write, memory_flush);
    png_set_IHDR(png, info, ODD_WIDTH, ODD_HEIGHT, depth, color_type,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_color palette[256];
    png_byte alphas[256];
    for (int i = 0; i < 256; i++) {
        palette[i] = (png_color){(png_byte)(i * 5), (png_byte)(255 - i), (png_byte)(i * 3)};
        alphas[i] = (png_byte)(i * 3);
    }
    if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 1 << depth);
    png_uint_16 first[3];
    for (int c = 0; c < 3; c++) first[c] = (png_uint_16)odd_sample(0, 0, c, depth);
    png_color_16 key = {.gray = first[0], .red = first[0], .green = first[1], .blue = first[2]};
    if (transparent) png_set_tRNS(png, info, alphas, color_type == PNG_COLOR_TYPE_PALETTE ? 1 << depth : 0, &key);
    png_write_info(png, info);
    if (depth < 8) png_set_packing(png);
    if (depth == 16) png_set_swap(png);
    int n_samples = samples_of(color_type), n_passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < n_passes; pass++)
        for (int y = 0; y < ODD_HEIGHT; y++) {
            uint16_t wide[ODD_WIDTH * 4];
            uint8_t narrow[ODD_WIDTH * 4];
            for (int i = 0; i < ODD_WIDTH * n_samples; i++) {
                wide[i] = (uint16_t)odd_sample(i / n_samples, y, i % n_samples, depth);
                narrow[i] = (uint8_t)wide[i];
            }
            png_write_row(png, depth == 16 ? (uint8_t *)wide : narrow);
        }
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return file;
}

/* What the picture of odd_png must be, RGBA. */
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

/* The offset of a marker's code byte, or a failure. */
static size_t find_marker(const uint8_t *data, size_t size, uint8_t marker)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (data[i] == 0xFF && data[i + 1] == marker) return i + 1;
    fail_msg("the test's JPEG has no marker %02X", marker);
    return 0;
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

/* ---------------------------------------------------------------- hostile files */

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

/* Every prefix must fail, also when only the header is looked at and it is incomplete. */
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
            if (fix_crc) { /* so that the damage gets past the checksum, as an attacker's would */
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
        cmocka_unit_test(test_resize_equals_pillow),       cmocka_unit_test(test_resize_refuses_bad_sizes),
        cmocka_unit_test(test_composite_equals_numpy),     cmocka_unit_test(test_from_planar),
        cmocka_unit_test(test_png_round_trip),             cmocka_unit_test(test_png_write_errors),
        cmocka_unit_test(test_png_of_every_kind),          cmocka_unit_test(test_jpeg_equals_pillow),
        cmocka_unit_test(test_jpeg_that_is_not_supported), cmocka_unit_test(test_jpeg_with_padding_is_read),
        cmocka_unit_test(test_jpeg_with_missing_data_is_refused),
        cmocka_unit_test(test_damaged_jpeg),               cmocka_unit_test(test_damaged_png),
        cmocka_unit_test(test_probe_of_prefixes),          cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_files_that_are_no_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
