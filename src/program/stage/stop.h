/* A request to end work early, from any thread and from a signal handler. */
#ifndef SPLAT_STAGE_STOP_H
#define SPLAT_STAGE_STOP_H

#include "splatsmith/distributed.h"
#include "splatsmith/pipeline.h"
#include "splatsmith/train.h"

#include <stdatomic.h>

/* The work that a request reaches now. Other work ends at the next call of its progress function. */
typedef enum splat_stop_work { SPLAT_STOP_NOTHING, SPLAT_STOP_TRAINING, SPLAT_STOP_CAMERAS } splat_stop_work;

struct splat_stop {
    _Atomic(splat_trainer *) trainer;
    _Atomic(splat_comm *) ranks; /* ranks of the training; NULL: one rank */
    atomic_int work;             /* a splat_stop_work */
    atomic_int number;           /* number of the signal; 0: none */
};

/* 0: nobody asked. NULL is allowed. */
int splat_stop_number(const splat_stop *stop);
/* From now on a request reaches a training, whose ranks may be NULL; or the search for cameras. NULL is allowed. */
void splat_stop_begin_training(splat_stop *stop, splat_trainer *trainer, splat_comm *ranks);
void splat_stop_begin_cameras(splat_stop *stop);
void splat_stop_end_work(splat_stop *stop);
/* The exit code of a process: 0; 2: other options are needed; 3: checkpoints could not be written; after a stop 128 +
 * the signal's number; 1. */
int splat_stop_exit_code(const splat_stop *stop, splat_status status);

#endif
