/* Rows move as words, whatever they hold, in pieces: what is under way takes little memory. */
#include "train/shard_rows.h"

#include <string.h>

#define PIECE_ROWS 16384u

uint32_t splat_shard_count(uint32_t n, int rank, int size)
{
    return n > (uint32_t)rank ? (n - (uint32_t)rank - 1) / (uint32_t)size + 1 : 0;
}

static splat_status staging(splat_trainer *t, size_t bytes, void **data, splat_error *error)
{
    SPLAT_TRY(splat_block_ensure(t->backend, &t->shards.staging, "ranks.staging", SPLAT_OWNER_LISTS, bytes, error));
    *data = t->shards.staging.data;
    return SPLAT_OK;
}

/* Rows [first, first + *n) of a rank in a piece. */
static uint32_t piece_rows(uint32_t n_all, int rank, int size, uint32_t first)
{
    const uint32_t count = splat_shard_count(n_all, rank, size), left = count > first ? count - first : 0;
    return left < PIECE_ROWS ? left : PIECE_ROWS;
}

/* Row k of a piece of `rank` that begins at its row `first`, in the array of all. */
static char *whole_row(const splat_state_array *array, int rank, int size, uint32_t first, uint32_t k)
{
    return (char *)array->device + ((size_t)(first + k) * (size_t)size + (size_t)rank) * array->words * 4;
}

/* Between rank 0's array of all rows and the rows of the others. */
static splat_status move_piece(splat_trainer *t, const splat_state_array *array, uint32_t n, uint32_t first,
                               bool to_all, splat_error *error)
{
    const int size = t->shards.comm->size, rank = t->shards.comm->rank;
    const size_t row = (size_t)array->words * 4;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    if (rank > 0) {
        splat_comm_part own = {(char *)array->device + first * row, piece_rows(n, rank, size, first) * row};
        *(to_all ? &in[0] : &out[0]) = own;
        return splat_comm_exchange(t->shards.comm, out, in, error);
    }
    void *data;
    SPLAT_TRY(staging(t, (size_t)size * PIECE_ROWS * row, &data, error));
    for (int r = 1; r < size; r++) {
        char *at = (char *)data + (size_t)r * PIECE_ROWS * row;
        const uint32_t n_rows = piece_rows(n, r, size, first);
        *(to_all ? &out[r] : &in[r]) = (splat_comm_part){at, n_rows * row};
        for (uint32_t k = 0; to_all && k < n_rows; k++, at += row) memcpy(at, whole_row(array, r, size, first, k), row);
    }
    SPLAT_TRY(splat_comm_exchange(t->shards.comm, out, in, error));
    for (int r = 1; r < size && !to_all; r++) {
        const char *at = in[r].data;
        const uint32_t n_rows = piece_rows(n, r, size, first);
        for (uint32_t k = 0; k < n_rows; k++, at += row) memcpy(whole_row(array, r, size, first, k), at, row);
    }
    return SPLAT_OK;
}

/* Every array of the state; rank 0 is the one with most rows, so all make as many exchanges. */
static splat_status move_all(splat_trainer *t, uint32_t n, bool to_all, splat_error *error)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_state_arrays(t, arrays), size = t->shards.comm->size;
    for (int i = 0; i < n_arrays; i++)
        for (uint32_t first = 0; arrays[i].rows && arrays[i].words && first < splat_shard_count(n, 0, size);
             first += PIECE_ROWS)
            SPLAT_TRY(move_piece(t, &arrays[i], n, first, to_all, error));
    return SPLAT_OK;
}

/* Rank 0's own rows to their places among all, or back; from the side where none is overwritten. */
static void spread_own(splat_trainer *t, uint32_t n_own, bool to_all)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    const int n_arrays = splat_trainer_state_arrays(t, arrays), size = t->shards.comm->size;
    for (int i = 0; i < n_arrays; i++) {
        const size_t row = (size_t)arrays[i].words * 4;
        char *own = arrays[i].device;
        for (uint32_t k = 1; arrays[i].rows && row && k < n_own; k++) {
            const uint32_t at = to_all ? k : n_own - k;
            char *whole = whole_row(&arrays[i], 0, size, 0, at);
            memcpy(to_all ? own + at * row : whole, to_all ? whole : own + at * row, row);
        }
    }
}

splat_status splat_shard_rows_gather(splat_trainer *t, uint32_t n, splat_error *error)
{
    if (t->shards.comm->rank == 0) {
        const uint32_t n_own = t->model->gaussians.n;
        SPLAT_TRY(splat_trainer_resize_state(t, n, t->n_statistics > 0, error));
        spread_own(t, n_own, false);
    }
    return move_all(t, n, false, error);
}

splat_status splat_shard_rows_deal(splat_trainer *t, uint32_t n, splat_error *error)
{
    SPLAT_TRY(move_all(t, n, true, error));
    if (t->shards.comm->rank > 0) return SPLAT_OK;
    const uint32_t n_own = splat_shard_count(n, 0, t->shards.comm->size);
    spread_own(t, n_own, true);
    return splat_trainer_resize_state(t, n_own, t->n_statistics > 0, error);
}
