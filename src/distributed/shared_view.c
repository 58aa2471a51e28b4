/* Rows of projected Gaussians to the owners of their tiles, and the moments of their gradients back. */
#include "distributed/shared_view.h"

#include "ops/raster/raster_kernel.h"
#include "ops/share/share_row.h"

#include <string.h>

/* A Gaussian on its way. */
typedef struct shared_row {
    uint32_t id; /* in the whole model */
    float rgb[3];
    splat_share_row shape;
} shared_row;

/* ---------------------------------------------------------------- who sees what */

/* The ranks that own rows of a tile_rect: [*first, *end), none of an empty one. */
static void owners_of(const splat_shared_view *shared, const uint16_t rect[4], int *first, int *end)
{
    const uint32_t *bounds = shared->bounds;
    int r = 0;
    *first = *end = 0;
    if (rect[2] <= rect[0] || rect[3] <= rect[1]) return;
    while (bounds[r + 1] <= rect[1]) r++;
    *first = r;
    while (r < shared->comm->size && bounds[r] < rect[3]) r++;
    *end = r;
}

/* Whether an owner's part of a Gaussian is the first one: its tiles are summed there. Those of later parts come one by
 * one, so that the sum is that of one picture. */
static bool is_first_part(const splat_shared_view *shared, int owner, const uint16_t rect[4])
{
    return rect[1] >= shared->bounds[owner];
}

static bool owns_rows(const splat_shared_view *shared, int rank)
{
    return shared->bounds[rank] < shared->bounds[rank + 1];
}

/* ---------------------------------------------------------------- there */

/* By owner, each in the order of the visible. */
static splat_status pack_visible(splat_shared_view *shared, const splat_frame *frame, shared_row **rows,
                                 splat_error *error)
{
    const splat_share_arrays arrays = splat_share_arrays_of(frame);
    const int size = shared->comm->size, rank = shared->comm->rank;
    uint64_t at[SPLAT_MAX_RANKS], total = 0;
    int first, end;
    memset(shared->sent, 0, sizeof shared->sent);
    for (size_t v = 0; v < frame->n_visible; v++) {
        owners_of(shared, frame->tile_rect + 4 * v, &first, &end);
        for (int r = first; r < end; r++) shared->sent[r] += owns_rows(shared, r);
    }
    for (int r = 0; r < size; r++) {
        at[r] = total;
        total += shared->sent[r];
    }
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_OUT, total * sizeof **rows, (void **)rows, error));
    for (size_t v = 0; v < frame->n_visible; v++) {
        owners_of(shared, frame->tile_rect + 4 * v, &first, &end);
        if (first == end) continue;
        shared_row row = {.id = frame->ids[v] * (uint32_t)size + (uint32_t)rank,
                          .shape = splat_share_row_of(&arrays, v)};
        memcpy(row.rgb, frame->rgb + 3 * v, sizeof row.rgb);
        for (int r = first; r < end; r++)
            if (owns_rows(shared, r)) (*rows)[at[r]++] = row;
    }
    return SPLAT_OK;
}

/* Its tiles cut to the own rows. */
static void put_row(splat_frame *frame, size_t v, const shared_row *row, uint16_t row_begin, uint16_t row_end)
{
    const splat_share_arrays arrays = splat_share_arrays_of(frame);
    splat_share_row own = row->shape;
    if (own.rect[1] < row_begin) own.rect[1] = row_begin;
    if (own.rect[3] > row_end) own.rect[3] = row_end;
    splat_share_row_put(&arrays, v, &own);
    frame->ids[v] = row->id;
    memcpy(frame->rgb + 3 * v, row->rgb, sizeof row->rgb);
}

/* What a received row of the merged order is of. */
typedef struct merged_row {
    uint16_t rank;
    uint16_t is_first_part;
} merged_row;

/* The lists of the ranks, each in the order of the ids, become one. */
static void merge(splat_shared_view *shared, const shared_row *rows, splat_frame *frame, merged_row *merged)
{
    const int size = shared->comm->size, rank = shared->comm->rank;
    const shared_row *next[SPLAT_MAX_RANKS], *end[SPLAT_MAX_RANKS];
    for (int r = 0; r < size; r++) {
        next[r] = rows;
        rows += shared->received[r];
        end[r] = rows;
    }
    for (size_t v = 0; v < frame->n_visible; v++) {
        int least = -1;
        for (int r = 0; r < size; r++)
            if (next[r] < end[r] && (least < 0 || next[r]->id < next[least]->id)) least = r;
        const shared_row *row = next[least]++;
        merged[v] = (merged_row){(uint16_t)least, is_first_part(shared, rank, row->shape.rect)};
        put_row(frame, v, row, (uint16_t)shared->bounds[rank], (uint16_t)shared->bounds[rank + 1]);
    }
}

splat_status splat_shared_send(splat_shared_view *shared, splat_frame *frame, splat_error *error)
{
    const int size = shared->comm->size;
    uint64_t total = 0;
    shared_row *out;
    void *in, *merged;
    if (shared->by_ops) return splat_shared_send_by_ops(shared, frame, error);
    SPLAT_TRY(pack_visible(shared, frame, &out, error));
    SPLAT_TRY(splat_comm_exchange_counts(shared->comm, shared->sent, shared->received, error));
    for (int r = 0; r < size; r++) total += shared->received[r];
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_IN, total * sizeof(shared_row), &in, error));
    SPLAT_TRY(splat_comm_exchange_rows(shared->comm, sizeof(shared_row), out, shared->sent, in, shared->received,
                                       error));
    SPLAT_TRY(splat_shared_room(shared, SPLAT_SHARED_MERGE, total * sizeof(merged_row), &merged, error));
    memcpy(&shared->projected, frame, offsetof(splat_frame, region));
    SPLAT_TRY(splat_view_replace_gaussians(shared->backend, frame, (uint32_t)total, error));
    merge(shared, in, frame, merged);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- and back */

/* How many rows an entry sends back: the sum of a first part, or the number of tiles, then a row for each. */
static uint64_t n_back(const splat_frame *frame, const merged_row *merged, size_t v)
{
    return merged[v].is_first_part ? 1 : 1 + (uint64_t)(frame->slot_begin[v + 1] - frame->slot_begin[v]);
}

/* What goes back, or comes: rows of moments and, where depth was blended, as many floats. */
typedef struct parts {
    splat_raster_moments *moments;
    float *depths; /* NULL: none */
} parts;

static void skip(parts *p, uint64_t n)
{
    p->moments += n;
    if (p->depths) p->depths += n;
}

/* *sum += the first of p. */
static void add_part(parts *sum, const parts *p)
{
    splat_raster_moments_add(sum->moments, p->moments);
    if (p->depths) *sum->depths += *p->depths;
}

static void put_back(const splat_frame *frame, const merged_row *merged, size_t v, const parts *slots, parts *to)
{
    const uint32_t begin = frame->slot_begin[v], end = frame->slot_begin[v + 1], n = end - begin;
    parts slot = *slots;
    skip(&slot, begin);
    memset(to->moments, 0, sizeof *to->moments);
    if (to->depths) *to->depths = 0;
    if (!merged[v].is_first_part) {
        memcpy(to->moments, &n, sizeof n); /* bits, in the place of a float */
        skip(to, 1);
        memcpy(to->moments, slot.moments, n * sizeof *to->moments);
        if (to->depths) memcpy(to->depths, slot.depths, n * sizeof *to->depths);
        skip(to, n);
        return;
    }
    for (uint32_t k = 0; k < n; k++, skip(&slot, 1)) add_part(to, &slot);
    skip(to, 1);
}

/* Room for n rows. */
static splat_status take_parts(splat_shared_view *shared, int block, int depth_block, uint64_t n, bool has_depths,
                               parts *p, splat_error *error)
{
    p->depths = NULL;
    SPLAT_TRY(splat_shared_room(shared, block, n * sizeof *p->moments, (void **)&p->moments, error));
    if (!has_depths) return SPLAT_OK;
    return splat_shared_room(shared, depth_block, n * sizeof *p->depths, (void **)&p->depths, error);
}

static splat_status pack_moments(splat_shared_view *shared, const splat_frame *frame, const parts *slots,
                                 uint64_t *n_out, parts *out, splat_error *error)
{
    const merged_row *merged = shared->blocks[SPLAT_SHARED_MERGE].data;
    const int size = shared->comm->size;
    parts at[SPLAT_MAX_RANKS];
    uint64_t total = 0;
    memset(n_out, 0, (size_t)size * sizeof *n_out);
    for (size_t v = 0; v < frame->n_visible; v++) n_out[merged[v].rank] += n_back(frame, merged, v);
    for (int r = 0; r < size; r++) total += n_out[r];
    SPLAT_TRY(take_parts(shared, SPLAT_SHARED_OUT, SPLAT_SHARED_DEPTHS_OUT, total, slots->depths, out, error));
    parts rank = *out;
    for (int r = 0; r < size; skip(&rank, n_out[r++])) at[r] = rank;
    for (size_t v = 0; v < frame->n_visible; v++) put_back(frame, merged, v, slots, &at[merged[v].rank]);
    return SPLAT_OK;
}

/* What the owner's list says of one Gaussian, added to its sum, and the next place in the list. */
static void take_part(parts *sum, parts *from, bool is_first)
{
    uint32_t n = 1;
    if (!is_first) {
        memcpy(&n, from->moments, sizeof n);
        skip(from, 1);
    }
    for (uint32_t k = 0; k < n; k++, skip(from, 1)) add_part(sum, from);
}

/* The owners' parts in the order of their rows. */
static void sum_parts(const splat_shared_view *shared, parts in, const uint64_t *n_in, parts sums)
{
    const splat_frame *frame = &shared->projected;
    parts next[SPLAT_MAX_RANKS];
    int first, end;
    for (int r = 0; r < shared->comm->size; skip(&in, n_in[r++])) next[r] = in;
    memset(sums.moments, 0, frame->n_visible * sizeof *sums.moments);
    for (size_t v = 0; v < frame->n_visible; v++, skip(&sums, 1)) {
        const uint16_t *rect = frame->tile_rect + 4 * v;
        owners_of(shared, rect, &first, &end);
        for (int r = first; r < end; r++)
            if (owns_rows(shared, r)) take_part(&sums, &next[r], is_first_part(shared, r, rect));
    }
}

/* *in: what goes back to this rank. */
static splat_status exchange_parts(splat_shared_view *shared, const parts *out, const uint64_t *n_out, parts *in,
                                   uint64_t *n_in, splat_error *error)
{
    splat_comm *comm = shared->comm;
    SPLAT_TRY(splat_comm_exchange_counts(comm, n_out, n_in, error));
    SPLAT_TRY(take_parts(shared, SPLAT_SHARED_IN, SPLAT_SHARED_DEPTHS_IN, splat_comm_sum_rows(comm, n_in), out->depths,
                         in, error));
    SPLAT_TRY(splat_comm_exchange_rows(comm, sizeof *out->moments, out->moments, n_out, in->moments, n_in, error));
    if (!out->depths) return SPLAT_OK;
    return splat_comm_exchange_rows(comm, sizeof *out->depths, out->depths, n_out, in->depths, n_in, error);
}

splat_status splat_shared_return(splat_shared_view *shared, splat_frame *frame, const splat_view_gradients *gradients,
                                 splat_error *error)
{
    splat_backend *b = shared->backend;
    splat_frame *projected = &shared->projected;
    const struct splat_raster_backward_args args = {frame, gradients->image, gradients->without_mean_abs,
                                                    gradients->alpha, gradients->depth};
    uint64_t n_out[SPLAT_MAX_RANKS], n_in[SPLAT_MAX_RANKS];
    parts slots, out, in, sums;
    if (shared->by_ops) return splat_shared_return_by_ops(shared, frame, gradients, error);
    SPLAT_TRY(splat_scratch_reset(b, error));
    SPLAT_TRY(splat_raster_backward_slots(b, &args, &slots.moments, &slots.depths, error));
    SPLAT_TRY(pack_moments(shared, frame, &slots, n_out, &out, error));
    SPLAT_TRY(exchange_parts(shared, &out, n_out, &in, n_in, error));
    SPLAT_TRY(splat_shared_reserve_gradients(shared, gradients->depth, error));
    SPLAT_TRY(take_parts(shared, SPLAT_SHARED_SUMS, 0, projected->n_visible, false, &sums, error));
    sums.depths = shared->grad_depth;
    sum_parts(shared, in, n_in, sums);
    const splat_raster_moments *of = sums.moments;
#pragma omp parallel for num_threads(b->threads) schedule(static)
    for (uint32_t v = 0; v < projected->n_visible; v++) {
        const float *conic = projected->conic + 4 * (size_t)v;
        const splat_grad2d gradient = splat_raster_gradient_of_moments(conic, &of[v]);
        splat_raster_gradient_add(&projected->grad2d[v], &gradient);
    }
    return SPLAT_OK;
}
