/* What a camera wrote into a JPEG of itself and of how the photo was exposed: EXIF (CIPA DC-008), in a
 * segment APP1. */
#ifndef SPLAT_IO_EXIF_H
#define SPLAT_IO_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct splat_exif {
    double seconds;  /* exposure time (ExposureTime, else of ShutterSpeedValue); 0: not told, as all of these */
    double f_number; /* FNumber, else of ApertureValue */
    double iso;      /* PhotographicSensitivity */
    double focal_mm; /* FocalLength, and the same as on 35 mm film */
    double focal_35mm;
    bool has_place;  /* GPSLatitude and GPSLongitude are told, and are not both 0, as without reception */
    char model[64];  /* of the camera, cut when longer; "": not told */
} splat_exif;

/* Of a JPEG in memory, or its beginning: it may end anywhere, and hold anything. */
splat_exif splat_exif_parse(const uint8_t *jpeg, size_t size);
/* Of a file: nothing is told of one that is no JPEG, has no EXIF, or cannot be read. */
splat_exif splat_exif_read(const char *path);

/* log2(seconds iso/f_number^2): twice the light is one more. False: not all three are told. */
bool splat_exif_stops(const splat_exif *exif, double *stops);

#endif
