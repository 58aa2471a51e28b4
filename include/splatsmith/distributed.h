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

/* The rank and the number of ranks that the launcher (mpirun, or another that sets OMPI_COMM_WORLD_* or PMI_*) gave to
 * this process in its environment; without a launcher rank 0 of 1. Opens nothing. */
void splat_launch_get(int *rank, int *size);

/* Opens MPI: every rank that the launcher started calls it once. The module splatsmith_mpi opens MPI's library; it is
 * searched next to the program, in its lib/splatsmith, or at the path in the environment variable
 * SPLATSMITH_MPI_MODULE. Errors: UNSUPPORTED (no module or no MPI library), RANK. */
splat_status splat_comm_open_mpi(splat_comm **comm, splat_error *error);
/* n ranks that are threads of this process: comms[n], one for each thread. Errors: ARGUMENT (n out of 1 ..
 * SPLAT_MAX_RANKS), MEMORY. */
splat_status splat_comm_create_threads(int n, splat_comm **comms, splat_error *error);

int splat_comm_get_rank(const splat_comm *comm);
int splat_comm_get_size(const splat_comm *comm);

/* Ends the common work: every exchange of the other ranks, now or later, fails with RANK and "rank N: message". Only
 * the first failure counts: after that of another rank this is a no-op. */
void splat_comm_fail(splat_comm *comm, const splat_error *error);
/* Records that this process was asked to end (a signal): from now on a rank that does not answer counts as lost. On
 * ranks other than 0 it also asks rank 0 to end the run after its step, as splat_trainer_request_stop does there.
 * Async-signal-safe. */
void splat_comm_interrupt(splat_comm *comm);
/* The same, with the number of the signal (> 0), which splat_comm_get_interrupt returns on rank 0. */
void splat_comm_interrupt_by(splat_comm *comm, int signal_number);
/* On rank 0: returns the other rank that was interrupted first, 0 if there is none; *signal_number (NULL is allowed) is
 * its signal, 0 if there was none. */
int splat_comm_get_interrupt(const splat_comm *comm, int *signal_number);
/* Every rank must close. Over MPI this waits for the other ranks, unless one of them is lost. NULL is allowed. */
void splat_comm_close(splat_comm *comm);

#ifdef __cplusplus
}
#endif

#endif
