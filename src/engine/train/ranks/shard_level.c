/* As many rows on every rank, after density control of those that each has. */
#include "distributed/device_exchange.h"
#include "train/ranks/shard_rows.h"

typedef struct leveling {
    uint32_t n_before, n_after;                                /* own rows */
    uint64_t sent[SPLAT_MAX_RANKS], received[SPLAT_MAX_RANKS]; /* rows to and from each rank */
} leveling;

/* Those with too many give to those with too few, both in the order of the ranks. */
static void match(uint64_t *counts, const uint64_t *wanted, int size, int rank, leveling *own)
{
    int to = 0;
    for (int from = 0; from < size; from++)
        while (counts[from] > wanted[from]) {
            while (counts[to] >= wanted[to]) to++;
            const uint64_t over = counts[from] - wanted[from], under = wanted[to] - counts[to];
            const uint64_t n = over < under ? over : under;
            counts[from] -= n;
            counts[to] += n;
            if (from == rank) own->sent[to] += n;
            if (to == rank) own->received[from] += n;
        }
}

/* The rows after those that stay go, one rank's after the other; those that come lie after the own. */
static splat_status move_array(splat_trainer *t, const splat_state_array *array, const leveling *own,
                               splat_error *error)
{
    const size_t row = (size_t)array->words * 4;
    if (!array->rows || !row) return SPLAT_OK;
    return splat_device_exchange_rows(t->shards.comm, t->backend, row, (char *)array->device + own->n_after * row,
                                      own->sent, (char *)array->device + own->n_before * row, own->received, error);
}

static splat_status move_rows(splat_trainer *t, const leveling *own, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_row_arrays(t, arrays);
    for (int i = 0; i < n_arrays; i++) SPLAT_TRY(move_array(t, &arrays[i], own, error));
    return SPLAT_OK;
}

splat_status splat_shards_level(splat_trainer *t, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    uint64_t counts[SPLAT_MAX_RANKS], wanted[SPLAT_MAX_RANKS], n_all = 0, n_moved = 0;
    leveling own = {.n_before = t->model->gaussians.n};
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    SPLAT_TRY(splat_comm_share_u64(comm, own.n_before, counts, error));
    for (int r = 0; r < comm->size; r++) n_all += counts[r];
    if (n_all > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density control would make %llu Gaussians; a model holds %u",
                          (unsigned long long)n_all, UINT32_MAX);
    for (int r = 0; r < comm->size; r++) {
        wanted[r] = splat_shard_count((uint32_t)n_all, r, comm->size);
        n_moved += counts[r] > wanted[r];
    }
    match(counts, wanted, comm->size, comm->rank, &own);
    own.n_after = (uint32_t)wanted[comm->rank];
    t->shards.n_all = (uint32_t)n_all;
    if (n_moved == 0) return SPLAT_OK;
    const bool counts_views = t->n_statistics > 0, grows = own.n_after > own.n_before;
    if (grows) SPLAT_TRY(splat_trainer_resize_state(t, own.n_after, counts_views, error));
    SPLAT_TRY(move_rows(t, &own, error));
    return grows ? SPLAT_OK : splat_trainer_resize_state(t, own.n_after, counts_views, error);
}
