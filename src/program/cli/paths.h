/* Paths and words of a command line: small helpers of all commands. */
#ifndef SPLAT_CLI_PATHS_H
#define SPLAT_CLI_PATHS_H

#include "cli.h"

/* Builds "folder/name" in path; false, with a message, when it is too long. */
bool cli_path_join(char path[CLI_PATH_MAX], const char *folder, const char *name);
bool cli_path_exists(const char *path);
/* True if the name has the ending of another format. A name without an extension is good; another extension would be
 * wrong. */
bool cli_is_other_format(const char *path, const char *extension);
/* The words of a command line as a shell takes them; the caller frees. NULL when memory is exhausted. */
char *cli_command_text(char **words);

#endif
