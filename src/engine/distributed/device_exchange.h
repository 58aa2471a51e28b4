/* Exchanges of memory that the ops of a backend work on: the host's by the ranks themselves, a device's by its peers
 * (backend/peers.h). */
#ifndef SPLAT_DISTRIBUTED_DEVICE_EXCHANGE_H
#define SPLAT_DISTRIBUTED_DEVICE_EXCHANGE_H

#include "backend/backend.h"
#include "distributed/comm.h"

/* Every rank, once, before the first exchange: devices find each other. On the host there is nothing to do. Errors:
 * UNSUPPORTED, DEVICE, RANK. */
splat_status splat_device_join(splat_comm *comm, splat_backend *backend, splat_error *error);
/* As splat_comm_exchange, of the backend's memory. On a device it does not wait for the bytes: what the backend is
 * given later sees them. A rank that failed before is found here, and not by waiting for its device. Errors: RANK,
 * DEVICE. */
splat_status splat_device_exchange(splat_comm *comm, splat_backend *backend, const splat_comm_part *send,
                                   const splat_comm_part *receive, splat_error *error);
/* Rows of row_bytes, as splat_comm_exchange_rows. */
splat_status splat_device_exchange_rows(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                        const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                        splat_error *error);
/* The same right after an exchange in which all ranks took part. On a device it overlaps with the work that follows
 * (the writing of project's colours), and ends before raster. */
splat_status splat_device_exchange_beside(splat_comm *comm, splat_backend *backend, size_t row_bytes, const void *send,
                                          const uint64_t *send_rows, void *receive, const uint64_t *receive_rows,
                                          splat_error *error);

#endif
