/* Pictures for the tests of io/image.h: those of make_resize_golden.py, PNGs of every kind, and a look into a JPEG. */
#ifndef SPLAT_TESTS_IMAGE_FIXTURE_H
#define SPLAT_TESTS_IMAGE_FIXTURE_H

#include "golden/resize_golden.h"
#include "io/image.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <cmocka.h>

static inline size_t image_bytes(const splat_image *image)
{
    return (size_t)image->width * (size_t)image->height * (size_t)image->channels;
}

/* The pictures of make_resize_golden.py. */
static inline uint8_t source_value(int kind, int x, int y, int c, int width, int height)
{
    uint32_t h = (uint32_t)x * 374761393u + (uint32_t)y * 668265263u + (uint32_t)c * 2246822519u;
    h = ((h ^ (h >> 13)) * 1274126177u) >> 24;
    if (c == 3) return (uint8_t)(h < 64 ? 0 : h > 192 ? 255 : h);
    if (kind == 0) return (uint8_t)(x * 7 + y * 13 + c * 29);
    if (kind == 2) return (uint8_t)h;
    int value = 96 + x * 64 / width + y * 64 / height + (int)(h & 63);
    return (uint8_t)(value > 255 ? 255 : value);
}

/* The offset of a marker's code byte, or a failure. */
static inline size_t find_marker(const uint8_t *data, size_t size, uint8_t marker)
{
    for (size_t i = 0; i + 1 < size; i++)
        if (data[i] == 0xFF && data[i + 1] == marker) return i + 1;
    fail_msg("the test's JPEG has no marker %02X", marker);
    return 0;
}

typedef struct memory_file { uint8_t *data; size_t size; } memory_file;

static inline void memory_write(png_structp png, png_bytep data, size_t n)
{
    memory_file *file = png_get_io_ptr(png);
    file->data = realloc(file->data, file->size + n);
    assert_non_null(file->data);
    memcpy(file->data + file->size, data, n);
    file->size += n;
}

static inline void memory_flush(png_structp png)
{
    (void)png;
}

#define ODD_WIDTH 13
#define ODD_HEIGHT 11

/* A sample of the odd PNGs below, `depth` bits. */
static inline unsigned odd_sample(int x, int y, int c, int depth)
{
    unsigned wide = (unsigned)source_value(2, x, y, c == 3 ? 2 : c, 1, 1) << 8 | (unsigned)(x * 11 + y * 5 + c);
    return wide >> (16 - depth);
}

static inline int samples_of(int color_type)
{
    return color_type == PNG_COLOR_TYPE_RGB          ? 3
           : color_type == PNG_COLOR_TYPE_RGBA       ? 4
           : color_type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                     : 1;
}

/* Any PNG, made by libpng itself. tRNS: the samples of pixel (0, 0) are clear, or palette entry i has alpha 3 i. */
static inline memory_file odd_png(int color_type, int depth, bool interlaced, bool transparent)
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

#endif
