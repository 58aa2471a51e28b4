/* Host memory that the device copies to and from. */
#ifndef SPLAT_BACKEND_HOST_ROOM_H
#define SPLAT_BACKEND_HOST_ROOM_H

#include "backend/memory.h"

/* Pinned where the system lets it be, which halves the time of copies, else any. */
typedef struct splat_host_room {
    void *data;
    splat_block pinned; /* empty where `data` is any memory */
} splat_host_room;

/* bytes: at least 1. Errors: MEMORY; then there is nothing to free. */
splat_status splat_host_room_make(splat_host_room *room, splat_backend *backend, const char *name, size_t bytes,
                                  splat_error *error);
/* A room of zeros is none. */
void splat_host_room_free(splat_host_room *room, splat_backend *backend);

#endif
