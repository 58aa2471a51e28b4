/* What a trainer knows of the other ranks; what they cannot train with; and how they are told things. */
#include "distributed/device_exchange.h"
#include "train/ranks/shard_link.h"
#include "train/ranks/way.h"

#include <string.h>

typedef struct refusal {
    bool is_asked;
    const char *what;
} refusal;

static splat_status refuse(const splat_trainer *t, bool is_limited, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    const refusal refusals[] = {
        {o->binding != NULL, "Gaussians that are bound to a mesh"},
        {o->sh_offload, "`sh_offload`"},
        {o->moments_offload, "moments in host memory"},
        {is_limited && o->regularizer, "a memory limit (`vram_limit`) and the losses of coarse training"},
        {is_limited && dataset->n_masked > 0 && dataset->mask_mode == SPLAT_MASKS_IGNORE,
         "a memory limit (`vram_limit`) and masks of what shall be ignored, which one rank looks for in all Gaussians"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].is_asked)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                              "several ranks cannot train with %s; leave it out, or train with one", refusals[i].what);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- memory limits */

/* Each rank has its own, those that were given none the least of the others'. */
static splat_status share_limits(splat_trainer *t, bool *is_limited, splat_error *error)
{
    const splat_comm *comm = t->options.ranks;
    uint64_t all[SPLAT_MAX_RANKS], least = 0;
    const size_t own = t->backend->memory.process_limit;
    SPLAT_TRY(splat_comm_share_u64(t->options.ranks, own, all, error));
    for (int r = 0; r < comm->size; r++)
        if (all[r] && (!least || all[r] < least)) least = all[r];
    *is_limited = least > 0;
    return least && !own ? splat_context_set_memory_limit(t->context, least, error) : SPLAT_OK;
}

static uint64_t least_bound(uint64_t a, uint64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* What ranks may have planned each for itself: all begin in the form that the one with the least memory needs, and none
 * gives up what ranks cannot do without. */
static splat_status share_plans(splat_trainer *t, splat_error *error)
{
    enum { N = 6 };
    splat_train_options *o = &t->options;
    uint64_t own[N] = {o->photos_on_host,        o->sh_storage == SPLAT_SH_FLOAT16,
                       o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED,
                       o->max_gaussians,         o->target_gaussian_count,
                       (uint64_t)o->may_give_up};
    uint64_t all[SPLAT_MAX_RANKS];
    for (int i = 0; i < N; i++) {
        SPLAT_TRY(splat_comm_share_u64(o->ranks, own[i], all, error));
        for (int r = 0; r < o->ranks->size; r++)
            own[i] = i < 3 ? own[i] | all[r] : i < 5 ? least_bound(own[i], all[r]) : own[i] & all[r];
    }
    o->photos_on_host = own[0];
    if (own[1]) o->sh_storage = SPLAT_SH_FLOAT16;
    if (own[2]) o->optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
    o->max_gaussians = (size_t)own[3];
    o->target_gaussian_count = (size_t)own[4];
    o->may_give_up = (int)(own[5] & splat_ranks_may_give_up(t->backend->device_bytes > 0));
    return SPLAT_OK;
}

/* What exchanges take of a device is the driver's share of the limit, and there after the first one. */
static splat_status try_exchange(splat_trainer *t, splat_error *error)
{
    enum { BYTES = 4096 };
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    SPLAT_TRY(splat_block_ensure(t->backend, &t->shards.staging, "ranks.staging", SPLAT_OWNER_LISTS,
                                 2 * BYTES * (size_t)comm->size, error));
    for (int r = 0; r < comm->size; r++) {
        const size_t bytes = r == comm->rank ? 0 : BYTES;
        out[r] = (splat_comm_part){(char *)t->shards.staging.data + 2 * BYTES * (size_t)r, bytes};
        in[r] = (splat_comm_part){(char *)out[r].data + BYTES, bytes};
    }
    SPLAT_TRY(splat_device_exchange(comm, t->backend, out, in, error));
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    splat_block_free(t->backend, &t->shards.staging);
    splat_memory_update_limit(t->backend);
    return SPLAT_OK;
}

/* What a batch sums over its views. */
static void describe_sums(splat_trainer *t)
{
    static const char *const names[2][SPLAT_N_TENSORS] = {{
#define SPLAT_TENSOR(name, ...) "ranks.gradients." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    }, {
#define SPLAT_TENSOR(name, ...) "ranks.squares." #name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    }};
    splat_row_blocks *const sums[] = {&t->shards.gradients, &t->shards.squares};
    const bool defers = splat_deferral_rows(t, 1) > 0; /* then sh_rest's wait elsewhere */
    for (int k = 0; k < 2; k++) {
        sums[k]->owner = SPLAT_OWNER_LISTS;
        for (int i = 0; i < SPLAT_N_TENSORS; i++)
            splat_row_blocks_add(sums[k], names[k][i], SPLAT_TYPE_FLOAT32,
                                 defers && i == SPLAT_TENSOR_sh_rest
                                     ? 0
                                     : splat_tensor_channels(i, t->options.sh_degree));
    }
}

splat_status splat_shards_init(splat_trainer *t, splat_error *error)
{
    const splat_train_options *o = &t->options;
    bool is_limited;
    if (!o->ranks || o->ranks->size == 1) return SPLAT_OK;
    if (o->ranks->rank == 0) o->ranks->log = t->context;
    SPLAT_TRY(splat_shards_compare_options(t, error));
    SPLAT_TRY(share_limits(t, &is_limited, error));
    SPLAT_TRY(refuse(t, is_limited || o->max_instances > 0 || o->may_give_up, error));
    SPLAT_TRY(share_plans(t, error));
    t->shards.comm = o->ranks;
    t->way = &splat_way_batch;
    t->shards.is_whole = true;
    t->shards.piece_bytes = (size_t)16 << 20;
    SPLAT_TRY(splat_shards_share_photos(t, error));
    SPLAT_TRY(splat_device_join(o->ranks, t->backend, error));
    if (is_limited) SPLAT_TRY(try_exchange(t, error));
    SPLAT_TRY(splat_batch_init(&t->shards.batch, o->ranks, t->backend, error)); /* evaluations deal views, too */
    t->shards.batch.agrees = is_limited;
    describe_sums(t);
    return splat_shard_views_init(t, error);
}

splat_trainer *splat_shards_sharer(splat_trainer *t)
{
    return t->shards.comm ? t : NULL;
}

bool splat_shards_leads(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank == 0;
}

bool splat_shards_is_stopped(const splat_trainer *t)
{
    return t->stop_requested || (splat_shards_leads(t) && splat_comm_is_interrupted(t->shards.comm));
}

bool splat_shards_is_worker(const splat_trainer *t)
{
    return t->shards.comm && t->shards.comm->rank > 0;
}

bool splat_shards_are_apart(const splat_trainer *t)
{
    return t->shards.comm && !t->shards.is_whole;
}

uint32_t splat_shards_count(const splat_trainer *t)
{
    return splat_shards_are_apart(t) ? t->shards.n_all : t->model->gaussians.n;
}

void splat_shards_rows(const splat_trainer *t, uint32_t *first, uint32_t *stride)
{
    *first = splat_shards_are_apart(t) ? (uint32_t)t->shards.comm->rank : 0;
    *stride = splat_shards_are_apart(t) ? (uint32_t)t->shards.comm->size : 1;
}

void splat_order_make(const splat_trainer *t, splat_order_kind kind, splat_order *o)
{
    memset(o, 0, sizeof *o); /* its padding is sent, too */
    o->kind = kind;
    o->n_all = t->model ? splat_shards_count(t) : 0;
    o->iteration = t->iteration;
    o->last_density_control = t->last_density_control;
    memcpy(o->adam_steps, t->adam_steps, sizeof o->adam_steps);
    o->has_statistics = t->n_statistics > 0;
    o->measures_stages = t->measures_stages;
    o->active_sh_degree = t->model ? t->model->gaussians.active_sh_degree : 0;
    o->look = (splat_run_look){t->model ? t->model->render_mode : SPLAT_RENDER_MIP,
                               t->model ? t->model->kernel_size : 0, t->regularizer_constant};
}

splat_status splat_order_give(const splat_trainer *t, splat_order *order, splat_error *error)
{
    return splat_comm_broadcast(t->shards.comm, 0, order, sizeof *order, error);
}

splat_status splat_shards_order(const splat_trainer *t, splat_order_kind kind, splat_error *error)
{
    splat_order o;
    splat_order_make(t, kind, &o);
    return splat_order_give(t, &o, error);
}

splat_status splat_shards_fail(const splat_trainer *t, splat_status status, const splat_error *own,
                               splat_error *error)
{
    if (status == SPLAT_OK) return status;
    if (t->shards.comm && status != SPLAT_ERROR_RANK) splat_comm_fail(t->shards.comm, own);
    if (error) *error = *own;
    return status;
}

void splat_shards_free(splat_trainer *t)
{
    if (t->shards.comm && !splat_shards_is_worker(t)) splat_shards_order(t, SPLAT_ORDER_END, NULL);
    if (t->shards.batch.comm) splat_batch_free(&t->shards.batch);
    splat_row_blocks_free(t->backend, &t->shards.gradients);
    splat_row_blocks_free(t->backend, &t->shards.squares);
    splat_block_free(t->backend, &t->shards.staging);
    splat_shard_views_free(t);
    if (t->options.ranks) t->options.ranks->log = NULL; /* the context may end before the ranks do */
}
