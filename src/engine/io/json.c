/* jansson's errors and types as errors of this library. */
#include "io/json.h"

#include "base/file.h"
#include "base/utf8.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* jansson's malloc, whosever it is, with a note of its failures. jansson 2.14 does not look at all of them: its parser
 * loses letters and then fails an assertion, its printer leaves out keys. A parse is therefore left at once, by a jump
 * over frames that hold nothing but memory; what it had made is lost. */
static json_malloc_t next_malloc;
static _Thread_local bool memory_failed;
static _Thread_local jmp_buf *way_out; /* of the parse at work */

static void *noting_malloc(size_t size)
{
    void *memory = next_malloc(size);
    if (memory) return memory;
    memory_failed = true;
    if (way_out) longjmp(*way_out, 1);
    return NULL;
}

static void note_failures(void)
{
    json_free_t next_free;
    json_get_alloc_funcs(&next_malloc, &next_free);
    json_set_alloc_funcs(noting_malloc, next_free);
}

static void watch_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_failures);
    memory_failed = false;
}

splat_status splat_json_parse(const char *text, size_t size, size_t flags, json_t **root, json_error_t *problem)
{
    jmp_buf here;
    watch_memory();
    *root = NULL;
    if (setjmp(here)) {
        way_out = NULL;
        return SPLAT_ERROR_MEMORY;
    }
    way_out = &here;
    *root = json_loadb(text, size, flags, problem);
    way_out = NULL;
    return *root ? SPLAT_OK : SPLAT_ERROR_FORMAT;
}

/* True if at most `most` brackets are open at a time. Brackets in strings do not count. */
static bool is_nested_within(const char *text, size_t size, int most)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{') && ++depth > most)
            return false;
        else if (!in_string && (c == ']' || c == '}'))
            depth--;
    }
    return true;
}

splat_status splat_json_parse_message(const char *what, const char *text, size_t size, json_t **root,
                                      splat_error *error)
{
    json_error_t problem;
    *root = NULL;
    if (!is_nested_within(text, size, SPLAT_JSON_MESSAGE_DEPTH))
        return splat_fail(error, SPLAT_ERROR_FORMAT,
                          "%s nests arrays and objects deeper than %d levels, which no message needs", what,
                          SPLAT_JSON_MESSAGE_DEPTH);
    splat_status status = splat_json_parse(text, size, JSON_REJECT_DUPLICATES, root, &problem);
    if (status == SPLAT_ERROR_MEMORY) return splat_fail(error, status, "no memory to parse %s", what);
    if (status == SPLAT_OK) return SPLAT_OK;
    return splat_fail(error, status, "%s is not JSON, line %d: %s", what, problem.line, problem.text);
}

char *splat_json_print(const json_t *root, size_t flags)
{
    watch_memory();
    char *text = root ? json_dumps(root, flags) : NULL;
    if (!memory_failed) return text;
    free(text);
    return NULL;
}

splat_status splat_json_read(const char *path, json_t **root, splat_error *error)
{
    *root = NULL;
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    size_t skipped = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    json_error_t problem;
    splat_status status = splat_json_parse((const char *)data + skipped, size - skipped, JSON_REJECT_DUPLICATES, root,
                                           &problem);
    free(data);
    if (status == SPLAT_OK) return SPLAT_OK;
    if (status == SPLAT_ERROR_MEMORY)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory to parse the file");
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, problem.line > 0 ? (uint64_t)problem.line : 1,
                           "the file is not valid JSON: %s", problem.text);
}

void splat_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0) return;
    json_decref(*object);
    *object = NULL;
}

void splat_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) == 0) return;
    json_decref(*array);
    *array = NULL;
}

json_t *splat_json_text(const char *text)
{
    char *utf8 = splat_utf8_text(text);
    json_t *value = utf8 ? json_string(utf8) : NULL;
    free(utf8);
    return value;
}

static splat_status fail_type(const char *path, const char *key, const char *expected, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "\"%s\" is not %s", key, expected);
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
