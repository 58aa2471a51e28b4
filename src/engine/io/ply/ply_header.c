/* Opening a PLY file: its header, checked against the bytes that follow. */
#include "base/file.h"
#include "io/ply/ply_table.h"

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
