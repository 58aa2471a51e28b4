/* The last saved splat, which pages fetch to draw it themselves: packed as SPZ once, when the first page asks. */
#ifndef SPLAT_VIEWER_SAVED_H
#define SPLAT_VIEWER_SAVED_H

#include "viewer/state.h"

#define SPLAT_VIEWER_FETCH_MAX 4000000 /* Gaussians; browsers hold no more, and the program no more twice */

#define SPLAT_VIEWER_FETCHES_MAX 3     /* fetches at a time; each takes a thread of the server */

/* A splat on its way to pages: SPZ, version 3, its 3D filter baked in. */
typedef struct splat_viewer_parcel {
    splat_viewer_saved about;
    uint8_t *data;
    size_t size;
    int n_holders; /* with viewer->mutex */
} splat_viewer_parcel;

/* The splat that was offered last. The first call for it reads the file and packs it, in a thread of low priority;
 * others wait for that. Put it back when it is sent. Errors: ARGUMENT (nothing is offered, or it is too large),
 * UNSUPPORTED (so many have not been put back yet that this one must wait), those of splat_cloud_read and
 * splat_spz_pack. */
splat_status splat_viewer_parcel_take(splat_viewer *viewer, splat_viewer_parcel **parcel, splat_error *error);
void splat_viewer_parcel_put(splat_viewer *viewer, splat_viewer_parcel *parcel);
/* When nobody fetches any more. */
void splat_viewer_parcel_close(splat_viewer *viewer);

#endif
