/* Declarations shared by the files of the command line: exit codes and the functions of the commands. */
#ifndef SPLAT_CLI_CLI_H
#define SPLAT_CLI_CLI_H

#include "options.h"
#include "stage/session.h"

#define CLI_OK 0
#define CLI_FAILED 1 /* the work could not be done */
#define CLI_USAGE 2  /* the command line must be changed */
#define CLI_CHECKPOINT 3 /* checkpoints could not be written; the splat was saved where possible */
#define CLI_PASSED 4 /* bench compare: a threshold was passed */
/* After a signal: 128 + its number, as shells report it (130 for Ctrl-C). */

#define CLI_PATH_MAX SPLAT_STAGE_PATH
#define CLI_NO_SCENE SPLAT_STAGE_NO_SCENE

/* The functions of the commands, in cmd_*.c. */
#define COMMAND(bit, function, name, traits, usage, operand, summary, details) int cmd_##function(splat_line *line);
#include "line/commands.def"

#endif
