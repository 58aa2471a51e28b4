/* The help, the man page and the bash completion. */
#ifndef SPLAT_CLI_CMD_DOCS_H
#define SPLAT_CLI_CMD_DOCS_H

#include "cli.h"

/* The help of one command, with the options that people need first or with all; NULL: the list of commands. */
void cli_print_help(FILE *out, const splat_line_command *command, splat_line_help help);

#endif
