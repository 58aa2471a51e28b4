/* Coarse training between the steps. First, which Gaussians become opaque: the entropy parts their opacities at a
 * pivot, and what is below it goes with the prune. At 1/2, as SuGaR has it, a splat whose 3D filter was fused keeps as
 * few as happen to be above. */
#include "surface/coarse/coarse_prune.h"

#include "math/density.h"
#include "model/render.h"
#include "ops/knn/knn.h"
#include "surface/coarse/coarse_parts.h"
#include "surface/coarse/coarse_schedule.h"
#include "train/density/density.h"
#include "train/ranks/shapes.h"
#include "train/ranks/shards.h"

#include <math.h>
#include <stdlib.h>

/* The element that sorting would put at `place`; the array is left partly sorted (Hoare's selection). */
static float select_place(float *values, size_t n, size_t place)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        float parting = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < parting) i++;
            while (values[j] > parting) j--;
            if (i >= j) break;
            float kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[place];
}

splat_status splat_coarse_find_pivot(const float *logits, size_t n, float keep, float *pivot, splat_error *error)
{
    size_t n_finite = 0, n_kept = (size_t)ceil((double)keep * (double)n);
    *pivot = 0;
    if (!(keep > 0) || n == 0) return SPLAT_OK;
    float *values = malloc(n * sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to sort %zu opacities", n);
    for (size_t i = 0; i < n; i++)
        if (isfinite(logits[i])) values[n_finite++] = logits[i];
    if (n_kept > n_finite) n_kept = n_finite;
    if (n_kept > 0) *pivot = fminf(0, select_place(values, n_finite, n_finite - n_kept));
    free(values);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the trim
 * Gaussians that hardly any training view has in front are removed (the trim of PGSR, Chen et al., TVCG 2024): what
 * stands before one camera, and what lies behind surfaces. Once, after the transparent went. */

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

/* ---------------------------------------------------------------- pruning, once, and the nearest neighbours */

splat_status splat_coarse_check_surface(const splat_trainer *t, const char *path, splat_error *error)
{
    uint32_t n = splat_shards_count(t);
    if (n > SPLAT_NEIGHBORS) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_NUMERIC, path, SPLAT_NO_OFFSET,
                         "%u Gaussians do not make a surface, which needs %d at least; was the splat trained on this "
                         "scene?",
                         n, SPLAT_NEIGHBORS + 1);
}

splat_status splat_coarse_search_neighbors(splat_trainer *t, int first, int last, splat_error *error)
{
    const splat_gaussians g = splat_shapes_gaussians(t);
    splat_extra_rows *rows = splat_shapes_extra_rows(t);
    bool is_known = rows->n_cached == g.n && g.n > 0, has_field = false, is_due = false;
    for (int i = first; i <= last; i++) {
        has_field = has_field || splat_coarse_has_field(&t->options, i);
        is_due = is_due || splat_coarse_searches_neighbors(&t->options, i);
    }
    if (!has_field || (is_known && !is_due)) return SPLAT_OK;
    SPLAT_TRY(splat_extra_rows_cache(rows, t->backend, g.n, error));
    struct splat_knn_args args = {.n = g.n, .points = g.p.means, .k = SPLAT_NEIGHBORS,
                                  .indices = splat_extra_rows_data(rows, SPLAT_COARSE_NEIGHBORS)};
    splat_status status = splat_op_knn(t->backend, &args, error);
    if (status == SPLAT_OK) return splat_shapes_keep_cached(t, error);
    splat_extra_rows_cache(rows, t->backend, 0, NULL);
    return status;
}

splat_status splat_coarse_after(splat_trainer *t, int iteration, splat_error *error)
{
    uint32_t old_n = t->model->gaussians.n;
    void *unused;
    if (!splat_coarse_prunes_after(&t->options, iteration)) return SPLAT_OK;
    SPLAT_TRY(splat_density_begin(t, 0, &unused, error));
    struct splat_density_prune_args args = {.min_opacity = t->options.coarse.prune_opacity};
    SPLAT_TRY(splat_density_prune(t, iteration, args, "prune_opacity", error));
    if (t->model->gaussians.n <= SPLAT_NEIGHBORS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "only %u of %u Gaussians are as opaque as `prune_opacity` asks (%g), and a surface needs %d: "
                          "train longer before or until `regularize_after`, or take a smaller `prune_opacity`",
                          t->model->gaussians.n, old_n, (double)t->options.coarse.prune_opacity, SPLAT_NEIGHBORS + 1);
    SPLAT_TRY(splat_coarse_trim(t, iteration, error));
    return splat_density_end(t, old_n, error);
}
