/* EXIF: the segment of the JPEG, the TIFF in it, and some values. Every offset and count is the file's and is checked
 * against the bytes that there are. */
#include "io/picture/exif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BEGINNING ((size_t)1 << 15) /* of a file: EXIF is the first or second segment, thumbnail and notes last */

enum { TAG_EXIF = 0x8769, TAG_TIME = 33434, TAG_F_NUMBER = 33437, TAG_ISO = 34855, TAG_TV = 37377, TAG_AV = 37378,
       TAG_MODEL = 272, TAG_FOCAL = 37386, TAG_FOCAL_35MM = 41989, TAG_GPS = 0x8825, TAG_LATITUDE = 2,
       TAG_LONGITUDE = 4 };
enum { TYPE_TEXT = 2, TYPE_SHORT = 3, TYPE_LONG = 4, TYPE_RATIONAL = 5, TYPE_SIGNED_RATIONAL = 10 };

/* ---------------------------------------------------------------- TIFF */

typedef struct tiff {
    const uint8_t *data;
    size_t size;
    bool big_endian;
} tiff;

/* n bytes at an offset; false: they are not there. */
static bool get(const tiff *t, size_t at, int n, uint32_t *value)
{
    if (at > t->size || t->size - at < (size_t)n) return false;
    *value = 0;
    for (int i = 0; i < n; i++) *value = *value << 8 | t->data[at + (size_t)(t->big_endian ? i : n - 1 - i)];
    return true;
}

/* The first value of a field whose entry stands at an offset. */
static bool get_number(const tiff *t, size_t entry, uint32_t type, double *number)
{
    uint32_t value, below;
    switch (type) {
    case TYPE_SHORT:
        if (!get(t, entry + 8, 2, &value)) return false;
        *number = value;
        return true;
    case TYPE_LONG:
        if (!get(t, entry + 8, 4, &value)) return false;
        *number = value;
        return true;
    case TYPE_RATIONAL:
    case TYPE_SIGNED_RATIONAL: {
        uint32_t offset;
        if (!get(t, entry + 8, 4, &offset) || !get(t, offset, 4, &value) || !get(t, (size_t)offset + 4, 4, &below) ||
            below == 0)
            return false;
        bool is_signed = type == TYPE_SIGNED_RATIONAL;
        *number = (is_signed ? (double)(int32_t)value : (double)value) /
                  (is_signed ? (double)(int32_t)below : (double)below);
        return true;
    }
    default: return false;
    }
}

/* A text of `count` bytes with its NUL; up to four of them stand in the entry itself. */
static void get_text(const tiff *t, size_t entry, uint32_t count, char text[64])
{
    uint32_t at;
    size_t begin = entry + 8, n = 0;
    if (count > 4) {
        if (!get(t, entry + 8, 4, &at)) return;
        begin = at;
    }
    if (begin > t->size || t->size - begin < count) return;
    while (n < count && n < 63 && t->data[begin + n]) n++;
    memcpy(text, t->data + begin, n);
    text[n] = '\0';
}

typedef struct found {
    double time, tv, f_number, av, iso, focal, focal_35mm; /* NAN: not there */
    char model[64];
    uint32_t exif, gps;                 /* offsets of the folders with these and with the place; 0: not there */
} found;

/* The fields of one folder; folders are not followed from here, so that no loop of them can be. */
static void read_folder(const tiff *t, size_t at, found *f)
{
    uint32_t n = 0, tag, type, count;
    if (!get(t, at, 2, &n)) return;
    for (uint32_t i = 0; i < n; i++) {
        size_t entry = at + 2 + 12 * (size_t)i;
        double number;
        if (!get(t, entry, 2, &tag) || !get(t, entry + 2, 2, &type) || !get(t, entry + 4, 4, &count)) return;
        if (tag == TAG_MODEL && type == TYPE_TEXT) get_text(t, entry, count, f->model);
        if (count == 0 || !get_number(t, entry, type, &number)) continue;
        switch (tag) {
        case TAG_EXIF: if (type == TYPE_LONG) f->exif = (uint32_t)number; break;
        case TAG_GPS: if (type == TYPE_LONG) f->gps = (uint32_t)number; break;
        case TAG_TIME: f->time = number; break;
        case TAG_TV: f->tv = number; break;
        case TAG_F_NUMBER: f->f_number = number; break;
        case TAG_AV: f->av = number; break;
        case TAG_ISO: f->iso = number; break;
        case TAG_FOCAL: f->focal = number; break;
        case TAG_FOCAL_35MM: f->focal_35mm = number; break;
        default: break;
        }
    }
}

/* Reads degrees, minutes and seconds of an entry, without their sign; missing parts are 0. */
static bool get_degrees(const tiff *t, size_t entry, uint32_t count, double *degrees)
{
    static const double units[3] = {1, 60, 3600};
    uint32_t at, value, below;
    *degrees = 0;
    if (!get(t, entry + 8, 4, &at)) return false;
    for (uint32_t i = 0; i < count && i < 3; i++) {
        size_t place = (size_t)at + 8 * (size_t)i;
        if (!get(t, place, 4, &value) || !get(t, place + 4, 4, &below) || (below == 0 && i == 0)) return false;
        if (below) *degrees += (double)value / (double)below / units[i];
    }
    return count > 0;
}

static bool has_place(const tiff *t, size_t at)
{
    uint32_t n = 0, tag, type, count;
    double latitude = NAN, longitude = NAN, degrees;
    if (!get(t, at, 2, &n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        size_t entry = at + 2 + 12 * (size_t)i;
        if (!get(t, entry, 2, &tag) || !get(t, entry + 2, 2, &type) || !get(t, entry + 4, 4, &count)) break;
        if (type != TYPE_RATIONAL || (tag != TAG_LATITUDE && tag != TAG_LONGITUDE)) continue;
        if (!get_degrees(t, entry, count, &degrees)) continue;
        if (tag == TAG_LATITUDE) latitude = degrees;
        else longitude = degrees;
    }
    return latitude <= 90 && longitude <= 180 && (latitude > 0 || longitude > 0);
}

static double positive(double value, double other)
{
    double chosen = value > 0 && isfinite(value) ? value : other;
    return chosen > 0 && isfinite(chosen) ? chosen : 0;
}

static splat_exif read_tiff(const uint8_t *data, size_t size)
{
    tiff t = {data, size, size > 0 && data[0] == 'M'};
    found f = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, "", 0, 0};
    uint32_t order, magic, first;
    splat_exif nothing = {0};
    if (!get(&t, 0, 2, &order) || (order != 0x4949 && order != 0x4d4d) || !get(&t, 2, 2, &magic) || magic != 42 ||
        !get(&t, 4, 4, &first))
        return nothing;
    read_folder(&t, first, &f);
    if (f.exif) read_folder(&t, f.exif, &f);
    splat_exif exif = {.seconds = positive(f.time, exp2(-f.tv)),
                       .f_number = positive(f.f_number, exp2(f.av / 2)),
                       .iso = positive(f.iso, 0),
                       .focal_mm = positive(f.focal, 0),
                       .focal_35mm = positive(f.focal_35mm, 0),
                       .has_place = f.gps && has_place(&t, f.gps)};
    memcpy(exif.model, f.model, sizeof exif.model);
    return exif;
}

/* ---------------------------------------------------------------- JPEG */

splat_exif splat_exif_parse(const uint8_t *jpeg, size_t size)
{
    static const uint8_t name[6] = {'E', 'x', 'i', 'f', 0, 0};
    const splat_exif nothing = {0};
    if (size < 4 || jpeg[0] != 0xFF || jpeg[1] != 0xD8) return nothing;
    for (size_t at = 2; size - at >= 4 && jpeg[at] == 0xFF;) {
        uint8_t marker = jpeg[at + 1];
        if (marker == 0xFF) { /* a fill byte */
            at++;
            continue;
        }
        size_t length = (size_t)jpeg[at + 2] << 8 | jpeg[at + 3];
        if (marker == 0xDA || marker == 0xD9 || length < 2) return nothing; /* the picture begins, or it is none */
        size_t left = size - at - 2, body = (length < left ? length : left) - 2;
        const uint8_t *segment = jpeg + at + 4;
        if (marker == 0xE1 && body > sizeof name && memcmp(segment, name, sizeof name) == 0)
            return read_tiff(segment + sizeof name, body - sizeof name);
        if (length > left) return nothing;
        at += 2 + length;
    }
    return nothing;
}

splat_exif splat_exif_read(const char *path)
{
    splat_exif exif = {0};
    uint8_t start[2], *data = NULL;
    FILE *stream = fopen(path, "rb");
    if (!stream) return exif;
    bool is_jpeg = fread(start, 1, sizeof start, stream) == sizeof start && start[0] == 0xFF && start[1] == 0xD8;
    if (is_jpeg) data = malloc(MAX_BEGINNING);
    if (data) {
        memcpy(data, start, sizeof start);
        size_t n = fread(data + sizeof start, 1, MAX_BEGINNING - sizeof start, stream);
        exif = splat_exif_parse(data, sizeof start + n);
    }
    free(data);
    fclose(stream);
    return exif;
}

bool splat_exif_stops(const splat_exif *exif, double *stops)
{
    if (!(exif->seconds > 0 && exif->f_number > 0 && exif->iso > 0)) return false;
    *stops = log2(exif->seconds) + log2(exif->iso) - 2 * log2(exif->f_number);
    return true;
}
