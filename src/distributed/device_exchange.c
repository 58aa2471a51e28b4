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

splat_status splat_device_exchange(splat_comm *comm, splat_backend *backend, const splat_comm_part *send,
                                   const splat_comm_part *receive, splat_error *error)
{
    const splat_peer_functions *peers = backend->functions->peers;
    if (!peers) return splat_comm_exchange(comm, send, receive, error);
    splat_status status = splat_comm_barrier(comm, error);
    if (status != SPLAT_OK) {
        peers->abandon(backend);
        return status;
    }
    splat_comm_count_sent(comm, send);
    return peers->exchange(backend, send, receive, false, error);
}

splat_status splat_device_exchange_beside(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                          const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                          splat_error *error)
{
    const splat_peer_functions *peers = backend->functions->peers;
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    splat_comm_cut_rows(comm, row_bytes, send, send_rows, out);
    splat_comm_cut_rows(comm, row_bytes, receive, receive_rows, in);
    if (!peers) return splat_comm_exchange(comm, out, in, error);
    splat_comm_count_sent(comm, out);
    return peers->exchange(backend, out, in, true, error);
}

splat_status splat_device_exchange_rows(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                        const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                        splat_error *error)
{
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    splat_comm_cut_rows(comm, row_bytes, send, send_rows, out);
    splat_comm_cut_rows(comm, row_bytes, receive, receive_rows, in);
    return splat_device_exchange(comm, backend, out, in, error);
}
