/* Decoded photos that the processes of a host have in common: a segment of shared memory with a place for each view.
 * Whoever wants a view first decodes it; the others wait, and read. Nothing is ever taken out. */
#ifndef SPLAT_SCENE_SHARED_PHOTOS_H
#define SPLAT_SCENE_SHARED_PHOTOS_H

#include "base/error.h"
#include "scene/dataset.h"

typedef struct splat_shared_photos splat_shared_photos;

/* What all views take. */
size_t splat_shared_photos_bytes(const splat_dataset *dataset);
/* The segment of a name that no other run has: made by whoever of the host comes first (*is_maker), memory reserved;
 * then, when that has been called everywhere, opened by everybody; then, when that has, unlinked by its maker: it lasts
 * as long as it is mapped. Errors of both: IO, MEMORY (the host's shared memory is too small): there is none then. */
splat_status splat_shared_photos_make(const char *name, const splat_dataset *dataset, bool *is_maker,
                                      splat_error *error);
splat_status splat_shared_photos_open(const char *name, const splat_dataset *dataset, splat_shared_photos **photos,
                                      splat_error *error);
void splat_shared_photos_unlink(const char *name);
/* NULL is allowed. */
void splat_shared_photos_close(splat_shared_photos *photos);

/* Processes that have opened it so far. */
int splat_shared_photos_users(const splat_shared_photos *photos);
/* The place of a view: splat_view_decoded_bytes of it. */
uint8_t *splat_shared_photos_place(const splat_shared_photos *photos, size_t view);
/* true: the caller decodes the view to its place, and calls end. false: it is there; or, unless `waits`, another
 * process is about it. A process that died over it is succeeded. */
bool splat_shared_photos_begin(splat_shared_photos *photos, size_t view, bool waits);
/* is_good: the view is there. Otherwise the next who wants it tries. */
void splat_shared_photos_end(splat_shared_photos *photos, size_t view, bool is_good);
bool splat_shared_photos_has(const splat_shared_photos *photos, size_t view);

#endif
