/* Which parts the line of a command has, where an option's field lies in them, and which options were set. */
#include "line/line.h"

#include <stdlib.h>
#include <string.h>

typedef struct part_place {
    size_t offset, size;
} part_place;

static const part_place places[] = {
#define SPLAT_LINE_PART(name, type) {offsetof(splat_line_parts, name), sizeof(type)},
#include "line/parts.def"
};
#define N_PARTS (sizeof places / sizeof places[0])

/* The pointers of a line, in the order of `places`. */
static void set_pointers(splat_line *line, char *const parts[N_PARTS])
{
    size_t i = 0;
#define SPLAT_LINE_PART(name, type) line->name = (type *)(void *)parts[i++];
#include "line/parts.def"
}

static size_t part_of(size_t offset)
{
    size_t i = 0;
    while (i + 1 < N_PARTS && offset >= places[i + 1].offset) i++;
    return i;
}

static bool has_part(const splat_line_command *command, size_t part)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if ((splat_line_options[i].commands & command->bit) && part_of(splat_line_options[i].offset) == part)
            return true;
    return false;
}

/* Parts begin at multiples of this. */
static size_t aligned(size_t size)
{
    return (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

splat_status splat_line_init(splat_line *line, const splat_line_command *command, splat_error *error)
{
    char *all = (char *)splat_line_default_parts(), *parts[N_PARTS];
    bool has[N_PARTS];
    size_t size = 0, at = 0;
    memset(line, 0, sizeof *line);
    line->command = command;
    for (size_t i = 0; i < N_PARTS; i++) {
        has[i] = command && has_part(command, i);
        if (has[i]) size += aligned(places[i].size);
    }
    if (size && !(line->storage = malloc(size))) return splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    for (size_t i = 0; i < N_PARTS; i++) {
        parts[i] = all + places[i].offset;
        if (!has[i]) continue;
        parts[i] = memcpy((char *)line->storage + at, parts[i], places[i].size);
        at += aligned(places[i].size);
    }
    set_pointers(line, parts);
    return SPLAT_OK;
}

void splat_line_free(splat_line *line)
{
    free(line->storage);
    line->storage = NULL;
}

void *splat_line_field(const splat_line *line, const splat_line_option *option)
{
    size_t part = part_of(option->offset), i = 0;
    char *begin = NULL;
#define SPLAT_LINE_PART(name, type)                                                                                    \
    if (i++ == part) begin = (char *)line->name;
#include "line/parts.def"
    return begin + (option->offset - places[part].offset);
}

size_t splat_line_kind_size(splat_line_kind kind)
{
    switch (kind) {
    case SPLAT_LINE_CHOICE: return sizeof(const char *);
    case SPLAT_LINE_PORT: return sizeof(int);
    case SPLAT_LINE_INTS: return sizeof(splat_line_list);
    case SPLAT_LINE_LIMIT: return sizeof(splat_line_limit);
    case SPLAT_LINE_HELP: return sizeof(splat_line_help);
    default: return splat_option_bytes((splat_option_kind)kind);
    }
}

/* ---------------------------------------------------------------- names, and what was set */

bool splat_line_is_same_name(const char *a, const char *b)
{
    for (; *a && (*a == *b || (*a == '-' && *b == '_') || (*a == '_' && *b == '-')); a++) b++;
    return *a == *b;
}

const splat_line_command *splat_line_find_command(const char *name)
{
    for (size_t i = 0; i < splat_line_n_commands; i++)
        if (splat_line_is_same_name(name, splat_line_commands[i].name)) return &splat_line_commands[i];
    return NULL;
}

const splat_line_option *splat_line_find_option(const splat_line_command *command, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if ((splat_line_options[i].commands & command->bit) && strcmp(splat_line_options[i].name, name) == 0)
            return &splat_line_options[i];
    return NULL;
}

bool splat_line_given(const splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && strcmp(splat_line_options[i].name, name) == 0) return true;
    return false;
}

const char *splat_line_first_given(const splat_line *line, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (splat_line_given(line, names[i])) return names[i];
    return NULL;
}

bool splat_line_names_value(const splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && !line->unnamed[i] && strcmp(splat_line_options[i].name, name) == 0) return true;
    return false;
}

void splat_line_put_given(const splat_line *line, const void *part, size_t size, void *options)
{
    const char *begin = part;
    for (size_t i = 0; i < splat_line_n_options; i++) {
        if (!line->given[i] || !(splat_line_options[i].commands & line->command->bit)) continue;
        const char *field = splat_line_field(line, &splat_line_options[i]);
        if (field < begin || field >= begin + size) continue;
        memcpy((char *)options + (field - begin), field, splat_line_kind_size(splat_line_options[i].kind));
    }
}

void splat_line_forget(splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!line->given[i] || strcmp(option->name, name) != 0 || option->kind != SPLAT_LINE_TEXT) continue;
        line->given[i] = false;
        memcpy(splat_line_field(line, option), (const char *)splat_line_default_parts() + option->offset,
               splat_line_kind_size(SPLAT_LINE_TEXT));
    }
}
