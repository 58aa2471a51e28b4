/* The commands, as data. */
#include "cli.h"
#include "command_bits.h"

const cli_command cli_commands[] = {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details)                                         \
    {name, BIT_##bit, cmd_##function, usage, operand, summary, details, ((traits) & PRINTS) != 0,                      \
     ((traits) & HIDDEN) != 0},
#include "commands.def"
};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];
