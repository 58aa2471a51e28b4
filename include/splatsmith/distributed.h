/* splatsmith/distributed.h - ranks: processes or threads that train one scene together, each with a part of the
 * Gaussians (docs/distributed.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_DISTRIBUTED_H
#define SPLATSMITH_DISTRIBUTED_H

#include "splatsmith/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How one rank reaches the others. Every rank has its own, used by one thread at a time. */
typedef struct splat_comm splat_comm;

#define SPLAT_MAX_RANKS 1024

/* What the launcher (mpirun, or another that sets OMPI_COMM_WORLD_* or PMI_*) says of this process in its environment;
 * rank 0 of 1 where none did. Opens nothing. */
void splat_launch_get(int *rank, int *size);

/* The ranks that the launcher started, over MPI: all of them call it. MPI's library is opened here, by the module
 * splatsmith_mpi that lies beside the program or in its lib/splatsmith, or where the environment variable
 * SPLATSMITH_MPI_MODULE says. Once in a process. Errors: UNSUPPORTED (no module or no MPI library), RANK. */
splat_status splat_comm_open_mpi(splat_comm **comm, splat_error *error);
/* n ranks that are threads of this process: comms[n], one for each thread. Errors: ARGUMENT (n out of 1 ..
 * SPLAT_MAX_RANKS), MEMORY. */
splat_status splat_comm_create_threads(int n, splat_comm **comms, splat_error *error);

int splat_comm_get_rank(const splat_comm *comm);
int splat_comm_get_size(const splat_comm *comm);

/* Ends the common work: whatever the others wait for, or ask for later, fails with RANK and "rank N: message". The
 * first failure counts; after one of another rank this does nothing. */
void splat_comm_fail(splat_comm *comm, const splat_error *error);
/* Somebody asked this process to end (a signal): a rank that stays away is now taken for lost where nothing else tells.
 * On another rank than 0 it also asks rank 0 to end the run after its step, as splat_trainer_request_stop does there.
 * May be called from a signal handler. */
void splat_comm_interrupt(splat_comm *comm);
/* The same, by the signal of this number (> 0), which rank 0 gets from splat_comm_get_interrupt. */
void splat_comm_interrupt_by(splat_comm *comm, int signal_number);
/* On rank 0: the other rank that was first found to be interrupted, and the signal (NULL is allowed; 0: not by one).
 * Returns 0 if there is none. */
int splat_comm_get_interrupt(const splat_comm *comm, int *signal_number);
/* NULL is allowed. Every rank closes; over MPI it waits for the others, unless one of them is lost. */
void splat_comm_close(splat_comm *comm);

#ifdef __cplusplus
}
#endif

#endif
