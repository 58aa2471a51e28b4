/* Ranks on the command line: --gpus, and `mpirun -n R splatsmith train ...` or `coarse ...`. */
#ifndef SPLAT_CLI_RANKS_H
#define SPLAT_CLI_RANKS_H

#include "cli.h"
#include "stage/ranks.h"

/* True if a command trains with several ranks; else prints the reason. */
bool cli_ranks_knows(const splat_line_command *command);
/* Silences all processes that a launcher started together, except the first, from here on. */
void cli_ranks_hush(void);
/* Opens the ranks of train and coarse that a launcher started, in line->train->ranks; none if it started one. Refuses
 * options that several ranks cannot have. line->machine->context gets its share of the threads. Returns an exit code;
 * the reason is printed. */
int cli_ranks_open(splat_line *line);
/* At the end, or where this rank could not come as far as training: then code says so, and the others hear what was
 * printed last. Nothing without ranks. */
void cli_ranks_fail(splat_comm *ranks, int code);
void cli_ranks_close(splat_line *line);
/* Joins the other ranks when a process ends with a code before cli_ranks_open (because of a mistake in its options,
 * which may be its own), so that rank 0 receives the last message. A no-op with CLI_OK. */
void cli_ranks_fail_early(int code);

#endif
