#include "io/json.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

splat_status splat_json_read(const char *path, json_t **root, splat_error *error)
{
    *root = NULL;
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    size_t skipped = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    json_error_t problem;
    *root = json_loadb((const char *)data + skipped, size - skipped, JSON_REJECT_DUPLICATES, &problem);
    free(data);
    if (*root) return SPLAT_OK;
    if (json_error_code(&problem) == json_error_out_of_memory)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory to parse the file");
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, problem.line > 0 ? (uint64_t)problem.line : 1,
                           "the file is not valid JSON: %s", problem.text);
}

static splat_status fail_type(const char *path, const char *key, const char *wanted, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "\"%s\" is not %s", key, wanted);
}

/* The value of a key; NULL when it is absent or null. */
static json_t *find(const json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);
    return json_is_null(found) ? NULL : found;
}

splat_status splat_json_get_number(const json_t *object, const char *key, const char *path, double *value,
                                   splat_error *error)
{
    const json_t *found = find(object, key);
    if (!found) return SPLAT_OK;
    if (!json_is_number(found)) return fail_type(path, key, "a number", error);
    *value = json_number_value(found); /* finite: JSON has no NaN, and jansson refuses reals that overflow */
    return SPLAT_OK;
}

splat_status splat_json_get_string(const json_t *object, const char *key, const char *path, const char **value,
                                   splat_error *error)
{
    const json_t *found = find(object, key);
    if (!found) return SPLAT_OK;
    if (!json_is_string(found)) return fail_type(path, key, "a text", error);
    *value = json_string_value(found);
    return SPLAT_OK;
}

splat_status splat_json_get_array(const json_t *object, const char *key, const char *path, const json_t **value,
                                  splat_error *error)
{
    const json_t *found = find(object, key);
    if (!found) return SPLAT_OK;
    if (!json_is_array(found)) return fail_type(path, key, "an array", error);
    *value = found;
    return SPLAT_OK;
}

splat_status splat_json_get_count(const json_t *object, const char *key, const char *path, int maximum, int *value,
                                  splat_error *error)
{
    double number = *value;
    SPLAT_TRY(splat_json_get_number(object, key, path, &number, error));
    if (!(number >= 0 && number <= maximum) || number != floor(number))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "\"%s\" is %g, but must be a whole number from 0 to %d", key, number, maximum);
    *value = (int)number;
    return SPLAT_OK;
}
