/* The commands as bits: which of them a row of a table of options is for. */
#ifndef SPLAT_LINE_COMMAND_BITS_H
#define SPLAT_LINE_COMMAND_BITS_H

/* The traits of commands.def. */
enum { WORKS = 1, TALKS = 2, TRAINS = 4, OPENS_MODEL = 8, IS_STAGE = 16, PRINTS = 32, HIDDEN = 64 };

enum {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) INDEX_##bit,
#include "line/commands.def"
    N_COMMANDS
};
_Static_assert(N_COMMANDS < 31, "a set of commands is an int");

/* The command alone. */
enum {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) BIT_##bit = 1 << INDEX_##bit,
#include "line/commands.def"
};

/* The pipeline takes the options of its stages: a row that names one of them is the pipeline's too. ALONE(commands):
 * not the pipeline's, because it sets this itself, or because the name or letter would be there twice. */
#define ALONE(commands) ((commands) & ~BIT_PIPELINE)
enum {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    bit = BIT_##bit | ((traits) & IS_STAGE ? BIT_PIPELINE : 0),
#include "line/commands.def"
};

/* Sets by trait. */
enum {
    ALL = BIT_PIPELINE
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) | BIT_##bit
#include "line/commands.def"
    ,
    WORK = BIT_PIPELINE
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    | ((traits) & WORKS ? BIT_##bit : 0)
#include "line/commands.def"
    ,
    TALKING = WORK
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    | ((traits) & TALKS ? BIT_##bit : 0)
#include "line/commands.def"
    ,
    STEPS = BIT_PIPELINE
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    | ((traits) & TRAINS ? BIT_##bit : 0)
#include "line/commands.def"
    ,
    MODEL = 0
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    | ((traits) & OPENS_MODEL ? BIT_##bit : 0)
#include "line/commands.def"
};
enum { MESH_ALONE = ALONE(MESH) };

#endif
