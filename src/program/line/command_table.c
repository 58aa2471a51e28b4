/* The commands, as data. */
#include "line/command_bits.h"
#include "line/option_table.h"

const splat_line_command splat_line_commands[] = {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    {name, BIT_##bit, usage, operand, summary, details, ((traits) & PRINTS) != 0, ((traits) & HIDDEN) != 0},
#include "line/commands.def"
};
const size_t splat_line_n_commands = sizeof splat_line_commands / sizeof splat_line_commands[0];
