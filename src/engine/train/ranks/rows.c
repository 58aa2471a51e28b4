/* Rows move as words, whatever they hold, in pieces: what is under way takes little memory. */
#include "train/ranks/rows.h"

#include "distributed/device_exchange.h"
#include "model/rest.h"
#include "ops/share/share.h"
#include "train/ranks/shards.h"
#include "train/resize.h"

/* ---------------------------------------------------------------- all rows at rank 0, and back */

static splat_status staging(splat_trainer *t, size_t bytes, void **data, splat_error *error)
{
    SPLAT_TRY(splat_block_ensure(t->backend, &t->shards.staging, "ranks.staging", SPLAT_OWNER_LISTS, bytes, error));
    *data = t->shards.staging.data;
    return SPLAT_OK;
}

/* Rows of an array that move at a time. */
static uint32_t most_rows(const splat_trainer *t, const splat_state_array *array)
{
    const size_t n = t->shards.piece_bytes / (array->words * sizeof(uint32_t));
    return n < 1 ? 1 : n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)n;
}

/* The number of these rows that a rank has from its row `first` on. */
static uint32_t piece_rows(uint32_t most, uint32_t n_all, int rank, int size, uint32_t first)
{
    const uint32_t count = splat_shard_count(n_all, rank, size), left = count > first ? count - first : 0;
    return left < most ? left : most;
}

/* n rows between an array of all Gaussians, where they are those of `rank` from its row `first` on, and memory where
 * they lie side by side. */
static splat_status copy_rows(splat_trainer *t, const splat_state_array *array, int rank, uint32_t first, uint32_t n,
                              void *side_by_side, bool to_all, splat_error *error)
{
    const size_t size = (size_t)t->shards.comm->size, in_all = (size_t)rank + first * size;
    const struct splat_share_rows_args args = {.to = to_all ? array->device : side_by_side,
                                               .from = to_all ? side_by_side : array->device,
                                               .to_first = to_all ? in_all : 0,
                                               .to_stride = to_all ? size : 1,
                                               .from_first = to_all ? 0 : in_all,
                                               .from_stride = to_all ? 1 : size,
                                               .n = n,
                                               .words = array->words};
    return splat_op_share_rows(t->backend, &args, error);
}

/* Between rank 0's array of all rows and the rows of the others. */
static splat_status move_piece(splat_trainer *t, const splat_state_array *array, uint32_t n, uint32_t first,
                               bool to_others, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    const int size = comm->size, rank = comm->rank;
    const uint32_t most = most_rows(t, array);
    const size_t row = (size_t)array->words * 4;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    if (rank > 0) {
        splat_comm_part local = {(char *)array->device + first * row, piece_rows(most, n, rank, size, first) * row};
        *(to_others ? &in[0] : &out[0]) = local;
        return splat_device_exchange(comm, t->backend, out, in, error);
    }
    void *data;
    SPLAT_TRY(staging(t, (size_t)size * piece_rows(most, n, 0, size, first) * row, &data, error));
    for (int r = 1; r < size; r++) {
        char *at = (char *)data + (size_t)r * piece_rows(most, n, 0, size, first) * row;
        const uint32_t n_rows = piece_rows(most, n, r, size, first);
        *(to_others ? &out[r] : &in[r]) = (splat_comm_part){at, n_rows * row};
        if (to_others) SPLAT_TRY(copy_rows(t, array, r, first, n_rows, at, false, error));
    }
    SPLAT_TRY(splat_device_exchange(comm, t->backend, out, in, error));
    for (int r = 1; r < size && !to_others; r++)
        SPLAT_TRY(copy_rows(t, array, r, first, piece_rows(most, n, r, size, first), in[r].data, true, error));
    return SPLAT_OK;
}

/* Every array of the state; rank 0 is the one with most rows, so all make as many exchanges. */
static splat_status move_all(splat_trainer *t, uint32_t n, bool to_others, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_row_arrays(t, arrays), size = t->shards.comm->size;
    for (int i = 0; i < n_arrays; i++)
        for (uint32_t first = 0; arrays[i].rows && arrays[i].words && first < splat_shard_count(n, 0, size);
             first += most_rows(t, &arrays[i]))
            SPLAT_TRY(move_piece(t, &arrays[i], n, first, to_others, error));
    return SPLAT_OK;
}

/* Moves rank 0's own rows to their places among all, or back, by way of other memory, from the side where no row is
 * overwritten before it has moved. */
static splat_status spread_array(splat_trainer *t, const splat_state_array *array, uint32_t n_own, bool to_all,
                                 splat_error *error)
{
    const size_t row = (size_t)array->words * 4;
    void *staged;
    if (!array->rows || !row || !n_own) return SPLAT_OK;
    const uint32_t most = most_rows(t, array) < n_own ? most_rows(t, array) : n_own, n_pieces = (n_own - 1) / most + 1;
    SPLAT_TRY(staging(t, most * row, &staged, error));
    for (uint32_t piece = 0; piece < n_pieces; piece++) {
        const uint32_t first = (to_all ? n_pieces - 1 - piece : piece) * most, left = n_own - first;
        const uint32_t n = left < most ? left : most;
        char *local = (char *)array->device + first * row;
        if (to_all) SPLAT_TRY(splat_backend_copy(t->backend, staged, local, n * row, error));
        SPLAT_TRY(copy_rows(t, array, 0, first, n, staged, to_all, error));
        if (!to_all) SPLAT_TRY(splat_backend_copy(t->backend, local, staged, n * row, error));
    }
    return SPLAT_OK;
}

static splat_status spread_own(splat_trainer *t, uint32_t n_own, bool to_all, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_row_arrays(t, arrays);
    for (int i = 0; i < n_arrays; i++) SPLAT_TRY(spread_array(t, &arrays[i], n_own, to_all, error));
    return SPLAT_OK;
}

splat_status splat_shard_rows_gather(splat_trainer *t, uint32_t n, splat_error *error)
{
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    SPLAT_TRY(splat_extra_rows_cache(&t->strategy_rows, t->backend, 0, error)); /* rank 0's go as its rows grow */
    SPLAT_TRY(splat_extra_rows_cache(&t->regularizer_rows, t->backend, 0, error));
    if (t->shards.comm->rank == 0) {
        const uint32_t n_own = t->model->gaussians.n;
        SPLAT_TRY(splat_trainer_resize_state(t, n, t->n_statistics > 0, error));
        SPLAT_TRY(spread_own(t, n_own, true, error));
    }
    return move_all(t, n, false, error);
}

splat_status splat_shard_rows_deal(splat_trainer *t, uint32_t n, splat_error *error)
{
    SPLAT_TRY(move_all(t, n, true, error));
    if (t->shards.comm->rank > 0) return SPLAT_OK;
    const uint32_t n_own = splat_shard_count(n, 0, t->shards.comm->size);
    SPLAT_TRY(spread_own(t, n_own, false, error));
    return splat_trainer_resize_state(t, n_own, t->n_statistics > 0, error);
}

splat_status splat_trainer_gather(splat_trainer *t, splat_error *error)
{
    splat_error local;
    if (!splat_shards_are_apart(t) || splat_shards_is_worker(t)) return SPLAT_OK;
    const uint32_t n = t->shards.n_all;
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_GATHER, error));
    SPLAT_TRY(splat_shards_fail(t, splat_shard_rows_gather(t, n, &local), &local, error));
    t->shards.is_whole = true;
    return SPLAT_OK;
}

splat_status splat_shards_deal(splat_trainer *t, splat_error *error)
{
    splat_error local;
    const uint32_t n = t->model->gaussians.n;
    if (!t->shards.is_whole) return SPLAT_OK;
    SPLAT_TRY(splat_shards_check_count(t, n, error));
    SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_DEAL, error));
    splat_status status = splat_shards_fail(t, splat_shard_rows_deal(t, n, &local), &local, error);
    t->shards.is_whole = false;
    t->shards.n_all = n;
    return status;
}

/* ---------------------------------------------------------------- as many rows on every rank */

typedef struct leveling {
    uint32_t n_before, n_after;                                /* own rows */
    uint64_t sent[SPLAT_MAX_RANKS], received[SPLAT_MAX_RANKS]; /* rows to and from each rank */
} leveling;

/* Those with too many give to those with too few, both in the order of the ranks. */
static void match(uint64_t *counts, const uint64_t *wanted, int size, int rank, leveling *local)
{
    int to = 0;
    for (int from = 0; from < size; from++)
        while (counts[from] > wanted[from]) {
            while (counts[to] >= wanted[to]) to++;
            const uint64_t over = counts[from] - wanted[from], under = wanted[to] - counts[to];
            const uint64_t n = over < under ? over : under;
            counts[from] -= n;
            counts[to] += n;
            if (from == rank) local->sent[to] += n;
            if (to == rank) local->received[from] += n;
        }
}

/* The rows after those that stay go, one rank's after the other; those that come lie after the own. */
static splat_status level_array(splat_trainer *t, const splat_state_array *array, const leveling *local,
                                splat_error *error)
{
    const size_t row = (size_t)array->words * 4;
    if (!array->rows || !row) return SPLAT_OK;
    return splat_device_exchange_rows(t->shards.comm, t->backend, row, (char *)array->device + local->n_after * row,
                                      local->sent, (char *)array->device + local->n_before * row, local->received,
                                      error);
}

static splat_status level_rows(splat_trainer *t, const leveling *local, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_row_arrays(t, arrays);
    for (int i = 0; i < n_arrays; i++) SPLAT_TRY(level_array(t, &arrays[i], local, error));
    return SPLAT_OK;
}

splat_status splat_shards_level(splat_trainer *t, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    uint64_t counts[SPLAT_MAX_RANKS], wanted[SPLAT_MAX_RANKS], n_all = 0, n_moved = 0;
    leveling local = {.n_before = t->model->gaussians.n};
    if (!splat_shards_are_apart(t)) return SPLAT_OK;
    SPLAT_TRY(splat_comm_share_u64(comm, local.n_before, counts, error));
    for (int r = 0; r < comm->size; r++) n_all += counts[r];
    if (n_all > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "density control would make %llu Gaussians; a model holds %u",
                          (unsigned long long)n_all, UINT32_MAX);
    for (int r = 0; r < comm->size; r++) {
        wanted[r] = splat_shard_count((uint32_t)n_all, r, comm->size);
        n_moved += counts[r] > wanted[r];
    }
    match(counts, wanted, comm->size, comm->rank, &local);
    local.n_after = (uint32_t)wanted[comm->rank];
    t->shards.n_all = (uint32_t)n_all;
    if (n_moved == 0) return SPLAT_OK;
    const bool counts_views = t->n_statistics > 0, grows = local.n_after > local.n_before;
    if (grows) SPLAT_TRY(splat_trainer_resize_state(t, local.n_after, counts_views, error));
    SPLAT_TRY(level_rows(t, &local, error));
    return grows ? SPLAT_OK : splat_trainer_resize_state(t, local.n_after, counts_views, error);
}
