/* Neither deferred steps nor the cache change a bit of a result: checkpoints know nothing of them. */
#include "train/rest_state.h"

#include "model/rest.h"


/* ---------------------------------------------------------------- steps that are put off */

#define GRADIENT_WORDS 4
#define DIRECTION_WORDS 3

static bool is_float32(const splat_train_options *o)
{
    return o->sh_storage == SPLAT_SH_FLOAT32 && o->optimizer_storage == SPLAT_OPTIMIZER_FLOAT32;
}

bool splat_defers_rest(bool backend_can, const splat_train_options *o, uint32_t n_slots)
{
    return backend_can && o->sh_degree > 0 && (n_slots > 1 || is_float32(o)) &&
           splat_place_of_moments(o) == SPLAT_ON_DEVICE;
}

uint32_t splat_deferral_slots(const splat_train_options *o)
{
    return o->ranks ? (uint32_t)o->ranks->size : 1;
}

void splat_deferral_describe(splat_row_blocks *rows, uint32_t n_slots)
{
    rows->owner = SPLAT_OWNER_OPTIMIZER;
    splat_row_blocks_add(rows, "deferred.gradient", SPLAT_TYPE_FLOAT32, GRADIENT_WORDS * n_slots);
    splat_row_blocks_add(rows, "deferred.direction", SPLAT_TYPE_FLOAT32, DIRECTION_WORDS * n_slots);
    if (n_slots > 1) splat_row_blocks_add(rows, "deferred.made", SPLAT_TYPE_FLOAT32, 1); /* bits of a count */
}

uint32_t splat_deferral_rows(const splat_trainer *t, uint32_t n)
{
    return splat_defers_rest(t->backend->defers_rest, &t->options, splat_deferral_slots(&t->options)) ? n : 0;
}

splat_status splat_deferral_refresh(splat_trainer *t, uint32_t n_rows, splat_error *error)
{
    splat_deferral *d = &t->deferral;
    const uint32_t n_slots = splat_deferral_slots(&t->options);
    d->n_rows = n_rows;
    t->model->rest.deferred = NULL;
    if (n_rows == 0) return SPLAT_OK;
    SPLAT_TRY(splat_block_ensure(t->backend, &d->steps, "deferred.steps", SPLAT_OWNER_OPTIMIZER,
                                 SPLAT_MAX_DEFERRED * 2 * sizeof(float), error));
    d->rest = (splat_deferred_rest){.gradient = d->rows.blocks[0].data,
                                    .direction = d->rows.blocks[1].data,
                                    .steps = d->steps.data,
                                    .n_slots = n_slots,
                                    .made = n_slots > 1 ? d->rows.blocks[2].data : NULL,
                                    .at_once = n_slots > 1 && !is_float32(&t->options)};
    t->model->rest.deferred = &d->rest;
    return SPLAT_OK;
}

void splat_deferral_free(splat_deferral *deferral, splat_backend *backend)
{
    splat_row_blocks_free(backend, &deferral->rows);
    splat_block_free(backend, &deferral->steps);
}

/* ---------------------------------------------------------------- the cache of rows from the host */

#define MOST_SHARE 0.75 /* of all rows are kept at most: the more, the fewer cross the bus */
#define LEAST_SHARE 32  /* fewer are not worth it */
#define KEPT_SHARE 0.68 /* through density control, without a limit: until growth leaves it a smaller share of rows, */
#define MOST_KEPT 0.82  /* or pruning a larger one */
#define SLACK 4         /* so many times fewer Gaussians than there are may come while it is there */
#define STEPS_UNTIL_SETTLED 8   /* below a limit: until working memory is as large as views make it */
#define STEPS_UNTIL_RETRIED 100 /* after memory was short */

static bool has_use(const splat_trainer *t)
{
    const splat_train_options *o = &t->options;
    return t->backend->caches_rest && o->sh_degree > 0 && splat_place_of_moments(o) == SPLAT_ON_HOST &&
           !o->regularizer && !o->binding && !o->ranks && t->model->gaussians.active_sh_degree > 0;
}

static splat_rest_cache cache_of(const splat_trainer *t, uint32_t n_slots)
{
    const splat_train_options *o = &t->options;
    const int rest = SPLAT_TENSOR_sh_rest;
    const bool quantized = o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    const uint32_t n = t->model->gaussians.n;
    splat_rest_cache rows = {.n_slots = n_slots,
                             .n_rows = n + n / SLACK,
                             .rest_words = o->sh_offload ? t->model->parameters.words[rest] : 0,
                             .moment_words = t->moment_blocks[0].words[rest],
                             .is_empty = true};
    rows.home_moments[0] = t->moment_blocks[0].blocks[rest].data;
    rows.home_moments[1] = quantized ? NULL : t->moment_blocks[1].blocks[rest].data;
    return rows;
}

static size_t bytes_of(const splat_trainer *t, uint32_t n_slots)
{
    size_t zeroed;
    splat_rest_cache rows = cache_of(t, n_slots);
    return splat_rest_cache_cut(&rows, NULL, &zeroed);
}

/* Slots of the cache. A part of the limit stays free: working memory that grows a little must not cost the cache. */
static uint32_t slots_that_fit(const splat_trainer *t)
{
    const splat_memory *memory = &t->backend->memory;
    uint32_t low = 0, high = (uint32_t)(MOST_SHARE * t->model->gaussians.n);
    size_t working = t->model->frame.region.block.reserved + t->backend->scratch.block.reserved;
    size_t kept = memory->device.reserved + working / 8 + 2 * t->backend->granularity;
    if (!memory->limit) return high;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (kept + bytes_of(t, middle) <= memory->limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Memory was refused to something else. */
static void yield(void *trainer)
{
    splat_trainer *t = trainer;
    splat_rest_rows rows;
    /* a failure is the device's, and the next call reports it */
    splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, NULL);
    t->model->rest.cache = NULL;
    t->caching.rows.n_slots = 0;
    t->caching.waits = STEPS_UNTIL_RETRIED;
    splat_block_free(t->backend, &t->caching.block);
}

void splat_rest_cache_prepare(splat_trainer *t)
{
    splat_rest_caching *caching = &t->caching;
    const uint32_t n = t->model->gaussians.n;
    size_t zeroed;
    if (caching->rows.n_slots || !has_use(t)) return;
    if (caching->waits > 0) {
        caching->waits--;
        return;
    }
    caching->waits = STEPS_UNTIL_RETRIED;
    const uint32_t n_slots = slots_that_fit(t);
    if (n_slots == 0 || n_slots < n / LEAST_SHARE) return;
    if (splat_block_resize(t->backend, &caching->block, "cached rows of sh_rest", SPLAT_OWNER_TRANSIENTS,
                           bytes_of(t, n_slots), NULL) != SPLAT_OK)
        return;
    caching->block.yield = yield;
    caching->block.yield_user = t;
    caching->rows = cache_of(t, n_slots);
    splat_rest_cache_cut(&caching->rows, caching->block.data, &zeroed);
    if (splat_backend_zero(t->backend, caching->block.data, zeroed, NULL) != SPLAT_OK) {
        caching->rows.n_slots = 0;
        return;
    }
    t->model->rest.cache = &caching->rows;
}

splat_status splat_rest_cache_drop(splat_trainer *t, splat_error *error)
{
    const bool limited = t->backend->memory.limit > 0;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    t->model->rest.cache = NULL;
    t->caching.rows.n_slots = 0;
    t->caching.waits = limited ? STEPS_UNTIL_SETTLED : 0;
    if (limited) splat_block_free(t->backend, &t->caching.block);
    return SPLAT_OK;
}

splat_status splat_rest_cache_resize(splat_trainer *t, uint32_t n, splat_error *error)
{
    const splat_rest_cache *rows = &t->caching.rows;
    const bool grows = n > t->model->gaussians.n, fits = n <= rows->n_rows;
    const bool is_of_use = rows->n_slots >= KEPT_SHARE * n && rows->n_slots <= MOST_KEPT * n;
    const bool stays = !t->backend->memory.limit && fits && (grows || is_of_use);
    splat_rest_rows moving;
    if (rows->n_slots && !stays) return splat_rest_cache_drop(t, error);
    return splat_rest_open(t->model, SPLAT_REST_MOVE, &moving, error);
}

void splat_rest_cache_follow(splat_trainer *t)
{
    const splat_rest_cache now = cache_of(t, t->caching.rows.n_slots);
    for (int i = 0; i < 2; i++) t->caching.rows.home_moments[i] = now.home_moments[i];
}

void splat_rest_cache_free(splat_trainer *t)
{
    splat_block_free(t->backend, &t->caching.block);
}
