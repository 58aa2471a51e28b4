/* The exposures of photos that none were found for, by their EXIF and that of the others. */
#ifndef SPLAT_MEASURE_EXPOSURE_EXIF_H
#define SPLAT_MEASURE_EXPOSURE_EXIF_H

#include "io/exposure_file.h"
#include "scene/dataset.h"

/* A photo whose exposure was found. */
typedef struct splat_exif_photo {
    double stops;    /* exposure by EXIF (splat_exif_stops) */
    double row[3];   /* log2 gains: ev, a, b (splat_photo_exposure_get) */
    uint32_t camera; /* < n_cameras */
} splat_exif_photo;

/* The line ev = mean ev of the camera's photos + slope (stops - mean stops of the camera's photos) by least squares
 * over all photos. *holds: true if it predicts the photos, each by the line of the others, better than their
 * cameras' means do (sums of squares). It does not if all photos have the same exposure, or if EXIF has no relation
 * to the gains. means[n_cameras] receives the cameras' means, 0 of those without photos. Errors: MEMORY. */
splat_status splat_exif_line(const splat_exif_photo *photos, size_t n, size_t n_cameras, splat_exif_photo *means,
                             double *slope, bool *holds, splat_error *error);

/* The exposures of the photos of views by that line, with the white balance and the vignetting of their cameras, sorted
 * by name. Empty unless EXIF tells of all of them and of all photos of `known` that the dataset trains on, each is of a
 * camera of these, and the line holds. Freed with splat_exposures_file_free. Errors: MEMORY. */
splat_status splat_exposures_by_exif(const splat_exposures *known, const splat_dataset *dataset, const uint32_t *views,
                                     size_t n_views, splat_exposures *by_exif, splat_error *error);

#endif
