/* 16-bit gray PNG files, whole values: depth maps. */
#ifndef SPLAT_IO_GRAY16_H
#define SPLAT_IO_GRAY16_H

#include "base/error.h"

/* The size, from the file's first bytes. Errors: IO; FORMAT for what is no PNG, UNSUPPORTED for one of other values
 * than 16-bit gray, each with what was found. */
splat_status splat_gray16_probe(const char *path, int *width, int *height, splat_error *error);
/* *pixels: uint16_t[height][width], host order, malloc'd. width, height: what the file must have, or FORMAT. */
splat_status splat_gray16_read(const char *path, int width, int height, uint16_t **pixels, splat_error *error);

#endif
