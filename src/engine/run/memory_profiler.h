/* The memory profiler of a run: samples at an interval to a text log, JSON lines and TensorBoard; full lists of blocks
 * at chosen iterations. It asks nothing of the device but, at most once a second, the driver's figure, and keeps
 * nothing in memory. Files, in <model folder>/profiles:
 *
 *     tensor_profile_<date>_<time>.log      text, as the field's analyze scripts read it
 *     tensor_profile_<date>_<time>.jsonl    a line about the run, then one a sample; each is flushed
 *     memory_snapshot_<iteration>.json      every block
 *
 * A run must not end because of its profile: what cannot be written is reported once in the context's log, and that
 * file is given up. */
#ifndef SPLAT_RUN_MEMORY_PROFILER_H
#define SPLAT_RUN_MEMORY_PROFILER_H

#include "io/tensorboard.h"
#include "report/profile/memory_profile.h"
#include "train/state.h"

typedef struct splat_memory_profiler splat_memory_profiler;

typedef struct splat_memory_profiler_options {
    int interval;                   /* a sample every so many iterations, and at the last one; 0: none */
    const int *snapshot_iterations; /* borrowed while the profiler lives */
    size_t n_snapshot_iterations;
} splat_memory_profiler_options;

/* model_path: an existing folder. Errors: ARGUMENT, IO, MEMORY. */
splat_status splat_memory_profiler_open(const char *model_path, const splat_memory_profiler_options *options,
                                        const splat_trainer *trainer, splat_memory_profiler **profiler,
                                        splat_error *error);
/* After a step: does what is due. NULL as the profiler does nothing, NULL as the writer leaves TensorBoard out. */
void splat_memory_profiler_step(splat_memory_profiler *profiler, const splat_trainer *trainer,
                                const splat_step_info *step, splat_tensorboard *writer);
/* NULL is allowed. */
void splat_memory_profiler_close(splat_memory_profiler *profiler);

#endif
