/* A view that ranks share, by the ops of their backend alone, as devices do it: the picture is that of one rank, and
 * what several owners add to a Gaussian is the sum of their sums. Entries of a list that goes to an owner ascend, so
 * that what comes needs only be merged. */
#include "distributed/shared_view.h"

#include "distributed/device_exchange.h"
#include "ops/share/share.h"

#include <string.h>

/* ---------------------------------------------------------------- there */

/* The list of an owner: which entries of the frame go there. */
static uint32_t *list_of(const splat_shared_view *shared, int owner)
{
    return (uint32_t *)shared->blocks[SPLAT_SHARED_LISTS].data + (size_t)owner * shared->projected.n_visible;
}

static splat_status find(splat_shared_view *shared, splat_error *error)
{
    const int size = shared->comm->size;
    const splat_frame *frames[SPLAT_MAX_RANKS];
    uint32_t *lists[SPLAT_MAX_RANKS], counts[SPLAT_MAX_RANKS];
    void *data;
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_LISTS,
                                (size_t)size * shared->projected.n_visible * sizeof(uint32_t), &data, error));
    for (int r = 0; r < size; r++) {
        frames[r] = &shared->projected;
        lists[r] = list_of(shared, r);
    }
    const struct splat_share_find_args args = {frames, (uint32_t)size, lists, counts, shared->bounds};
    SPLAT_TRY(splat_op_share_find(shared->backend, &args, error));
    for (int r = 0; r < size; r++) shared->sent[r] = counts[r];
    return splat_comm_exchange_counts(shared->comm, shared->sent, shared->received, error);
}

/* What goes out and comes in: rows, then ids, then colours, each of one rank after the other. */
typedef struct passage {
    splat_share_row *rows;
    uint32_t *ids;
    float *colors;
} passage;

static splat_status open_passage(splat_shared_view *shared, int block, uint64_t n, passage *p, splat_error *error)
{
    void *data;
    SPLAT_TRY(splat_shared_room(shared, block, n * (sizeof *p->rows + sizeof *p->ids + 3 * sizeof *p->colors), &data,
                                error));
    p->rows = data;
    p->ids = (uint32_t *)(p->rows + n);
    p->colors = (float *)(p->ids + n);
    return SPLAT_OK;
}

static splat_status pack(splat_shared_view *shared, const passage *out, splat_error *error)
{
    uint64_t at = 0;
    for (int r = 0; r < shared->comm->size; at += shared->sent[r++]) {
        const struct splat_share_pack_args args = {.frame = &shared->projected,
                                                   .entries = list_of(shared, r),
                                                   .n = (uint32_t)shared->sent[r],
                                                   .rows = out->rows + at,
                                                   .ids = out->ids + at,
                                                   .row_begin = shared->bounds[r],
                                                   .row_end = shared->bounds[r + 1]};
        SPLAT_TRY(splat_op_share_pack(shared->backend, &args, error));
    }
    return SPLAT_OK;
}

/* Beside what comes next, and before raster. */
static splat_status send_colors(splat_shared_view *shared, const passage *out, const passage *in, splat_frame *frame,
                                splat_error *error)
{
    float *colors = out->colors;
    for (int r = 0; r < shared->comm->size; colors += 3 * shared->sent[r++]) {
        const struct splat_share_colors_args args = {shared->projected.rgb, list_of(shared, r),
                                                     (uint32_t)shared->sent[r], colors, 3};
        SPLAT_TRY(splat_op_share_colors(shared->backend, &args, error));
    }
    SPLAT_TRY(splat_device_exchange_beside(shared->comm, shared->backend, 3 * sizeof *colors, out->colors, shared->sent,
                                           in->colors, shared->received, error));
    const struct splat_share_colors_args sorted = {in->colors, shared->blocks[SPLAT_SHARED_MERGE].data,
                                                   frame->n_visible, frame->rgb, 3};
    return splat_op_share_colors(shared->backend, &sorted, error);
}

splat_status splat_shared_send_by_ops(splat_shared_view *shared, splat_frame *frame, splat_error *error)
{
    splat_comm *comm = shared->comm;
    splat_backend *b = shared->backend;
    passage out, in;
    void *order;
    memcpy(&shared->projected, frame, offsetof(splat_frame, region));
    SPLAT_TRY(find(shared, error));
    const uint64_t n = splat_comm_sum_rows(shared->comm, shared->received);
    if (n > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a view sees %llu Gaussians, more than can be blended",
                          (unsigned long long)n);
    SPLAT_TRY(open_passage(shared, SPLAT_SHARED_OUT, splat_comm_sum_rows(shared->comm, shared->sent), &out, error));
    SPLAT_TRY(open_passage(shared, SPLAT_SHARED_IN, n, &in, error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_MERGE, n * sizeof(uint32_t), &order, error));
    SPLAT_TRY(pack(shared, &out, error));
    SPLAT_TRY(splat_device_exchange_rows(comm, b, sizeof *out.rows, out.rows, shared->sent, in.rows, shared->received,
                                         error));
    SPLAT_TRY(splat_device_exchange_rows(comm, b, sizeof *out.ids, out.ids, shared->sent, in.ids, shared->received,
                                         error));
    SPLAT_TRY(splat_view_replace_gaussians(b, frame, (uint32_t)n, error));
    const struct splat_share_order_args merge = {in.ids, shared->received, (uint32_t)comm->size, order};
    const struct splat_share_unpack_args unpack = {in.rows, (uint32_t)n, frame, order};
    SPLAT_TRY(splat_op_share_order(b, &merge, error));
    SPLAT_TRY(splat_op_share_unpack(b, &unpack, error));
    /* Room for lists is not guessed: a step that one owner left out the others would have made. */
    frame->hint = (splat_view_hint){0};
    return send_colors(shared, &out, &in, frame, error);
}

/* ---------------------------------------------------------------- and back */

/* Gradients of depths: those of the frame as they came, to their homes; *home: what comes back, one rank after the
 * other. */
static splat_status return_depths(splat_shared_view *shared, const float *as_they_came, uint64_t n, float **home,
                                  splat_error *error)
{
    void *in;
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_DEPTHS_IN, n * sizeof **home, &in, error));
    *home = in;
    return splat_device_exchange_rows(shared->comm, shared->backend, sizeof **home, as_they_came, shared->received, in,
                                      shared->sent, error);
}

splat_status splat_shared_return_by_ops(splat_shared_view *shared, splat_frame *frame,
                                        const splat_view_gradients *gradients, splat_error *error)
{
    splat_backend *b = shared->backend;
    const uint32_t *order = shared->blocks[SPLAT_SHARED_MERGE].data;
    void *out, *in, *depths_out = NULL;
    float *depths = NULL;
    const uint64_t n = splat_comm_sum_rows(shared->comm, shared->sent);
    const splat_raster_depth *depth = gradients->depth;
    SPLAT_TRY(splat_view_backward(b, frame, gradients, error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_OUT, frame->n_visible * sizeof(splat_grad2d), &out, error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_IN, n * sizeof(splat_grad2d), &in, error));
    if (depth)
        SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_DEPTHS_OUT, frame->n_visible * sizeof(float), &depths_out,
                                    error));
    const struct splat_share_put_args as_they_came = {frame->grad2d, order, frame->n_visible, out, false,
                                                      depth ? depth->grad_depth : NULL, depths_out};
    SPLAT_TRY(splat_op_share_put(b, &as_they_came, error));
    SPLAT_TRY(splat_device_exchange_rows(shared->comm, b, sizeof(splat_grad2d), out, shared->received, in, shared->sent,
                                         error));
    if (depth) SPLAT_TRY(return_depths(shared, depths_out, n, &depths, error));
    SPLAT_TRY(splat_shared_reserve_gradients(shared, depth, error));
    const splat_grad2d *rows = in;
    for (int r = 0; r < shared->comm->size; rows += shared->sent[r++]) {
        const struct splat_share_put_args args = {rows, list_of(shared, r), (uint32_t)shared->sent[r],
                                                  shared->projected.grad2d, true, depths, shared->grad_depth};
        SPLAT_TRY(splat_op_share_put(b, &args, error));
        if (depths) depths += shared->sent[r];
    }
    return SPLAT_OK;
}
