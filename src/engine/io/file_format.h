/* Kinds of files as rows of a table: which one a name or a file's first bytes mean. Tables of splats (io/splat) and of
 * meshes (mesh/files) stand on it. */
#ifndef SPLAT_IO_FILE_FORMAT_H
#define SPLAT_IO_FILE_FORMAT_H

#include "base/error.h"

#define SPLAT_FILE_HEAD 4096 /* bytes that a row is asked about */
#define SPLAT_MAX_FILE_FORMATS 16
#define SPLAT_FILE_FORMATS_TEXT 512

/* The rows of a table, as far as names go. */
typedef struct splat_file_formats {
    const char *what;  /* "a splat", "a mesh": for messages */
    bool needs_ending; /* else a name without an ending is written as the first row */
    size_t n;
    splat_file_format rows[SPLAT_MAX_FILE_FORMATS];
} splat_file_formats;

/* The first bytes of a file: at most SPLAT_FILE_HEAD of them. Errors: IO (also for what is not a regular file). */
splat_status splat_file_head(const char *path, uint8_t head[SPLAT_FILE_HEAD], size_t *n, splat_error *error);
/* The row to write `path` with: the one with the longest ending that the name has, in any case of letters; the first
 * row for a name without an ending, unless it needs one. Errors: ARGUMENT, which names the endings that are written. */
splat_status splat_file_format_to_write(const splat_file_formats *formats, const char *path, size_t *row,
                                        splat_error *error);
/* The row to read it with. fits[i]: the file begins as row i does. Of several that fit, the one of the name's ending;
 * when none does, the name decides, so that its reader says what is wrong. Errors: UNSUPPORTED, which names what is
 * read. */
splat_status splat_file_format_to_read(const splat_file_formats *formats, const bool *fits, const char *path,
                                       size_t *row, splat_error *error);

#endif
