/* PFM: float pictures that OpenCV, ImageMagick, GIMP and tev open. A text header, then rows from the bottom to the top;
 * the negative scale says little-endian. */
#include "base/file.h"
#include "io/picture/image.h"

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
