/* 16-bit gray PNG, through libpng; its header (PNG specification, 11.2.2) is read without it. */
#include "io/picture/gray16.h"

#include "base/file.h"
#include "io/picture/codec_memory.h"
#include "io/picture/image.h"

#include <setjmp.h>
#include <stdio.h>

#define HEADER_BYTES 26 /* signature, length, IHDR, width, height, bits, colour */
#define MAX_INFLATION 1032 /* deflate makes at most 258 bytes of 2 bits */

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static splat_status check_header(const char *path, const uint8_t *header, size_t n, uint64_t file_bytes, int *width,
                                 int *height, splat_error *error)
{
    static const uint8_t begin[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    static const char *const kinds[] = {"gray", "", "RGB", "palette", "gray with alpha", "", "RGBA"};
    if (n < HEADER_BYTES || memcmp(header, begin, sizeof begin) != 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the depth map is not a PNG picture; 16-bit gray PNG files of inverse depth are read");
    const uint32_t w = big_endian(header + 16), h = big_endian(header + 20);
    const uint8_t bits = header[24], kind = header[25];
    if (bits != 16 || kind != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                             "the depth map has %d bits a channel (%s); it must be 16-bit gray, inverse depth times "
                             "65536: write it as such (cv2.imwrite of uint16)", bits, kind < 7 ? kinds[kind] : "?");
    if (w < 1 || h < 1 || w > SPLAT_IMAGE_MAX_SIDE || h > SPLAT_IMAGE_MAX_SIDE ||
        2 * (uint64_t)w * h / MAX_INFLATION > file_bytes)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the header says %u x %u pixels, which cannot be in %llu bytes: the depth map is damaged",
                             w, h, (unsigned long long)file_bytes);
    *width = (int)w;
    *height = (int)h;
    return SPLAT_OK;
}

splat_status splat_gray16_probe(const char *path, int *width, int *height, splat_error *error)
{
    uint8_t header[HEADER_BYTES];
    uint64_t size;
    FILE *stream;
    SPLAT_TRY(splat_file_open_stream(path, &stream, &size, error));
    size_t n = fread(header, 1, sizeof header, stream);
    fclose(stream);
    return check_header(path, header, n, size, width, height, error);
}

/* libpng leaves by longjmp: what is needed afterwards lives here. */
typedef struct job {
    const uint8_t *data;
    size_t size, at;
    uint16_t *pixels;
    int width, height;
    bool no_memory;
    char message[160];
} job;

static void on_error(png_structp png, png_const_charp text)
{
    job *j = png_get_error_ptr(png);
    snprintf(j->message, sizeof j->message, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png; /* other chunks than pixels */
    (void)text;
}

static void on_read(png_structp png, png_bytep out, size_t n)
{
    job *j = png_get_io_ptr(png);
    if (n > j->size - j->at) png_error(png, "the file ends early");
    memcpy(out, j->data + j->at, n);
    j->at += n;
}

static bool decode(png_structp png, png_infop info, job *j)
{
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_read_fn(png, j, on_read);
    png_read_info(png, info);
    png_set_swap(png); /* hosts are little-endian (base/reader.h) */
    int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != 2 * (size_t)j->width) png_error(png, "its header contradicts itself");
    for (int pass = 0; pass < n_passes; pass++)
        for (int y = 0; y < j->height; y++)
            png_read_row(png, (png_bytep)(j->pixels + (size_t)y * (size_t)j->width), NULL);
    png_read_end(png, NULL);
    return true;
}

static splat_status read_pixels(const char *path, job *j, splat_error *error)
{
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, j, on_error, on_warning, &j->no_memory,
                                               splat_png_malloc, splat_png_free);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool has_memory = info != NULL, good = has_memory && decode(png, info, j);
    png_destroy_read_struct(&png, &info, NULL);
    if (good) return SPLAT_OK;
    if (!has_memory || j->no_memory)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory to decode the depth map");
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, j->at, "the depth map is damaged: %s", j->message);
}

splat_status splat_gray16_read(const char *path, int width, int height, uint16_t **pixels, splat_error *error)
{
    uint8_t *data;
    job j = {.size = 0};
    *pixels = NULL;
    SPLAT_TRY(splat_file_read(path, &data, &j.size, error));
    j.data = data;
    splat_status status = check_header(path, data, j.size, j.size, &j.width, &j.height, error);
    if (status == SPLAT_OK && (j.width != width || j.height != height))
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               "the depth map has %d x %d pixels, but had %d x %d when the scene was opened: open it "
                               "again", j.width, j.height, width, height);
    if (status == SPLAT_OK) {
        j.pixels = malloc(2 * (size_t)width * (size_t)height);
        status = j.pixels ? read_pixels(path, &j, error)
                          : splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET,
                                          "no memory for a depth map of %d x %d pixels", width, height);
    }
    free(data);
    if (status == SPLAT_OK)
        *pixels = j.pixels;
    else
        free(j.pixels);
    return status;
}
