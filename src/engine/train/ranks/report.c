/* Reports of the ranks on their Gaussians and their work, summed at rank 0. */
#include "train/ranks/report.h"

#include "model/rest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the Gaussians */

/* Summary of a rank; counts follow, [SPLAT_SUMMARY_N][n_edges - 1]. */
typedef struct local_summary {
    splat_block scratch;
    splat_summary summary;
    uint32_t *counts;
    size_t n_counts;
} local_summary;

static splat_status summarize_rows(splat_trainer *t, struct splat_summary_args args, splat_error *error)
{
    splat_rest_rows rows;
    SPLAT_TRY(splat_rest_open(t->model, SPLAT_REST_ROWS, &rows, error));
    args.gaussians = &rows.gaussians;
    return splat_op_summary(t->backend, &args, error);
}

static splat_status summarize_local(splat_trainer *t, struct splat_summary_args args, local_summary *local,
                                    splat_error *error)
{
    local->n_counts = SPLAT_SUMMARY_N * (size_t)(args.n_edges - 1);
    local->counts = calloc(local->n_counts, sizeof *local->counts);
    if (!local->counts) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u buckets", args.n_edges);
    args.max_samples = (args.max_samples - 1) / (uint32_t)t->shards.comm->size + 1;
    args.scratch = &local->scratch;
    args.result = &local->summary;
    args.counts = local->counts;
    return summarize_rows(t, args, error);
}

static void free_local(splat_trainer *t, local_summary *local)
{
    splat_block_free(t->backend, &local->scratch);
    free(local->counts);
}

/* ---------------------------------------------------------------- sums */

static void add_range(splat_summary_range *to, const splat_summary_range *from)
{
    if (from->n == 0) return;
    if (to->n == 0 || from->min < to->min) to->min = from->min;
    if (to->n == 0 || from->max > to->max) to->max = from->max;
    to->mean = (to->mean * (double)to->n + from->mean * (double)from->n) / (double)(to->n + from->n);
    to->n += from->n;
}

/* Combines two spreads, from the sums of squares about each mean (Chan, Golub and LeVeque 1983). */
static void add_spread(splat_summary_spread *to, const splat_summary_spread *from)
{
    const double a = (double)to->n, b = (double)from->n, between = from->mean - to->mean;
    if (from->n == 0) return;
    double squares = between * between * a * b / (a + b);
    if (to->n > 1) squares += to->standard_deviation * to->standard_deviation * (a - 1);
    if (from->n > 1) squares += from->standard_deviation * from->standard_deviation * (b - 1);
    to->mean += between * b / (a + b);
    to->n += from->n;
    to->standard_deviation = to->n > 1 ? sqrt(squares / (a + b - 1)) : 0;
}

/* counts: those of `to` and of `from`, [n] each, before they are added. */
static void add_moments(splat_summary_moments *to, const uint32_t *to_counts, const splat_summary_moments *from,
                        const uint32_t *from_counts, size_t n)
{
    uint64_t n_to = 0, n_from = 0;
    for (size_t i = 0; i < n; i++) {
        n_to += to_counts[i];
        n_from += from_counts[i];
    }
    if (n_from == 0) return;
    if (n_to == 0 || from->min < to->min) to->min = from->min;
    if (n_to == 0 || from->max > to->max) to->max = from->max;
    to->sum += from->sum;
    to->sum_squares += from->sum_squares;
}

static void add(splat_summary *to, uint32_t *counts, const splat_summary *from, const uint32_t *from_counts, size_t n)
{
    to->n_gaussians += from->n_gaussians;
    to->n_low_opacity += from->n_low_opacity;
    to->n_high_opacity += from->n_high_opacity;
    to->n_active += from->n_active;
    add_range(&to->opacity, &from->opacity);
    add_range(&to->scale, &from->scale);
    for (int i = 0; i < SPLAT_N_TENSORS; i++) add_spread(&to->tensors[i], &from->tensors[i]);
    for (size_t k = 0; k < SPLAT_SUMMARY_N; k++) {
        add_moments(&to->moments[k], counts + k * n, &from->moments[k], from_counts + k * n, n);
        for (size_t i = 0; i < n; i++) counts[k * n + i] += from_counts[k * n + i];
    }
}

/* ---------------------------------------------------------------- between ranks */

/* From rank `from` to rank 0, where it comes into `other`. */
static splat_status send(splat_trainer *t, int from, const local_summary *local, local_summary *other,
                         splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    const splat_comm_part parts[2] = {{(void *)&local->summary, sizeof local->summary},
                                      {local->counts, local->n_counts * sizeof *local->counts}};
    const splat_comm_part others[2] = {{&other->summary, sizeof other->summary},
                                       {other->counts, local->n_counts * sizeof *local->counts}};
    for (int i = 0; i < 2; i++) {
        splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
        if (comm->rank == from) out[0] = parts[i];
        if (comm->rank == 0) in[from] = others[i];
        SPLAT_TRY(splat_comm_exchange(comm, out, in, error));
    }
    return SPLAT_OK;
}

/* On every rank; *sum and counts at rank 0. */
static splat_status share(splat_trainer *t, const struct splat_summary_args *args, splat_error *error)
{
    local_summary local = {.n_counts = 0}, other = {.n_counts = 0};
    splat_status status = summarize_local(t, *args, &local, error);
    if (status == SPLAT_OK && !(other.counts = calloc(local.n_counts, sizeof *other.counts)))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u buckets", args->n_edges);
    for (int r = 1; r < t->shards.comm->size && status == SPLAT_OK; r++) {
        status = send(t, r, &local, &other, error);
        if (status == SPLAT_OK && t->shards.comm->rank == 0)
            add(&local.summary, local.counts, &other.summary, other.counts, args->n_edges - 1);
    }
    if (status == SPLAT_OK && t->shards.comm->rank == 0) {
        *args->result = local.summary;
        for (size_t i = 0; i < local.n_counts; i++) args->counts[i] = local.counts[i];
    }
    free(other.counts);
    free_local(t, &local);
    return status;
}

splat_status splat_shards_serve_summary(splat_trainer *t, const splat_order *order, splat_error *error)
{
    double edges[SPLAT_SUMMARY_MAX_EDGES];
    const splat_summary_order *o = &order->summary;
    const struct splat_summary_args args = {
        .edges = edges, .n_edges = o->n_edges, .max_samples = o->max_samples, .spreads = o->spreads};
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, edges, o->n_edges * sizeof *edges, error));
    return share(t, &args, error);
}

splat_status splat_shards_summarize(splat_trainer *t, const struct splat_summary_args *args, splat_error *error)
{
    splat_order order;
    splat_error local;
    splat_comm *comm = t->shards.comm;
    if (!splat_shards_are_apart(t)) return summarize_rows(t, *args, error);
    splat_order_make(t, SPLAT_ORDER_SUMMARY, &order);
    order.summary = (splat_summary_order){args->n_edges, args->max_samples, args->spreads};
    SPLAT_TRY(splat_order_give(t, &order, error));
    splat_status status = splat_comm_broadcast(comm, 0, (double *)args->edges, args->n_edges * sizeof *args->edges,
                                               &local);
    if (status == SPLAT_OK) status = share(t, args, &local);
    return splat_shards_fail(t, status, &local, error);
}

splat_status splat_trainer_get_mean_opacity(splat_trainer *t, double *mean, splat_error *error)
{
    const double edges[2] = {0, 1};
    uint32_t counts[SPLAT_SUMMARY_N];
    splat_block scratch = {0};
    splat_summary summary = {.n_gaussians = 0};
    const struct splat_summary_args args = {.edges = edges, .n_edges = 2, .max_samples = 1,
                                            .scratch = &scratch, .result = &summary, .counts = counts};
    splat_status status = splat_shards_summarize(t, &args, error);
    splat_block_free(t->backend, &scratch);
    *mean = status == SPLAT_OK ? summary.opacity.mean : 0;
    return status;
}

/* ---------------------------------------------------------------- balance, memory, and the time between ranks */

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
    splat_rank_info local = own_info(t);
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    out[0] = (splat_comm_part){&local, sizeof local};
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
