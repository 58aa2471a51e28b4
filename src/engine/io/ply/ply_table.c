/* PLY as a table: opening a file, whose header is checked against the bytes that follow, and its rows as doubles. */
#include "io/ply/ply_table.h"

#include "base/file.h"
#include "base/reader.h"
#include "io/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No real file comes near; they bound the work a hostile header can ask for. */
enum { MAX_ELEMENTS = 256, MAX_PROPERTIES = 4096, MAX_WORDS = 6 };

/* One line of the header, cut into words in place. */
typedef struct header_line {
    char *text;               /* the whole line, before it is cut */
    char *words[MAX_WORDS];   /* at most MAX_WORDS; the rest of the line is left alone */
    size_t n_words;
    size_t offset;
} header_line;

static const struct { const char *name; splat_ply_type type; } type_names[] = {
    {"char", SPLAT_PLY_INT8},     {"int8", SPLAT_PLY_INT8},       {"uchar", SPLAT_PLY_UINT8},
    {"uint8", SPLAT_PLY_UINT8},   {"short", SPLAT_PLY_INT16},     {"int16", SPLAT_PLY_INT16},
    {"ushort", SPLAT_PLY_UINT16}, {"uint16", SPLAT_PLY_UINT16},   {"int", SPLAT_PLY_INT32},
    {"int32", SPLAT_PLY_INT32},   {"uint", SPLAT_PLY_UINT32},     {"uint32", SPLAT_PLY_UINT32},
    {"float", SPLAT_PLY_FLOAT32}, {"float32", SPLAT_PLY_FLOAT32}, {"double", SPLAT_PLY_FLOAT64},
    {"float64", SPLAT_PLY_FLOAT64},
};

static bool parse_type(const char *word, splat_ply_type *type)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(word, type_names[i].name) != 0) continue;
        *type = type_names[i].type;
        return true;
    }
    return false;
}

static bool parse_count(const char *word, uint64_t *count)
{
    *count = 0;
    if (!*word) return false;
    for (; *word; word++) {
        if (*word < '0' || *word > '9') return false;
        uint64_t digit = (uint64_t)(*word - '0');
        if (__builtin_mul_overflow(*count, 10u, count) || __builtin_add_overflow(*count, digit, count)) return false;
    }
    return true;
}

/* Ends the next line with NUL, drops a \r, and moves on. False: the file ends before the line does. */
static bool next_line(splat_ply_file *file, header_line *line)
{
    char *begin = (char *)file->data + file->position;
    char *end = memchr(begin, '\n', file->size - file->position);
    if (!end) return false;
    line->text = begin;
    line->offset = file->position;
    line->n_words = 0;
    file->position = (size_t)((uint8_t *)end - file->data) + 1;
    file->line++;
    *end = '\0';
    if (end > begin && end[-1] == '\r') end[-1] = '\0';
    return true;
}

static void cut_words(header_line *line)
{
    for (char *p = line->text; line->n_words < MAX_WORDS;) {
        p += strspn(p, " \t");
        if (!*p) break;
        line->words[line->n_words++] = p;
        p += strcspn(p, " \t");
        if (*p) *p++ = '\0';
    }
}

/* "SplatRenderMode: mip": how the splat wants to be rendered; "TextureFile NAME": a page of the mesh's texture. Several
 * tools write and read these comments. "subset 0 NAME 1 NAME": our own, of points of a true surface. */
static void read_comment(splat_ply_file *file, const char *text)
{
    static const char key[] = "SplatRenderMode:", texture[] = "TextureFile", subset[] = "subset ";
    text += strspn(text, " \t");
    text += strlen("comment");
    text += strspn(text, " \t");
    if (strncmp(text, texture, sizeof texture - 1) == 0) {
        text += sizeof texture - 1;
        text += strspn(text, ": \t");
        if (*text && file->n_textures < SPLAT_PLY_MAX_TEXTURES) file->textures[file->n_textures++] = text;
        return;
    }
    if (strncmp(text, subset, sizeof subset - 1) == 0) file->subsets = text + sizeof subset - 1;
    if (strncmp(text, key, sizeof key - 1) != 0) return;
    text += sizeof key - 1;
    text += strspn(text, " \t");
    size_t length = strcspn(text, " \t");
    if (length == 3 && strncmp(text, "mip", 3) == 0) file->tagged_mip = true;
    if (length == 7 && strncmp(text, "default", 7) == 0) file->tagged_default = true;
}

static splat_status bad_line(const splat_ply_file *file, const header_line *line, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, line->offset, "the PLY header is damaged: %s", what);
}

static splat_status read_format(splat_ply_file *file, const header_line *line, splat_error *error)
{
    if (line->n_words != 3) return bad_line(file, line, "the format line needs an encoding and a version", error);
    if (strcmp(line->words[1], "ascii") == 0)
        file->encoding = SPLAT_PLY_ASCII;
    else if (strcmp(line->words[1], "binary_little_endian") == 0)
        file->encoding = SPLAT_PLY_LITTLE;
    else if (strcmp(line->words[1], "binary_big_endian") == 0)
        file->encoding = SPLAT_PLY_BIG;
    else
        return bad_line(file, line, "the format is none of ascii, binary_little_endian, binary_big_endian", error);
    if (strcmp(line->words[2], "1.0") != 0)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, file->path, line->offset,
                             "PLY version %.32s is not known; version 1.0 is", line->words[2]);
    return SPLAT_OK;
}

static splat_status add_element(splat_ply_file *file, const header_line *line, splat_error *error)
{
    uint64_t n;
    if (line->n_words != 3 || !parse_count(line->words[2], &n))
        return bad_line(file, line, "an element line needs a name and a count", error);
    if (file->n_elements == MAX_ELEMENTS) return bad_line(file, line, "it has more than 256 elements", error);
    splat_ply_element *grown = realloc(file->elements, (file->n_elements + 1) * sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a PLY header");
    file->elements = grown;
    grown[file->n_elements++] = (splat_ply_element){line->words[1], n, NULL, 0};
    return SPLAT_OK;
}

static splat_status parse_property(const splat_ply_file *file, const header_line *line, splat_ply_property *property,
                                   splat_error *error)
{
    property->is_list = line->n_words >= 2 && strcmp(line->words[1], "list") == 0;
    property->count_type = SPLAT_PLY_UINT8;
    if (line->n_words != (property->is_list ? 5u : 3u))
        return bad_line(file, line, "a property line needs a type and a name", error);
    if (!parse_type(line->words[line->n_words - 2], &property->type))
        return bad_line(file, line, "a property has an unknown type", error);
    if (property->is_list && (!parse_type(line->words[2], &property->count_type) ||
                              property->count_type >= SPLAT_PLY_FLOAT32))
        return bad_line(file, line, "the length of a list must have an integer type", error);
    property->name = line->words[line->n_words - 1];
    return SPLAT_OK;
}

static splat_status add_property(splat_ply_file *file, const header_line *line, size_t *n_all, splat_error *error)
{
    if (!file->n_elements) return bad_line(file, line, "a property comes before the first element", error);
    splat_ply_element *element = &file->elements[file->n_elements - 1];
    splat_ply_property property;
    SPLAT_TRY(parse_property(file, line, &property, error));
    for (size_t i = 0; i < element->n_properties; i++)
        if (strcmp(element->properties[i].name, property.name) == 0)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, line->offset,
                                 "the PLY header is damaged: property %.64s appears twice", property.name);
    if (++*n_all > MAX_PROPERTIES) return bad_line(file, line, "it has more than 4096 properties", error);
    splat_ply_property *grown = realloc(element->properties, (element->n_properties + 1) * sizeof *grown);
    if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a PLY header");
    element->properties = grown;
    grown[element->n_properties++] = property;
    return SPLAT_OK;
}

static splat_status read_header(splat_ply_file *file, splat_error *error)
{
    header_line line;
    bool has_format = false;
    size_t n_properties = 0;
    if (file->size < 4 || memcmp(file->data, "ply", 3) != 0 || (file->data[3] != '\n' && file->data[3] != '\r'))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, 0,
                             "this is not a PLY file: it does not begin with ply");
    file->line = 1;
    if (!next_line(file, &line)) goto no_end;
    while (next_line(file, &line)) {
        char *word = line.text + strspn(line.text, " \t");
        if (strncmp(word, "comment", 7) == 0 && (word[7] == ' ' || word[7] == '\t' || !word[7])) {
            read_comment(file, line.text);
            continue;
        }
        cut_words(&line);
        if (line.n_words == 0 || strcmp(line.words[0], "obj_info") == 0) continue;
        if (strcmp(line.words[0], "end_header") == 0) {
            if (!has_format) return bad_line(file, &line, "it has no format line", error);
            return SPLAT_OK;
        }
        if (strcmp(line.words[0], "format") == 0) {
            has_format = true;
            SPLAT_TRY(read_format(file, &line, error));
        } else if (strcmp(line.words[0], "element") == 0) {
            SPLAT_TRY(add_element(file, &line, error));
        } else if (strcmp(line.words[0], "property") == 0) {
            SPLAT_TRY(add_property(file, &line, &n_properties, error));
        } else {
            return bad_line(file, &line, "a line begins with a word that PLY does not know", error);
        }
    }
no_end:
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->size,
                         "the PLY header has no end_header line: the file is cut short");
}

splat_status splat_ply_open(splat_ply_file *file, const char *path, splat_error *error)
{
    memset(file, 0, sizeof *file);
    file->path = path;
    SPLAT_TRY(splat_file_read(path, &file->data, &file->size, error));
    splat_status status = read_header(file, error);
    file->rows_position = file->position;
    file->rows_line = file->line;
    if (status != SPLAT_OK) splat_ply_close(file);
    return status;
}

void splat_ply_close(splat_ply_file *file)
{
    for (size_t i = 0; i < file->n_elements; i++) free(file->elements[i].properties);
    free(file->elements);
    free(file->data);
    memset(file, 0, sizeof *file);
}

/* ---------------------------------------------------------------- rows
 * The rows of a PLY element, ASCII and both binary encodings. */

/* One number of a binary file, of either byte order. The caller knows that its bytes exist. */
static double load_scalar(const uint8_t *bytes, splat_ply_type type, bool swap)
{
    float f32;
    double f64;
    if (type == SPLAT_PLY_FLOAT32 && !swap) { /* nearly every number of every splat */
        memcpy(&f32, bytes, sizeof f32);
        return (double)f32;
    }
    uint64_t bits = 0;
    size_t size = splat_ply_type_size(type);
    memcpy(&bits, bytes, size); /* little-endian host: see base/reader.h */
    if (swap) bits = __builtin_bswap64(bits) >> (64 - 8 * size);
    switch (type) {
    case SPLAT_PLY_INT8: return (int8_t)bits;
    case SPLAT_PLY_UINT8: return (uint8_t)bits;
    case SPLAT_PLY_INT16: return (int16_t)bits;
    case SPLAT_PLY_UINT16: return (uint16_t)bits;
    case SPLAT_PLY_INT32: return (int32_t)bits;
    case SPLAT_PLY_UINT32: return (uint32_t)bits;
    case SPLAT_PLY_FLOAT32: memcpy(&f32, &bits, sizeof f32); return (double)f32;
    default: memcpy(&f64, &bits, sizeof f64); return f64;
    }
}

static splat_status cut_short(const splat_ply_file *file, const splat_ply_element *element, uint64_t row,
                              splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->size,
                         "the file ends inside row %" PRIu64 " of the %" PRIu64 " rows of element %.64s: "
                         "it is cut short", row, element->n, element->name);
}

static splat_status bad_list(const splat_ply_file *file, const splat_ply_property *property, splat_error *error)
{
    if (file->encoding == SPLAT_PLY_ASCII)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                               "list %.64s has an impossible length", property->name);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->position, "list %.64s has an impossible length",
                         property->name);
}

/* The buffer that keeps the values of a list; NULL: none. */
static splat_ply_kept *kept_list(splat_ply_file *file, const splat_ply_property *property)
{
    for (int i = 0; i < SPLAT_PLY_N_KEPT; i++)
        if (file->kept[i].property == property) return &file->kept[i];
    return NULL;
}

static void keep_list(splat_ply_kept *kept, const uint8_t *bytes, size_t n, bool swap)
{
    splat_ply_type type = kept->property->type;
    kept->n = n;
    for (size_t k = 0; k < n && k < SPLAT_PLY_LIST_MAX; k++)
        kept->values[k] = load_scalar(bytes + k * splat_ply_type_size(type), type, swap);
}

static splat_status next_binary(splat_ply_file *file, const splat_ply_element *element, uint64_t row, double *values,
                                splat_error *error)
{
    bool swap = file->encoding == SPLAT_PLY_BIG;
    for (size_t i = 0; i < element->n_properties; i++) {
        const splat_ply_property *property = &element->properties[i];
        splat_ply_type type = property->is_list ? property->count_type : property->type;
        size_t size = splat_ply_type_size(type);
        if (file->size - file->position < size) return cut_short(file, element, row, error);
        double value = load_scalar(file->data + file->position, type, swap);
        values[i] = property->is_list ? 0.0 : value;
        if (property->is_list) {
            if (value < 0.0) return bad_list(file, property, error);
            /* a length below 2^32 of values of at most 8 bytes: no overflow */
            size_t bytes = (size_t)value * splat_ply_type_size(property->type);
            if (file->size - file->position - size < bytes) return cut_short(file, element, row, error);
            splat_ply_kept *kept = kept_list(file, property);
            if (kept) keep_list(kept, file->data + file->position + size, (size_t)value, swap);
            size += bytes;
        }
        file->position += size;
    }
    return SPLAT_OK;
}

/* The next number of the line that ends at `end`. */
static splat_status next_word(splat_ply_file *file, const char *end, const splat_ply_property *property, double *value,
                              splat_error *error)
{
    const char *text = (const char *)file->data + file->position;
    text += strspn(text, " \t\r");
    if (text >= end)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                               "the line ends before its value of %.64s", property->name);
    char *stop;
    *value = splat_number_parse(text, &stop);
    if (stop == text || (*stop != ' ' && *stop != '\t' && *stop != '\r' && *stop != '\n'))
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                               "the value of %.64s is not a number", property->name);
    file->position = (size_t)((uint8_t *)stop - file->data);
    return SPLAT_OK;
}

/* A row is a line. The last one needs its line end too: without it a number may have lost its last digits. */
static splat_status next_ascii(splat_ply_file *file, const splat_ply_element *element, uint64_t row, double *values,
                               splat_error *error)
{
    const char *text, *end;
    if (element->n_properties == 0) return SPLAT_OK;
    for (;;) {
        text = (const char *)file->data + file->position;
        end = memchr(text, '\n', file->size - file->position);
        if (!end) return cut_short(file, element, row, error);
        if (text + strspn(text, " \t\r") < end) break;
        file->position = (size_t)((const uint8_t *)end - file->data) + 1; /* a blank line */
        file->line++;
    }
    for (size_t i = 0; i < element->n_properties; i++) {
        const splat_ply_property *property = &element->properties[i];
        SPLAT_TRY(next_word(file, end, property, &values[i], error));
        if (!property->is_list) continue;
        double length = values[i], value;
        splat_ply_kept *kept = kept_list(file, property);
        if (!(length >= 0.0 && length <= (double)(file->size - file->position)) || length != (double)(size_t)length)
            return bad_list(file, property, error);
        for (size_t k = 0; k < (size_t)length; k++) {
            SPLAT_TRY(next_word(file, end, property, &value, error));
            if (kept && k < SPLAT_PLY_LIST_MAX) kept->values[k] = value;
        }
        if (kept) kept->n = (size_t)length;
        values[i] = 0.0;
    }
    text = (const char *)file->data + file->position;
    if (text + strspn(text, " \t\r") != end)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                               "the line has more values than element %.64s has properties", element->name);
    file->position = (size_t)((const uint8_t *)end - file->data) + 1;
    file->line++;
    return SPLAT_OK;
}

splat_status splat_ply_next(splat_ply_file *file, const splat_ply_element *element, uint64_t row, double *values,
                            splat_error *error)
{
    if (file->encoding == SPLAT_PLY_ASCII) return next_ascii(file, element, row, values, error);
    return next_binary(file, element, row, values, error);
}

/* The fewest bytes a row can take: empty lists; in ASCII one digit and one separator a value. */
static size_t least_row_size(const splat_ply_file *file, const splat_ply_element *element)
{
    size_t size = 0;
    for (size_t i = 0; i < element->n_properties; i++) {
        const splat_ply_property *property = &element->properties[i];
        size += file->encoding == SPLAT_PLY_ASCII ? 2
                                                  : splat_ply_type_size(property->is_list ? property->count_type
                                                                                          : property->type);
    }
    return size;
}

const uint8_t *splat_ply_float_rows(const splat_ply_file *file, const splat_ply_element *element)
{
    if (file->encoding != SPLAT_PLY_LITTLE) return NULL;
    for (size_t i = 0; i < element->n_properties; i++)
        if (element->properties[i].is_list || element->properties[i].type != SPLAT_PLY_FLOAT32) return NULL;
    return file->data + file->position;
}

static splat_status check_count(const splat_ply_file *file, const splat_ply_element *element, splat_error *error)
{
    size_t least = least_row_size(file, element), left = file->size - file->position;
    if (least && element->n > left / least)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, file->size,
                             "element %.64s claims %" PRIu64 " rows of at least %zu bytes, but only %zu bytes are "
                             "left: the file is cut short", element->name, element->n, least, left);
    return SPLAT_OK;
}

static splat_status skip_element(splat_ply_file *file, const splat_ply_element *element, splat_error *error)
{
    if (element->n_properties == 0) return SPLAT_OK; /* rows without bytes: their number means nothing */
    SPLAT_TRY(check_count(file, element, error));
    bool has_lists = false;
    for (size_t i = 0; i < element->n_properties; i++) has_lists = has_lists || element->properties[i].is_list;
    if (file->encoding != SPLAT_PLY_ASCII && !has_lists) { /* rows of one size, which check_count found to be there */
        file->position += (size_t)element->n * least_row_size(file, element);
        return SPLAT_OK;
    }
    double *values = calloc(element->n_properties, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
    splat_status status = SPLAT_OK;
    for (uint64_t row = 0; row < element->n && status == SPLAT_OK; row++)
        status = splat_ply_next(file, element, row, values, error);
    free(values);
    return status;
}

splat_status splat_ply_seek(splat_ply_file *file, const char *element_name, const splat_ply_element **element,
                            splat_error *error)
{
    file->position = file->rows_position;
    file->line = file->rows_line;
    for (size_t i = 0; i < file->n_elements; i++) {
        if (strcmp(file->elements[i].name, element_name) == 0) {
            *element = &file->elements[i];
            return check_count(file, *element, error);
        }
        SPLAT_TRY(skip_element(file, &file->elements[i], error));
    }
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET, "the PLY file has no element %s",
                         element_name);
}

bool splat_ply_has(const splat_ply_file *file, const char *element_name)
{
    for (size_t i = 0; i < file->n_elements; i++)
        if (strcmp(file->elements[i].name, element_name) == 0) return true;
    return false;
}

const splat_ply_property *splat_ply_find_list(const splat_ply_element *element, const char *name)
{
    for (size_t i = 0; i < element->n_properties; i++)
        if (element->properties[i].is_list && strcmp(element->properties[i].name, name) == 0)
            return &element->properties[i];
    return NULL;
}

int splat_ply_find(const splat_ply_element *element, const char *name)
{
    for (size_t i = 0; i < element->n_properties; i++)
        if (!element->properties[i].is_list && strcmp(element->properties[i].name, name) == 0) return (int)i;
    return -1;
}

splat_status splat_ply_require(const splat_ply_file *file, const splat_ply_element *element, const char *name,
                               int *index, splat_error *error)
{
    *index = splat_ply_find(element, name);
    if (*index >= 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                         "element %.64s of the PLY file has no number called %s", element->name, name);
}

splat_status splat_ply_require_position(const splat_ply_file *file, const splat_ply_element *element, int columns[3],
                                        splat_error *error)
{
    SPLAT_TRY(splat_ply_require(file, element, "x", &columns[0], error));
    SPLAT_TRY(splat_ply_require(file, element, "y", &columns[1], error));
    return splat_ply_require(file, element, "z", &columns[2], error);
}
