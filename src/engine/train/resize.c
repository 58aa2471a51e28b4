/* Growth of the arrays with a row for each Gaussian: all of them or none. */
#include "train/resize.h"

#include "train/density/strategy.h"
#include "train/memory/give_up.h"
#include "train/ranks/shards.h"
#include "train/rest_state.h"
#include "train/state.h"

typedef struct resized {
    splat_row_blocks *rows;
    uint32_t old_n, n;
} resized;

/* The model last: when anything is refused, what grew goes back and the model never changed. */
static splat_status resize_all(splat_trainer *t, uint32_t old_n, uint32_t n, uint32_t n_statistics, splat_error *error)
{
    splat_backend *b = t->backend;
    const uint32_t n_deferred = splat_deferral_rows(t, n);
    const resized all[] = {{&t->moment_blocks[0], old_n, n},
                           {&t->moment_blocks[1], old_n, n},
                           {&t->deferral.rows, t->deferral.n_rows, n_deferred},
                           {&t->statistics, t->n_statistics, n_statistics},
                           {&t->bound.gradients, old_n, n},
                           {&t->strategy_rows.rows[SPLAT_ROWS_KEPT], old_n, n},
                           {&t->strategy_rows.rows[SPLAT_ROWS_SCRATCH], old_n, n},
                           {&t->regularizer_rows.rows[SPLAT_ROWS_KEPT], old_n, n},
                           {&t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH], old_n, n}};
    const int n_all = sizeof all / sizeof all[0];
    splat_status status = SPLAT_OK;
    int done = 0;
    for (; done < n_all && status == SPLAT_OK; done++)
        status = splat_row_blocks_resize(b, all[done].rows, all[done].old_n, all[done].n, error);
    if (status == SPLAT_OK)
        status = splat_model_resize(t->model, n, error);
    else
        done--; /* the one that failed is as it was */
    while (status != SPLAT_OK && done-- > 0)
        splat_row_blocks_resize(b, all[done].rows, all[done].n, all[done].old_n, NULL);
    return status == SPLAT_OK ? splat_deferral_refresh(t, n_deferred, error) : status;
}

size_t splat_trainer_growth_bytes(const splat_trainer *t, uint32_t n)
{
    const splat_row_blocks *const all[] = {&t->model->parameters,
                                           &t->moment_blocks[0],
                                           &t->moment_blocks[1],
                                           &t->bound.gradients,
                                           &t->strategy_rows.rows[SPLAT_ROWS_KEPT],
                                           &t->strategy_rows.rows[SPLAT_ROWS_SCRATCH],
                                           &t->regularizer_rows.rows[SPLAT_ROWS_KEPT],
                                           &t->regularizer_rows.rows[SPLAT_ROWS_SCRATCH],
                                           &t->shards.gradients};
    bool counts = t->strategy->wants_statistics(&t->options, t->iteration);
    size_t growth = splat_row_blocks_growth(t->backend, &t->statistics, counts ? n : 0) +
                    splat_row_blocks_growth(t->backend, &t->deferral.rows, splat_deferral_rows(t, n));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) growth += splat_row_blocks_growth(t->backend, all[i], n);
    return growth;
}

/* Working memory, which the next view takes again. */
static void release_work(splat_trainer *t)
{
    splat_region_free(t->backend, &t->model->frame.region);
    splat_region_release(t->backend, &t->backend->scratch);
    splat_batch_release(&t->shards.batch);
}

/* While memory is refused, what is left is given up; where ranks are apart, what one can do by itself. */
static splat_status resize_within(splat_trainer *t, uint32_t n, uint32_t n_statistics, splat_error *error)
{
    bool gave = n > t->model->gaussians.n;
    splat_status status = resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    if (splat_shards_are_apart(t) && t->backend->memory.limit && status == SPLAT_ERROR_MEMORY) {
        release_work(t);
        return resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    }
    gave = gave && !splat_shards_are_apart(t);
    while (status == SPLAT_ERROR_MEMORY && gave) {
        splat_error refused;
        if (splat_give_up_next(t, &gave, &refused) != SPLAT_OK) break;
        if (gave) status = resize_all(t, t->model->gaussians.n, n, n_statistics, error);
    }
    return status;
}

splat_status splat_trainer_resize_state(splat_trainer *t, uint32_t n, bool has_statistics, splat_error *error)
{
    uint32_t n_statistics = has_statistics ? n : 0;
    SPLAT_TRY(splat_rest_cache_resize(t, n, error));
    SPLAT_TRY(resize_within(t, n, n_statistics, error));
    splat_rest_cache_follow(t);
    t->n_statistics = n_statistics;
    SPLAT_TRY(splat_extra_rows_cache(&t->strategy_rows, t->backend, 0, error)); /* unknown now */
    SPLAT_TRY(splat_extra_rows_cache(&t->regularizer_rows, t->backend, 0, error));
    splat_trainer_refresh_moments(t);
    splat_give_up_set_lists(t);
    return SPLAT_OK;
}

splat_status splat_trainer_resize(splat_trainer *t, uint32_t n, splat_error *error)
{
    if (n > t->model->gaussians.n && !splat_shards_are_apart(t)) SPLAT_TRY(splat_give_up_for(t, n, error));
    return splat_trainer_resize_rows(t, n, error);
}

splat_status splat_trainer_zero_statistics(splat_trainer *t, splat_error *error)
{
    for (int i = 0; i < SPLAT_N_STATISTICS && t->n_statistics; i++)
        SPLAT_TRY(splat_backend_zero(t->backend, t->statistics.blocks[i].data, t->n_statistics * sizeof(float),
                                     error));
    return SPLAT_OK;
}

splat_status splat_trainer_resize_rows(splat_trainer *t, uint32_t n, splat_error *error)
{
    SPLAT_TRY(splat_trainer_resize_state(t, n, t->strategy->wants_statistics(&t->options, t->iteration), error));
    return splat_trainer_zero_statistics(t, error);
}

void splat_trainer_drop_statistics(splat_trainer *t, int iteration)
{
    if (t->n_statistics == 0 || t->strategy->wants_statistics(&t->options, iteration)) return;
    splat_row_blocks_resize(t->backend, &t->statistics, t->n_statistics, 0, NULL);
    t->n_statistics = 0;
}
