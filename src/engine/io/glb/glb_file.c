/* The chunks of a GLB file, and accessors into its binary one. Suspicious of every byte. */
#include "io/glb/glb_file.h"

#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts */
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_JSON 0x4E4F534Au
#define CHUNK_BIN 0x004E4942u

static splat_status bad(const splat_glb_file *file, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET, "the GLB file is damaged: %s", what);
}

/* ---------------------------------------------------------------- chunks */

static splat_status parse_json(splat_glb_file *file, const uint8_t *text, size_t size, splat_error *error)
{
    json_error_t problem;
    splat_status status = splat_json_parse((const char *)text, size, JSON_REJECT_DUPLICATES, &file->root, &problem);
    if (status == SPLAT_ERROR_MEMORY)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, file->path, SPLAT_NO_OFFSET,
                             "no memory for the description in the GLB file");
    if (status != SPLAT_OK)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, (uint64_t)(text - file->data),
                             "the description in the GLB file is not valid JSON: %s", problem.text);
    return json_is_object(file->root) ? SPLAT_OK : bad(file, "its description is not a JSON object", error);
}

/* A JSON chunk, then a binary one or none; what follows is for extensions. */
static splat_status read_chunks(splat_glb_file *file, splat_error *error)
{
    splat_reader reader = splat_reader_make(file->data, file->size);
    uint32_t magic = splat_read_u32(&reader), version = splat_read_u32(&reader), total = splat_read_u32(&reader);
    uint32_t json_size = splat_read_u32(&reader), json_type = splat_read_u32(&reader);
    if (reader.failed || magic != 0x46546C67u) return bad(file, "it does not begin as one", error);
    if (version != 2)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, 4,
                             "the file is glTF of version %u; version 2 is read", version);
    if (total > file->size) return bad(file, "it is cut short", error);
    reader.size = total < reader.position ? reader.position : total;
    if (json_type != CHUNK_JSON || json_size > splat_reader_left(&reader))
        return bad(file, "its first chunk is not a whole JSON chunk", error);
    SPLAT_TRY(parse_json(file, file->data + reader.position, json_size, error));
    splat_read_skip(&reader, json_size);
    if (splat_reader_left(&reader) == 0) return SPLAT_OK;
    uint32_t size = splat_read_u32(&reader), type = splat_read_u32(&reader);
    if (reader.failed || size > splat_reader_left(&reader)) return bad(file, "its second chunk is cut short", error);
    if (type != CHUNK_BIN) return SPLAT_OK;
    file->binary = file->data + reader.position;
    file->binary_size = size;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- version and extensions */

/* Extensions that change how a mesh looks, not where it is; quantized numbers, which accessors know; and splats, whose
 * reader knows them. */
static bool is_harmless(const char *extension)
{
    static const char *const known[] = {"KHR_materials_", "KHR_texture_",       "EXT_texture_",        "KHR_lights_",
                                        "EXT_lights_",    "KHR_mesh_quantization", "KHR_xmp_json_ld", "KHR_animation_"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(extension, known[i], strlen(known[i])) == 0) return true;
    return strcmp(extension, "KHR_gaussian_splatting") == 0; /* not those for its compression */
}

static splat_status check_asset(const splat_glb_file *file, splat_error *error)
{
    const char *version = json_string_value(json_object_get(json_object_get(file->root, "asset"), "version"));
    const json_t *required = NULL;
    if (!version) return bad(file, "it does not say which version of glTF it is", error);
    if (strncmp(version, "2.", 2) != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the file is glTF of version %.16s; version 2.0 is read", version);
    SPLAT_TRY(splat_json_get_array(file->root, "extensionsRequired", file->path, &required, error));
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *extension = json_string_value(json_array_get(required, i));
        if (extension && is_harmless(extension)) continue;
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the file cannot be read without the glTF extension %.64s, which is not supported; export "
                             "it without compression and instancing",
                             extension ? extension : "(not a name)");
    }
    return SPLAT_OK;
}

splat_status splat_glb_open(splat_glb_file *file, const char *path, splat_error *error)
{
    memset(file, 0, sizeof *file);
    file->path = path;
    SPLAT_TRY(splat_file_read(path, &file->data, &file->size, error));
    splat_status status = read_chunks(file, error);
    if (status == SPLAT_OK) status = check_asset(file, error);
    if (status != SPLAT_OK) splat_glb_close(file);
    return status;
}

void splat_glb_close(splat_glb_file *file)
{
    json_decref(file->root);
    free(file->data);
    memset(file, 0, sizeof *file);
}

/* ---------------------------------------------------------------- lists and numbers */

splat_status splat_glb_item(const splat_glb_file *file, const char *list, size_t index, const json_t **item,
                            splat_error *error)
{
    *item = json_array_get(json_object_get(file->root, list), index);
    if (json_is_object(*item)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                         "the GLB file is damaged: it names number %zu of its %s, which does not exist", index, list);
}

splat_status splat_glb_number(const splat_glb_file *file, const json_t *object, const char *key, size_t *value,
                              splat_error *error)
{
    double number = (double)*value;
    SPLAT_TRY(splat_json_get_number(object, key, file->path, &number, error));
    if (!(number >= 0 && number <= (double)UINT32_MAX) || number != floor(number))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "\"%s\" is %g, but must be a whole number below 2^32", key, number);
    *value = (size_t)number;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- accessors */

static size_t component_size(int component)
{
    switch (component) {
    case SPLAT_GLB_INT8:
    case SPLAT_GLB_UINT8: return 1;
    case SPLAT_GLB_INT16:
    case SPLAT_GLB_UINT16: return 2;
    case SPLAT_GLB_UINT32:
    case SPLAT_GLB_FLOAT: return 4;
    default: return 0;
    }
}

static int channels_of(const char *type)
{
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};
    for (int i = 0; type && i < 4; i++)
        if (strcmp(type, types[i]) == 0) return i + 1;
    return 0;
}

/* A buffer view: its bytes, and the distance of its rows where it gives one. */
static splat_status find_view(const splat_glb_file *file, size_t index, const uint8_t **data, size_t *size,
                              size_t *stride, splat_error *error)
{
    const json_t *view, *buffer;
    size_t number = 0, offset = 0, buffer_size = 0;
    *size = *stride = 0;
    SPLAT_TRY(splat_glb_item(file, "bufferViews", index, &view, error));
    SPLAT_TRY(splat_glb_number(file, view, "buffer", &number, error));
    SPLAT_TRY(splat_glb_number(file, view, "byteOffset", &offset, error));
    SPLAT_TRY(splat_glb_number(file, view, "byteLength", size, error));
    SPLAT_TRY(splat_glb_number(file, view, "byteStride", stride, error));
    SPLAT_TRY(splat_glb_item(file, "buffers", number, &buffer, error));
    SPLAT_TRY(splat_glb_number(file, buffer, "byteLength", &buffer_size, error));
    if (number > 0 || json_object_get(buffer, "uri"))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the numbers of the file lie outside of the binary part of the GLB file; export it as "
                             "one GLB with everything inside");
    if (!file->binary || buffer_size > file->binary_size)
        return bad(file, "its binary part is shorter than it says", error);
    if (offset > buffer_size || *size > buffer_size - offset)
        return bad(file, "a buffer view reaches beyond the binary part", error);
    *data = file->binary + offset;
    return SPLAT_OK;
}

splat_status splat_glb_view(const splat_glb_file *file, size_t index, const uint8_t **data, size_t *size,
                            splat_error *error)
{
    size_t stride;
    return find_view(file, index, data, size, &stride, error);
}

static splat_status fill_accessor(const splat_glb_file *file, const json_t *object, splat_glb_accessor *a,
                                  splat_error *error)
{
    size_t component = 0, offset = 0, view_size = 0, view = 0;
    if (json_object_get(object, "sparse") || !json_object_get(object, "bufferView"))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, SPLAT_NO_OFFSET,
                             "the file has a sparse or an empty accessor, which is not supported; export it with plain "
                             "arrays");
    SPLAT_TRY(splat_glb_number(file, object, "bufferView", &view, error));
    SPLAT_TRY(splat_glb_number(file, object, "byteOffset", &offset, error));
    SPLAT_TRY(splat_glb_number(file, object, "componentType", &component, error));
    SPLAT_TRY(splat_glb_number(file, object, "count", &a->n, error));
    a->component = component <= SPLAT_GLB_FLOAT ? (int)component : 0;
    a->channels = channels_of(json_string_value(json_object_get(object, "type")));
    a->normalized = json_is_true(json_object_get(object, "normalized"));
    size_t row = component_size(a->component) * (size_t)a->channels;
    if (row == 0) return bad(file, "an accessor has an unknown type", error);
    SPLAT_TRY(find_view(file, view, &a->data, &view_size, &a->stride, error));
    if (a->stride == 0) a->stride = row;
    if (a->stride < row || a->stride > 65536) return bad(file, "the rows of a buffer view overlap", error);
    size_t left = offset <= view_size ? view_size - offset : 0;
    if (offset > view_size || (a->n > 0 && (left < row || a->n - 1 > (left - row) / a->stride)))
        return bad(file, "an accessor reaches beyond its buffer view", error);
    a->data += offset;
    return SPLAT_OK;
}

splat_status splat_glb_find(const splat_glb_file *file, const json_t *object, const char *key,
                            splat_glb_accessor *accessor, splat_error *error)
{
    const json_t *item;
    size_t index = 0;
    memset(accessor, 0, sizeof *accessor);
    if (!json_object_get(object, key)) return SPLAT_OK;
    SPLAT_TRY(splat_glb_number(file, object, key, &index, error));
    SPLAT_TRY(splat_glb_item(file, "accessors", index, &item, error));
    return fill_accessor(file, item, accessor, error);
}

double splat_glb_value(const splat_glb_accessor *a, size_t row, int channel)
{
    const uint8_t *at = a->data + row * a->stride + (size_t)channel * component_size(a->component);
    int16_t i16;
    uint16_t u16;
    uint32_t u32;
    float f32;
    switch (a->component) {
    case SPLAT_GLB_INT8: return a->normalized ? fmax((int8_t)*at / 127.0, -1.0) : (int8_t)*at;
    case SPLAT_GLB_UINT8: return a->normalized ? *at / 255.0 : *at;
    case SPLAT_GLB_INT16:
        memcpy(&i16, at, 2);
        return a->normalized ? fmax(i16 / 32767.0, -1.0) : i16;
    case SPLAT_GLB_UINT16:
        memcpy(&u16, at, 2);
        return a->normalized ? u16 / 65535.0 : u16;
    case SPLAT_GLB_UINT32:
        memcpy(&u32, at, 4);
        return u32;
    default:
        memcpy(&f32, at, 4);
        return (double)f32;
    }
}
