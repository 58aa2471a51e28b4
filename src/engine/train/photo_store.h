/* The training photos in device memory. */
#ifndef SPLAT_TRAIN_PHOTO_STORE_H
#define SPLAT_TRAIN_PHOTO_STORE_H

#include "backend/backend.h"
#include "scene/scene.h"

#define SPLAT_PHOTO_SHARE 8 /* photos may take an eighth of the device's memory */

/* A photo of a view, as the loss reads it. */
typedef struct splat_photo {
    const uint8_t *rgb;  /* device: [height][width][3] */
    const uint8_t *mask; /* device: [height][width]; NULL: the view has none */
    const uint16_t *depth; /* device: [height][width], inverse depths; NULL: the view has no map */
} splat_photo;

/* All photos as uint8, with their masks and depths, each uploaded when it is first used, or those of two steps, and one
 * of a neighbouring view. */
typedef struct splat_photo_store {
    splat_block block;       /* empty: not all are kept */
    splat_block streamed[2]; /* then these, each as large as the largest photo */
    splat_block neighbor;    /* same size; the second photo of a step */
    int last_turn;           /* the block that was fetched into last ... */
    uint32_t last_view;      /* ... and its view; UINT32_MAX: none */
    size_t *offsets;         /* [n_views] bytes into the block; SIZE_MAX: not a training view */
    bool *loaded;            /* [n_views] */
} splat_photo_store;

/* Keeps the photos of the training views on the device when it has memory of its own, they take at most an eighth of
 * it, and on_host does not forbid it; makes room. neighbors: also for the photo of another view than the step's. */
splat_status splat_photo_store_init(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                    bool on_host, bool neighbors, splat_error *error);
/* Between two steps: from here on photos are uploaded as they are needed, and those that were kept go. */
splat_status splat_photo_store_stream(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                      bool neighbors, splat_error *error);
void splat_photo_store_free(splat_photo_store *store, splat_backend *backend);
/* True if fetching a view needs no decoded photo. */
bool splat_photo_store_has(const splat_photo_store *store, uint32_t view);
/* The photo of a training view: its place among the resident ones, or, ahead of the work in progress, block `turn` (0
 * or 1) of the two that the steps use in turn. A second call of the same step finds it there. Valid until the turn
 * comes again. Errors: those of decoding and of the device. */
splat_status splat_photo_store_fetch(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                     uint32_t view, int turn, splat_photo *photo, splat_error *error);
/* The photo of another training view in the same step, until the next call; of a store with room for neighbours. It is
 * uploaded in the order of the work when photos are not resident. */
splat_status splat_photo_store_fetch_neighbor(splat_photo_store *store, splat_backend *backend,
                                              const splat_scene *scene, uint32_t view, splat_photo *photo,
                                              splat_error *error);

/* The mask alone of a training view, between two steps and in the order of the work, until the next call: of the photo
 * on the device, or in *block, the caller's, which grows to it. NULL: the view has none. */
splat_status splat_photo_store_fetch_mask(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                          uint32_t view, splat_block *block, const uint8_t **mask, splat_error *error);

#endif
