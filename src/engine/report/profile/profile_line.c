/* The lines of memory profiles and the blocks in them. Files are hostile: every figure is checked, every error has its
 * line. */
#include "report/profile/profile_line.h"

#include "math/gaussians.h"

#include <string.h>

splat_status splat_profile_parse_line(const char *path, const uint8_t *text, size_t length, size_t number,
                                      json_t **object, splat_error *error)
{
    json_error_t problem;
    splat_status status = splat_json_parse((const char *)text, length, JSON_REJECT_DUPLICATES, object, &problem);
    if (status == SPLAT_ERROR_MEMORY)
        return splat_fail_line(error, SPLAT_ERROR_MEMORY, path, number, "no memory to parse the line");
    if (!*object)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "the line is not valid JSON: %s", problem.text);
    if (json_is_object(*object)) return SPLAT_OK;
    json_decref(*object);
    *object = NULL;
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "the line is not a JSON object");
}

splat_status splat_profile_get_size(const json_t *object, const char *key, const char *path, size_t number,
                                    size_t *value, splat_error *error)
{
    const json_t *found = json_object_get(object, key);
    json_int_t integer = json_integer_value(found);
    if (!json_is_integer(found) || integer < 0 || integer > SPLAT_PROFILE_MOST_BYTES)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "\"%s\" must be a whole number from 0 to 2^50",
                               key);
    *value = (size_t)integer;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- blocks */

typedef const char *name_function(int value);

static const char *category_name(int value)
{
    return splat_memory_category_name((splat_memory_category)value);
}

static const char *place_name(int value)
{
    return splat_memory_place_name((splat_memory_place)value);
}

static const char *type_name(int value)
{
    return splat_element_type_name((splat_element_type)value);
}

/* Which of the values from `first` to n - 1 a word of the file names. */
static splat_status get_value(const json_t *object, const char *key, name_function *name_of, int first, int n,
                              const char *path, size_t number, int *value, splat_error *error)
{
    const char *word = json_string_value(json_object_get(object, key));
    for (*value = first; word && *value < n; ++*value)
        if (strcmp(word, name_of(*value)) == 0) return SPLAT_OK;
    return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "a block must have a known \"%s\"", key);
}

static splat_profile_part part_of(const char *name)
{
    const splat_tensor_row *rest = &splat_gaussian_tensors.rows[SPLAT_TENSOR_sh_rest];
    const struct { const char *name; splat_profile_part part; } parts[] = {
        {rest->name, SPLAT_PART_HARMONICS},
        {rest->m, SPLAT_PART_HARMONIC_MOMENTS},
        {rest->v, SPLAT_PART_HARMONIC_MOMENTS},
        {rest->mv, SPLAT_PART_HARMONIC_MOMENTS},
        {SPLAT_BLOCK_PHOTOS, SPLAT_PART_PHOTOS},
        {SPLAT_BLOCK_FRAME, SPLAT_PART_FRAME},
        {splat_host_use_name(SPLAT_HOST_PHOTOS), SPLAT_PART_PHOTO_CACHE},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(name, parts[i].name) == 0) return parts[i].part;
    return SPLAT_PART_OTHER;
}

splat_status splat_profile_read_block(const json_t *object, const char *path, size_t number,
                                      splat_profile_block *block, splat_error *error)
{
    int category, place, type;
    block->name = json_string_value(json_object_get(object, "name"));
    if (!block->name) return splat_fail_line(error, SPLAT_ERROR_FORMAT, path, number, "a block must have a name");
    SPLAT_TRY(get_value(object, "category", category_name, 0, SPLAT_N_MEMORY_CATEGORIES, path, number, &category,
                        error));
    SPLAT_TRY(get_value(object, "place", place_name, 0, SPLAT_N_PLACES, path, number, &place, error));
    SPLAT_TRY(get_value(object, "type", type_name, SPLAT_TYPE_FLOAT32, SPLAT_N_ELEMENT_TYPES, path, number, &type,
                        error));
    block->category = (splat_memory_category)category;
    block->place = (splat_memory_place)place;
    block->type = (splat_element_type)type;
    block->part = part_of(block->name);
    SPLAT_TRY(splat_profile_get_size(object, "bytes", path, number, &block->bytes, error));
    return splat_profile_get_size(object, "reserved", path, number, &block->reserved, error);
}
