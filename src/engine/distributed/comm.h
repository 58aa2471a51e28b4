/* How ranks reach each other: one table of functions, whose one means of transport is an exchange of pieces between
 * all of them. The rest (counts, rows, sums, broadcasts) is made of it here, so that a transport is a small file.
 *
 * Calls are collective: every rank makes the same ones in the same order, or one fails (splat_comm_fail), and the calls
 * of all others return RANK with its message. Pieces lie in host memory; calls return when they have come and those
 * sent may be written again. The memory of devices goes its own way (distributed/device_exchange.h). */
#ifndef SPLAT_DISTRIBUTED_COMM_H
#define SPLAT_DISTRIBUTED_COMM_H

#include "backend/peers.h"
#include "base/context.h"
#include "base/error.h"
#include "splatsmith/distributed.h"

#include <signal.h>

typedef splat_peer_part splat_comm_part; /* a piece of host or device memory */

typedef struct splat_comm_functions {
    const char *name;    /* "threads", "mpi" */
    bool is_one_process; /* ranks see each other's memory */
    /* send[r] goes to rank r, receive[r] is what rank r sends here: both sides know the bytes. Of several ranks. */
    splat_status (*exchange)(splat_comm *comm, const splat_comm_part *send, const splat_comm_part *receive,
                             splat_error *error);
    /* Looks for messages between exchanges. Rank 0: fills `interrupt` if another rank was interrupted. */
    void (*listen)(splat_comm *comm);
    void (*fail)(splat_comm *comm, const char *message);
    void (*close)(splat_comm *comm);
} splat_comm_functions;

/* Totals of all exchanges so far. */
typedef struct splat_comm_traffic {
    double seconds;      /* time in exchanges, most of it waiting */
    uint64_t sent_bytes; /* bytes sent to other ranks, from host and device */
} splat_comm_traffic;

/* splat_comm_interrupt of a rank. */
typedef struct splat_comm_interruption {
    int rank;   /* 0: none */
    int signal; /* 0: not by a signal */
} splat_comm_interruption;

struct splat_comm {
    const splat_comm_functions *functions;
    int rank, size;
    splat_comm_traffic traffic;
    volatile sig_atomic_t interrupted; /* 0: no, SPLAT_INTERRUPTED or a signal: this rank is */
    splat_comm_interruption interrupt; /* rank 0: of another rank */
    const splat_context *log;          /* rank 0: where long waits are reported; NULL: nowhere */
    double patience;                   /* seconds after which a wait is long */
};

#define SPLAT_INTERRUPTED (-1) /* not by a signal */

/* Pieces of any size, one to and from each rank: send[size], receive[size]. Errors: RANK; INTERNAL (the two sides of a
 * piece differ in size), MEMORY. */
splat_status splat_comm_exchange(splat_comm *comm, const splat_comm_part *send, const splat_comm_part *receive,
                                 splat_error *error);
/* A number to and from each rank: send[size], receive[size]. */
splat_status splat_comm_exchange_counts(splat_comm *comm, const uint64_t *send, uint64_t *receive, splat_error *error);
/* Exchanges rows of row_bytes: `send` holds send_rows[0] rows for rank 0, then those for rank 1 and so on; `receive`
 * has the same layout. */
splat_status splat_comm_exchange_rows(splat_comm *comm, size_t row_bytes, const void *send, const uint64_t *send_rows,
                                      void *receive, const uint64_t *receive_rows, splat_error *error);

/* Rows that lie one rank after the other, rows[r] of rank r: how many there are, and their parts. */
uint64_t splat_comm_sum_rows(const splat_comm *comm, const uint64_t *rows);
void splat_comm_cut_rows(const splat_comm *comm, size_t row_bytes, const void *data, const uint64_t *rows,
                         splat_comm_part *parts);

typedef enum splat_comm_sum { SPLAT_COMM_SUM, SPLAT_COMM_MAX } splat_comm_sum;

/* values[n] become the sums, or the largest, of all ranks' values: the same bytes on every rank, in the order of the
 * ranks. For small arrays: every rank sends its own to all. */
splat_status splat_comm_reduce_f64(splat_comm *comm, splat_comm_sum what, double *values, size_t n,
                                   splat_error *error);
splat_status splat_comm_reduce_u64(splat_comm *comm, splat_comm_sum what, uint64_t *values, size_t n,
                                   splat_error *error);
/* all[size]: the number of every rank. */
splat_status splat_comm_share_u64(splat_comm *comm, uint64_t local, uint64_t *all, splat_error *error);
/* own: OK or MEMORY (anything else is returned at once: its rank fails). MEMORY where it is so on any rank: all do
 * without what one has no room for. */
splat_status splat_comm_agree(splat_comm *comm, splat_status local, splat_error *refused);
/* Copies the data of rank `root` to all ranks. */
splat_status splat_comm_broadcast(splat_comm *comm, int root, void *data, size_t bytes, splat_error *error);
/* Returns when all have called it. */
splat_status splat_comm_barrier(splat_comm *comm, splat_error *error);

/* Rank 0: whether another rank was interrupted. Any rank may call it, between its exchanges. */
bool splat_comm_is_interrupted(splat_comm *comm);

/* ---------------------------------------------------------------- for transports */

/* Seconds: 30, or what the environment variable SPLATSMITH_RANK_PATIENCE says, for tests. */
double splat_comm_patience(void);
/* Rank 0 has waited for the rank `who`, and n_others more. */
void splat_comm_report_wait(const splat_comm *comm, const char *who, int n_others, double seconds);
/* The wait that was reported is over. */
void splat_comm_report_end_of_wait(const splat_comm *comm, const char *who, double seconds);
/* Adds to the traffic what goes to others. */
void splat_comm_count_sent(splat_comm *comm, const splat_comm_part *send);
/* The error of a rank's failure, for transports. */
splat_status splat_comm_failed(splat_error *error, int rank, const char *message);

#endif
