/* The model folder belongs to one run: it is locked while the run writes, and what an earlier run left in it goes to a
 * folder of its own, MODEL/earlier_<date>_<time>, so that no later command takes it for this run's. */
#ifndef SPLAT_RUN_RUN_FOLDER_H
#define SPLAT_RUN_RUN_FOLDER_H

#include "train/state.h"

typedef struct splat_run_folder {
    splat_context *context; /* receives notices */
    const char *path;
    char *aside;            /* where the earlier run's files are; NULL: nothing was set aside */
    bool is_new;            /* it did not exist */
    bool deletes;           /* what was set aside goes when the run has begun */
    bool has_begun;
    int lock;
} splat_run_folder;

/* Makes run->model_path, locks it, and sets aside what does not belong to the run: all of an earlier run, or, where
 * run->start_checkpoint lies in the folder, the states that are later than what this run begins with and will not come
 * to again. The trainer is at its first iteration. Errors: IO (also: another run is at work there), MEMORY. On success
 * close it. */
splat_status splat_run_folder_open(splat_run_folder *folder, const splat_trainer *trainer, const splat_run_options *run,
                                   splat_error *error);
/* After a step: from the first one on the folder is this run's. With run->delete_first the earlier run goes now. */
void splat_run_folder_begin(splat_run_folder *folder);
/* Unlocks. Before the first step the earlier run comes back, and a new folder goes. */
void splat_run_folder_close(splat_run_folder *folder);

#endif
