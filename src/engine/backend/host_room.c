/* Host memory that the device copies to and from. */
#include "backend/host_room.h"

#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

splat_status splat_host_room_make(splat_host_room *room, splat_backend *backend, const char *name, size_t bytes,
                                  splat_error *error)
{
    *room = (splat_host_room){.pinned = {.placement = SPLAT_ON_HOST, .type = SPLAT_TYPE_MIXED}};
    const splat_status pinned = splat_block_resize(backend, &room->pinned, name, SPLAT_OWNER_LISTS, bytes, NULL);
    room->data = pinned == SPLAT_OK ? room->pinned.data : malloc(bytes);
    if (room->data) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no host memory for %zu bytes of %s", bytes, name);
}

void splat_host_room_free(splat_host_room *room, splat_backend *backend)
{
    if (room->pinned.data) splat_block_free(backend, &room->pinned);
    else free(room->data);
    memset(room, 0, sizeof *room);
}
