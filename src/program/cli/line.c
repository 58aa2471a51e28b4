/* A command line without any words: which parts a command has, and where an option's field lies in them. */
#include "options.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

typedef struct part_place {
    size_t offset, size;
} part_place;

static const part_place places[] = {
#define SPLAT_LINE_PART(name, type) {offsetof(splat_line_parts, name), sizeof(type)},
#include "parts.def"
};
#define N_PARTS (sizeof places / sizeof places[0])

/* The pointers of a line, in the order of `places`. */
static void set_pointers(splat_line *line, char *const parts[N_PARTS])
{
    size_t i = 0;
#define SPLAT_LINE_PART(name, type) line->name = (type *)(void *)parts[i++];
#include "parts.def"
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

bool splat_line_init(splat_line *line, const splat_line_command *command)
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
    if (size && !(line->storage = malloc(size))) {
        cli_error("memory is exhausted");
        return false;
    }
    for (size_t i = 0; i < N_PARTS; i++) {
        parts[i] = all + places[i].offset;
        if (!has[i]) continue;
        parts[i] = memcpy((char *)line->storage + at, parts[i], places[i].size);
        at += aligned(places[i].size);
    }
    set_pointers(line, parts);
    return true;
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
#include "parts.def"
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
