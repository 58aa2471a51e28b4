/* A stream of PGM pictures: what comes out does not depend on the pieces that it came in. */
#include "fuzz.h"

#include "capture/video.h"

static size_t n_pictures, n_pixels;

static bool take(void *user, const uint8_t *gray, int width, int height)
{
    volatile uint8_t touched = gray[(size_t)width * (size_t)height - 1];
    (void)user;
    (void)touched;
    n_pictures++;
    n_pixels += (size_t)width * (size_t)height;
    return true;
}

static bool feed(const uint8_t *data, size_t size, size_t piece)
{
    splat_pgm_stream stream = {0};
    bool good = true;
    n_pictures = n_pixels = 0;
    for (size_t at = 0, n; at < size && good; at += n) {
        n = size - at < piece ? size - at : piece;
        good = splat_pgm_stream_add(&stream, (const char *)data + at, n, take, NULL);
    }
    splat_pgm_stream_free(&stream);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    bool whole = feed(data + 1, size - 1, size);
    size_t n = n_pictures, pixels = n_pixels;
    if (feed(data + 1, size - 1, (size_t)data[0] + 1) != whole || n_pictures != n || n_pixels != pixels) abort();
    return 0;
}
