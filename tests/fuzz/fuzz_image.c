/* JPEG and PNG, recognised by content: EXIF, header and pixels. Pictures that are truly large are left out: they are
 * slow. */
#include "fuzz.h"

#include "io/picture/exif.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_image image;
    splat_error error;
    int width = 0, height = 0, channels = 0;
    double stops;
    splat_exif exif = splat_exif_parse(data, size);
    if (splat_exif_stops(&exif, &stops) && !isfinite(stops)) abort();
    fuzz_file("in.img", data, size);
    splat_status probed = splat_image_probe("in.img", &width, &height, &channels, &error);
    fuzz_judge(probed, &error);
    if (probed == SPLAT_OK && (int64_t)width * height > 1 << 20) return 0;
    splat_status status = splat_image_decode("in.img", data, size, &image, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    if (probed != SPLAT_OK || image.width != width || image.height != height || image.channels != channels) abort();
    fuzz_touch(image.pixels, (size_t)width * (size_t)height * (size_t)channels);
    splat_image_free(&image);
    return 0;
}
