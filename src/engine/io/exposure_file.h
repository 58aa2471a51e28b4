/* exposure.json: what the exposure and white balance of each training photo do to the neutral picture of the splat.
 *
 *     {"photos": {"a.jpg": {"ev": e, "gain": [red, green, blue], "camera": "0"}, ...}, "cameras": {"0": [a1, a2, a3]}}
 */
#ifndef SPLAT_IO_EXPOSURE_FILE_H
#define SPLAT_IO_EXPOSURE_FILE_H

#include "base/error.h"

#include <math.h>

#define SPLAT_EXPOSURE_FILE "exposure.json"

typedef struct splat_photo_exposure {
    char *name;      /* name of the photo */
    double ev;       /* stops: log2 of the gain of all channels */
    double gain[3];  /* gains of red, green, blue, with ev and the white balance; above 0 */
    uint32_t camera; /* into cameras */
} splat_photo_exposure;

typedef struct splat_exposures {
    splat_photo_exposure *photos; size_t n_photos;
    double (*cameras)[3]; size_t n_cameras; /* vignetting: a1, a2, a3 */
} splat_exposures;

/* The gains of log2 gains: ev of all channels, and the white balance a and b of red and blue, which green makes up for
 * (ops/exposure). */
static inline void splat_photo_exposure_set(splat_photo_exposure *photo, double ev, double a, double b)
{
    photo->ev = ev;
    photo->gain[0] = exp2(ev + a);
    photo->gain[1] = exp2(ev - a - b);
    photo->gain[2] = exp2(ev + b);
}

/* And back: ev, a, b. */
static inline void splat_photo_exposure_get(const splat_photo_exposure *photo, double row[3])
{
    row[0] = photo->ev;
    row[1] = log2(photo->gain[0]) - photo->ev;
    row[2] = log2(photo->gain[2]) - photo->ev;
}

/* Atomically. */
splat_status splat_exposures_write(const char *path, const splat_exposures *exposures, splat_error *error);
/* A file. On success photos are sorted by name. Errors: IO, MEMORY, FORMAT (a gain that is no positive number, a camera
 * that is not in the file). */
splat_status splat_exposures_read(const char *path, splat_exposures *exposures, splat_error *error);
/* By their names, as splat_exposures_find needs them. */
void splat_exposures_sort(splat_exposures *exposures);
/* NULL: the file does not have it. */
const splat_photo_exposure *splat_exposures_find(const splat_exposures *exposures, const char *name);
void splat_exposures_file_free(splat_exposures *exposures);

#endif
