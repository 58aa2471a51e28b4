/* Reading pictures. The content decides the format; headers are judged before any pixel memory is asked for. */
#include "io/picture/image_read.h"

#include "io/picture/image.h"

#include "base/file.h"
#include "io/picture/codec_memory.h"
#include "io/picture/image_resize.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* A picture whose pixels need more than this is not read. */
#define MAX_PIXEL_BYTES ((uint64_t)1 << 31)

/* The bytes of a picture: all in memory, or a stream of which only the header is read. */
typedef struct byte_source {
    const char *path;
    const uint8_t *data; /* NULL: read from the stream */
    FILE *stream;
    uint64_t size, position;
} byte_source;

typedef struct picture_size {
    uint32_t width, height;
    int channels;         /* after decoding: 3 or 4 */
    uint64_t least_bytes; /* no file of this format is smaller for a picture of this size */
} picture_size;

static bool source_read(byte_source *source, void *out, size_t n)
{
    if (source->size - source->position < n) return false;
    if (source->data)
        memcpy(out, source->data + source->position, n);
    else if (fread(out, 1, n, source->stream) != n)
        return false;
    source->position += n;
    return true;
}

static bool source_skip(byte_source *source, size_t n)
{
    if (source->size - source->position < n) return false;
    if (!source->data && fseeko(source->stream, (off_t)n, SEEK_CUR) != 0) return false;
    source->position += n;
    return true;
}

static splat_status fail_early_end(const byte_source *source, const char *format, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, source->position,
                         "the %s picture ends early: copy or download it again", format);
}

/* A header is believed only when the file is large enough to hold such a picture: a hostile one cannot make us
 * allocate, and a truncated one is found before it is decoded. */
static splat_status check_size(const byte_source *source, const picture_size *size, splat_error *error)
{
    uint32_t width = size->width, height = size->height;
    if (width < 1 || height < 1 || width > SPLAT_IMAGE_MAX_SIDE || height > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, source->position,
                             "the header says %u x %u pixels, but sides are 1 to %d: the picture is damaged", width,
                             height, SPLAT_IMAGE_MAX_SIDE);
    if ((uint64_t)width * height * (uint64_t)size->channels > MAX_PIXEL_BYTES)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, source->path, source->position,
                             "a picture of %u x %u pixels needs more than 2 GiB: make it smaller", width, height);
    if (size->least_bytes > source->size)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, source->position,
                             "the header says %u x %u pixels, which cannot fit in %llu bytes: the picture is damaged",
                             width, height, (unsigned long long)source->size);
    return SPLAT_OK;
}

static splat_status fail_no_memory(const byte_source *source, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, source->path, SPLAT_NO_OFFSET, "no memory to decode the picture");
}

static splat_status allocate(const byte_source *source, const picture_size *size, splat_image *image,
                             splat_error *error)
{
    size_t n_bytes = (size_t)size->width * size->height * (size_t)size->channels; /* check_size: at most 2^31 */
    image->pixels = malloc(n_bytes);
    if (!image->pixels)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, source->path, SPLAT_NO_OFFSET,
                             "no memory for a picture of %u x %u pixels", size->width, size->height);
    image->width = (int)size->width;
    image->height = (int)size->height;
    image->channels = size->channels;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- JPEG */

/* Skips to the next marker, over fill bytes and anything that is not one, as decoders do. */
static bool jpeg_next_marker(byte_source *source, uint8_t *marker)
{
    do {
        do {
            if (!source_read(source, marker, 1)) return false;
        } while (*marker != 0xFF);
        do {
            if (!source_read(source, marker, 1)) return false;
        } while (*marker == 0xFF);
    } while (*marker == 0);
    return true;
}

/* Finds the start-of-frame segment (ITU T.81, B.2.2); `body` is what follows its length: precision, height, width,
 * number of components. */
static splat_status jpeg_find_frame(byte_source *source, uint8_t *marker, uint8_t body[6], splat_error *error)
{
    for (;;) {
        if (!jpeg_next_marker(source, marker)) return fail_early_end(source, "JPEG", error);
        if (*marker == 0x01 || (*marker >= 0xD0 && *marker <= 0xD8)) continue; /* markers without a body */
        if (*marker == 0xD9 || *marker == 0xDA)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, source->position,
                                 "the JPEG picture has no frame header before its data: it is damaged");
        uint8_t length_bytes[2];
        if (!source_read(source, length_bytes, 2)) return fail_early_end(source, "JPEG", error);
        size_t length = (size_t)length_bytes[0] << 8 | length_bytes[1];
        bool is_frame = *marker >= 0xC0 && *marker <= 0xCF && *marker != 0xC4 && *marker != 0xC8 && *marker != 0xCC;
        if (length < (is_frame ? 8u : 2u))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, source->position,
                                 "a segment of the JPEG picture has the impossible length %zu: it is damaged", length);
        if (is_frame) {
            if (!source_read(source, body, 6)) return fail_early_end(source, "JPEG", error);
            return SPLAT_OK;
        }
        if (!source_skip(source, length - 2)) return fail_early_end(source, "JPEG", error);
    }
}

static splat_status jpeg_read_header(byte_source *source, picture_size *size, splat_error *error)
{
    uint8_t marker, body[6];
    SPLAT_TRY(jpeg_find_frame(source, &marker, body, error));
    size->height = (uint32_t)body[1] << 8 | body[2];
    size->width = (uint32_t)body[3] << 8 | body[4];
    size->channels = 3;
    bool arithmetic = marker == 0xC9 || marker == 0xCA;
    if (!arithmetic && marker > 0xC2)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, source->path, source->position,
                             "lossless and hierarchical JPEG is not supported: save the picture as plain JPEG");
    if (body[0] != 8)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, source->path, source->position,
                             "a JPEG of %d bits a channel is not supported: save the picture with 8 bits", body[0]);
    if (body[5] != 1 && body[5] != 3)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, source->path, source->position,
                             "a JPEG of %d channels (CMYK?) is not supported: save the picture as RGB", body[5]);
    /* Huffman codes need at least one bit a block of 64 samples: 512 pixels a byte, a few more for subsampled colour.
     * Arithmetic codes have no such bound. */
    size->least_bytes = arithmetic ? 0 : (uint64_t)size->width * size->height / 4096;
    return check_size(source, size, error);
}

/* True for a warning that cameras cause and every viewer accepts: padding between segments, odd version numbers. All
 * other warnings mean wrong pixels. */
static bool jpeg_warning_is_harmless(const char *text)
{
    return strstr(text, "extraneous bytes before marker") || strstr(text, "Unknown Adobe color transform") ||
           strstr(text, "unknown JFIF revision");
}

static splat_status jpeg_decode(byte_source *source, splat_image *image, splat_error *error)
{
    picture_size size;
    SPLAT_TRY(jpeg_read_header(source, &size, error));
    /* The end-of-image marker cannot occur in coded data. Looked for here, because the decoder tells its first warning
     * only: a harmless one would hide the early end. */
    if (!memmem(source->data + source->position, (size_t)(source->size - source->position), "\xFF\xD9", 2)) {
        source->position = source->size;
        return fail_early_end(source, "JPEG", error);
    }
    tjhandle decoder = tjInitDecompress();
    if (!decoder) return fail_no_memory(source, error);
    splat_status status = allocate(source, &size, image, error);
    if (status == SPLAT_OK &&
        tjDecompress2(decoder, source->data, (unsigned long)source->size, image->pixels, image->width, 3 * image->width,
                      image->height, TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
        const char *text = tjGetErrorStr2(decoder);
        if (splat_jpeg_is_memory(text))
            status = fail_no_memory(source, error);
        else if (tjGetErrorCode(decoder) != TJERR_WARNING || !jpeg_warning_is_harmless(text))
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, source->path, SPLAT_NO_OFFSET,
                                   "the JPEG picture is damaged: %s", text);
    }
    tjDestroy(decoder);
    return status;
}

/* ---------------------------------------------------------------- PNG */

/* Rows of a picture that become narrower as they come. */
typedef struct png_shrinker {
    const splat_image_request *request;
    splat_resize_axis axis;
    uint8_t *row; /* [width][4], as decoded */
} png_shrinker;

/* libpng leaves by longjmp, so nothing that is needed afterwards lives in the function that calls setjmp. */
typedef struct png_job {
    byte_source *source;
    splat_image *image;
    png_shrinker *shrinker; /* NULL: pixels go to the image as they are */
    picture_size size;
    png_structp png;
    png_infop info;
    bool no_memory;
    char message[160];
} png_job;

static void png_on_error(png_structp png, png_const_charp text)
{
    png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", text);
    png_longjmp(png, 1);
}

static void png_on_warning(png_structp png, png_const_charp text)
{
    (void)png; /* unknown profiles, odd text chunks: none of them touches a pixel */
    (void)text;
}

static void png_on_read(png_structp png, png_bytep out, size_t n)
{
    png_job *job = png_get_io_ptr(png);
    if (!source_read(job->source, out, n)) png_error(png, "the file ends early");
}

static void png_step_header(png_job *job)
{
    png_read_info(job->png, job->info);
}

static void png_shrink_rows(png_job *job)
{
    png_shrinker *s = job->shrinker;
    size_t out_bytes = 3 * (size_t)s->request->width;
    for (uint32_t y = 0; y < job->size.height; y++) {
        png_read_row(job->png, s->row, NULL);
        if (job->size.channels == 4)
            splat_image_composite_row(s->row, job->size.width, s->request->background, s->request->truncate, s->row);
        splat_resize_axis_row(&s->axis, s->request->width, s->row, job->image->pixels + y * out_bytes);
    }
}

static void png_step_pixels(png_job *job)
{
    png_set_expand(job->png); /* palette to RGB, 1 2 4 bits to 8, tRNS to alpha */
    png_set_strip_16(job->png);
    png_set_gray_to_rgb(job->png);
    int n_passes = png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    size_t row_bytes = (size_t)job->size.width * (size_t)job->size.channels;
    if (png_get_rowbytes(job->png, job->info) != row_bytes) png_error(job->png, "its header contradicts itself");
    if (job->shrinker) png_shrink_rows(job);
    for (int pass = 0; pass < n_passes && !job->shrinker; pass++)
        for (uint32_t y = 0; y < job->size.height; y++)
            png_read_row(job->png, job->image->pixels + y * row_bytes, NULL);
    png_read_end(job->png, NULL);
}

static splat_status fail_png(const png_job *job, splat_error *error)
{
    if (job->no_memory) return fail_no_memory(job->source, error);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, job->source->path, job->source->position,
                         "the PNG picture is damaged: %s", job->message);
}

static splat_status png_run(png_job *job, void (*step)(png_job *job), splat_error *error)
{
    if (setjmp(png_jmpbuf(job->png))) return fail_png(job, error);
    step(job);
    return job->no_memory ? fail_no_memory(job->source, error) : SPLAT_OK;
}

static splat_status png_read_size(png_job *job, picture_size *size, splat_error *error)
{
    SPLAT_TRY(png_run(job, png_step_header, error));
    size->width = png_get_image_width(job->png, job->info);
    size->height = png_get_image_height(job->png, job->info);
    bool has_alpha = (png_get_color_type(job->png, job->info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                     png_get_valid(job->png, job->info, PNG_INFO_tRNS) != 0;
    size->channels = has_alpha ? 4 : 3;
    uint64_t bits = (uint64_t)png_get_bit_depth(job->png, job->info) * png_get_channels(job->png, job->info);
    /* Deflate gives at most 258 bytes for 2 bits. Sides below 2^31, at most 64 bits a pixel: no overflow after / 8. */
    size->least_bytes = (uint64_t)size->width * size->height / 8 / 1032 * bits;
    return check_size(job->source, size, error);
}

static splat_status png_open(png_job *job, byte_source *source, splat_image *image, splat_error *error)
{
    memset(job, 0, sizeof *job);
    job->source = source;
    job->image = image;
    job->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, job, png_on_error, png_on_warning, &job->no_memory,
                                        splat_png_malloc, splat_png_free);
    if (job->png) job->info = png_create_info_struct(job->png);
    if (!job->info) {
        png_destroy_read_struct(&job->png, NULL, NULL);
        return fail_no_memory(source, error);
    }
    png_set_read_fn(job->png, job, png_on_read);
    return SPLAT_OK;
}

static splat_status png_read_header(byte_source *source, picture_size *size, splat_error *error)
{
    png_job job;
    SPLAT_TRY(png_open(&job, source, NULL, error));
    splat_status status = png_read_size(&job, size, error);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    return status;
}

/* True if rows can be reduced while they are read, which an interlaced picture does not allow. */
static bool png_can_shrink(png_job *job, const splat_image_request *request)
{
    return request && (uint32_t)request->width < job->size.width &&
           png_get_interlace_type(job->png, job->info) == PNG_INTERLACE_NONE;
}

static splat_status png_prepare(png_job *job, png_shrinker *shrinker, splat_error *error)
{
    picture_size kept = job->size; /* of what stays in memory */
    if (!png_can_shrink(job, shrinker->request)) return allocate(job->source, &kept, job->image, error);
    kept.width = (uint32_t)shrinker->request->width;
    kept.channels = 3;
    job->shrinker = shrinker;
    shrinker->row = malloc(4 * (size_t)job->size.width);
    if (!shrinker->row || !splat_resize_axis_make(&shrinker->axis, (int)job->size.width, (int)kept.width))
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, job->source->path, SPLAT_NO_OFFSET,
                             "no memory for a row of %u pixels", job->size.width);
    return allocate(job->source, &kept, job->image, error);
}

static splat_status png_decode(byte_source *source, const splat_image_request *request, splat_image *image,
                               splat_error *error)
{
    png_job job;
    png_shrinker shrinker = {.request = request};
    SPLAT_TRY(png_open(&job, source, image, error));
    splat_status status = png_read_size(&job, &job.size, error);
    if (status == SPLAT_OK) status = png_prepare(&job, &shrinker, error);
    if (status == SPLAT_OK) status = png_run(&job, png_step_pixels, error);
    png_destroy_read_struct(&job.png, &job.info, NULL);
    splat_resize_axis_free(&shrinker.axis);
    free(shrinker.row);
    return status;
}

/* ---------------------------------------------------------------- any format */

typedef enum picture_format { FORMAT_UNKNOWN, FORMAT_JPEG, FORMAT_PNG } picture_format;

static picture_format format_of(const uint8_t *start, size_t n)
{
    static const uint8_t png_signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    if (n >= 8 && memcmp(start, png_signature, 8) == 0) return FORMAT_PNG;
    if (n >= 3 && start[0] == 0xFF && start[1] == 0xD8 && start[2] == 0xFF) return FORMAT_JPEG;
    return FORMAT_UNKNOWN;
}

static splat_status fail_unknown(const char *path, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, 0,
                         "this is neither a JPEG nor a PNG picture, the formats that are read: convert it to one");
}

/* request: a PNG may come out with that width already; NULL: as it is. */
static splat_status decode(byte_source *source, const splat_image_request *request, splat_image *image,
                           splat_error *error)
{
    splat_status status;
    switch (format_of(source->data, (size_t)source->size)) {
    case FORMAT_JPEG: status = jpeg_decode(source, image, error); break;
    case FORMAT_PNG: status = png_decode(source, request, image, error); break;
    default: status = fail_unknown(source->path, error);
    }
    if (status != SPLAT_OK) splat_image_free(image);
    return status;
}

splat_status splat_image_decode(const char *path_for_errors, const uint8_t *data, size_t size, splat_image *image,
                                splat_error *error)
{
    byte_source source = {.path = path_for_errors, .data = data, .size = size};
    memset(image, 0, sizeof *image);
    return decode(&source, NULL, image, error);
}

static splat_status read_and_decode(const char *path, const splat_image_request *request, splat_image *image,
                                    splat_error *error)
{
    memset(image, 0, sizeof *image);
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    byte_source source = {.path = path, .data = data, .size = size};
    splat_status status = decode(&source, request, image, error);
    free(data);
    return status;
}

splat_status splat_image_read(const char *path, splat_image *image, splat_error *error)
{
    return read_and_decode(path, NULL, image, error);
}

splat_status splat_image_read_as(const char *path, const splat_image_request *request, splat_image *image,
                                 splat_error *error)
{
    SPLAT_TRY(read_and_decode(path, request, image, error));
    splat_status status = splat_image_composite(image, request->background, request->truncate, error);
    if (status == SPLAT_OK) status = splat_image_resize(image, request->width, request->height, error);
    if (status != SPLAT_OK) splat_image_free(image);
    return status;
}

splat_status splat_image_probe(const char *path, int *width, int *height, int *channels, splat_error *error)
{
    byte_source source = {.path = path};
    SPLAT_TRY(splat_file_open_stream(path, &source.stream, &source.size, error));
    uint8_t start[8];
    picture_format format = format_of(start, fread(start, 1, sizeof start, source.stream));
    rewind(source.stream);
    picture_size size;
    splat_status status;
    switch (format) {
    case FORMAT_JPEG: status = jpeg_read_header(&source, &size, error); break;
    case FORMAT_PNG: status = png_read_header(&source, &size, error); break;
    default: status = fail_unknown(path, error);
    }
    fclose(source.stream);
    if (status != SPLAT_OK) return status;
    *width = (int)size.width;
    *height = (int)size.height;
    *channels = size.channels;
    return SPLAT_OK;
}

/* Sets *good to true if the file ends as complete pictures of its format do. Other files may be sound, with more bytes
 * at their end. */
static splat_status ends_well(const char *path, bool *good, splat_error *error)
{
    static const uint8_t png_end[8] = {'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82}, jpeg_end[2] = {0xFF, 0xD9};
    FILE *stream;
    uint64_t size;
    uint8_t end[8] = {0};
    *good = false;
    SPLAT_TRY(splat_file_open_stream(path, &stream, &size, error));
    if (size >= sizeof end && fseeko(stream, -(off_t)sizeof end, SEEK_END) == 0 &&
        fread(end, 1, sizeof end, stream) == sizeof end)
        *good = memcmp(end, png_end, sizeof end) == 0 || memcmp(end + 6, jpeg_end, sizeof jpeg_end) == 0;
    fclose(stream);
    return SPLAT_OK;
}

splat_status splat_image_check_whole(const char *path, splat_error *error)
{
    int width, height, channels;
    bool good;
    splat_image image;
    SPLAT_TRY(splat_image_probe(path, &width, &height, &channels, error));
    SPLAT_TRY(ends_well(path, &good, error));
    if (good) return SPLAT_OK;
    SPLAT_TRY(splat_image_read(path, &image, error));
    splat_image_free(&image);
    return SPLAT_OK;
}

void splat_image_free(splat_image *image)
{
    free(image->pixels);
    memset(image, 0, sizeof *image);
}
