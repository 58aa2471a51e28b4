/* The function of each command. */
#include "cli.h"

static int (*const functions[])(splat_line *line) = {
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) cmd_##function,
#include "line/commands.def"
};

int cli_run(const splat_line_command *command, splat_line *line)
{
    return functions[command - splat_line_commands](line);
}
