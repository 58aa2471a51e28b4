/* Ranks on the command line: --gpus, and `mpirun -n R splatsmith train ...` or `coarse ...`. */
#ifndef SPLAT_CLI_RANKS_H
#define SPLAT_CLI_RANKS_H

#include "cli.h"
#include "stage/ranks.h"

/* Whether a command trains with several ranks, or says why it does not. */
bool cli_ranks_knows(const splat_line_command *command);
/* Of the processes that a launcher started together, all but the first say nothing from here on. */
void cli_ranks_hush(void);
/* Of train and coarse: the ranks that a launcher started, in line->train->ranks; none where it started one. What
 * several ranks cannot do is refused. line->machine->context gets its share of the threads. Returns an exit code; the
 * reason is printed. */
int cli_ranks_open(splat_line *line);
/* Of pipeline, whose stages count again: what they would refuse, and processes that were started together. Returns an
 * exit code; the reason is printed. */
int cli_ranks_check_pipeline(const splat_line *line);
/* At the end, or where this rank could not come as far as training: then code says so, and the others hear what was
 * printed last. Nothing without ranks. */
void cli_ranks_fail(splat_comm *ranks, int code);
void cli_ranks_close(splat_line *line);
/* Of processes that were started together, one that ends with a code before cli_ranks_open (a mistake in its options,
 * which may be its own): joins the others, so that rank 0 hears what was printed last. Nothing with CLI_OK. */
void cli_ranks_fail_early(int code);

#endif
