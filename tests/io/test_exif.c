/* EXIF of photos: both byte orders, values in their two forms, and bytes that mean harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exif_fixture.h"
#include "io/picture/exif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const exif_field usual[] = {{33434, 5, 1, 50}, {33437, 5, 18, 10}, {34855, 3, 400, 0}};

/* A JPEG with another segment before that of EXIF; in memory of just its size. */
static uint8_t *jpeg_of(const exif_writer *segment, size_t *size)
{
    static const uint8_t begin[] = {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2};
    *size = sizeof begin + segment->n + 2;
    uint8_t *jpeg = malloc(*size);
    memcpy(jpeg, begin, sizeof begin);
    memcpy(jpeg + sizeof begin, segment->bytes, segment->n);
    jpeg[*size - 2] = 0xFF;
    jpeg[*size - 1] = 0xD9;
    return jpeg;
}

static splat_exif parse(const exif_field *fields, int n, bool big_endian)
{
    size_t size;
    exif_writer segment = exif_segment(fields, n, big_endian);
    uint8_t *jpeg = jpeg_of(&segment, &size);
    splat_exif exif = splat_exif_parse(jpeg, size);
    free(jpeg);
    return exif;
}

static void values_are_read(void **state)
{
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        double stops;
        splat_exif e = parse(usual, 3, big_endian);
        assert_true(e.seconds == 0.02 && e.f_number == 1.8 && e.iso == 400);
        assert_true(splat_exif_stops(&e, &stops) && fabs(stops - log2(0.02 * 400 / (1.8 * 1.8))) < 1e-12);
        const exif_field apex[] = {{37377, 10, 6, 1}, {37378, 5, 2, 1}, {34855, 4, 100, 0}};
        e = parse(apex, 3, big_endian);
        assert_true(fabs(e.seconds - 1 / 64.0) < 1e-12 && e.f_number == 2 && e.iso == 100);
        const exif_field long_time[] = {{37377, 10, (uint32_t)-2, 1}}; /* Tv -2: four seconds */
        assert_true(fabs(parse(long_time, 1, big_endian).seconds - 4) < 1e-12);
        e = parse(usual, 2, big_endian);
        assert_true(e.iso == 0 && !splat_exif_stops(&e, &stops));
        e = parse(usual + 1, 2, big_endian);
        assert_true(e.seconds == 0 && !splat_exif_stops(&e, &stops));
        const exif_field no_aperture[] = {usual[0], usual[2]};
        e = parse(no_aperture, 2, big_endian);
        assert_true(e.f_number == 0 && !splat_exif_stops(&e, &stops));
    }
}

static bool is_placed(exif_writer segment, size_t cut)
{
    size_t size;
    uint8_t *jpeg = jpeg_of(&segment, &size);
    uint8_t *part = malloc(size - cut); /* of just its size */
    memcpy(part, jpeg, size - cut);
    bool is_there = splat_exif_parse(part, size - cut).has_place;
    free(jpeg);
    free(part);
    return is_there;
}

static void places_are_found(void **state)
{
    (void)state;
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        assert_true(is_placed(exif_gps_segment(48, 11, big_endian), 0));
        assert_true(is_placed(exif_gps_segment(0, 11, big_endian), 0));
        assert_false(is_placed(exif_gps_segment(0, 0, big_endian), 0));
        assert_false(is_placed(exif_gps_segment(91, 11, big_endian), 0));
        assert_false(is_placed(exif_gps_segment(48, 181, big_endian), 0));
        assert_false(is_placed(exif_segment(usual, 3, big_endian), 0));
        for (size_t cut = 3; cut < 80; cut++) assert_false(is_placed(exif_gps_segment(48, 11, big_endian), cut));
    }
}

static void what_is_no_number_is_not_told(void **state)
{
    (void)state;
    const exif_field zero[] = {{33434, 5, 1, 0}, {33437, 5, 0, 10}, {34855, 3, 0, 0}};
    splat_exif e = parse(zero, 3, false);
    assert_true(e.seconds == 0 && e.f_number == 0 && e.iso == 0);
    const exif_field huge[] = {{37377, 10, 0x80000000u, 1}, {37378, 5, 0xffffffffu, 1}, {34855, 2, 1, 0}};
    e = parse(huge, 3, true); /* 2^(2^31) and 2^(2^31): infinite; an ISO in text */
    assert_true(e.seconds == 0 && e.f_number == 0 && e.iso == 0);
}

/* A first folder with a model, which stands in its entry or aside, before any EXIF. */
static void what_tells_cameras_apart_is_read(void **state)
{
    (void)state;
    const exif_field zoom[] = {{37386, 5, 425, 100}, {41989, 3, 26, 0}};
    splat_exif e = parse(zoom, 2, true);
    assert_true(e.focal_mm == 4.25 && e.focal_35mm == 26 && e.seconds == 0);
    assert_string_equal(e.model, "");
    static const uint8_t short_name[] = "\xff\xd8\xff\xe1\0\x20" "Exif\0\0MM\0*\0\0\0\x8\0\1"
                                        "\1\x10\0\2\0\0\0\3X1\0\0\0";
    e = splat_exif_parse(short_name, sizeof short_name);
    assert_string_equal(e.model, "X1");
    static const uint8_t long_name[] = "\xff\xd8\xff\xe1\0\x28" "Exif\0\0MM\0*\0\0\0\x8\0\1"
                                       "\1\x10\0\2\0\0\0\6\0\0\0\x16PHONE";
    e = splat_exif_parse(long_name, sizeof long_name);
    assert_string_equal(e.model, "PHONE");
    e = splat_exif_parse(long_name, sizeof long_name - 1); /* its NUL is cut off */
    assert_string_equal(e.model, "");
}

static bool is_finite(const splat_exif *e)
{
    return isfinite(e->seconds) && isfinite(e->f_number) && isfinite(e->iso) && e->seconds >= 0 && e->f_number >= 0 &&
           e->iso >= 0;
}

/* Every prefix, in memory that ends there, and every byte as any other: under the sanitizers nothing else is read. */
static void hostile_bytes_are_harmless(void **state)
{
    (void)state;
    size_t size;
    exif_writer segment = exif_segment(usual, 3, false);
    uint8_t *jpeg = jpeg_of(&segment, &size);
    for (size_t n = 0; n <= size; n++) {
        uint8_t *prefix = malloc(n + !n);
        memcpy(prefix, jpeg, n);
        splat_exif e = splat_exif_parse(prefix, n);
        assert_true(is_finite(&e));
        free(prefix);
    }
    for (size_t at = 0; at < size; at++)
        for (int value = 0; value < 256; value++) {
            uint8_t kept = jpeg[at];
            jpeg[at] = (uint8_t)value;
            splat_exif e = splat_exif_parse(jpeg, size);
            assert_true(is_finite(&e));
            jpeg[at] = kept;
        }
    /* A folder of 65535 fields, and one that leads to itself. */
    for (int i = 0; i < 2; i++) {
        uint8_t *count = jpeg + 8 + 10 + 8;
        count[0] = count[1] = 0xFF;
        if (i) memcpy(jpeg + 8 + 10 + 18, (const uint8_t[]){8, 0, 0, 0}, 4);
        splat_exif e = splat_exif_parse(jpeg, size);
        assert_true(is_finite(&e));
    }
    free(jpeg);
}

static void files_are_read(void **state)
{
    (void)state;
    size_t size;
    exif_writer segment = exif_segment(usual, 3, true);
    uint8_t *jpeg = jpeg_of(&segment, &size);
    FILE *file = fopen("exif.jpg", "wb");
    assert_int_equal(fwrite(jpeg, 1, size, file), size);
    fclose(file);
    assert_true(splat_exif_read("exif.jpg").iso == 400);
    file = fopen("exif.jpg", "wb");
    fclose(file);
    assert_true(splat_exif_read("exif.jpg").iso == 0);
    assert_true(splat_exif_read("absent.jpg").iso == 0 && splat_exif_read(".").iso == 0);
    free(jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read), cmocka_unit_test(what_is_no_number_is_not_told),
        cmocka_unit_test(what_tells_cameras_apart_is_read), cmocka_unit_test(places_are_found),
        cmocka_unit_test(hostile_bytes_are_harmless), cmocka_unit_test(files_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
