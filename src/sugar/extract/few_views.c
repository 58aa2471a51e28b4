/* Gaussians that hardly any training view shows, removed from a splat. */
#include "math/camera.h"
#include "ops/foremost/foremost.h"
#include "ops/loss/loss.h"
#include "ops/project/project.h"
#include "ops/view.h"
#include "scene/scene.h"
#include "model/model.h"
#include "splatsmith/mesh.h"

#include <stdlib.h>

#define LEAST_PART (1 / 255.0f) /* of a pixel: what gives less changes none of 8 bits */

enum { STAMPS, COUNTS, MASK, N_BLOCKS };

/* The kept pixels of a view's mask on the device; NULL: all are. */
static splat_status upload_mask(splat_scene *scene, uint32_t view, splat_backend *b, splat_block *block,
                                const uint8_t **mask, splat_error *error)
{
    const splat_dataset_view *v = &scene->dataset.views[view];
    const size_t n = splat_camera_pixels(&v->camera);
    *mask = NULL;
    if (!v->has_mask || scene->dataset.mask_mode == SPLAT_MASKS_ALPHA) return SPLAT_OK;
    uint8_t *kept = malloc(n);
    if (!kept) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the mask of a view");
    splat_status status = splat_scene_read_mask(scene, view, v->camera.width, v->camera.height, kept, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) kept[i] = kept[i] ? UINT8_MAX : 0;
    if (status == SPLAT_OK) status = splat_block_resize(b, block, "mask", SPLAT_OWNER_OTHER, n, error);
    if (status == SPLAT_OK) status = splat_backend_upload(b, block->data, kept, n, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(b, error); /* it reads `kept` */
    free(kept);
    *mask = block->data;
    return status;
}

static splat_status count_views(splat_scene *scene, splat_model *model, splat_block *blocks, splat_error *error)
{
    static const float black[3];
    splat_backend *b = model->backend;
    splat_frame *frame = &model->frame;
    for (int i = 0; i < MASK; i++) {
        SPLAT_TRY(splat_block_resize(b, &blocks[i], i == STAMPS ? "stamps" : "views", SPLAT_OWNER_OTHER,
                                     model->gaussians.n * sizeof(uint32_t), error));
        SPLAT_TRY(splat_backend_zero(b, blocks[i].data, blocks[i].bytes, error));
    }
    struct splat_foremost_args args = {.frame = frame, .light = 0, .weight = LEAST_PART, .stamp = 1,
                                       .stamps = blocks[STAMPS].data, .counts = blocks[COUNTS].data};
    const splat_view_blend blend = {.max_instances = splat_model_max_instances(model), .foremost = &args};
    for (size_t i = 0; i < scene->dataset.n_train; i++, args.stamp++) {
        const uint32_t view = scene->dataset.train[i];
        SPLAT_TRY(upload_mask(scene, view, b, &blocks[MASK], &args.mask, error));
        SPLAT_TRY(splat_model_begin_view(model, frame, &scene->dataset.views[view].camera, black, error));
        const struct splat_project_args project = {.gaussians = &model->gaussians, .frame = frame};
        SPLAT_TRY(splat_op_project(b, &project, error));
        SPLAT_TRY(splat_view_forward(b, frame, &blend, error));
    }
    return SPLAT_OK;
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
