/* Sizes on the command line. */
#ifndef SPLAT_CLI_SIZES_H
#define SPLAT_CLI_SIZES_H

#include <stdbool.h>

typedef enum cli_limit_kind {
    CLI_LIMIT_NONE = 0,
    CLI_LIMIT_BYTES,
    CLI_LIMIT_SHARE, /* of a device's memory */
    CLI_LIMIT_FREE   /* what is free when the program begins */
} cli_limit_kind;

/* A size, as --vram_limit and --device_memory say it. */
typedef struct cli_limit {
    cli_limit_kind kind;
    double value;     /* bytes, or the share: above 0, at most 1 */
    const char *text; /* as it was typed */
} cli_limit;

/* "8G", "8GiB", "500M", binary, above 0; a plain number is GiB; with `share` also "80%" and "max". */
bool cli_parse_limit(const char *text, bool share, cli_limit *limit);

#endif
