/* Collectives for all transports, made of exchanges. */
#include "distributed/comm.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int splat_comm_get_rank(const splat_comm *comm)
{
    return comm->rank;
}

int splat_comm_get_size(const splat_comm *comm)
{
    return comm->size;
}

void splat_comm_interrupt(splat_comm *comm)
{
    if (!comm->interrupted) comm->interrupted = SPLAT_INTERRUPTED;
}

void splat_comm_interrupt_by(splat_comm *comm, int signal_number)
{
    comm->interrupted = signal_number;
}

int splat_comm_get_interrupt(const splat_comm *comm, int *signal_number)
{
    if (signal_number) *signal_number = comm->interrupt.signal > 0 ? comm->interrupt.signal : 0;
    return comm->interrupt.rank;
}

bool splat_comm_is_interrupted(splat_comm *comm)
{
    if (comm->size > 1) comm->functions->listen(comm);
    return comm->interrupt.rank > 0;
}

/* ---------------------------------------------------------------- long waits */

#define PATIENCE_SECONDS 30

double splat_comm_patience(void)
{
    const char *text = getenv("SPLATSMITH_RANK_PATIENCE");
    const double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : PATIENCE_SECONDS;
}

void splat_comm_report_wait(const splat_comm *comm, const char *who, int n_others, double seconds)
{
    char others[32] = "";
    if (!comm->log) return;
    if (n_others > 0) snprintf(others, sizeof others, " and %d more", n_others);
    splat_log(comm->log, SPLAT_LOG_WARNING,
              "rank 0 has waited %.0f s for %s%s, which is stopped, busy or out of reach; training goes on when it "
              "answers", seconds, who, others);
}

void splat_comm_report_end_of_wait(const splat_comm *comm, const char *who, double seconds)
{
    if (comm->log)
        splat_log(comm->log, SPLAT_LOG_NOTICE, "%s has answered after %.0f s; training goes on", who, seconds);
}

/* ---------------------------------------------------------------- collectives */

void splat_comm_fail(splat_comm *comm, const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64];
    comm->functions->fail(comm, splat_error_format(error, text, sizeof text));
}

void splat_comm_close(splat_comm *comm)
{
    if (comm) comm->functions->close(comm);
}

splat_status splat_comm_failed(splat_error *error, int rank, const char *message)
{
    return splat_fail(error, SPLAT_ERROR_RANK, "rank %d: %s", rank, message);
}

void splat_comm_count_sent(splat_comm *comm, const splat_comm_part *send)
{
    for (int r = 0; r < comm->size; r++)
        if (r != comm->rank) comm->traffic.sent_bytes += send[r].bytes;
}

splat_status splat_comm_exchange(splat_comm *comm, const splat_comm_part *send, const splat_comm_part *receive,
                                 splat_error *error)
{
    if (send[comm->rank].bytes != receive[comm->rank].bytes)
        return splat_fail(error, SPLAT_ERROR_INTERNAL, "rank %d sends itself %zu bytes and expects %zu", comm->rank,
                          send[comm->rank].bytes, receive[comm->rank].bytes);
    if (comm->size > 1) {
        const double begin = splat_clock_seconds();
        splat_status status = comm->functions->exchange(comm, send, receive, error);
        comm->traffic.seconds += splat_clock_seconds() - begin;
        splat_comm_count_sent(comm, send);
        return status;
    }
    if (send[0].bytes && send[0].data != receive[0].data) memmove(receive[0].data, send[0].data, send[0].bytes);
    return SPLAT_OK;
}

splat_status splat_comm_exchange_counts(splat_comm *comm, const uint64_t *send, uint64_t *receive, splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    for (int r = 0; r < comm->size; r++) {
        out[r] = (splat_comm_part){(void *)&send[r], sizeof send[r]};
        in[r] = (splat_comm_part){&receive[r], sizeof receive[r]};
    }
    return splat_comm_exchange(comm, out, in, error);
}

uint64_t splat_comm_sum_rows(const splat_comm *comm, const uint64_t *rows)
{
    uint64_t total = 0;
    for (int r = 0; r < comm->size; r++) total += rows[r];
    return total;
}

void splat_comm_cut_rows(const splat_comm *comm, size_t row_bytes, const void *data, const uint64_t *rows,
                         splat_comm_part *parts)
{
    char *at = (char *)data;
    for (int r = 0; r < comm->size; r++) {
        parts[r] = (splat_comm_part){at, (size_t)rows[r] * row_bytes};
        if (parts[r].bytes) at += parts[r].bytes;
    }
}

splat_status splat_comm_exchange_rows(splat_comm *comm, size_t row_bytes, const void *send, const uint64_t *send_rows,
                                      void *receive, const uint64_t *receive_rows, splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    splat_comm_cut_rows(comm, row_bytes, send, send_rows, out);
    splat_comm_cut_rows(comm, row_bytes, receive, receive_rows, in);
    return splat_comm_exchange(comm, out, in, error);
}

/* The same `bytes` from every rank, one after the other in `all`. */
static splat_status gather_all(splat_comm *comm, const void *local, size_t bytes, char *all, splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    for (int r = 0; r < comm->size; r++) {
        out[r] = (splat_comm_part){(void *)local, bytes};
        in[r] = (splat_comm_part){all + (size_t)r * bytes, bytes};
    }
    return splat_comm_exchange(comm, out, in, error);
}

static void combine_f64(splat_comm_sum what, double *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = what == SPLAT_COMM_SUM ? to[i] + from[i] : to[i] > from[i] ? to[i] : from[i];
}

static void combine_u64(splat_comm_sum what, uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) to[i] = what == SPLAT_COMM_SUM ? to[i] + from[i] : to[i] > from[i] ? to[i] : from[i];
}

/* Values of both types have eight bytes. */
static splat_status reduce(splat_comm *comm, splat_comm_sum what, void *values, size_t n, bool is_real,
                           splat_error *error)
{
    const size_t bytes = n * sizeof(uint64_t);
    if (comm->size == 1 || n == 0) return SPLAT_OK;
    char *all = malloc(bytes * (size_t)comm->size);
    if (!all) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu values of %d ranks", n, comm->size);
    splat_status status = gather_all(comm, values, bytes, all, error);
    if (status == SPLAT_OK) memcpy(values, all, bytes);
    for (int r = 1; r < comm->size && status == SPLAT_OK; r++) {
        const void *from = all + (size_t)r * bytes;
        if (is_real)
            combine_f64(what, values, from, n);
        else
            combine_u64(what, values, from, n);
    }
    free(all);
    return status;
}

splat_status splat_comm_reduce_f64(splat_comm *comm, splat_comm_sum what, double *values, size_t n, splat_error *error)
{
    return reduce(comm, what, values, n, true, error);
}

splat_status splat_comm_reduce_u64(splat_comm *comm, splat_comm_sum what, uint64_t *values, size_t n,
                                   splat_error *error)
{
    return reduce(comm, what, values, n, false, error);
}

splat_status splat_comm_share_u64(splat_comm *comm, uint64_t local, uint64_t *all, splat_error *error)
{
    return gather_all(comm, &local, sizeof local, (char *)all, error);
}

splat_status splat_comm_agree(splat_comm *comm, splat_status local, splat_error *refused)
{
    uint64_t n_refused = local != SPLAT_OK;
    splat_error lost;
    if (local != SPLAT_OK && local != SPLAT_ERROR_MEMORY) return local;
    splat_status status = splat_comm_reduce_u64(comm, SPLAT_COMM_SUM, &n_refused, 1, &lost);
    if (status == SPLAT_OK && (n_refused == 0 || local != SPLAT_OK)) return local;
    if (status == SPLAT_OK) return splat_fail(refused, SPLAT_ERROR_MEMORY, "another rank has no memory for it");
    if (refused) *refused = lost;
    return status;
}

splat_status splat_comm_broadcast(splat_comm *comm, int root, void *data, size_t bytes, splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    for (int r = 0; r < comm->size; r++) {
        out[r] = (splat_comm_part){data, comm->rank == root && r != root ? bytes : 0};
        in[r] = (splat_comm_part){data, r == root && comm->rank != root ? bytes : 0};
    }
    return splat_comm_exchange(comm, out, in, error);
}

splat_status splat_comm_barrier(splat_comm *comm, splat_error *error)
{
    uint64_t zero[SPLAT_MAX_RANKS] = {0}, others[SPLAT_MAX_RANKS];
    return splat_comm_exchange_counts(comm, zero, others, error);
}
