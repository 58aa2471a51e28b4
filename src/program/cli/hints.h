/* Words that users of other programs type: which command or option does it here, or that nothing does. */
#ifndef SPLAT_CLI_HINTS_H
#define SPLAT_CLI_HINTS_H

#include "cli.h"

/* Returns a hint for a command or option of other programs, spelled with underscores, or for a value that an option
 * takes elsewhere; NULL: unknown. */
const char *cli_command_hint(const char *name);
const char *cli_option_hint(const splat_line_command *command, const char *name);
const char *cli_value_hint(const splat_line_option *option, const char *value);
/* The command to type instead of a path that stands where a command belongs; NULL: it looks like no path. */
const char *cli_path_hint(const char *path, char *text, size_t size);
/* -r before a whole number is the resolution, as in 3DGS, also where SuGaR's -r is a regularization: returns the option
 * that is meant. value: NULL when there is none. */
const splat_line_option *cli_number_option(const splat_line_command *command, const splat_line_option *option,
                                           const char *value);
/* The option that a word without one was probably meant for: "-s" before the folder of a scene; NULL: unknown. */
const char *cli_word_hint(const splat_line_command *command, const char *word);

#endif
