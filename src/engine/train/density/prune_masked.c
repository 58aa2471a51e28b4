/* Gaussians that masked pixels alone show: no photo says anything of them, so they float where the people were, before
 * other views or behind what is in focus. They are removed now and then. docs/method.md 8.4. */
#include "train/density/prune_masked.h"

#include "model/render.h"
#include "train/density/density.h"

#include <stdlib.h>

#define FIRST 1000               /* steps: before that everything still moves */
#define STEPS_A_VIEW 10          /* all training views are drawn once for at least so many steps each */
#define RECOVERY_STEPS 500       /* after a reset of the opacities nothing is as visible as it will be */
#define LEAST_SHOWN (1.0f / 255) /* of a pixel */

enum { STAMPS, COUNTS, MASKED_STAMPS, MASKED_COUNTS, MASK, N_BLOCKS };

typedef struct job {
    splat_trainer *t;
    splat_block blocks[N_BLOCKS];
    bool has_begun; /* to change the model: a failure leaves half of it */
} job;

static bool is_due(int iteration, int period)
{
    return iteration >= FIRST && iteration % period == 0;
}

bool splat_density_prunes_masked_after(const splat_train_options *o, const splat_dataset *dataset, int iteration)
{
    const int least = STEPS_A_VIEW * (int)dataset->n_train > FIRST ? STEPS_A_VIEW * (int)dataset->n_train : FIRST;
    const int interval = o->densification_interval > 0 ? o->densification_interval : 1;
    const int period = (least + interval - 1) / interval * interval;
    const int after_reset = iteration % o->opacity_reset_interval;
    if (dataset->n_masked == 0 || dataset->mask_mode != SPLAT_MASKS_IGNORE) return false;
    if (o->regularizer || o->binding) return false; /* they keep their Gaussians */
    if (after_reset > 0 && after_reset < RECOVERY_STEPS && iteration < o->densify_until_iter + RECOVERY_STEPS)
        return false;
    return (iteration <= o->densify_until_iter && is_due(iteration, period)) ||
           (iteration >= FIRST && iteration == o->iterations - 1);
}

static splat_status make_room(job *j, splat_error *error)
{
    static const char *const names[] = {"views that show (last)", "views that show", "masked views that show (last)",
                                        "masked views that show"};
    for (int i = 0; i < MASK; i++)
        SPLAT_TRY(splat_block_resize(j->t->backend, &j->blocks[i], names[i], SPLAT_OWNER_LISTS,
                                     (size_t)j->t->model->gaussians.n * sizeof(uint32_t), error));
    for (int i = 0; i < MASK; i++)
        SPLAT_TRY(splat_backend_zero(j->t->backend, j->blocks[i].data, j->blocks[i].bytes, error));
    return SPLAT_OK;
}

static splat_status fetch_mask(void *user, size_t i, const uint8_t **mask, splat_error *error)
{
    job *j = user;
    return splat_photo_store_fetch_mask(&j->t->photos, j->t->backend, j->t->scene, j->t->scene->dataset.train[i],
                                        &j->blocks[MASK], mask, error);
}

/* The training views that show each Gaussian in kept pixels, and in masked ones. */
static splat_status count_views(job *j, splat_error *error)
{
    const splat_trainer *t = j->t;
    const struct splat_view_count_args args = {.light = LEAST_SHOWN,
                                               .weight = LEAST_SHOWN,
                                               .stamps = j->blocks[STAMPS].data,
                                               .counts = j->blocks[COUNTS].data,
                                               .masked_stamps = j->blocks[MASKED_STAMPS].data,
                                               .masked_counts = j->blocks[MASKED_COUNTS].data};
    return splat_model_count_views(t->model, t->scene->train_cameras, t->scene->dataset.n_train,
                                   t->options.max_instances, args, fetch_mask, j, error);
}

/* Splits are what the prune removes by their action. Returns how many go. */
static uint32_t choose(const uint32_t *counts, const uint32_t *masked, uint32_t n, uint8_t *actions)
{
    uint32_t n_gone = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool goes = counts[i] == 0 && masked[i] > 0;
        actions[i] = goes ? SPLAT_DENSITY_SPLIT : SPLAT_DENSITY_KEEP;
        n_gone += goes;
    }
    return n_gone;
}

/* The actions lie in the block of stamps afterwards. */
static splat_status find(job *j, uint32_t *n_gone, splat_error *error)
{
    const uint32_t n = j->t->model->gaussians.n;
    const size_t bytes = n * sizeof(uint32_t);
    uint32_t *counts = malloc(bytes + 1), *masked = malloc(bytes + 1);
    uint8_t *actions = malloc((size_t)n + 1);
    splat_status status = counts && masked && actions
                              ? count_views(j, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to count views");
    if (status == SPLAT_OK)
        status = splat_backend_download(j->t->backend, counts, j->blocks[COUNTS].data, bytes, error);
    if (status == SPLAT_OK)
        status = splat_backend_download(j->t->backend, masked, j->blocks[MASKED_COUNTS].data, bytes, error);
    if (status == SPLAT_OK) {
        *n_gone = choose(counts, masked, n, actions);
        status = splat_backend_upload(j->t->backend, j->blocks[STAMPS].data, actions, n, error);
    }
    free(counts);
    free(masked);
    free(actions);
    return status;
}

static splat_status remove_found(job *j, int iteration, uint32_t n_gone, splat_error *error)
{
    const uint32_t n = j->t->model->gaussians.n;
    void *unused;
    struct splat_density_prune_args args = {.actions = j->blocks[STAMPS].data, .n_actions = n};
    if (n_gone == 0 || n_gone == n) return SPLAT_OK; /* all: the splat shows nothing yet */
    splat_log(j->t->context, SPLAT_LOG_NOTICE, "iteration %d: masked pixels alone show %u of %u Gaussians, which go",
              iteration, n_gone, n);
    j->has_begun = true;
    SPLAT_TRY(splat_density_begin(j->t, 0, &unused, error));
    SPLAT_TRY(splat_density_prune(j->t, iteration, args, "min_opacity_threshold", error));
    return splat_density_end(j->t, n, error);
}

splat_status splat_density_prune_masked(splat_trainer *t, int iteration, splat_error *error)
{
    job j = {.t = t};
    splat_error refused;
    uint32_t n_gone = 0;
    if (!splat_density_prunes_masked_after(&t->options, &t->scene->dataset, iteration)) return SPLAT_OK;
    splat_status status = make_room(&j, &refused);
    if (status == SPLAT_OK) status = find(&j, &n_gone, &refused);
    if (status == SPLAT_OK) status = remove_found(&j, iteration, n_gone, &refused);
    for (int i = 0; i < N_BLOCKS; i++) splat_block_free(t->backend, &j.blocks[i]);
    if (status == SPLAT_ERROR_MEMORY && !j.has_begun) {
        splat_log(t->context, SPLAT_LOG_WARNING, "iteration %d: no room to look for what masked pixels alone show, "
                  "training goes on: %s", iteration, refused.message);
        return SPLAT_OK;
    }
    if (status != SPLAT_OK && error) *error = refused;
    return status;
}
