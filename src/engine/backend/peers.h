/* Devices of several ranks that reach each other's memory. The host's memory needs none of this: ranks exchange it
 * themselves (distributed/comm.h). */
#ifndef SPLAT_BACKEND_PEERS_H
#define SPLAT_BACKEND_PEERS_H

#include "base/error.h"

typedef struct splat_backend splat_backend;

/* Names a group of devices; made by one rank and known to all before they join. */
typedef struct splat_peer_name {
    char bytes[128];
} splat_peer_name;

/* Memory that goes to a rank, or comes from it. */
typedef struct splat_peer_part {
    void *data; /* may be NULL where bytes is 0 */
    size_t bytes;
} splat_peer_part;

typedef struct splat_peer_functions {
    /* Errors: UNSUPPORTED (no library for it), DEVICE. */
    splat_status (*name)(splat_backend *backend, splat_peer_name *name, splat_error *error);
    /* Returns when all ranks have joined; once in a backend. Errors: UNSUPPORTED, DEVICE (two ranks on one device). */
    splat_status (*join)(splat_backend *backend, const splat_peer_name *name, int rank, int size, splat_error *error);
    /* Sends send[r] to rank r and receives receive[r] from it; for the own rank both have the same number of bytes.
     * Runs in order with the backend's other work; does not wait. `on_side`: runs in order with the side work and
     * overlaps with the rest (colours, before raster: ops/project). */
    splat_status (*exchange)(splat_backend *backend, const splat_peer_part *send, const splat_peer_part *receive,
                             bool on_side, splat_error *error);
    /* Another rank failed: an exchange that waits for it ends. */
    void (*abandon)(splat_backend *backend);
} splat_peer_functions;

#endif
