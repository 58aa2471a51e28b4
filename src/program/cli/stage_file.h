/* stage.json: what a stage of the pipeline was made with, and whether it is complete. docs/files.md tells its keys. */
#ifndef SPLAT_CLI_STAGE_FILE_H
#define SPLAT_CLI_STAGE_FILE_H

#include "cli.h"

#include <jansson.h>

typedef struct stage_file {
    bool complete;
    double seconds;                       /* all attempts together */
    uint64_t peak_bytes, host_peak_bytes; /* the largest of all attempts */
    json_t *settings, *inputs, *results;  /* objects; NULL: none. Owned */
} stage_file;

typedef enum stage_file_state {
    STAGE_FILE_ABSENT,
    STAGE_FILE_DAMAGED, /* or unreadable */
    STAGE_FILE_READ
} stage_file_state;

/* Fills *file (zero unless READ); free it in every case. `stage` must be the name in it. */
stage_file_state stage_file_read(const char *path, const char *stage, stage_file *file);
/* Prints the reason and returns an exit code when it cannot be written; the old file is then as it was. */
int stage_file_write(const char *path, const char *stage, const stage_file *file);
void stage_file_free(stage_file *file);

/* The text of a key in an object; "" when there is none. */
const char *stage_json_text(const json_t *object, const char *key);
/* Sets a text; bytes that are no UTF-8 become '?'. */
void stage_json_set_text(json_t *object, const char *key, const char *text);
/* Temporary file, fsync, rename, fsync of the folder; takes the reference of `root` (NULL: memory is exhausted). */
int stage_json_write(const char *path, json_t *root);
/* The value of a file, a new reference; NULL: absent, no regular file, or damaged. Prints nothing. */
json_t *stage_json_load(const char *path);

/* "bytes" and "crc32" of a file's content into an object. Prints the reason and returns an exit code. */
int stage_json_set_content(json_t *object, const char *path);

#endif
