/* Gaussians that hardly any training view shows, removed from a splat. */
#include "math/camera.h"
#include "model/clean.h"
#include "model/render.h"
#include "scene/scene.h"
#include "splatsmith/mesh.h"

#include <stdlib.h>

#define LEAST_PART (1 / 255.0f) /* of a pixel: what gives less changes none of 8 bits */

enum { STAMPS, COUNTS, MASK, N_BLOCKS };

typedef struct masks {
    splat_scene *scene;
    splat_backend *backend;
    splat_block *block;
} masks;

static splat_status upload_mask(void *user, size_t i, const uint8_t **mask, splat_error *error)
{
    masks *m = user;
    const uint32_t view = m->scene->dataset.train[i];
    const splat_dataset_view *v = &m->scene->dataset.views[view];
    const size_t n = splat_camera_pixels(&v->camera);
    if (!v->has_mask || m->scene->dataset.mask_mode == SPLAT_MASKS_ALPHA) return SPLAT_OK;
    uint8_t *kept = malloc(n);
    if (!kept) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the mask of a view");
    splat_status status = splat_scene_read_mask(m->scene, view, v->camera.width, v->camera.height, kept, error);
    for (size_t k = 0; k < n && status == SPLAT_OK; k++) kept[k] = kept[k] ? UINT8_MAX : 0;
    if (status == SPLAT_OK) status = splat_block_resize(m->backend, m->block, "mask", SPLAT_OWNER_OTHER, n, error);
    if (status == SPLAT_OK) status = splat_backend_upload_and_wait(m->backend, m->block->data, kept, n, error);
    free(kept);
    *mask = m->block->data;
    return status;
}

static splat_status count_views(splat_scene *scene, splat_model *model, splat_block *blocks, splat_error *error)
{
    splat_backend *b = model->backend;
    for (int i = 0; i < MASK; i++) {
        SPLAT_TRY(splat_block_resize(b, &blocks[i], i == STAMPS ? "stamps" : "views", SPLAT_OWNER_OTHER,
                                     model->gaussians.n * sizeof(uint32_t), error));
        SPLAT_TRY(splat_backend_zero(b, blocks[i].data, blocks[i].bytes, error));
    }
    const struct splat_view_count_args args = {
        .weight = LEAST_PART, .stamps = blocks[STAMPS].data, .counts = blocks[COUNTS].data};
    masks m = {scene, b, &blocks[MASK]};
    return splat_model_count_views(model, scene->train_cameras, scene->dataset.n_train,
                                   splat_model_max_instances(model), args, upload_mask, &m, error);
}

/* counts, keep: [n], scratch of the caller. */
static splat_status remove_few(splat_model *model, const splat_block *on_device, int least_views, uint32_t *counts,
                               uint8_t *keep, size_t *n_removed, splat_error *error)
{
    const size_t n = model->gaussians.n;
    size_t n_few = 0;
    SPLAT_TRY(splat_backend_download(model->backend, counts, on_device->data, n * sizeof *counts, error));
    for (size_t i = 0; i < n; i++) {
        keep[i] = counts[i] >= (uint32_t)least_views;
        n_few += !keep[i];
    }
    if (n_few == n)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "no Gaussian would be left: none is seen in %d training views",
                          least_views);
    *n_removed = n_few;
    return splat_model_keep(model, keep, error);
}

splat_status splat_model_remove_unseen(splat_scene *scene, splat_model *model, int least_views, size_t *n_removed,
                                       splat_error *error)
{
    const size_t n = model->gaussians.n;
    splat_block blocks[N_BLOCKS] = {{0}};
    *n_removed = 0;
    if (least_views < 1 || (size_t)least_views > scene->dataset.n_train)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "Gaussians can be asked to be seen in 1 to %zu views, as many "
                          "as are trained on, not in %d", scene->dataset.n_train, least_views);
    if (n == 0) return SPLAT_OK;
    splat_status status = count_views(scene, model, blocks, error);
    uint32_t *counts = malloc(n * sizeof *counts);
    uint8_t *keep = malloc(n);
    if (status == SPLAT_OK && (!counts || !keep))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu Gaussians", n);
    if (status == SPLAT_OK) status = remove_few(model, &blocks[COUNTS], least_views, counts, keep, n_removed, error);
    free(counts);
    free(keep);
    for (int i = 0; i < N_BLOCKS; i++) splat_block_free(model->backend, &blocks[i]);
    return status;
}
