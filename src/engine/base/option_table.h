/* Options as data: the rows of a table such as splatsmith/scene_options.def, and what follows from them for any struct
 * of options. */
#ifndef SPLAT_BASE_OPTION_TABLE_H
#define SPLAT_BASE_OPTION_TABLE_H

#include "base/error.h"

#include <stddef.h>

typedef enum splat_option_kind {
    SPLAT_OPTION_NONE = 0, /* a row whose option is gone */
    SPLAT_OPTION_INT,
    SPLAT_OPTION_SIZE,     /* int, but not 0 */
    SPLAT_OPTION_FLAG,
    SPLAT_OPTION_REAL,     /* float */
    SPLAT_OPTION_DOUBLE,
    SPLAT_OPTION_GIB,      /* double, in GiB */
    SPLAT_OPTION_COUNT,    /* size_t */
    SPLAT_OPTION_U64,
    SPLAT_OPTION_CHOICE,   /* an enum: the number of one of `words` */
    SPLAT_OPTION_TEXT      /* const char * */
} splat_option_kind;

/* A field of an options struct. */
typedef struct splat_option_row {
    const char *name;
    splat_option_kind kind;
    size_t offset;
    const char *words; /* words of a CHOICE, separated by bars; else NULL */
} splat_option_row;

/* The place where an option of a run is kept: see splatsmith/scene_options.def. */
typedef enum splat_option_saved {
    SPLAT_SAVED_NOWHERE,
    SPLAT_SAVED_CHECKPOINT,
    SPLAT_SAVED_CFG_ARGS,
    SPLAT_SAVED_NOTE,
    SPLAT_SAVED_PUBLISHED
} splat_option_saved;

typedef struct splat_option {
    splat_option_row row;
    double start;     /* the default; texts begin as NULL */
    double low, high; /* range of numbers, limits included */
    bool or_zero;     /* 0 is also possible and means the default */
    splat_option_saved saved;
} splat_option;

/* The options of a struct that begins with its size. */
typedef struct splat_option_table {
    const char *type; /* the struct's name */
    size_t size;      /* bytes of the struct */
    const splat_option *rows;
    size_t n;
} splat_option_table;
#define SPLAT_OPTION_TABLE(type, rows) {#type, sizeof(type), rows, sizeof(rows) / sizeof((rows)[0])}

/* A row by its kind. Refuses to compile when the type of the field is not that of the kind. */
#define SPLAT_ROW_AT(type, field, c_type)                                                                              \
    (offsetof(type, field) + 0 * sizeof(_Generic(((type *)0)->field, c_type: 0)))
#define SPLAT_ROW_INT(type, name, field) {#name, SPLAT_OPTION_INT, SPLAT_ROW_AT(type, field, int), NULL}
#define SPLAT_ROW_SIZE(type, name, field) {#name, SPLAT_OPTION_SIZE, SPLAT_ROW_AT(type, field, int), NULL}
#define SPLAT_ROW_FLAG(type, name, field) {#name, SPLAT_OPTION_FLAG, SPLAT_ROW_AT(type, field, bool), NULL}
#define SPLAT_ROW_REAL(type, name, field) {#name, SPLAT_OPTION_REAL, SPLAT_ROW_AT(type, field, float), NULL}
#define SPLAT_ROW_DOUBLE(type, name, field) {#name, SPLAT_OPTION_DOUBLE, SPLAT_ROW_AT(type, field, double), NULL}
#define SPLAT_ROW_GIB(type, name, field) {#name, SPLAT_OPTION_GIB, SPLAT_ROW_AT(type, field, double), NULL}
#define SPLAT_ROW_COUNT(type, name, field) {#name, SPLAT_OPTION_COUNT, SPLAT_ROW_AT(type, field, size_t), NULL}
#define SPLAT_ROW_U64(type, name, field) {#name, SPLAT_OPTION_U64, SPLAT_ROW_AT(type, field, uint64_t), NULL}
#define SPLAT_ROW_TEXT(type, name, field) {#name, SPLAT_OPTION_TEXT, SPLAT_ROW_AT(type, field, const char *), NULL}
#define SPLAT_ROW_FOLDER SPLAT_ROW_TEXT
#define SPLAT_ROW_FOLDER_OR_NONE SPLAT_ROW_TEXT
#define SPLAT_ROW_SKY SPLAT_ROW_TEXT
#define SPLAT_ROW_FILE SPLAT_ROW_TEXT
#define SPLAT_ROW_MODEL SPLAT_ROW_TEXT
#define SPLAT_ROW_PROGRAM SPLAT_ROW_TEXT
#define SPLAT_ROW_ADDRESS SPLAT_ROW_TEXT
#define SPLAT_ROW_TITLE SPLAT_ROW_TEXT
#define SPLAT_ROW_CHOICE(type, name, field, c_type, words)                                                             \
    {#name, SPLAT_OPTION_CHOICE, SPLAT_ROW_AT(type, field, c_type) + 0 * sizeof(char[SPLAT_IS_INT(c_type)]), words}
#define SPLAT_IS_INT(c_type) (sizeof(c_type) == sizeof(int) ? 1 : -1)

/* A line SPLAT_OPTION(field, kind, start, range) of a table as a row of `type`. */
#define SPLAT_OPTION_OF(type, field, kind, start, range)                                                               \
    {SPLAT_ROW_##kind(type, field, field), (double)(start), SPLAT_LIMITS_##range, SPLAT_SAVED_NOWHERE},

/* The members low, high and or_zero by the words of a table. */
#define SPLAT_LIMITS_RANGE(low, high) (double)(low), (double)(high), false
#define SPLAT_LIMITS_OR_ZERO(low, high) (double)(low), (double)(high), true
#define SPLAT_LIMITS_FREE 0, 0, false

/* A number, flag or choice of an options struct. Counts above 2^53 are rounded. */
double splat_option_get(const splat_option_row *row, const void *options);
void splat_option_set(const splat_option_row *row, void *options, double value);
/* A text of an options struct, where `row` is of one. */
char **splat_option_text(const splat_option_row *row, const void *options);

/* A limit of a range: "-1", "0.5", and 1000000 rather than 1e+06. */
const char *splat_option_limit_text(double limit, char text[32]);
/* Bytes of a field of this kind. */
size_t splat_option_bytes(splat_option_kind kind);

/* The row of a name; NULL: there is none. */
const splat_option *splat_option_find(const splat_option_table *table, const char *name);
/* True if the struct has the default of an option, or the 0 that means it. */
bool splat_option_is_default(const splat_option *option, const void *options);
/* True if a number is in the option's range; the limits are rounded as the field is. */
bool splat_option_takes(const splat_option *option, double value);
/* For an _init_sized: the caller's struct of `size` bytes gets the defaults, as far as it reaches; all else in it
 * becomes zero. */
void splat_option_defaults(const splat_option_table *table, void *options, size_t size);
/* ARGUMENT, naming the first option that is outside its range. `options`: of this library's size. */
splat_status splat_option_check_all(const splat_option_table *table, const void *options, splat_error *error);

/* The number of a word among `words`, which stand with bars between; -1: it is none of them. */
int splat_option_find_word(const char *words, const char *word);
/* The word of a number. */
void splat_option_copy_word(const char *words, int number, char *text, size_t size);

#endif
