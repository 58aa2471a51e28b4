/* Thin glue over jansson: a file parsed with the line of a mistake, and getters that say which key is wrong. */
#ifndef SPLAT_IO_JSON_H
#define SPLAT_IO_JSON_H

#include "base/error.h"

#include <jansson.h>

/* Parses a file (a UTF-8 byte order mark is skipped, a key given twice is an error). The caller owns *root
 * (json_decref). FORMAT errors carry the line. */
splat_status splat_json_read(const char *path, json_t **root, splat_error *error);

/* json_loadb that knows why it failed: MEMORY, or FORMAT with *problem filled in; *root is NULL then. No splat_error:
 * callers know what the text is. */
splat_status splat_json_parse(const char *text, size_t size, size_t flags, json_t **root, json_error_t *problem);
/* The same of a text that came over a network, where a parse may run on a small stack: the depth of arrays and objects
 * is counted before jansson follows it, and a key given twice is an error. `what` begins the sentences: "the camera
 * path". Errors: FORMAT, MEMORY. */
#define SPLAT_JSON_MESSAGE_DEPTH 8
splat_status splat_json_parse_message(const char *what, const char *text, size_t size, json_t **root,
                                      splat_error *error);
/* json_dumps that returns NULL when memory is exhausted, and for NULL. The caller frees. */
char *splat_json_print(const json_t *root, size_t flags);

/* Set a key, append an item; the value is taken over. Without memory (or with a NULL for a value) the container is
 * given up and becomes NULL, which every later call passes on: it is enough to check it at the end. */
void splat_json_set(json_t **object, const char *key, json_t *value);
void splat_json_append(json_t **array, json_t *value);

/* A name or path: as it is when it is UTF-8, else read as Latin-1. NULL when memory is exhausted. */
json_t *splat_json_text(const char *text);

/* Getters: a key that is absent or null leaves *value as it was (set the default before); a value of another type is
 * FORMAT. `path` is the file, for messages. Strings and arrays are borrowed from the object. */
splat_status splat_json_get_number(const json_t *object, const char *key, const char *path, double *value,
                                   splat_error *error);
splat_status splat_json_get_string(const json_t *object, const char *key, const char *path, const char **value,
                                   splat_error *error);
splat_status splat_json_get_array(const json_t *object, const char *key, const char *path, const json_t **value,
                                  splat_error *error);
/* A whole number from 0 to maximum, given as an integer or as a real (800.0). */
splat_status splat_json_get_count(const json_t *object, const char *key, const char *path, int maximum, int *value,
                                  splat_error *error);

#endif
