/* Memory for photos on the device: all of them, or two that take turns. */
#include "train/photo_store.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

static size_t photo_bytes(const splat_dataset_view *view)
{
    size_t bytes = 3 * splat_camera_pixels(&view->camera);
    return (bytes + 255) / 256 * 256;
}

static splat_status reserve_streamed(splat_photo_store *store, splat_backend *backend, size_t bytes, splat_error *error)
{
    static const char *const names[2] = {"photo, even steps", "photo, odd steps"};
    for (int i = 0; i < 2; i++)
        SPLAT_TRY(splat_block_resize(backend, &store->streamed[i], names[i], SPLAT_OWNER_IMAGES, bytes, error));
    return splat_backend_synchronize(backend, error); /* cleared, before anything is copied ahead of the work */
}

splat_status splat_photo_store_init(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                    bool on_host, splat_error *error)
{
    size_t total = 0, largest = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        size_t bytes = photo_bytes(&dataset->views[dataset->train[i]]);
        total += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (on_host || total > backend->device_bytes / SPLAT_PHOTO_SHARE)
        return reserve_streamed(store, backend, largest, error);
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

void splat_photo_store_free(splat_photo_store *store, splat_backend *backend)
{
    splat_block_free(backend, &store->block);
    for (int i = 0; i < 2; i++) splat_block_free(backend, &store->streamed[i]);
    free(store->offsets);
    free(store->loaded);
    memset(store, 0, sizeof *store);
}

bool splat_photo_store_has(const splat_photo_store *store, uint32_t view)
{
    return store->block.bytes && store->loaded[view];
}

splat_status splat_photo_store_fetch(splat_photo_store *store, splat_backend *backend, const splat_scene *scene,
                                     uint32_t view, int turn, splat_photo *photo, splat_error *error)
{
    const splat_camera *camera = &scene->dataset.views[view].camera;
    size_t bytes = 3 * (size_t)camera->width * (size_t)camera->height;
    bool resident = store->block.bytes > 0;
    uint8_t *place = resident ? (uint8_t *)store->block.data + store->offsets[view] : store->streamed[turn].data;
    const uint8_t *decoded;
    photo->rgb = place;
    if (splat_photo_store_has(store, view)) return SPLAT_OK;
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, view, &decoded, error));
    splat_status status = resident ? splat_backend_upload(backend, place, decoded, bytes, error)
                                   : splat_backend_upload_ahead(backend, turn, place, decoded, bytes, error);
    splat_image_cache_release(scene->cache, view);
    if (resident && status == SPLAT_OK) store->loaded[view] = true;
    return status;
}
