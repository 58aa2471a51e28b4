/* Several GPUs of one host: `gpus`. */
#ifndef SPLAT_STAGE_RANKS_H
#define SPLAT_STAGE_RANKS_H

#include "line/line.h"
#include "stage/talk.h"

/* Processors that this process may run on; 0: not known. */
int splat_ranks_processors(void);
/* `gpus` as a number, in line->n_gpus, before the options of the context are filled in; on the CPU each rank gets a
 * part of the threads. Errors: ARGUMENT; those of splat_device_list. */
splat_status splat_ranks_count_gpus(splat_line *line, splat_error *error);
/* With line->n_gpus: the other ranks, whose trainers these options make; *options get rank 0's comm. *workers stays
 * NULL without. Errors: those of splat_workers_start. */
splat_status splat_ranks_start_gpus(const splat_line *line, splat_scene *scene, splat_train_options *options,
                                    splat_workers **workers, splat_error *error);
/* True if this process executes the orders of rank 0. */
bool splat_ranks_is_worker(const splat_line *line);
/* A line each, where there are several: what they did, and how even it was. */
void splat_ranks_say(const splat_talk *talk, const splat_rank_info *ranks, size_t n);

#endif
