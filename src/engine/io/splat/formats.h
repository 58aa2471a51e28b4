/* The table of splat formats. A new one is a file cloud_<name>.c with its row, a line in formats.def, a test, and a row
 * in docs/files.md. */
#ifndef SPLAT_IO_FORMATS_H
#define SPLAT_IO_FORMATS_H

#include "io/file_format.h"
#include "io/splat/cloud.h"

/* One row. What all formats share is done before `write`: the SH degree is cut and the filter baked in, so that a row
 * writes what the cloud holds; its render_mode is the mark of antialiased splats. `options` are for what one format
 * alone knows. A format of several files or of a zip writes them itself; all saves are atomic. */
typedef struct splat_cloud_format {
    const char *name;        /* "PLY" */
    const char *ending;      /* ".ply" */
    const char *description; /* one line, for help and docs/files.md */
    bool holds_filter;       /* has a place for filter_3d; from the others it is always baked in */
    bool is_packed;          /* made for viewers: numbers that are not finite are neither written nor read */
    int max_sh_degree;       /* highest degree that `write` takes; higher bands are cut off before */
    /* True if a file with these first bytes is of this format; NULL: only its name decides. */
    bool (*begins)(const uint8_t *head, size_t n);
    /* Describes the file from as little of it as possible; render_mode AUTO and kernel_size 0 if the file does not say.
     * Errors: IO, FORMAT, UNSUPPORTED, MEMORY. NULL if the format is only written. */
    splat_status (*describe)(const char *path, splat_cloud_shape *shape, splat_error *error);
    /* The whole into *cloud, which is overwritten and, on failure, empty. Errors as describe's. NULL as describe. */
    splat_status (*read)(const char *path, splat_cloud *cloud, splat_error *error);
    /* Errors: IO, ARGUMENT (not possible in this format), MEMORY. NULL where the format is only read. */
    splat_status (*write)(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                          splat_error *error);
} splat_cloud_format;

/* The row of a number, in the order of formats.def; NULL beyond the last. */
const splat_cloud_format *splat_cloud_format_at(size_t index);
/* The names of all rows. */
splat_file_formats splat_cloud_formats(void);

/* By content, then by the end of the name. Errors: those of the format, UNSUPPORTED (none). */
splat_status splat_cloud_describe(const char *path, splat_cloud_shape *shape, splat_error *error);
splat_status splat_cloud_read(const char *path, splat_cloud *cloud, splat_error *error);
/* By the end of the name. The cloud may be changed: bands above options->sh_degree are cut off and a filter is baked in
 * where options or format ask for it. NULL options: the defaults. Errors: those of the format, ARGUMENT (no such
 * ending, a negative degree). */
splat_status splat_cloud_write(const char *path, splat_cloud *cloud, const splat_save_options *options,
                               splat_error *error);

#endif
