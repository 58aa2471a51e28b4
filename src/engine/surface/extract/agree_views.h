/* Views that are asked about each other's pixels: on a device with memory of its own, else on the host. */
#ifndef SPLAT_SURFACE_EXTRACT_AGREE_VIEWS_H
#define SPLAT_SURFACE_EXTRACT_AGREE_VIEWS_H

#include "backend/backend.h"
#include "ops/agree/agree.h"
#include "surface/extract/view_maps.h"

typedef struct splat_agree_views {
    splat_backend *backend; /* NULL: the host does the work */
    const splat_view_maps *maps;
    int threads;
    size_t n_slots, slot_bytes, most_pixels; /* of the device: each slot holds the maps of a view */
    uint32_t *slot_of, *view_of; /* [maps->n], [n_slots]: UINT32_MAX where there is none */
    uint64_t *used, now;         /* [n_slots] when the slot was used last; the present time */
    splat_block slots, verdicts, agreements;
} splat_agree_views;

/* maps stay as they are while the views are open. Where the backend has memory of its own, slots for as many views as
 * fit into half of what a limit leaves, and into a quarter of the device; without room for a view with its neighbours
 * the host does the work, with the same bits. most: agreements that are asked for at a time, at most. backend: NULL for
 * the host. Close the views in any case. */
void splat_agree_views_open(splat_agree_views *views, splat_backend *backend, const splat_view_maps *maps, size_t most,
                            int threads);
void splat_agree_views_close(splat_agree_views *views);

/* Op agree of pixels of view v, into host memory: verdicts[n], and the agreements that are asked for. One thread at a
 * time. Errors: those of the op and of copies. */
splat_status splat_agree_views_ask(splat_agree_views *views, size_t v, size_t first, size_t n, size_t every,
                                   size_t phase, uint8_t *verdicts, splat_agreement *agreements, splat_error *error);

/* A view's maps in host memory. */
splat_agree_view splat_agree_view_of(const splat_view_map *map);

#endif
