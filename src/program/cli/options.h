/* One table of options: the source of parsing, --help, the man page and the bash completion. */
#ifndef SPLAT_CLI_OPTIONS_H
#define SPLAT_CLI_OPTIONS_H

#include "base/option_table.h"
#include "parts.h"

#include <stdio.h>

#define SPLAT_LINE_OPTIONS_MAX 384
#define SPLAT_LINE_WORDS_MAX 256
#define SPLAT_LINE_TEXT_MAX 1024

typedef struct splat_line_command splat_line_command;

/* A command line that was read. A command has the parts that its options fill; other parts point to the defaults, and
 * nobody writes there. A command may change its own parts. */
typedef struct splat_line {
    const splat_line_command *command;
#define SPLAT_LINE_PART(name, type) type *name;
#include "parts.def"
    void *storage;              /* of the command's parts */
    bool given[SPLAT_LINE_OPTIONS_MAX];   /* by the index in the table */
    bool unnamed[SPLAT_LINE_OPTIONS_MAX]; /* given without its value: a usual port */
    const char *operand;        /* the word that is not an option: OUT of sample, a command for help */
    const char *words[SPLAT_LINE_WORDS_MAX]; /* the words after it, of commands that take many */
    size_t n_words;
    char **command_line;        /* as the program was called, NULL at the end */
    int n_gpus;                 /* --gpus as a number, once it is checked; 0: one */
    splat_viewer *shared_viewer; /* of the pipeline around a stage; NULL: none */
    struct cli_outcome *outcome; /* filled by the stages of a pipeline; NULL: nobody asks */
} splat_line;

/* What an option takes: as in the tables of the library's options, or more. */
typedef enum splat_line_kind {
    SPLAT_LINE_FLAG = SPLAT_OPTION_FLAG, /* the value may be left out */
    SPLAT_LINE_TEXT = SPLAT_OPTION_TEXT,
    SPLAT_LINE_WORD = SPLAT_OPTION_CHOICE, /* one of the words of `metavar`, which stand between bars */
    SPLAT_LINE_INT = SPLAT_OPTION_INT,
    SPLAT_LINE_SIZE = SPLAT_OPTION_SIZE,
    SPLAT_LINE_COUNT = SPLAT_OPTION_COUNT,
    SPLAT_LINE_SEED = SPLAT_OPTION_U64,
    SPLAT_LINE_REAL = SPLAT_OPTION_REAL,
    SPLAT_LINE_DOUBLE = SPLAT_OPTION_DOUBLE,
    SPLAT_LINE_GIB = SPLAT_OPTION_GIB,
    SPLAT_LINE_CHOICE = 100, /* const char *, one of the words of `metavar` */
    SPLAT_LINE_PORT,         /* int; the value may be left out: that of the metavar, [PORT=8080] */
    SPLAT_LINE_HELP,         /* splat_line_help; "all" may follow */
    SPLAT_LINE_INTS,         /* splat_line_list */
    SPLAT_LINE_LIMIT         /* splat_line_limit; the metavar says whether percentages and max are meant too */
} splat_line_kind;

typedef enum splat_line_group {
    SPLAT_LINE_GROUP_INPUT,
    SPLAT_LINE_GROUP_OUTPUT,
    SPLAT_LINE_GROUP_SCENE,
    SPLAT_LINE_GROUP_TRAINING,
    SPLAT_LINE_GROUP_FILTER,
    SPLAT_LINE_GROUP_RATES,
    SPLAT_LINE_GROUP_DENSITY,
    SPLAT_LINE_GROUP_SURFACE,
    SPLAT_LINE_GROUP_MEMORY,
    SPLAT_LINE_GROUP_MESH,
    SPLAT_LINE_GROUP_SAVING,
    SPLAT_LINE_GROUP_SAMPLE,
    SPLAT_LINE_GROUP_MACHINE,
    SPLAT_LINE_GROUP_GENERAL,
    SPLAT_LINE_GROUP_IGNORED,
    SPLAT_LINE_N_GROUPS
} splat_line_group;

/* Who sees an option in --help; --help all, the man page and the completion have every option. */
typedef enum splat_line_level {
    SPLAT_LINE_BASIC, /* everybody */
    SPLAT_LINE_STAGE, /* those who ask a command for help, but not the pipeline that takes the options of its stages */
    SPLAT_LINE_ADVANCED /* nobody */
} splat_line_level;

typedef struct splat_line_option {
    const char *name;     /* with underscores */
    char letter;          /* 0: none */
    const char *aliases;  /* names with commas between, or NULL */
    unsigned commands;    /* splat_line_command.bit of every command that has it */
    splat_line_level level;
    splat_line_group group;
    splat_line_kind kind;
    size_t offset; /* in splat_line_parts */
    const char *metavar;
    double low, high;     /* of numbers; low above high: the library's range */
    const char *help;     /* SPLAT_LINE_GROUP_IGNORED: why it has no effect */
    const char *fallback; /* shown as default where the value in the struct does not tell; "": show none */
} splat_line_option;

struct splat_line_command {
    const char *name;
    unsigned bit;
    int (*run)(splat_line *line);
    const char *usage;    /* after "splatsmith <name> " */
    const char *operand;  /* what the operand is called, or NULL when none is taken; "..." at its end: any number */
    const char *summary;
    const char *details;  /* shown by --help; NULL: none */
    bool prints; /* its result is what it prints: when the reader leaves, there is nothing more to do */
    bool hidden;
};

/* Of an option that takes a number; both limits are included. Both 0: it has no limit. */
typedef struct splat_line_range {
    double low, high;
    bool or_zero; /* 0 is possible besides */
} splat_line_range;

extern const splat_line_option splat_line_options[];
extern const size_t splat_line_n_options;
extern const splat_line_command splat_line_commands[];
extern const size_t splat_line_n_commands;
extern const char *const splat_line_group_titles[SPLAT_LINE_N_GROUPS];

splat_line_range splat_line_option_range(const splat_line_option *option);

/* A line of the command without any words: its parts are the defaults. command NULL: no part is its own. False, with a
 * message, if memory is exhausted. */
bool splat_line_init(splat_line *line, const splat_line_command *command);
void splat_line_free(splat_line *line);
/* The field that an option fills. */
void *splat_line_field(const splat_line *line, const splat_line_option *option);
/* NULL when there is none. */
const splat_line_command *splat_line_find_command(const char *name);
/* The command's option of this name; NULL: it has none. */
const splat_line_option *splat_line_find_option(const splat_line_command *command, const char *name);
/* The one message about a word that is no command, with the nearest one. */
void cli_unknown_command(const char *name);

/* Reads the words after the command. Prints one sentence and returns false when they are wrong. */
bool cli_parse(splat_line *line, int n_words, char **words);
/* As if the command line had set it, to this text, which must live as long as the line. */
bool splat_line_set(splat_line *line, const splat_line_option *option, const char *text);
/* Options that stand for a value of another one become that one, with a notice. Prints one sentence and returns false
 * when the other one is given, too, with another value. */
bool cli_take_aliases(splat_line *line);
/* Whether the command line set the option. A default that depends on other things is a preset, not a question: see
 * splat_line_put_given. */
bool splat_line_given(const splat_line *line, const char *name);
/* The first of n options that the command line set; NULL: none. */
const char *splat_line_first_given(const splat_line *line, const char *const names[], size_t n);
/* Prints the notice "--name has no effect<why>" if the command line set the option. */
void cli_tell_unused(const splat_line *line, const char *name, const char *why);
/* Whether it set the option's value, too. */
bool splat_line_names_value(const splat_line *line, const char *name);
/* An option of a kind of the library's tables as a row of one, whose struct is the field alone. */
splat_option splat_line_option_row(const splat_line_option *option);
/* Bytes of the field that an option of this kind has. */
size_t splat_line_kind_size(splat_line_kind kind);
/* `part` is a part of the line, or a field or struct in one. Writes what the command line set over another one of that
 * type, which holds a preset: the default of a strategy, of a model or of another option. */
void splat_line_put_given(const splat_line *line, const void *part, size_t size, void *options);
/* Takes a text option back: not set, and its default. */
void splat_line_forget(splat_line *line, const char *name);

/* The value of an option as the command line would say it, "" when it has none; a list that is too long is cut. */
void splat_line_value_text(const splat_line_option *option, const splat_line *line, char *text, size_t size);
/* The same of the default. */
void splat_line_default_text(const splat_line_option *option, char *text, size_t size);

/* The next name in a comma-separated list of aliases: copies it and returns what follows, NULL at the end. */
const char *splat_line_next_name(const char *names, char name[64]);
/* What follows the name, or NULL: "FOLDER", or "WORD" when the words are so many that they stand in the text. */
const char *cli_option_metavar(const splat_line_option *option);
/* "-s, --source_path FOLDER" */
const char *cli_option_heading(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX]);
/* The help with its default and aliases. */
const char *cli_option_text(const splat_line_option *option, char text[SPLAT_LINE_TEXT_MAX]);

#endif
