/* Reading and writing safetensors files. */
#include "io/tensor/safetensors.h"

#include "base/checked.h"
#include "base/file.h"
#include "io/json.h"
#include "math/inline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX 100000000u /* bytes; the format's own limit */
#define CHUNK 65536           /* bytes converted at a time */

static const struct { char name[8]; size_t bytes; } types[] = {
    {"F32", 4}, {"F16", 2},     {"BF16", 2},    {"F64", 8}, {"I64", 8}, {"U64", 8}, {"I32", 4},
    {"U32", 4}, {"I16", 2},     {"U16", 2},     {"I8", 1},  {"U8", 1},  {"BOOL", 1},
    {"F8_E4M3", 1}, {"F8_E5M2", 1},
};

static size_t bytes_of_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0) return types[i].bytes;
    return 0;
}

/* ---------------------------------------------------------------- reading */

/* One entry of the header: {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}. */
static splat_status parse_tensor(const char *path, const char *name, const json_t *entry, uint64_t data_begin,
                                 uint64_t data_bytes, splat_safetensor *t, splat_error *error)
{
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (!type || !json_is_array(shape) || json_array_size(offsets) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, 8,
                             "tensor '%s' must have a dtype, a shape and two data_offsets", name);
    size_t value_bytes = bytes_of_type(type), n_dimensions = json_array_size(shape);
    if (!value_bytes)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, 8, "tensor '%s' has the unknown type '%.20s'", name,
                             type);
    if (n_dimensions > SPLAT_SAFETENSORS_MAX_DIMENSIONS)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, 8, "tensor '%s' has %zu dimensions; at most %d work",
                             name, n_dimensions, SPLAT_SAFETENSORS_MAX_DIMENSIONS);
    *t = (splat_safetensor){.name = name, .n_dimensions = (int)n_dimensions, .n_values = 1};
    strcpy(t->type, type);
    bool fits = true;
    for (size_t i = 0; i < n_dimensions; i++) {
        const json_t *side = json_array_get(shape, i);
        fits = fits && json_is_integer(side) && json_integer_value(side) >= 0 &&
               splat_size_mul(t->n_values, (size_t)json_integer_value(side), &t->n_values);
        t->shape[i] = fits ? (size_t)json_integer_value(side) : 0;
    }
    size_t bytes = 0;
    fits = fits && splat_size_mul(t->n_values, value_bytes, &bytes);
    json_int_t from = json_integer_value(begin), to = json_integer_value(end);
    if (!fits || from < 0 || to < from || (uint64_t)to > data_bytes || (uint64_t)(to - from) != bytes)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, data_begin,
                             "tensor '%s' is said to lie in bytes %lld to %lld of %llu, which is not what its shape "
                             "takes; the file is truncated or corrupt", name, (long long)from, (long long)to,
                             (unsigned long long)data_bytes);
    t->offset = data_begin + (uint64_t)from;
    t->bytes = bytes;
    return SPLAT_OK;
}

/* Empty tensors come before the one that begins at the same place. */
static int compare_offsets(const void *a, const void *b)
{
    const splat_safetensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : strcmp(x->name, y->name);
}

/* Every tensor of the header, checked; then that they fill the file without gaps and overlaps. */
static splat_status parse_header(splat_safetensors *file, uint64_t data_begin, uint64_t file_bytes, splat_error *error)
{
    json_t *root = file->header;
    if (!json_is_object(root))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, 8, "the header is not a JSON object");
    file->tensors = malloc((json_object_size(root) + 1) * sizeof *file->tensors);
    if (!file->tensors) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the list of tensors");
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry) {
        if (strcmp(name, "__metadata__") == 0) continue;
        SPLAT_TRY(parse_tensor(file->path, name, entry, data_begin, file_bytes - data_begin, &file->tensors[file->n],
                               error));
        file->n++;
    }
    qsort(file->tensors, file->n, sizeof *file->tensors, compare_offsets);
    uint64_t end = data_begin;
    for (size_t i = 0; i < file->n; i++) {
        if (file->tensors[i].offset != end)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->tensors[i].offset,
                                 "tensor '%s' does not begin where the one before it ends; the file is corrupt",
                                 file->tensors[i].name);
        end += file->tensors[i].bytes;
    }
    if (end != file_bytes)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, end, "%llu bytes follow the last tensor",
                             (unsigned long long)(file_bytes - end));
    return SPLAT_OK;
}

static splat_status read_header(splat_safetensors *file, uint64_t file_bytes, splat_error *error)
{
    uint8_t prefix[8];
    uint64_t length = 0;
    if (file_bytes < sizeof prefix || fread(prefix, sizeof prefix, 1, file->stream) != 1)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, 0, "this is too short for a safetensors file");
    for (int i = 7; i >= 0; i--) length = length << 8 | prefix[i];
    if (length > HEADER_MAX || length > file_bytes - sizeof prefix)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, 0,
                             "a header of %llu bytes does not fit a file of %llu; this is not a whole safetensors file",
                             (unsigned long long)length, (unsigned long long)file_bytes);
    char *text = malloc(length + 1);
    if (!text) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the header of %s", file->path);
    json_error_t mistake;
    json_t *header = NULL;
    splat_status status = SPLAT_ERROR_IO;
    if (fread(text, 1, length, file->stream) == length)
        status = splat_json_parse(text, length, JSON_REJECT_DUPLICATES, &header, &mistake);
    free(text);
    file->header = header;
    if (status == SPLAT_ERROR_IO) return splat_fail_errno(error, file->path, "read");
    if (status == SPLAT_ERROR_MEMORY)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the header of %s", file->path);
    if (status != SPLAT_OK)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, sizeof prefix + (uint64_t)mistake.position,
                             "the header is not JSON: %s", mistake.text);
    return parse_header(file, sizeof prefix + length, file_bytes, error);
}

splat_status splat_safetensors_open(const char *path, splat_safetensors *file, splat_error *error)
{
    memset(file, 0, sizeof *file);
    file->path = splat_format("%s", path);
    if (!file->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to open %s", path);
    uint64_t file_bytes;
    splat_status status = splat_file_open_stream(path, &file->stream, &file_bytes, error);
    if (status == SPLAT_OK) status = read_header(file, file_bytes, error);
    if (status != SPLAT_OK) splat_safetensors_close(file);
    return status;
}

void splat_safetensors_close(splat_safetensors *file)
{
    if (file->stream) fclose(file->stream);
    json_decref(file->header);
    free(file->tensors);
    free(file->path);
    memset(file, 0, sizeof *file);
}

const splat_safetensor *splat_safetensors_find(const splat_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

/* IEEE half: 1 sign, 5 exponent, 10 fraction bits. */
static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
    if (exponent == 31) return splat_float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent) return splat_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction / 16777216.0f; /* a multiple of 2^-24 */
    return sign ? -small : small;
}

static void convert(const char *type, const uint8_t *bytes, size_t n, float *values)
{
    for (size_t i = 0; i < n; i++) {
        double wide;
        uint16_t narrow;
        if (strcmp(type, "F64") == 0) {
            memcpy(&wide, bytes + 8 * i, 8);
            values[i] = (float)wide;
        } else {
            memcpy(&narrow, bytes + 2 * i, 2);
            values[i] = strcmp(type, "F16") == 0 ? float_of_half(narrow) : splat_float_of_bits((uint32_t)narrow << 16);
        }
    }
}

splat_status splat_safetensors_read_f32(const splat_safetensors *file, const splat_safetensor *tensor, float *values,
                                        splat_error *error)
{
    const char *type = tensor->type;
    bool as_it_is = strcmp(type, "F32") == 0;
    if (!as_it_is && strcmp(type, "F16") != 0 && strcmp(type, "BF16") != 0 && strcmp(type, "F64") != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, tensor->offset,
                             "tensor '%s' holds %s; F32, F16, BF16 or F64 is needed", tensor->name, type);
    if (fseeko(file->stream, (off_t)tensor->offset, SEEK_SET) != 0) return splat_fail_errno(error, file->path, "read");
    uint8_t buffer[CHUNK];
    size_t value_bytes = bytes_of_type(type), n_chunk = as_it_is ? tensor->n_values : CHUNK / value_bytes;
    for (size_t first = 0; first < tensor->n_values; first += n_chunk) {
        size_t n = tensor->n_values - first < n_chunk ? tensor->n_values - first : n_chunk;
        errno = 0;
        if (fread(as_it_is ? (void *)values : buffer, value_bytes, n, file->stream) != n) {
            if (errno) return splat_fail_errno(error, file->path, "read");
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, tensor->offset,
                                 "the file ends within tensor '%s'", tensor->name);
        }
        if (!as_it_is) convert(type, buffer, n, values + first);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- writing */

static size_t count_values(const splat_safetensor_f32 *tensor)
{
    size_t n = 1;
    for (int i = 0; i < tensor->n_dimensions; i++) n *= tensor->shape[i];
    return n;
}

/* The header's text, padded with spaces to a multiple of 8, so that the values are aligned; NULL without memory. */
static char *header_text(const splat_safetensor_f32 *tensors, size_t n, const char *source)
{
    json_t *root = json_object();
    uint64_t offset = 0;
    bool good = root != NULL;
    if (source) good = good && json_object_set_new(root, "__metadata__", json_pack("{s:s}", "source", source)) == 0;
    for (size_t i = 0; i < n && good; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < tensors[i].n_dimensions && good; d++)
            good = json_array_append_new(shape, json_integer((json_int_t)tensors[i].shape[d])) == 0;
        uint64_t end = offset + count_values(&tensors[i]) * sizeof(float);
        json_t *entry = json_pack("{s:s,s:o,s:[I,I]}", "dtype", "F32", "shape", shape, "data_offsets",
                                  (json_int_t)offset, (json_int_t)end);
        good = json_object_set_new(root, tensors[i].name, entry) == 0 && good;
        offset = end;
    }
    char *text = good ? splat_json_print(root, JSON_COMPACT) : NULL, *padded = NULL;
    if (text) padded = splat_format("%-*s", (int)((strlen(text) + 7) / 8 * 8), text);
    free(text);
    json_decref(root);
    return padded;
}

splat_status splat_safetensors_write(const char *path, const splat_safetensor_f32 *tensors, size_t n,
                                     const char *source, splat_error *error)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(tensors[i].name, tensors[j].name) == 0)
                return splat_fail(error, SPLAT_ERROR_ARGUMENT, "two tensors are called '%s'", tensors[i].name);
    char *header = header_text(tensors, n, source);
    if (!header) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the header of %s", path);
    splat_save save;
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        uint64_t length = strlen(header);
        fwrite(&length, sizeof length, 1, save.stream); /* errors are seen by commit */
        fwrite(header, 1, length, save.stream);
        for (size_t i = 0; i < n; i++) {
            size_t n_values = count_values(&tensors[i]);
            if (n_values) fwrite(tensors[i].values, sizeof(float), n_values, save.stream);
        }
        status = splat_save_commit(&save, error);
    }
    free(header);
    return status;
}
