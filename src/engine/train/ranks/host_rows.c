/* Rows of the whole model between host memory of rank 0 and the ranks that have them, in pieces: what is saved and
 * loaded is on no device as a whole. */
#include "train/ranks/host_rows.h"

#include "model/files.h"
#include "model/rest.h"

#include <stdlib.h>
#include <string.h>

/* An array on its way, and this rank's rows among n of the whole model from `first` on. */
typedef struct piece {
    splat_state_array array;
    size_t row; /* bytes, on the way */
    uint32_t first, n, own_first, own_n;
    bool as_floats; /* rows of sh_rest in whatever storage */
    bool is_apart;  /* each rank has some of the rows */
} piece;

static uint32_t rows_before(const splat_trainer *t, uint32_t n, int rank)
{
    return splat_shard_count(n, rank, t->shards.comm->size);
}

static uint32_t rows_of(const splat_trainer *t, const piece *p, int rank)
{
    return rows_before(t, p->first + p->n, rank) - rows_before(t, p->first, rank);
}

static void describe(const splat_trainer *t, const splat_rows_order *o, piece *p)
{
    splat_state_array arrays[SPLAT_MAX_STATE_ARRAYS];
    splat_trainer_state_arrays(t, arrays);
    const bool is_apart = splat_shards_are_apart(t) && !arrays[o->array].is_of_all;
    const int rank = is_apart ? t->shards.comm->rank : 0;
    *p = (piece){.array = arrays[o->array], .first = o->first, .n = o->n,
                 .as_floats = o->as_floats && o->array == SPLAT_TENSOR_sh_rest, .is_apart = is_apart};
    const uint32_t words = p->as_floats ? splat_sh_rest_floats(t->model->gaussians.sh_degree) : p->array.words;
    p->row = words * sizeof(uint32_t);
    p->own_first = is_apart ? rows_before(t, o->first, rank) : o->first;
    p->own_n = is_apart ? rows_of(t, p, rank) : o->n;
}

/* ---------------------------------------------------------------- the own rows, side by side */

static splat_status take_own(splat_trainer *t, const piece *p, void *rows, splat_error *error)
{
    if (p->as_floats) return splat_rest_read(t->model, p->own_first, p->own_n, rows, error);
    const char *from = (const char *)p->array.device + p->own_first * p->row;
    return splat_backend_download(t->backend, rows, from, p->own_n * p->row, error);
}

/* rows may be written again afterwards. */
static splat_status put_own(splat_trainer *t, const piece *p, const void *rows, splat_error *error)
{
    if (p->as_floats)
        SPLAT_TRY(splat_rest_write(t->model, p->own_first, p->own_n, rows, error));
    else
        SPLAT_TRY(splat_backend_upload(t->backend, (char *)p->array.device + p->own_first * p->row, rows,
                                       p->own_n * p->row, error));
    return splat_backend_synchronize(t->backend, error);
}

/* ---------------------------------------------------------------- those of all ranks */

/* Rows of a rank, side by side, to or from their places among those of all. */
static void spread(const splat_trainer *t, const piece *p, int rank, char *side_by_side, char *all, bool to_all)
{
    const size_t size = (size_t)t->shards.comm->size, n = rows_of(t, p, rank);
    char *at = all + ((size_t)rank + rows_before(t, p->first, rank) * size - p->first) * p->row;
    for (size_t i = 0; i < n; i++, at += size * p->row, side_by_side += p->row)
        memcpy(to_all ? at : side_by_side, to_all ? side_by_side : at, p->row);
}

/* Between rank 0's host memory, where the rows of one rank lie after those of another, and the ranks' own. */
static splat_status exchange(splat_trainer *t, const piece *p, char *by_rank, bool to_rank_0, splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    if (comm->rank > 0) *(to_rank_0 ? &out[0] : &in[0]) = (splat_comm_part){by_rank, p->own_n * p->row};
    char *at = by_rank + p->own_n * p->row;
    for (int r = 1; r < comm->size && comm->rank == 0; r++) {
        splat_comm_part *part = to_rank_0 ? &in[r] : &out[r];
        *part = (splat_comm_part){at, rows_of(t, p, r) * p->row};
        at += part->bytes;
    }
    return splat_comm_exchange(comm, out, in, error);
}

/* Every rank; `all` at rank 0 only: rows of the whole model. */
static splat_status move_shared(splat_trainer *t, const piece *p, bool writes, char *by_rank, char *all,
                                splat_error *error)
{
    const bool is_first = t->shards.comm->rank == 0;
    char *at = by_rank;
    if (!writes) SPLAT_TRY(take_own(t, p, by_rank, error));
    for (int r = 0; is_first && writes && r < t->shards.comm->size; at += rows_of(t, p, r++) * p->row)
        spread(t, p, r, at, all, false);
    SPLAT_TRY(exchange(t, p, by_rank, !writes, error));
    for (int r = 0; is_first && !writes && r < t->shards.comm->size; at += rows_of(t, p, r++) * p->row)
        spread(t, p, r, at, all, true);
    return writes ? put_own(t, p, by_rank, error) : SPLAT_OK;
}

static splat_status move(splat_trainer *t, const splat_rows_order *o, char *all, splat_error *error)
{
    piece p;
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    describe(t, o, &p);
    if (!p.is_apart) return o->writes ? put_own(t, &p, all, error) : take_own(t, &p, all, error);
    const size_t n = t->shards.comm->rank == 0 ? p.n : p.own_n;
    char *by_rank = malloc(n * p.row + 1);
    splat_status status = by_rank ? move_shared(t, &p, o->writes, by_rank, all, error)
                                  : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for rows on their way");
    free(by_rank);
    return status;
}

splat_status splat_shards_serve_rows(splat_trainer *t, const splat_order *order, splat_error *error)
{
    return move(t, &order->rows, NULL, error);
}

/* Rank 0, or alone. */
static splat_status move_piece(splat_trainer *t, const splat_rows_order *rows, bool is_apart, char *all,
                               splat_error *error)
{
    splat_order order;
    splat_error local;
    if (!is_apart) return move(t, rows, all, error);
    splat_order_make(t, SPLAT_ORDER_ROWS, &order);
    order.rows = *rows;
    SPLAT_TRY(splat_order_give(t, &order, error));
    return splat_shards_fail(t, move(t, rows, all, &local), &local, error);
}

static splat_status move_rows(splat_trainer *t, splat_rows_order order, char *all, splat_error *error)
{
    piece p;
    const uint32_t end = order.first + order.n;
    describe(t, &order, &p);
    if (!p.row || !p.array.rows) return SPLAT_OK;
    const size_t fit = (t->shards.comm ? t->shards.piece_bytes : SIZE_MAX) / p.row;
    const uint32_t most = fit < 1 ? 1 : fit > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)fit;
    for (; order.first < end; order.first += order.n, all += order.n * p.row) {
        order.n = end - order.first < most ? end - order.first : most;
        SPLAT_TRY(move_piece(t, &order, p.is_apart, all, error));
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- for rank 0, and for who is alone */

splat_status splat_shards_read(splat_trainer *t, int array, uint32_t first, uint32_t n, void *rows, splat_error *error)
{
    return move_rows(t, (splat_rows_order){.array = array, .first = first, .n = n}, rows, error);
}

splat_status splat_shards_write(splat_trainer *t, int array, uint32_t first, uint32_t n, const void *rows,
                                splat_error *error)
{
    return move_rows(t, (splat_rows_order){.array = array, .first = first, .n = n, .writes = true}, (char *)rows,
                     error);
}

/* The arrays of a cloud in the order of the state's: the tensors, then the filter. */
static splat_status move_cloud(splat_trainer *t, splat_cloud *cloud, bool writes, splat_error *error)
{
    float *const arrays[] = {
#define SPLAT_TENSOR(name, ...) cloud->name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        cloud->filter_3d};
    for (int i = 0; i < SPLAT_N_TENSORS + 1; i++) {
        const splat_rows_order order = {.array = i, .n = (uint32_t)cloud->n, .writes = writes, .as_floats = true};
        if (arrays[i]) SPLAT_TRY(move_rows(t, order, (char *)arrays[i], error));
    }
    return SPLAT_OK;
}

splat_status splat_trainer_upload(splat_trainer *t, splat_cloud *cloud, splat_error *error)
{
    if (!splat_shards_are_apart(t)) return splat_model_upload(t->model, cloud, error);
    return move_cloud(t, cloud, true, error);
}

splat_status splat_trainer_download(splat_trainer *t, splat_cloud *cloud, splat_error *error)
{
    if (!splat_shards_are_apart(t)) return splat_model_download(t->model, cloud, error);
    SPLAT_TRY(splat_model_make_cloud(t->model, t->shards.n_all, cloud, error));
    splat_status status = move_cloud(t, cloud, false, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}
