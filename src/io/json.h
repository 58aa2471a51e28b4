/* Thin glue over jansson: a file parsed with the line of a mistake, and getters that say which key is wrong. */
#ifndef SPLAT_IO_JSON_H
#define SPLAT_IO_JSON_H

#include "base/error.h"

#include <jansson.h>

/* Parses a file (a UTF-8 byte order mark is skipped, a key given twice is an error). The caller owns *root
 * (json_decref). FORMAT errors carry the line. */
splat_status splat_json_read(const char *path, json_t **root, splat_error *error);

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
