#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_OF_DEVICE 8 /* photos may take an eighth of the device's memory */

static size_t photo_bytes(const splat_dataset_view *view)
{
    size_t bytes = 3 * (size_t)view->camera.width * (size_t)view->camera.height;
    return (bytes + 255) / 256 * 256;
}

splat_status splat_photo_store_init(splat_photo_store *store, splat_backend *backend, const splat_dataset *dataset,
                                    splat_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < dataset->n_train; i++) total += photo_bytes(&dataset->views[dataset->train[i]]);
    if (total > backend->device_bytes / SHARE_OF_DEVICE) return SPLAT_OK;
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
    return splat_block_resize(backend, &store->block, "photos", SPLAT_OWNER_IMAGES, total, error);
}

void splat_photo_store_free(splat_photo_store *store, splat_backend *backend)
{
    splat_block_free(backend, &store->block);
    free(store->offsets);
    free(store->loaded);
    memset(store, 0, sizeof *store);
}
