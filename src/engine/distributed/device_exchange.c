/* Either way of memory between ranks. */
#include "distributed/device_exchange.h"

#include <string.h>

splat_status splat_device_join(splat_comm *comm, splat_backend *backend, splat_error *error)
{
    const splat_peer_functions *peers = backend->functions->peers;
    splat_peer_name name;
    if (!peers || comm->size == 1) return SPLAT_OK;
    memset(&name, 0, sizeof name);
    if (comm->rank == 0) SPLAT_TRY(peers->name(backend, &name, error));
    SPLAT_TRY(splat_comm_broadcast(comm, 0, &name, sizeof name, error));
    return peers->join(backend, &name, comm->rank, comm->size, error);
}

/* A rank that failed is found first: its device would be waited for. */
static splat_status find_all_here(splat_comm *comm, splat_backend *backend, splat_error *error)
{
    splat_status status = splat_comm_barrier(comm, error);
    if (status != SPLAT_OK) backend->functions->peers->abandon(backend);
    return status;
}

static splat_status exchange(splat_comm *comm, splat_backend *backend, const splat_comm_part *send,
                             const splat_comm_part *receive, bool on_side, splat_error *error)
{
    const splat_peer_functions *peers = backend->functions->peers;
    if (!peers) return splat_comm_exchange(comm, send, receive, error);
    if (!on_side) SPLAT_TRY(find_all_here(comm, backend, error));
    splat_comm_count_sent(comm, send);
    return peers->exchange(backend, send, receive, on_side, error);
}

static splat_status exchange_rows(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                  const uint64_t *send_rows, void *receive, const uint64_t *receive_rows, bool on_side,
                                  splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    splat_comm_cut_rows(comm, row_bytes, send, send_rows, out);
    splat_comm_cut_rows(comm, row_bytes, receive, receive_rows, in);
    return exchange(comm, backend, out, in, on_side, error);
}

splat_status splat_device_exchange(splat_comm *comm, splat_backend *backend, const splat_comm_part *send,
                                   const splat_comm_part *receive, splat_error *error)
{
    return exchange(comm, backend, send, receive, false, error);
}

splat_status splat_device_exchange_rows(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                        const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                        splat_error *error)
{
    return exchange_rows(comm, backend, row_bytes, send, send_rows, receive, receive_rows, false, error);
}

splat_status splat_device_exchange_beside(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                          const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                          splat_error *error)
{
    return exchange_rows(comm, backend, row_bytes, send, send_rows, receive, receive_rows, true, error);
}
