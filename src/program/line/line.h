/* A line: the options of one command as the structs that they fill, and which of them were set. A command line is read
 * into one; a pipeline makes one for each of its stages. */
#ifndef SPLAT_LINE_LINE_H
#define SPLAT_LINE_LINE_H

#include "line/option_table.h"
#include "line/parts.h"

#define SPLAT_LINE_WORDS_MAX 256

/* The results of a command on a splat for the pipeline around it. */
typedef struct splat_line_outcome {
    size_t peak_bytes;  /* peak of the context's memory, with the driver's overhead */
    double psnr;        /* PSNR of the last evaluation of the test views */
    int psnr_iteration; /* 0: there was none */
} splat_line_outcome;

/* A command has the parts that its options fill; other parts point to the defaults, and nobody writes there. A command
 * may change its own parts. */
typedef struct splat_line {
    const splat_line_command *command;
#define SPLAT_LINE_PART(name, type) type *name;
#include "line/parts.def"
    void *storage;                           /* memory of the command's parts */
    bool given[SPLAT_LINE_OPTIONS_MAX];      /* set options, by the index in the table */
    bool unnamed[SPLAT_LINE_OPTIONS_MAX];    /* given without its value: a usual port */
    const char *operand;                     /* the word that is not an option: OUT of sample, a command for help */
    const char *words[SPLAT_LINE_WORDS_MAX]; /* the words after it, of commands that take many */
    size_t n_words;
    const char *command_text;    /* how the work was called, for its records; NULL: not recorded */
    struct splat_talk *talk;     /* what the work says; NULL: nothing. See stage/talk.h */
    int n_gpus;                  /* --gpus as a number, once it is checked; 0: one */
    splat_viewer *shared_viewer; /* viewer of the pipeline around a stage; NULL: none */
    splat_line_outcome *outcome; /* filled by the stages of a pipeline; NULL: nobody asks */
    struct splat_kept_sky *kept_sky; /* handed from stage to stage of a pipeline; NULL: every stage looks for its own */
} splat_line;

/* A line of the command without any words: its parts are the defaults. command NULL: no part is its own. Errors:
 * MEMORY. */
splat_status splat_line_init(splat_line *line, const splat_line_command *command, splat_error *error);
void splat_line_free(splat_line *line);
/* The field that an option fills. */
void *splat_line_field(const splat_line *line, const splat_line_option *option);
/* Bytes of the field that an option of this kind has. */
size_t splat_line_kind_size(splat_line_kind kind);
/* True if two names are the same, with - and _ as one letter. */
bool splat_line_is_same_name(const char *a, const char *b);
/* NULL when there is none. */
const splat_line_command *splat_line_find_command(const char *name);
/* The command's option of this name; NULL: it has none. */
const splat_line_option *splat_line_find_option(const splat_line_command *command, const char *name);

/* True if the option was set. A default that depends on other options is a preset, not a question: see
 * splat_line_put_given. */
bool splat_line_given(const splat_line *line, const char *name);
/* The first of n options that were set; NULL: none. */
const char *splat_line_first_given(const splat_line *line, const char *const names[], size_t n);
/* True if its value was also set. */
bool splat_line_names_value(const splat_line *line, const char *name);
/* `part` is a part of the line, or a field or struct in one. Writes what was set over another one of that type, which
 * holds a preset: the default of a strategy, of a model or of another option. */
void splat_line_put_given(const splat_line *line, const void *part, size_t size, void *options);
/* Takes a text option back: not set, and its default. */
void splat_line_forget(splat_line *line, const char *name);

#endif
