/* What each rank had to do: for whoever looks at balance, memory and the time between ranks. */
#include "train/ranks/shard_link.h"

#include <string.h>

void splat_shards_note_view(splat_trainer *t, uint64_t n_visible, uint64_t n_instances)
{
    t->shards.work.n_visible += n_visible;
    t->shards.work.n_instances += n_instances;
}

void splat_shards_begin_traffic(splat_trainer *t)
{
    if (t->shards.comm) t->shards.traffic = t->shards.comm->traffic;
}

void splat_shards_end_traffic(splat_trainer *t)
{
    const splat_comm *comm = t->shards.comm;
    splat_shard_work *work = &t->shards.work;
    if (!comm) return;
    work->exchange_seconds += comm->traffic.seconds - t->shards.traffic.seconds;
    work->sent_bytes += comm->traffic.sent_bytes - t->shards.traffic.sent_bytes;
    work->n_steps++;
}

/* On the device, by owner. */
static splat_rank_memory own_memory(const splat_memory *memory)
{
    size_t bytes[SPLAT_N_OWNERS] = {0};
    for (const splat_block *block = memory->blocks; block; block = block->next)
        if (block->placement != SPLAT_ON_HOST) bytes[block->owner] += block->reserved;
    return (splat_rank_memory){.parameters = bytes[SPLAT_OWNER_PARAMETERS],
                               .optimizer = bytes[SPLAT_OWNER_OPTIMIZER],
                               .statistics = bytes[SPLAT_OWNER_STATISTICS],
                               .activations = bytes[SPLAT_OWNER_TRANSIENTS],
                               .buffers = bytes[SPLAT_OWNER_LISTS] + bytes[SPLAT_OWNER_EVALUATION],
                               .images = bytes[SPLAT_OWNER_IMAGES],
                               .other = bytes[SPLAT_OWNER_OTHER]};
}

static splat_rank_info own_info(const splat_trainer *t)
{
    const splat_shard_work *work = &t->shards.work;
    const splat_memory_count *memory = &t->backend->memory.device;
    const double n = work->n_steps ? (double)work->n_steps : 1;
    splat_rank_info info;
    memset(&info, 0, sizeof info); /* its padding is sent, too */
    info.peak_bytes = memory->peak_reserved;
    info.n_visible = (double)work->n_visible / n;
    info.n_instances = (double)work->n_instances / n;
    info.exchange_ms = 1e3 * work->exchange_seconds / n;
    info.sent_bytes = (double)work->sent_bytes / n;
    info.stages = work->stages;
    info.memory = own_memory(&t->backend->memory);
    return info;
}

splat_status splat_shards_send_info(splat_trainer *t, splat_rank_info *all, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    splat_rank_info own = own_info(t);
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    out[0] = (splat_comm_part){&own, sizeof own};
    for (int r = 0; r < comm->size && comm->rank == 0; r++) in[r] = (splat_comm_part){&all[r], sizeof *all};
    return splat_comm_exchange(comm, out, in, error);
}

splat_status splat_trainer_get_ranks(splat_trainer *t, splat_rank_info *ranks, size_t capacity, size_t *n,
                                     splat_error *error)
{
    splat_rank_info all[SPLAT_MAX_RANKS];
    *n = 0;
    if (!t->shards.comm) return SPLAT_OK;
    if (splat_shards_is_worker(t))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rank 0 knows of the ranks; the others serve");
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_REPORT, error));
    SPLAT_TRY(splat_shards_send_info(t, all, error));
    *n = (size_t)t->shards.comm->size;
    memcpy(ranks, all, (*n < capacity ? *n : capacity) * sizeof *ranks);
    return SPLAT_OK;
}
