/* A command line without any words: which parts a command has, and where an option's field lies in them. */
#include "options.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

typedef struct part_place {
    size_t offset, size;
} part_place;

static const part_place places[] = {
#define CLI_PART(name, type) {offsetof(cli_parts, name), sizeof(type)},
#include "parts.def"
};
#define N_PARTS (sizeof places / sizeof places[0])

/* The pointers of a line, in the order of `places`. */
static void set_pointers(cli_line *line, char *const parts[N_PARTS])
{
    size_t i = 0;
#define CLI_PART(name, type) line->name = (type *)(void *)parts[i++];
#include "parts.def"
}

static size_t part_of(size_t offset)
{
    size_t i = 0;
    while (i + 1 < N_PARTS && offset >= places[i + 1].offset) i++;
    return i;
}

static bool has_part(const cli_command *command, size_t part)
{
    for (size_t i = 0; i < cli_n_options; i++)
        if ((cli_options[i].commands & command->bit) && part_of(cli_options[i].offset) == part) return true;
    return false;
}

/* Parts begin at multiples of this. */
static size_t aligned(size_t size)
{
    return (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

bool cli_line_init(cli_line *line, const cli_command *command)
{
    char *all = (char *)cli_default_parts(), *parts[N_PARTS];
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

void cli_line_free(cli_line *line)
{
    free(line->storage);
    line->storage = NULL;
}

void *cli_field(const cli_line *line, const cli_option *option)
{
    size_t part = part_of(option->offset), i = 0;
    char *begin = NULL;
#define CLI_PART(name, type)                                                                                           \
    if (i++ == part) begin = (char *)line->name;
#include "parts.def"
    return begin + (option->offset - places[part].offset);
}

size_t cli_kind_size(cli_kind kind)
{
    switch (kind) {
    case CLI_CHOICE: return sizeof(const char *);
    case CLI_PORT: return sizeof(int);
    case CLI_INTS: return sizeof(cli_list);
    case CLI_LIMIT: return sizeof(cli_limit);
    case CLI_HELP: return sizeof(cli_help);
    default: return splat_option_bytes((splat_option_kind)kind);
    }
}
