/* Projected Gaussians to the ranks of their views, and the gradients back. Everything moves as rows that lie one rank
 * after the other: what comes for a view is blended in the order in which it came, so that its gradients go back as
 * they lie. */
#include "distributed/batch_views.h"

#include "distributed/device_exchange.h"
#include "ops/share/share.h"

#include <stdlib.h>
#include <string.h>

splat_status splat_batch_init(splat_batch_views *batch, splat_comm *comm, splat_backend *backend, splat_error *error)
{
    memset(batch, 0, sizeof *batch);
    batch->comm = comm;
    batch->backend = backend;
    batch->frames = calloc((size_t)comm->size, sizeof *batch->frames);
    bool has_all = batch->frames != NULL;
    for (int r = 0; has_all && r < comm->size; r++)
        has_all = (batch->frames[r] = calloc(1, sizeof **batch->frames)) != NULL;
    return has_all ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a batch of %d views", comm->size);
}

static void free_blocks(splat_batch_views *batch)
{
    splat_block *const blocks[] = {&batch->entries, &batch->out,       &batch->in,
                                   &batch->colors,  &batch->gradients, &batch->depths};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) splat_block_free(batch->backend, blocks[i]);
}

void splat_batch_free(splat_batch_views *batch)
{
    splat_backend *b = batch->backend;
    for (int r = 0; batch->frames && r < batch->comm->size; r++) {
        if (batch->frames[r]) splat_frame_free(b, batch->frames[r]);
        free(batch->frames[r]);
    }
    free(batch->frames);
    batch->frames = NULL;
    if (b) free_blocks(batch);
}

void splat_batch_release(splat_batch_views *batch)
{
    for (int r = 0; batch->frames && r < batch->comm->size; r++)
        splat_region_free(batch->backend, &batch->frames[r]->region);
    if (batch->frames) free_blocks(batch);
}

splat_status splat_batch_agree(splat_batch_views *batch, splat_status local, splat_error *refused)
{
    return batch->agrees ? splat_comm_agree(batch->comm, local, refused) : local;
}

splat_status splat_batch_begin(splat_batch_views *batch, uint32_t n, const splat_camera *const *cameras, int n_views,
                               splat_error *error)
{
    batch->n_views = n_views;
    for (int view = 0; view < n_views; view++)
        SPLAT_TRY(splat_view_begin_projection(batch->backend, batch->frames[view], n, cameras[view], error));
    return SPLAT_OK;
}

static splat_status room(splat_batch_views *batch, splat_block *block, const char *name, size_t bytes,
                         splat_error *error)
{
    return splat_block_ensure(batch->backend, block, name, SPLAT_OWNER_LISTS, bytes ? bytes : 1, error);
}

/* Finds the visible Gaussians of each view: the entries, one view after the other, and their numbers. */
static splat_status find(splat_batch_views *batch, splat_error *error)
{
    uint32_t *entries[SPLAT_MAX_RANKS], counts[SPLAT_MAX_RANKS];
    uint64_t total = 0;
    for (int view = 0; view < batch->n_views; view++) {
        batch->first_entry[view] = total;
        total += batch->frames[view]->n_visible;
    }
    SPLAT_TRY(room(batch, &batch->entries, "ranks.entries", total * sizeof **entries, error));
    for (int view = 0; view < batch->n_views; view++)
        entries[view] = (uint32_t *)batch->entries.data + batch->first_entry[view];
    const struct splat_share_find_args args = {(const splat_frame *const *)batch->frames, (uint32_t)batch->n_views,
                                               entries, counts};
    SPLAT_TRY(splat_op_share_find(batch->backend, &args, error));
    for (int r = 0; r < batch->comm->size; r++) batch->sent[r] = r < batch->n_views ? counts[r] : 0;
    return SPLAT_OK;
}

static const uint32_t *entries_of(const splat_batch_views *batch, int view)
{
    return (const uint32_t *)batch->entries.data + batch->first_entry[view];
}

/* Sends the colours; on arrival they have the layout of the frame. */
static splat_status send_colors(splat_batch_views *batch, splat_frame *frame, splat_error *error)
{
    float *colors = batch->colors.data;
    for (int view = 0; view < batch->n_views; colors += 3 * batch->sent[view++]) {
        const struct splat_share_colors_args args = {batch->frames[view]->rgb, entries_of(batch, view),
                                                     (uint32_t)batch->sent[view], colors, 3};
        SPLAT_TRY(splat_op_share_colors(batch->backend, &args, error));
    }
    return splat_device_exchange_beside(batch->comm, batch->backend, 3 * sizeof *colors, batch->colors.data,
                                        batch->sent, frame ? frame->rgb : NULL, batch->received, error);
}

splat_status splat_batch_send_planes(splat_batch_views *batch, const float *local, splat_frame *frame, float **planes,
                                     splat_error *error)
{
    const size_t row = 4 * sizeof(float);
    void *received = NULL;
    splat_status status = room(batch, &batch->colors, "ranks.colors", batch->sent[0] * row, error);
    if (status == SPLAT_OK && frame)
        status = splat_frame_take(batch->backend, frame, frame->capacity * row + 1, &received, error);
    SPLAT_TRY(splat_batch_agree(batch, status, error));
    *planes = received;
    const struct splat_share_colors_args args = {local, entries_of(batch, 0), (uint32_t)batch->sent[0],
                                                 batch->colors.data, 4};
    SPLAT_TRY(splat_op_share_colors(batch->backend, &args, error));
    return splat_device_exchange_rows(batch->comm, batch->backend, row, batch->colors.data, batch->sent, received,
                                      batch->received, error);
}

/* For what goes out and comes in. */
static splat_status reserve(splat_batch_views *batch, splat_frame *frame, splat_error *error)
{
    const uint64_t n_in = splat_comm_sum_rows(batch->comm, batch->received);
    const uint64_t n_out = splat_comm_sum_rows(batch->comm, batch->sent);
    if (n_in > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a view sees %llu Gaussians, more than can be blended",
                          (unsigned long long)n_in);
    SPLAT_TRY(room(batch, &batch->out, "ranks.out", n_out * sizeof(splat_share_row), error));
    SPLAT_TRY(room(batch, &batch->colors, "ranks.colors", n_out * 3 * sizeof(float), error));
    SPLAT_TRY(room(batch, &batch->in, "ranks.in", n_in * sizeof(splat_share_row), error));
    return frame ? splat_view_replace_gaussians(batch->backend, frame, (uint32_t)n_in, error) : SPLAT_OK;
}

splat_status splat_batch_send(splat_batch_views *batch, splat_frame *frame, splat_error *error)
{
    splat_backend *b = batch->backend;
    SPLAT_TRY(splat_batch_agree(batch, find(batch, error), error));
    SPLAT_TRY(splat_comm_exchange_counts(batch->comm, batch->sent, batch->received, error));
    SPLAT_TRY(splat_batch_agree(batch, reserve(batch, frame, error), error));
    splat_share_row *rows = batch->out.data;
    for (int view = 0; view < batch->n_views; rows += batch->sent[view++]) {
        const struct splat_share_pack_args args = {.frame = batch->frames[view],
                                                   .entries = entries_of(batch, view),
                                                   .n = (uint32_t)batch->sent[view],
                                                   .rows = rows};
        SPLAT_TRY(splat_op_share_pack(b, &args, error));
    }
    SPLAT_TRY(splat_device_exchange_rows(batch->comm, b, sizeof *rows, batch->out.data, batch->sent, batch->in.data,
                                         batch->received, error));
    const uint32_t n_in = (uint32_t)splat_comm_sum_rows(batch->comm, batch->received);
    const struct splat_share_unpack_args unpack = {batch->in.data, n_in, frame};
    if (frame) SPLAT_TRY(splat_op_share_unpack(b, &unpack, error));
    return send_colors(batch, frame, error);
}

/* Rows that move where depths do: those of views that have them. */
static splat_status return_depths(splat_batch_views *batch, const float *grad_depth, splat_error *error)
{
    const int rank = batch->comm->rank;
    uint64_t out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    const bool has_own = rank < batch->n_views && batch->has_depths[rank];
    for (int r = 0; r < batch->comm->size; r++) {
        out[r] = has_own ? batch->received[r] : 0;
        in[r] = r < batch->n_views && batch->has_depths[r] ? batch->sent[r] : 0;
    }
    return splat_device_exchange_rows(batch->comm, batch->backend, sizeof *grad_depth, grad_depth, out,
                                      batch->depths.data, in, error);
}

static bool any_depths(const splat_batch_views *batch)
{
    bool any = false;
    for (int r = 0; r < batch->n_views; r++) any |= batch->has_depths[r];
    return any;
}

splat_status splat_batch_return(splat_batch_views *batch, const splat_frame *frame, const float *grad_depth,
                                splat_error *error)
{
    const uint64_t n = splat_comm_sum_rows(batch->comm, batch->sent);
    const bool has_depths = any_depths(batch);
    splat_status status = room(batch, &batch->gradients, "ranks.gradients", n * sizeof(splat_grad2d), error);
    if (status == SPLAT_OK && has_depths)
        status = room(batch, &batch->depths, "ranks.depths", n * sizeof *grad_depth, error);
    SPLAT_TRY(splat_batch_agree(batch, status, error));
    SPLAT_TRY(splat_device_exchange_rows(batch->comm, batch->backend, sizeof(splat_grad2d),
                                         frame ? frame->grad2d : NULL, batch->received, batch->gradients.data,
                                         batch->sent, error));
    return has_depths ? return_depths(batch, grad_depth, error) : SPLAT_OK;
}

/* Room for the gradients of a frame. */
static splat_status reserve_gradients(splat_batch_views *batch, splat_frame *frame, bool has_depths, void **grad_depth,
                                      splat_error *error)
{
    *grad_depth = NULL;
    SPLAT_TRY(splat_view_reserve_gradients(batch->backend, frame, error));
    if (!has_depths) return SPLAT_OK;
    return splat_scratch_take(batch->backend, (frame->capacity ? frame->capacity : 1) * sizeof(float), grad_depth,
                              error);
}

splat_status splat_batch_take(splat_batch_views *batch, int view, float **grad_depth, splat_error *error)
{
    splat_frame *frame = batch->frames[view];
    const bool has_depths = batch->has_depths[view];
    const splat_grad2d *rows = batch->gradients.data;
    const float *depths = batch->depths.data;
    void *room_of_depths;
    for (int earlier = 0; earlier < view; earlier++) {
        rows += batch->sent[earlier];
        if (batch->has_depths[earlier]) depths += batch->sent[earlier];
    }
    SPLAT_TRY(reserve_gradients(batch, frame, has_depths, &room_of_depths, error));
    *grad_depth = room_of_depths;
    if (has_depths)
        SPLAT_TRY(splat_backend_zero(batch->backend, *grad_depth, frame->capacity * sizeof **grad_depth, error));
    const struct splat_share_put_args args = {rows, entries_of(batch, view), (uint32_t)batch->sent[view],
                                              frame->grad2d, has_depths ? depths : NULL, *grad_depth};
    return splat_op_share_put(batch->backend, &args, error);
}

splat_status splat_batch_reserve(splat_batch_views *batch, splat_error *error)
{
    void *ignored;
    return reserve_gradients(batch, batch->frames[0], any_depths(batch), &ignored, error); /* all are as large */
}
