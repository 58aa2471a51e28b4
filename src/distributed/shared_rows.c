/* Which rows of tiles belong to which rank, and what a shared view keeps. */
#include "distributed/shared_view.h"

#include "ops/share/share.h"

#include <stdlib.h>
#include <string.h>

/* What a tile takes beside its instances, in instances: the loss. On the sample scene and one thread an instance takes
 * 0.39 us of bin, raster and raster_backward, and a tile 5.6 us of the loss. */
#define TILE_WEIGHT 14

void splat_shared_init(splat_shared_view *shared, splat_comm *comm, splat_backend *backend)
{
    memset(shared, 0, sizeof *shared);
    shared->comm = comm;
    shared->backend = backend;
    shared->by_ops = backend->functions->peers != NULL;
}

void splat_shared_free(splat_shared_view *shared)
{
    for (int i = 0; i < SPLAT_N_SHARED_BLOCKS; i++) splat_block_free(shared->backend, &shared->blocks[i]);
    free(shared->weights);
    shared->weights = NULL;
}

splat_status splat_shared_room(splat_shared_view *shared, int block, size_t bytes, void **data, splat_error *error)
{
    static const char *const names[SPLAT_N_SHARED_BLOCKS] = {
        "ranks.out",   "ranks.in",         "ranks.merge",     "ranks.sums",
        "ranks.lists", "ranks.depths_out", "ranks.depths_in", "ranks.begins"};
    SPLAT_TRY(splat_block_ensure(shared->backend, &shared->blocks[block], names[block], SPLAT_OWNER_LISTS,
                                 bytes ? bytes : 1, error));
    *data = shared->blocks[block].data;
    return SPLAT_OK;
}

splat_status splat_shared_reserve_gradients(splat_shared_view *shared, bool has_depths, splat_error *error)
{
    const size_t bytes = (shared->projected.capacity ? shared->projected.capacity : 1) * sizeof *shared->grad_depth;
    shared->grad_depth = NULL;
    SPLAT_TRY(splat_view_reserve_gradients(shared->backend, &shared->projected, error));
    if (!has_depths) return SPLAT_OK;
    SPLAT_TRY(splat_scratch_take(shared->backend, bytes, (void **)&shared->grad_depth, error));
    return splat_backend_zero(shared->backend, shared->grad_depth, bytes, error);
}

void splat_shared_pixel_rows(const splat_shared_view *shared, int rank, int32_t height, int32_t *first, int32_t *end)
{
    const int32_t begin = (int32_t)shared->bounds[rank] * SPLAT_TILE;
    const int32_t stop = (int32_t)shared->bounds[rank + 1] * SPLAT_TILE;
    *first = begin < height ? begin : height;
    *end = stop < height ? stop : height;
}

/* Each rank begins at the first row before which the share of the ranks below it lies. */
static void cut(splat_shared_view *shared)
{
    const uint32_t size = (uint32_t)shared->comm->size, rows = shared->tiles_y;
    const bool known = shared->weights && shared->n_weights == rows;
    uint64_t total = 0, before = 0;
    uint32_t row = 0;
    for (uint32_t y = 0; y < rows; y++) total += known ? shared->weights[y] : 1;
    for (uint32_t r = 0; r < size; r++) {
        for (; row < rows && before * size < total * r; row++) before += known ? shared->weights[row] : 1;
        shared->bounds[r] = row;
    }
    shared->bounds[size] = rows;
}

/* What each row of tiles took, by ops: kept on the device, and taken, for which the host waits, before the next
 * view. */
static splat_status take_weights(splat_shared_view *shared, splat_error *error)
{
    const uint32_t rows = shared->n_begins ? shared->n_begins - 1 : 0, rank = (uint32_t)shared->comm->rank;
    if (!rows) return SPLAT_OK;
    shared->n_begins = 0;
    uint32_t *begins = malloc((rows + 1) * sizeof *begins);
    uint64_t *weights = calloc(rows, sizeof *weights);
    splat_status status = SPLAT_OK;
    if (!begins || !weights) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u rows of tiles", rows);
    if (status == SPLAT_OK)
        status = splat_backend_download(shared->backend, begins, shared->blocks[SPLAT_SHARED_BEGINS].data,
                                        (rows + 1) * sizeof *begins, error);
    for (uint32_t y = shared->bounds[rank]; status == SPLAT_OK && y < shared->bounds[rank + 1]; y++)
        weights[y] = begins[y + 1] - begins[y] + shared->row_weight;
    if (status == SPLAT_OK) status = splat_comm_reduce_u64(shared->comm, SPLAT_COMM_SUM, weights, rows, error);
    free(begins);
    if (status != SPLAT_OK) {
        free(weights);
        return status;
    }
    free(shared->weights);
    shared->weights = weights;
    shared->n_weights = rows;
    return SPLAT_OK;
}

static splat_status keep_weights(splat_shared_view *shared, const splat_frame *frame, splat_error *error)
{
    void *begins;
    const uint32_t n = frame->tiles_y + 1;
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_BEGINS, n * sizeof(uint32_t), &begins, error));
    const struct splat_share_rows_args args = {
        .to = begins, .from = frame->tile_begin, .to_stride = 1, .from_stride = frame->tiles_x, .n = n, .words = 1};
    shared->n_begins = n;
    shared->row_weight = TILE_WEIGHT * frame->tiles_x;
    return splat_op_share_rows(shared->backend, &args, error);
}

splat_status splat_shared_begin(splat_shared_view *shared, const splat_frame *frame, splat_error *error)
{
    SPLAT_TRY(take_weights(shared, error));
    shared->tiles_y = frame->tiles_y;
    cut(shared);
    if (shared->n_weights == frame->tiles_y) return SPLAT_OK;
    uint64_t *weights = realloc(shared->weights, frame->tiles_y * sizeof *weights);
    if (!weights) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u rows of tiles", frame->tiles_y);
    for (uint32_t y = 0; y < frame->tiles_y; y++) weights[y] = 1;
    shared->weights = weights;
    shared->n_weights = frame->tiles_y;
    return SPLAT_OK;
}

splat_status splat_shared_end(splat_shared_view *shared, const splat_frame *frame, splat_shared_counts *counts,
                              splat_error *error)
{
    const uint32_t rows = shared->by_ops ? 0 : shared->tiles_y, rank = (uint32_t)shared->comm->rank;
    if (shared->by_ops) SPLAT_TRY(keep_weights(shared, frame, error));
    if (splat_backend_result_latency(shared->backend) > 0) return SPLAT_OK;
    uint64_t *values = calloc(3 + (size_t)rows, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u rows of tiles", rows);
    values[0] = shared->projected.n_visible;
    values[1] = shared->projected.n_degenerate;
    values[2] = frame->n_view_instances;
    for (uint32_t y = shared->bounds[rank]; rows > 0 && y < shared->bounds[rank + 1]; y++)
        values[3 + y] = frame->tile_begin[(y + 1) * frame->tiles_x] - frame->tile_begin[y * frame->tiles_x] +
                        (uint64_t)TILE_WEIGHT * frame->tiles_x;
    splat_status status = splat_comm_reduce_u64(shared->comm, SPLAT_COMM_SUM, values, 3 + (size_t)rows, error);
    *counts = (splat_shared_counts){values[0], values[1], values[2]};
    memcpy(shared->weights, values + 3, rows * sizeof *values);
    free(values);
    return status;
}
