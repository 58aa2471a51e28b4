/* JPEG encoding with libjpeg-turbo. */
#include "io/picture/codec_memory.h"
#include "io/picture/image.h"

#include <stdlib.h>
#include <turbojpeg.h>

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
