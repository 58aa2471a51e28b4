/* Memory for photos on the device: all of them, or two that take turns. */
#include "train/photo_store.h"

#include <stdlib.h>
#include <string.h>

static size_t photo_bytes(const splat_dataset_view *view)
{
    size_t bytes = splat_view_decoded_bytes(view);
    return (bytes + 255) / 256 * 256;
}

static splat_status reserve_streamed(splat_photo_store *store, splat_backend *backend, size_t bytes, bool neighbors,
                                     splat_error *error)
{
    static const char *const names[2] = {"photo, even steps", "photo, odd steps"};
    for (int i = 0; i < 2; i++)
        SPLAT_TRY(splat_block_resize(backend, &store->streamed[i], names[i], SPLAT_OWNER_IMAGES, bytes, error));
    if (neighbors)
        SPLAT_TRY(splat_block_resize(backend, &store->neighbor, "photo of a neighbour", SPLAT_OWNER_IMAGES, bytes,
                                     error));
    return splat_backend_synchronize(backend, error); /* cleared, before anything is copied ahead of the work */
}

splat_status splat_photo_store_init(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                    bool on_host, bool neighbors, splat_error *error)
{
    store->last_view = UINT32_MAX;
    size_t total = 0, largest = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        size_t bytes = photo_bytes(&dataset->views[dataset->train[i]]);
        total += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (on_host || total > backend->device_bytes / SPLAT_PHOTO_SHARE)
        return reserve_streamed(store, backend, largest, neighbors, error);
    store->offsets = malloc(dataset->n_views * sizeof *store->offsets);
    store->loaded = calloc(dataset->n_views, sizeof *store->loaded);
    if (!store->offsets || !store->loaded)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", dataset->n_views);
    memset(store->offsets, 0xff, dataset->n_views * sizeof *store->offsets);
    size_t offset = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        store->offsets[dataset->train[i]] = offset;
        offset += photo_bytes(&dataset->views[dataset->train[i]]);
    }
    return splat_block_resize(backend, &store->block, SPLAT_BLOCK_PHOTOS, SPLAT_OWNER_IMAGES, total, error);
}

splat_status splat_photo_store_stream(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                      bool neighbors, splat_error *error)
{
    if (!store->block.bytes) return SPLAT_OK;
    splat_photo_store_free(store, backend);
    return splat_photo_store_init(store, backend, dataset, true, neighbors, error);
}

void splat_photo_store_free(splat_photo_store *store, splat_backend *backend)
{
    splat_block_free(backend, &store->block);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &store->streamed[i]);
    splat_block_free(backend, &store->neighbor);
    free(store->offsets);
    free(store->loaded);
    memset(store, 0, sizeof *store);
}

bool splat_photo_store_has(const splat_photo_store *store, uint32_t view)
{
    return store->block.bytes && store->loaded[view];
}

/* Decodes a photo and uploads it: ahead of the work into the block of a turn, or with turn -1 in the work's order. */
static splat_status upload(splat_backend *backend, const splat_scene *scene, uint32_t view, int turn, uint8_t *place,
                           splat_error *error)
{
    size_t bytes = splat_view_decoded_bytes(&scene->dataset.views[view]);
    const uint8_t *decoded;
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, view, &decoded, error));
    splat_status status = turn < 0 ? splat_backend_upload(backend, place, decoded, bytes, error)
                                   : splat_backend_upload_ahead(backend, turn, place, decoded, bytes, error);
    splat_image_cache_release(scene->cache, view);
    return status;
}

static splat_photo photo_at(const splat_scene *scene, uint32_t view, const uint8_t *place)
{
    const splat_dataset_view *of = &scene->dataset.views[view];
    return (splat_photo){place, splat_view_mask(of, place), splat_view_depth(of, place)};
}

static splat_status fetch_resident(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                   uint32_t view, splat_photo *photo, splat_error *error)
{
    uint8_t *place = (uint8_t *)store->block.data + store->offsets[view];
    *photo = photo_at(scene, view, place);
    if (store->loaded[view]) return SPLAT_OK;
    SPLAT_TRY(upload(backend, scene, view, -1, place, error));
    store->loaded[view] = true;
    return SPLAT_OK;
}

splat_status splat_photo_store_fetch(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                     uint32_t view, int turn, splat_photo *photo, splat_error *error)
{
    if (store->block.bytes) return fetch_resident(store, backend, scene, view, photo, error);
    *photo = photo_at(scene, view, store->streamed[turn].data);
    if (store->last_view == view && store->last_turn == turn) return SPLAT_OK;
    store->last_view = UINT32_MAX;
    SPLAT_TRY(upload(backend, scene, view, turn, store->streamed[turn].data, error));
    store->last_view = view;
    store->last_turn = turn;
    return SPLAT_OK;
}

splat_status splat_photo_store_fetch_neighbor(splat_photo_store *store, splat_backend *backend,
                                              const splat_scene *scene, uint32_t view, splat_photo *photo,
                                              splat_error *error)
{
    if (store->block.bytes) return fetch_resident(store, backend, scene, view, photo, error);
    *photo = photo_at(scene, view, store->neighbor.data);
    return upload(backend, scene, view, -1, store->neighbor.data, error);
}

splat_status splat_photo_store_fetch_mask(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                          uint32_t view, splat_block *block, const uint8_t **mask, splat_error *error)
{
    const splat_dataset_view *of = &scene->dataset.views[view];
    const size_t bytes = (size_t)of->camera.width * (size_t)of->camera.height;
    const uint8_t *decoded;
    splat_photo photo;
    *mask = NULL;
    if (!of->has_mask) return SPLAT_OK;
    if (store->block.bytes) {
        SPLAT_TRY(fetch_resident(store, backend, scene, view, &photo, error));
        *mask = photo.mask;
        return SPLAT_OK;
    }
    SPLAT_TRY(splat_block_ensure(backend, block, "mask of a view", SPLAT_OWNER_IMAGES, bytes, error));
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, view, &decoded, error));
    splat_status status = splat_backend_upload(backend, block->data, splat_view_mask(of, decoded), bytes, error);
    splat_image_cache_release(scene->cache, view);
    *mask = block->data;
    return status;
}
