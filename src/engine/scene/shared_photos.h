/* Decoded photos that the processes of a host have in common: a segment of shared memory with a place for each view.
 * The first process that wants a view decodes it; the others wait, and read. Views are never removed. */
#ifndef SPLAT_SCENE_SHARED_PHOTOS_H
#define SPLAT_SCENE_SHARED_PHOTOS_H

#include "base/error.h"
#include "scene/dataset.h"

typedef struct splat_shared_photos splat_shared_photos;

/* Bytes of all views. */
size_t splat_shared_photos_bytes(const splat_dataset *dataset);
/* The segment, by a name that no other run has. First every process calls `make`: the first one of the host creates
 * the segment (*is_maker) and reserves its memory. Then every process opens it, and then the maker unlinks it; it
 * lasts as long as it is mapped. Errors of both: IO, MEMORY (the host's shared memory is too small); then there is
 * no segment. */
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
