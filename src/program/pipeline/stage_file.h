/* stage.json: what a stage of the pipeline was made with, and whether it is complete. docs/files.md has its keys. */
#ifndef SPLAT_PIPELINE_STAGE_FILE_H
#define SPLAT_PIPELINE_STAGE_FILE_H

#include "splatsmith/core.h"

#include <jansson.h>

typedef struct splat_stage_file {
    bool complete;
    double seconds;                       /* all attempts together */
    uint64_t peak_bytes, host_peak_bytes; /* the largest of all attempts */
    json_t *settings, *inputs, *results;  /* objects; NULL: none. Owned */
} splat_stage_file;

typedef enum splat_stage_file_state {
    SPLAT_STAGE_FILE_ABSENT,
    SPLAT_STAGE_FILE_DAMAGED, /* or unreadable */
    SPLAT_STAGE_FILE_READ
} splat_stage_file_state;

/* Fills *file (zero unless READ); free it in every case. `stage` must be the name in it. */
splat_stage_file_state splat_stage_file_read(const char *path, const char *stage, splat_stage_file *file);
/* If it fails, the old file is as it was. */
splat_status splat_stage_file_write(const char *path, const char *stage, const splat_stage_file *file,
                                    splat_error *error);
void splat_stage_file_free(splat_stage_file *file);

/* The text of a key in an object; "" when there is none. */
const char *splat_stage_json_text(const json_t *object, const char *key);
/* Sets a text; bytes that are no UTF-8 become '?'. */
void splat_stage_json_set_text(json_t *object, const char *key, const char *text);
/* Temporary file, fsync, rename, fsync of the folder; takes the reference of `root` (NULL: memory is exhausted). */
splat_status splat_stage_json_write(const char *path, json_t *root, splat_error *error);
/* The value of a file, a new reference; NULL: absent, no regular file, or damaged. */
json_t *splat_stage_json_load(const char *path);

/* "bytes" and "crc32" of a file's content into an object. */
splat_status splat_stage_json_set_content(json_t *object, const char *path, splat_error *error);

#endif
