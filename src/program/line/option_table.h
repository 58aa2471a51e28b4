/* Options and commands as data: one table that parsing, the help, the man page and the records of stages follow. */
#ifndef SPLAT_LINE_OPTION_TABLE_H
#define SPLAT_LINE_OPTION_TABLE_H

#include "base/option_table.h"

#define SPLAT_LINE_OPTIONS_MAX 384 /* a line has room for so many */

/* The kind of an option's value: as in the tables of the library's options, or more. */
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

/* The readers of an option in --help; --help all, the man page and the completion have every option. */
typedef enum splat_line_level {
    SPLAT_LINE_BASIC, /* everybody */
    SPLAT_LINE_STAGE, /* those who ask a command for help, but not the pipeline that takes the options of its stages */
    SPLAT_LINE_ADVANCED /* nobody */
} splat_line_level;

typedef struct splat_line_option {
    const char *name;     /* name with underscores */
    char letter;          /* 0: none */
    const char *aliases;  /* names with commas between, or NULL */
    unsigned commands;    /* splat_line_command.bit of every command that has it */
    splat_line_level level;
    splat_line_group group;
    splat_line_kind kind;
    size_t offset; /* offset in splat_line_parts */
    const char *metavar;
    double low, high;     /* range of numbers; low above high: the library's range */
    const char *help;     /* SPLAT_LINE_GROUP_IGNORED: why it has no effect */
    const char *fallback; /* shown as default where the value in the struct does not tell; "": show none */
} splat_line_option;

/* A command: what its help says, and its bit in the table. */
typedef struct splat_line_command {
    const char *name;
    unsigned bit;
    const char *usage;    /* after "splatsmith <name> " */
    const char *operand;  /* the name of the operand, or NULL when none is taken; "..." at its end: any number */
    const char *summary;
    const char *details;  /* shown by --help; NULL: none */
    bool prints; /* its result is what it prints: when the reader leaves, there is nothing more to do */
    bool hidden;
} splat_line_command;

/* The range of a number; both limits are included. Both 0: no limit. */
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

#endif
