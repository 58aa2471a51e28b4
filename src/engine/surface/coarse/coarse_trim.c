/* Gaussians that hardly any training view has in front are removed (the trim of PGSR, Chen et al., TVCG 2024): what
 * stands before one camera, and what lies behind surfaces. Once, after the transparent went. */
#include "model/render.h"
#include "surface/coarse/coarse_parts.h"
#include "train/density/density.h"

#include <stdlib.h>

typedef struct masks {
    splat_trainer *trainer;
    splat_block block;
} masks;

static splat_status fetch_mask(void *user, size_t i, const uint8_t **mask, splat_error *error)
{
    masks *m = user;
    splat_trainer *t = m->trainer;
    if (t->scene->dataset.mask_mode == SPLAT_MASKS_ALPHA) return SPLAT_OK;
    return splat_photo_store_fetch_mask(&t->photos, t->backend, t->scene, t->scene->dataset.train[i], &m->block, mask,
                                        error);
}

/* In the kept pixels of how many training views each Gaussian stands in front: [n], device memory. */
static splat_status count_views(splat_trainer *t, uint32_t **counts, splat_error *error)
{
    const splat_row_blocks *rows = &t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH];
    const splat_block *blocks[2] = {&rows->blocks[SPLAT_COARSE_SCALES], &rows->blocks[SPLAT_COARSE_OPACITIES]};
    const struct splat_view_count_args args = {
        .light = SPLAT_VIEW_COUNT_LIGHT, .stamps = blocks[0]->data, .counts = blocks[1]->data};
    masks m = {.trainer = t};
    for (int i = 0; i < 2; i++) SPLAT_TRY(splat_backend_zero(t->backend, blocks[i]->data, blocks[i]->bytes, error));
    *counts = args.counts;
    splat_status status = splat_model_count_views(t->model, t->scene->train_cameras, t->scene->dataset.n_train,
                                                  t->options.max_instances, args, fetch_mask, &m, error);
    splat_block_free(t->backend, &m.block);
    return status;
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
    splat_status status = SPLAT_OK;
    SPLAT_TRY(count_views(t, &on_device, error));
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
