/* Pictures out: PNG, to a file (atomically) or to memory, and renders as 8 bits; then JPEG and PFM. */
#include "io/picture/image_write.h"

#include "base/file.h"
#include "io/picture/codec_memory.h"
#include "io/picture/image.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <zlib.h>

/* libpng leaves by longjmp, so nothing that is needed afterwards lives in the function that calls setjmp. */
typedef struct png_job {
    FILE *stream; /* the bytes go here, or else to data */
    uint8_t *data;
    size_t size, capacity;
    png_structp png;
    png_infop info;
    int width, height, channels, depth;
    bool fast; /* many times as fast, and a little larger */
    const uint8_t *pixels;
    bool no_memory;
    char message[160];
} png_job;

static void on_error(png_structp png, png_const_charp text)
{
    png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_write(png_structp png, png_bytep bytes, size_t n)
{
    png_job *job = png_get_io_ptr(png);
    if (job->stream) {
        fwrite(bytes, 1, n, job->stream); /* splat_save_commit reports what fails here */
        return;
    }
    if (n > job->capacity - job->size) {
        size_t capacity = 2 * job->capacity + n + 65536; /* a picture is far smaller than the address space */
        uint8_t *data = realloc(job->data, capacity);
        job->no_memory = !data;
        if (!data) png_error(png, "no memory for its bytes");
        job->data = data;
        job->capacity = capacity;
    }
    memcpy(job->data + job->size, bytes, n);
    job->size += n;
}

static void on_flush(png_structp png)
{
    (void)png; /* splat_save_commit does it */
}

static void write_picture(png_job *job)
{
    int color = job->channels == 1   ? PNG_COLOR_TYPE_GRAY
                : job->channels == 3 ? PNG_COLOR_TYPE_RGB
                                     : PNG_COLOR_TYPE_RGBA;
    png_set_IHDR(job->png, job->info, (png_uint_32)job->width, (png_uint_32)job->height, job->depth, color,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (job->fast) {
        png_set_compression_level(job->png, 1);
        png_set_compression_strategy(job->png, Z_RLE); /* of what a filter leaves: 2/3 of the time, no byte more */
        png_set_filter(job->png, 0, PNG_FILTER_UP);
        png_set_compression_buffer_size(job->png, 65536);
    }
    png_write_info(job->png, job->info);
    if (job->depth == 16) png_set_swap(job->png); /* PNG is big-endian; base/reader.h holds us to little-endian hosts */
    size_t row_bytes = (size_t)job->width * (size_t)job->channels * (size_t)(job->depth / 8);
    for (int y = 0; y < job->height; y++) png_write_row(job->png, job->pixels + (size_t)y * row_bytes);
    png_write_end(job->png, NULL);
}

static bool run(png_job *job)
{
    if (setjmp(png_jmpbuf(job->png))) return false;
    write_picture(job);
    return true;
}

/* `name` is for messages only. */
static splat_status make_png(png_job *job, const char *name, splat_error *error)
{
    splat_status status = SPLAT_OK;
    job->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, job, on_error, on_warning, &job->no_memory,
                                         splat_png_malloc, splat_png_free);
    if (job->png) job->info = png_create_info_struct(job->png);
    if (!job->info) {
        status = splat_fail_at(error, SPLAT_ERROR_MEMORY, name, SPLAT_NO_OFFSET, "no memory to write a PNG");
    } else {
        png_set_write_fn(job->png, job, on_write, on_flush);
        bool made = run(job);
        if (job->no_memory)
            status = splat_fail_at(error, SPLAT_ERROR_MEMORY, name, SPLAT_NO_OFFSET, "no memory to write a PNG");
        else if (!made)
            status = splat_fail_at(error, SPLAT_ERROR_INTERNAL, name, SPLAT_NO_OFFSET, "the PNG could not be made: %s",
                                   job->message);
    }
    png_destroy_write_struct(&job->png, &job->info);
    return status;
}

static splat_status check_picture(const png_job *job, const char *name, splat_error *error)
{
    bool side = job->width >= 1 && job->height >= 1 && job->width <= SPLAT_IMAGE_MAX_SIDE &&
                job->height <= SPLAT_IMAGE_MAX_SIDE;
    bool kind = (job->channels == 1 || job->channels == 3 || job->channels == 4) &&
                (job->depth == 8 || job->depth == 16);
    if (side && kind) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, name, SPLAT_NO_OFFSET,
                         "a PNG of %d x %d pixels with %d channels of %d bits cannot be written", job->width,
                         job->height, job->channels, job->depth);
}

splat_status splat_png_write(const char *path, int width, int height, int channels, int depth, const void *pixels,
                             splat_error *error)
{
    png_job job = {.width = width, .height = height, .channels = channels, .depth = depth, .pixels = pixels};
    splat_save save;
    SPLAT_TRY(check_picture(&job, path, error));
    SPLAT_TRY(splat_save_open(&save, path, error));
    job.stream = save.stream;
    splat_status status = make_png(&job, path, error);
    if (status == SPLAT_OK) return splat_save_commit(&save, error);
    splat_save_abort(&save);
    return status;
}

splat_status splat_png_encode(const char *name, int width, int height, int channels, const uint8_t *pixels,
                              uint8_t **data, size_t *size, splat_error *error)
{
    png_job job = {.width = width, .height = height, .channels = channels, .depth = 8, .fast = true, .pixels = pixels};
    *data = NULL;
    *size = 0;
    SPLAT_TRY(check_picture(&job, name, error));
    splat_status status = make_png(&job, name, error);
    if (status != SPLAT_OK) {
        free(job.data);
        return status;
    }
    *data = job.data;
    *size = job.size;
    return SPLAT_OK;
}

uint8_t splat_image_byte(float value)
{
    value = value > 0.0f ? value < 1.0f ? value : 1.0f : 0.0f; /* NaN becomes 0 */
    return (uint8_t)(255.0f * value + 0.5f);
}

void splat_image_from_planar(const float *planar, int width, int height, uint8_t *rgb)
{
    size_t n = (size_t)width * (size_t)height;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++) rgb[3 * i + c] = splat_image_byte(planar[c * n + i]);
}

/* ---------------------------------------------------------------- JPEG
 * JPEG encoding with libjpeg-turbo. */

splat_status splat_jpeg_encode(const char *name, int width, int height, const uint8_t *rgb, int quality, uint8_t **data,
                               size_t *size, splat_error *error)
{
    unsigned long length = tjBufSize(width, height, TJSAMP_444);
    uint8_t *buffer = malloc(length);
    tjhandle encoder = tjInitCompress();
    splat_status status = SPLAT_OK;
    bool done = buffer && encoder && tjCompress2(encoder, rgb, width, 0, height, TJPF_RGB, &buffer, &length, TJSAMP_444,
                                                 quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) == 0;
    if (!buffer || !encoder || (!done && splat_jpeg_is_memory(tjGetErrorStr2(encoder))))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to encode %s", name);
    else if (!done)
        status = splat_fail(error, SPLAT_ERROR_INTERNAL, "%s cannot be encoded as JPEG: %s", name,
                            tjGetErrorStr2(encoder));
    if (encoder) tjDestroy(encoder);
    if (status != SPLAT_OK) {
        free(buffer);
        return status;
    }
    uint8_t *fitted = realloc(buffer, length); /* tjBufSize is for the worst picture */
    *data = fitted ? fitted : buffer;
    *size = length;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- PFM
 * PFM: float pictures that OpenCV, ImageMagick, GIMP and tev open. A text header, then rows from the bottom to the top;
 * the negative scale says little-endian. */

splat_status splat_pfm_write(const char *path, int width, int height, int channels, const float *planar,
                             splat_error *error)
{
    splat_save save;
    size_t plane = (size_t)width * (size_t)height;
    if (width < 1 || height < 1 || (channels != 1 && channels != 3))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "a PFM of %d x %d pixels with %d channels cannot be written", width, height, channels);
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "%s\n%d %d\n-1.0\n", channels == 3 ? "PF" : "Pf", width, height);
    for (int y = height; y-- > 0;) {
        const float *row = planar + (size_t)y * (size_t)width;
        if (channels == 1) {
            fwrite(row, sizeof *row, (size_t)width, save.stream); /* base/reader.h holds us to little-endian hosts */
            continue;
        }
        for (int x = 0; x < width; x++)
            fwrite((float[]){row[x], row[plane + (size_t)x], row[2 * plane + (size_t)x]}, sizeof *row, 3, save.stream);
    }
    return splat_save_commit(&save, error);
}
