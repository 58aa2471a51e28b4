/* Gaussians that hardly any training view has in front are removed (the trim of PGSR, Chen et al., TVCG 2024): what
 * stands before one camera, and what lies behind surfaces. Once, after the transparent went. */
#include "ops/foremost/foremost.h"
#include "ops/project/project.h"
#include "ops/view.h"
#include "sugar/coarse/coarse_parts.h"
#include "train/density.h"

#include <stdlib.h>

/* In the kept pixels of how many training views each Gaussian stands in front: [n], device memory. */
static splat_status count_views(splat_trainer *t, splat_block *mask, uint32_t **counts, splat_error *error)
{
    static const float black[3];
    const splat_dataset *dataset = &t->scene->dataset;
    const splat_row_blocks *rows = &t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH];
    const splat_block *blocks[2] = {&rows->blocks[SPLAT_COARSE_SCALES], &rows->blocks[SPLAT_COARSE_OPACITIES]};
    splat_frame *frame = &t->model->frame;
    struct splat_foremost_args args = {.frame = frame,
                                       .light = SPLAT_FOREMOST_LIGHT,
                                       .stamp = 1,
                                       .stamps = blocks[0]->data,
                                       .counts = blocks[1]->data};
    splat_view_blend blend = {.max_instances = t->options.max_instances, .foremost = &args};
    for (int i = 0; i < 2; i++) SPLAT_TRY(splat_backend_zero(t->backend, blocks[i]->data, blocks[i]->bytes, error));
    for (size_t v = 0; v < dataset->n_train; v++, args.stamp++) {
        const uint32_t view = dataset->train[v];
        const splat_camera *camera = &dataset->views[view].camera;
        if (dataset->mask_mode != SPLAT_MASKS_ALPHA)
            SPLAT_TRY(splat_photo_store_fetch_mask(&t->photos, t->backend, t->scene, view, mask, &args.mask, error));
        SPLAT_TRY(splat_model_begin_view(t->model, frame, camera, black, error));
        struct splat_project_args project = {.gaussians = &t->model->gaussians, .frame = frame};
        SPLAT_TRY(splat_op_project(t->backend, &project, error));
        SPLAT_TRY(splat_view_forward(t->backend, frame, &blend, error));
    }
    *counts = args.counts;
    return SPLAT_OK;
}

/* Splits are what the prune removes by their action. */
static uint32_t choose(const uint32_t *counts, uint32_t n, int least, uint8_t *actions)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool stays = counts[i] >= (uint32_t)least;
        actions[i] = stays ? SPLAT_DENSITY_KEEP : SPLAT_DENSITY_SPLIT;
        n_kept += stays;
    }
    return n_kept;
}

splat_status splat_coarse_trim(splat_trainer *t, int iteration, splat_error *error)
{
    const uint32_t n = t->model->gaussians.n;
    const int least = t->options.trim_views;
    uint32_t *on_device, n_kept = 0;
    void *unused, *actions_on_device = t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH].blocks[SPLAT_COARSE_MEANS].data;
    if (least <= 0) return SPLAT_OK;
    splat_block mask = {0};
    splat_status status = count_views(t, &mask, &on_device, error);
    splat_block_free(t->backend, &mask);
    SPLAT_TRY(status);
    uint32_t *counts = malloc(n * sizeof *counts);
    uint8_t *actions = malloc(n);
    if (!counts || !actions) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to count views");
    if (status == SPLAT_OK) status = splat_backend_download(t->backend, counts, on_device, n * sizeof *counts, error);
    if (status == SPLAT_OK) n_kept = choose(counts, n, least, actions);
    if (status == SPLAT_OK && n_kept <= SPLAT_NEIGHBORS)
        status = splat_fail(error, SPLAT_ERROR_NUMERIC,
                            "only %u of %u Gaussians stand in front in %d of the %zu training views, and a surface "
                            "needs %d: take a smaller `trim_views`",
                            n_kept, n, least, t->scene->dataset.n_train, SPLAT_NEIGHBORS + 1);
    if (status == SPLAT_OK) status = splat_backend_upload(t->backend, actions_on_device, actions, n, error);
    free(counts);
    free(actions);
    if (status == SPLAT_OK) status = splat_density_begin(t, 0, &unused, error);
    struct splat_density_prune_args args = {.actions = actions_on_device, .n_actions = n};
    return status == SPLAT_OK ? splat_density_prune(t, iteration, args, "trim_views", error) : status;
}
