/* Ranks on the command line: --gpus, and `mpirun -n R splatsmith train ...` or `coarse ...`. */
#ifndef SPLAT_CLI_RANKS_H
#define SPLAT_CLI_RANKS_H

#include "cli.h"

/* Whether a command trains with several ranks, or says why it does not. */
bool cli_ranks_knows(const splat_line_command *command);
/* Of the processes that a launcher started together, all but the first say nothing from here on. */
void cli_ranks_hush(void);
/* Of train and coarse: the ranks that a launcher started, in line->train->ranks; none where it started one. What
 * several ranks cannot do is refused. line->machine->context gets its share of the threads. Returns an exit code; the
 * reason is printed. */
int cli_ranks_open(splat_line *line);
/* Of them, before their options are filled in: --gpus as a number, in line->n_gpus, and what it goes with. Returns an
 * exit code; the reason is printed. */
int cli_ranks_count_gpus(splat_line *line);
/* Of pipeline, whose stages count again: what they would refuse, and processes that were started together. Returns an
 * exit code; the reason is printed. */
int cli_ranks_check_pipeline(const splat_line *line);
/* With line->n_gpus: the other ranks, whose trainers these options make; *options get rank 0's comm. NULL in *workers
 * without. Returns an exit code; the reason is printed. */
int cli_ranks_start_gpus(const splat_line *line, splat_scene *scene, splat_train_options *options,
                         splat_workers **workers);
/* Whether this process does what rank 0 orders. */
bool cli_ranks_is_worker(const splat_line *line);
/* A line each, where there are several: what they did, and how even it was. */
void cli_ranks_print(const splat_rank_info *ranks, size_t n);
/* At the end, or where this rank could not come as far as training: then code says so, and the others hear what was
 * printed last. Nothing without ranks. */
void cli_ranks_fail(splat_comm *ranks, int code);
void cli_ranks_close(splat_line *line);
/* Of processes that were started together, one that ends with a code before cli_ranks_open (a mistake in its options,
 * which may be its own): joins the others, so that rank 0 hears what was printed last. Nothing with CLI_OK. */
void cli_ranks_fail_early(int code);

#endif
