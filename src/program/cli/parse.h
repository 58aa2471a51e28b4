/* Reading command lines. */
#ifndef SPLAT_CLI_PARSE_H
#define SPLAT_CLI_PARSE_H

#include "cli.h"

/* The one message about a word that is no command, with the nearest one. */
void cli_unknown_command(const char *name);

/* Reads the words after the command. Prints one sentence and returns false when they are wrong. */
bool cli_parse(splat_line *line, int n_words, char **words);
/* Prints the notice "--name has no effect<why>" if the command line set the option. */
void cli_tell_unused(const splat_line *line, const char *name, const char *why);

#endif
