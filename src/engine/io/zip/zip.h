/* Zip files in memory: entries found by name, and a file of stored entries. What torch_zip.c reads are files too large
 * for this. */
#ifndef SPLAT_IO_ZIP_H
#define SPLAT_IO_ZIP_H

#include "base/error.h"

#include <stdio.h>

typedef struct splat_zip {
    const char *path;    /* borrowed, for messages */
    const uint8_t *data; /* borrowed: the whole file */
    size_t size;
    size_t directory, n; /* where the central directory begins, and how many entries it claims */
} splat_zip;

/* Finds the directory. Errors: FORMAT, UNSUPPORTED (zip64). Nothing is to be closed. */
splat_status splat_zip_open(splat_zip *zip, const char *path, const uint8_t *data, size_t size, splat_error *error);
/* The bytes of an entry, whatever folder it lies in, in malloc'd memory, with a NUL byte beyond *size. Stored or
 * deflated; its checksum is looked at. Errors: FORMAT (also: there is none, or it has more than `most` bytes),
 * UNSUPPORTED (another compression, encryption), MEMORY. */
splat_status splat_zip_read(const splat_zip *zip, const char *name, size_t most, uint8_t **bytes, size_t *size,
                            splat_error *error);

typedef struct splat_zip_entry {
    const char *name;
    const uint8_t *data;
    size_t size;
} splat_zip_entry;

/* Writes a zip of stored entries; the same bytes for the same entries. False: it would pass 4 GiB. Errors of the stream
 * are its own. */
bool splat_zip_write(FILE *stream, const splat_zip_entry *entries, size_t n);

#endif
