/* Lossless WebP through libwebp, where there is one. */
#include "io/picture/webp.h"

#include <stdlib.h>
#include <string.h>
#if SPLATSMITH_HAS_WEBP
#include <webp/decode.h>
#include <webp/encode.h>
#endif

splat_status splat_webp_check(const char *path, splat_error *error)
{
#if SPLATSMITH_HAS_WEBP
    (void)path, (void)error;
    return SPLAT_OK;
#else
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "this Splatsmith was built without libwebp, which SOG takes; install libwebp-dev and build it "
                         "again, or use SPZ");
#endif
}

#if SPLATSMITH_HAS_WEBP

static splat_status encode_failed(const WebPPicture *picture, splat_error *error)
{
    if (picture->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
        picture->error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to write a WebP");
    return splat_fail(error, SPLAT_ERROR_INTERNAL, "libwebp cannot write a WebP (its error %d)", picture->error_code);
}

splat_status splat_webp_encode(const uint8_t *rgba, int width, int height, uint8_t **data, size_t *size,
                               splat_error *error)
{
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter writer;
    const int effort = 6; /* of 9: more takes several times as long for a hundredth */
    *data = NULL;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture) || !WebPConfigLosslessPreset(&config, effort))
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "libwebp is of another version than it was built with");
    config.exact = 1; /* colours below alpha 0 are numbers as well */
    picture.use_argb = 1;
    picture.width = width;
    picture.height = height;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    bool done = WebPPictureImportRGBA(&picture, rgba, 4 * width) && WebPEncode(&config, &picture);
    splat_status status = done ? SPLAT_OK : encode_failed(&picture, error);
    WebPPictureFree(&picture);
    if (done) *data = malloc(writer.size ? writer.size : 1); /* libwebp's memory is not free's */
    if (done && !*data) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to write a WebP");
    if (*data) memcpy(*data, writer.mem, *size = writer.size);
    WebPMemoryWriterClear(&writer);
    return status;
}

/* WebPDecodeRGBAInto that says why it failed. */
static VP8StatusCode decode_into(const uint8_t *data, size_t size, uint8_t *rgba, size_t n_bytes, int stride)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return VP8_STATUS_INVALID_PARAM;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){rgba, stride, n_bytes};
    return WebPDecode(data, size, &config);
}

/* libwebp reports want of memory for its Huffman tables as a damaged file. So a picture that seems damaged is decoded
 * again, if there is memory at all. */
static VP8StatusCode decode_again(const uint8_t *data, size_t size, uint8_t *rgba, size_t n_bytes, int stride)
{
    void *probe = malloc(n_bytes);
    if (!probe) return VP8_STATUS_OUT_OF_MEMORY;
    free(probe);
    return decode_into(data, size, rgba, n_bytes, stride);
}

splat_status splat_webp_decode(const char *name, const uint8_t *data, size_t size, size_t max_pixels, uint8_t **rgba,
                               int *width, int *height, splat_error *error)
{
    *rgba = NULL;
    if (!WebPGetInfo(data, size, width, height))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET, "this is no WebP, or is cut short");
    size_t pixels = (size_t)*width * (size_t)*height;
    if (pixels > max_pixels)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET,
                             "the WebP has %d x %d pixels, far more than there are numbers", *width, *height);
    *rgba = malloc(4 * pixels);
    if (!*rgba) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a WebP of %d x %d", *width, *height);
    VP8StatusCode code = decode_into(data, size, *rgba, 4 * pixels, 4 * *width);
    if (code == VP8_STATUS_BITSTREAM_ERROR) code = decode_again(data, size, *rgba, 4 * pixels, 4 * *width);
    if (code == VP8_STATUS_OK) return SPLAT_OK;
    free(*rgba);
    *rgba = NULL;
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a WebP of %d x %d", *width, *height);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, name, SPLAT_NO_OFFSET, "the WebP is corrupt or cut short");
}

#else

splat_status splat_webp_encode(const uint8_t *rgba, int width, int height, uint8_t **data, size_t *size,
                               splat_error *error)
{
    (void)rgba, (void)width, (void)height;
    *data = NULL;
    *size = 0;
    return splat_webp_check(NULL, error);
}

splat_status splat_webp_decode(const char *name, const uint8_t *data, size_t size, size_t max_pixels, uint8_t **rgba,
                               int *width, int *height, splat_error *error)
{
    (void)data, (void)size, (void)max_pixels;
    *rgba = NULL;
    *width = *height = 0;
    return splat_webp_check(name, error);
}

#endif
