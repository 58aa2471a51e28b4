/* Sizes on the command line. */
#ifndef SPLAT_LINE_SIZES_H
#define SPLAT_LINE_SIZES_H

#include <stdbool.h>

typedef enum splat_line_limit_kind {
    SPLAT_LINE_LIMIT_NONE = 0,
    SPLAT_LINE_LIMIT_BYTES,
    SPLAT_LINE_LIMIT_SHARE, /* share of a device's memory */
    SPLAT_LINE_LIMIT_FREE   /* what is free when the program begins */
} splat_line_limit_kind;

/* A size, as --vram_limit and --device_memory say it. */
typedef struct splat_line_limit {
    splat_line_limit_kind kind;
    double value;     /* bytes, or the share: above 0, at most 1 */
    const char *text; /* the text that was typed */
} splat_line_limit;

/* "8G", "8GiB", "500M", binary, above 0; a plain number is GiB; with `share` also "80%" and "max". */
bool splat_line_parse_limit(const char *text, bool share, splat_line_limit *limit);

#endif
