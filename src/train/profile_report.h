/* Reading and judging memory profiles: what its files share. The public face is in splatsmith.h. */
#ifndef SPLAT_TRAIN_PROFILE_REPORT_H
#define SPLAT_TRAIN_PROFILE_REPORT_H

#include "base/error.h"
#include "io/json.h"

/* The line about the run. */
typedef struct splat_profile_run {
    bool gpu;
    int iterations, densify_until, train_views, sh_degree;
    size_t largest_photo_bytes;
} splat_profile_run;

/* The file, a sample a line. Samples are parsed again for their blocks, which are not kept. */
typedef struct splat_profile_lines {
    const char *path;
    uint8_t *data;
    size_t size;
    size_t *begin, *length, *number; /* [n] of the samples' lines: bytes, and the 1-based line */
    size_t n;
} splat_profile_lines;

/* The object of line `number`. Errors: FORMAT with the line, MEMORY. The caller gives it back (json_decref). */
splat_status splat_profile_parse_line(const char *path, const uint8_t *text, size_t length, size_t number,
                                      json_t **object, splat_error *error);
/* A whole number of bytes or things; required. */
splat_status splat_profile_get_size(const json_t *object, const char *key, const char *path, size_t number,
                                    size_t *value, splat_error *error);

/* A row of a sample's "blocks"; strings are borrowed from the object. Errors: FORMAT. */
typedef struct splat_profile_block {
    const char *name, *category, *place, *type;
    size_t bytes, reserved;
} splat_profile_block;

#define SPLAT_PROFILE_MOST_BLOCKS 4096 /* a run has about forty */
splat_status splat_profile_read_block(const json_t *object, const char *path, size_t number,
                                      splat_profile_block *block, splat_error *error);

/* Fills settled_iteration and the trends; and the savings and the largest blocks at the peak; from lines that were read
 * before. Errors: MEMORY. */
splat_status splat_profile_judge(splat_profile *profile, const splat_profile_run *run,
                                 const splat_profile_lines *lines, splat_error *error);
splat_status splat_profile_look_at_peak(splat_profile *profile, const splat_profile_run *run,
                                        const splat_profile_lines *lines, splat_error *error);

#endif
