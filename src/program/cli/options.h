/* One table of options: the source of parsing, --help, the man page and the bash completion. */
#ifndef SPLAT_CLI_OPTIONS_H
#define SPLAT_CLI_OPTIONS_H

#include "base/option_table.h"
#include "parts.h"

#include <stdio.h>

#define CLI_OPTIONS_MAX 384
#define CLI_WORDS_MAX 256
#define CLI_TEXT_MAX 1024

typedef struct cli_command cli_command;

/* A command line that was read. A command has the parts that its options fill; other parts point to the defaults, and
 * nobody writes there. A command may change its own parts. */
typedef struct cli_line {
    const cli_command *command;
#define CLI_PART(name, type) type *name;
#include "parts.def"
    void *storage;              /* of the command's parts */
    bool given[CLI_OPTIONS_MAX]; /* by the index in the table */
    bool unnamed[CLI_OPTIONS_MAX]; /* given without its value: a usual port */
    const char *operand;        /* the word that is not an option: OUT of sample, a command for help */
    const char *words[CLI_WORDS_MAX]; /* the words after it, of commands that take many */
    size_t n_words;
    char **command_line;        /* as the program was called, NULL at the end */
    int n_gpus;                 /* --gpus as a number, once it is checked; 0: one */
    splat_viewer *shared_viewer; /* of the pipeline around a stage; NULL: none */
    struct cli_outcome *outcome; /* filled by the stages of a pipeline; NULL: nobody asks */
} cli_line;

/* What an option takes: as in the tables of the library's options, or more. */
typedef enum cli_kind {
    CLI_FLAG = SPLAT_OPTION_FLAG, /* the value may be left out */
    CLI_TEXT = SPLAT_OPTION_TEXT,
    CLI_WORD = SPLAT_OPTION_CHOICE, /* one of the words of `metavar`, which stand between bars */
    CLI_INT = SPLAT_OPTION_INT,
    CLI_SIZE = SPLAT_OPTION_SIZE,
    CLI_COUNT = SPLAT_OPTION_COUNT,
    CLI_SEED = SPLAT_OPTION_U64,
    CLI_REAL = SPLAT_OPTION_REAL,
    CLI_DOUBLE = SPLAT_OPTION_DOUBLE,
    CLI_GIB = SPLAT_OPTION_GIB,
    CLI_CHOICE = 100, /* const char *, one of the words of `metavar` */
    CLI_PORT,   /* int; the value may be left out: that of the metavar, [PORT=8080] */
    CLI_HELP,   /* cli_help; "all" may follow */
    CLI_INTS,   /* cli_list */
    CLI_LIMIT   /* cli_limit; the metavar says whether percentages and max are meant too */
} cli_kind;

typedef enum cli_group {
    CLI_GROUP_INPUT,
    CLI_GROUP_OUTPUT,
    CLI_GROUP_SCENE,
    CLI_GROUP_TRAINING,
    CLI_GROUP_FILTER,
    CLI_GROUP_RATES,
    CLI_GROUP_DENSITY,
    CLI_GROUP_SURFACE,
    CLI_GROUP_MEMORY,
    CLI_GROUP_MESH,
    CLI_GROUP_SAVING,
    CLI_GROUP_SAMPLE,
    CLI_GROUP_MACHINE,
    CLI_GROUP_GENERAL,
    CLI_GROUP_IGNORED,
    CLI_N_GROUPS
} cli_group;

/* Who sees an option in --help; --help all, the man page and the completion have every option. */
typedef enum cli_level {
    CLI_BASIC,   /* everybody */
    CLI_STAGE,   /* those who ask a command for help, but not the pipeline that takes the options of its stages */
    CLI_ADVANCED /* nobody */
} cli_level;

typedef struct cli_option {
    const char *name;     /* with underscores */
    char letter;          /* 0: none */
    const char *aliases;  /* names with commas between, or NULL */
    unsigned commands;    /* cli_command.bit of every command that has it */
    cli_level level;
    cli_group group;
    cli_kind kind;
    size_t offset;        /* in cli_parts */
    const char *metavar;
    double low, high;     /* of numbers; low above high: the library's range */
    const char *help;     /* CLI_GROUP_IGNORED: why it has no effect */
    const char *fallback; /* shown as default where the value in the struct does not tell; "": show none */
} cli_option;

struct cli_command {
    const char *name;
    unsigned bit;
    int (*run)(cli_line *line);
    const char *usage;    /* after "splatsmith <name> " */
    const char *operand;  /* what the operand is called, or NULL when none is taken; "..." at its end: any number */
    const char *summary;
    const char *details;  /* shown by --help; NULL: none */
    bool prints; /* its result is what it prints: when the reader leaves, there is nothing more to do */
    bool hidden;
};

/* Of an option that takes a number; both limits are included. Both 0: it has no limit. */
typedef struct cli_range {
    double low, high;
    bool or_zero; /* 0 is possible besides */
} cli_range;

extern const cli_option cli_options[];
extern const size_t cli_n_options;
extern const cli_command cli_commands[];
extern const size_t cli_n_commands;
extern const char *const cli_group_titles[CLI_N_GROUPS];

cli_range cli_option_range(const cli_option *option);

/* A line of the command without any words: its parts are the defaults. command NULL: no part is its own. False, with a
 * message, if memory is exhausted. */
bool cli_line_init(cli_line *line, const cli_command *command);
void cli_line_free(cli_line *line);
/* The field that an option fills. */
void *cli_field(const cli_line *line, const cli_option *option);
/* NULL when there is none. */
const cli_command *cli_find_command(const char *name);
/* The command's option of this name; NULL: it has none. */
const cli_option *cli_find_option(const cli_command *command, const char *name);
/* The one message about a word that is no command, with the nearest one. */
void cli_unknown_command(const char *name);

/* Reads the words after the command. Prints one sentence and returns false when they are wrong. */
bool cli_parse(cli_line *line, int n_words, char **words);
/* As if the command line had set it, to this text, which must live as long as the line. */
bool cli_set_option(cli_line *line, const cli_option *option, const char *text);
/* Options that stand for a value of another one become that one, with a notice. Prints one sentence and returns false
 * when the other one is given, too, with another value. */
bool cli_take_aliases(cli_line *line);
/* Whether the command line set the option. A default that depends on other things is a preset, not a question: see
 * cli_put_given. */
bool cli_given(const cli_line *line, const char *name);
/* The first of n options that the command line set; NULL: none. */
const char *cli_first_given(const cli_line *line, const char *const names[], size_t n);
/* Prints the notice "--name has no effect<why>" if the command line set the option. */
void cli_tell_unused(const cli_line *line, const char *name, const char *why);
/* Whether it set the option's value, too. */
bool cli_names_value(const cli_line *line, const char *name);
/* An option of a kind of the library's tables as a row of one, whose struct is the field alone. */
splat_option cli_option_row(const cli_option *option);
/* Bytes of the field that an option of this kind has. */
size_t cli_kind_size(cli_kind kind);
/* `part` is a part of the line, or a field or struct in one. Writes what the command line set over another one of that
 * type, which holds a preset: the default of a strategy, of a model or of another option. */
void cli_put_given(const cli_line *line, const void *part, size_t size, void *options);
/* Takes a text option back: not set, and its default. */
void cli_forget(cli_line *line, const char *name);

/* The value of an option as the command line would say it, "" when it has none; a list that is too long is cut. */
void cli_value_text(const cli_option *option, const cli_line *line, char *text, size_t size);
/* The same of the default. */
void cli_default_text(const cli_option *option, char *text, size_t size);

/* The next name in a comma-separated list of aliases: copies it and returns what follows, NULL at the end. */
const char *cli_next_name(const char *names, char name[64]);
/* What follows the name, or NULL: "FOLDER", or "WORD" when the words are so many that they stand in the text. */
const char *cli_option_metavar(const cli_option *option);
/* "-s, --source_path FOLDER" */
const char *cli_option_heading(const cli_option *option, char text[CLI_TEXT_MAX]);
/* The help with its default and aliases. */
const char *cli_option_text(const cli_option *option, char text[CLI_TEXT_MAX]);

#endif
