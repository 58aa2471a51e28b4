/* EXIF (CIPA DC-008) of a JPEG, in a segment APP1: the camera, and the exposure of the photo. */
#ifndef SPLAT_IO_EXIF_H
#define SPLAT_IO_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct splat_exif {
    double seconds;  /* exposure time (ExposureTime, else from ShutterSpeedValue); 0: unknown, as in all fields */
    double f_number; /* FNumber, else of ApertureValue */
    double iso;      /* PhotographicSensitivity */
    double focal_mm; /* FocalLength, and the same as on 35 mm film */
    double focal_35mm;
    bool has_place;  /* GPSLatitude and GPSLongitude are present, and not both 0, as without reception */
    char model[64];  /* model of the camera, truncated; "": unknown */
} splat_exif;

/* Parses a JPEG in memory, or its beginning; it may end anywhere and contain anything. */
splat_exif splat_exif_parse(const uint8_t *jpeg, size_t size);
/* Reads the EXIF of a file; empty if the file is no JPEG, has no EXIF, or cannot be read. */
splat_exif splat_exif_read(const char *path);

/* log2(seconds iso/f_number^2): twice the light adds one. False: one of the three is unknown. */
bool splat_exif_stops(const splat_exif *exif, double *stops);

#endif
