/* density_prune on CUDA: a reason for each Gaussian, the exact cap, an order of the survivors, then every array moves
 * in place, MOVE_COLUMNS columns at a time or as many as spare memory has room for, so that no second copy of the model
 * is needed. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_select.cuh"
#include "backend/cuda_sort.cuh"
#include "math/morton.h"
#include "ops/densify/order_cuda.cuh"
#include "ops/densify/rows_cuda.cuh"

#define PRUNE_THREADS 256
#define MOVE_COLUMNS 8 /* at least: neighbouring words of a row reach memory together, so more go faster */
#define MOVE_ROWS 8     /* a thread: as many loads under way as the bandwidth needs */
#define MORTON_BITS 21 /* a coordinate: a few far Gaussians must not put all others into one cell */

enum { KEPT = 0, SPLIT_SOURCE, TRANSPARENT, LARGE, OVER_CAP, N_REASONS };

struct prune_state {
    uint32_t counts[N_REASONS];
    uint32_t n_selected;
    uint32_t n_at_home; /* survivors that a cache has no rows of */
    uint32_t box[6]; /* of the survivors' means: lowest keys, then lowest complements of keys */
};

struct prune_parameters {
    uint32_t n, n_actions;
    const uint8_t *actions;
    float min_opacity, max_scale;
    splat_density_arrays arrays;
    const float *means, *opacities, *scales;
    prune_state *state;
    uint8_t *reasons;      /* [n] */
    uint32_t *ids, *order; /* [n] each */
};

/* Memory of one phase after the other. */
struct work_memory {
    void *data;
    size_t bytes;
};

/* ---------------------------------------------------------------- reasons */

__device__ __forceinline__ uint32_t reason_of(const prune_parameters &P, uint32_t i, bool finite)
{
    if (i < P.n_actions && P.actions[i] == SPLAT_DENSITY_SPLIT) return SPLIT_SOURCE;
    if (1.0f / (1.0f + splat_order_exp(-P.opacities[i])) < P.min_opacity) return TRANSPARENT;
    const float *s = P.scales + 3 * (size_t)i;
    if (P.max_scale > 0.0f && splat_order_exp(fmaxf(s[0], fmaxf(s[1], s[2]))) > P.max_scale) return LARGE;
    return finite ? KEPT : TRANSPARENT;
}

__global__ void __launch_bounds__(PRUNE_THREADS) reasons_kernel(const __grid_constant__ prune_parameters P)
{
    __shared__ uint32_t bad[PRUNE_THREADS];
    uint32_t first = blockIdx.x * PRUNE_THREADS, reason = N_REASONS;
    splat_density_mark_broken<PRUNE_THREADS>(P.arrays, first, P.n, bad);
    if (threadIdx.x < P.n - first) {
        reason = reason_of(P, first + threadIdx.x, !bad[threadIdx.x]);
        P.reasons[first + threadIdx.x] = (uint8_t)reason;
    }
    for (uint32_t r = 0; r < N_REASONS; r++) {
        int count = __syncthreads_count(reason == r);
        if (threadIdx.x == 0 && count) atomicAdd(&P.state->counts[r], (uint32_t)count);
    }
}

/* ---------------------------------------------------------------- the cap */

/* Survivors by logit, the highest first; the others have the last key, behind that of every finite logit. */
__global__ void __launch_bounds__(PRUNE_THREADS)
    logits_kernel(const __grid_constant__ prune_parameters P, uint32_t *keys, uint32_t *ids)
{
    uint32_t i = blockIdx.x * PRUNE_THREADS + threadIdx.x;
    if (i >= P.n) return;
    keys[i] = P.reasons[i] == KEPT ? ~splat_order_key(P.opacities[i]) : UINT32_MAX;
    ids[i] = i;
}

__global__ void __launch_bounds__(PRUNE_THREADS) over_cap_kernel(const uint32_t *ids, uint32_t n_over, uint8_t *reasons)
{
    uint32_t j = blockIdx.x * PRUNE_THREADS + threadIdx.x;
    if (j < n_over) reasons[ids[j]] = OVER_CAP;
}

/* Sorted from high to low, equal logits by index (the sort is stable): the first target_count stay. */
static splat_status apply_cap(splat_cuda_backend *cuda, const prune_parameters &P, uint32_t target_count,
                              uint32_t n_over, const work_memory *work, splat_error *error)
{
    size_t keys_bytes = splat_cuda_round_up((size_t)P.n * sizeof(uint32_t)), sort_bytes = work->bytes - 2 * keys_bytes;
    char *base = (char *)work->data;
    splat_cuda_buffers32 keys = {(uint32_t *)base, (uint32_t *)(base + keys_bytes)}, ids = {P.ids, P.order};
    logits_kernel<<<splat_cuda_blocks(P.n, PRUNE_THREADS), PRUNE_THREADS, 0, cuda->stream>>>(P, keys.current,
                                                                                             ids.current);
    CUDA_LAUNCHED("density logits");
    CUDA_TRY("sort opacities", splat_cuda_sort_pairs32(base + 2 * keys_bytes, &sort_bytes, &keys, &ids, P.n, 32,
                                                       cuda->stream));
    over_cap_kernel<<<splat_cuda_blocks(n_over, PRUNE_THREADS), PRUNE_THREADS, 0, cuda->stream>>>(
        ids.current + target_count, n_over, P.reasons);
    CUDA_LAUNCHED("density cap");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the order of the survivors */

__global__ void __launch_bounds__(PRUNE_THREADS)
    box_kernel(const float *means, const uint32_t *ids, uint32_t n, uint32_t *box)
{
    uint32_t low[6] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    for (size_t j = blockIdx.x * (size_t)PRUNE_THREADS + threadIdx.x; j < n; j += gridDim.x * (size_t)PRUNE_THREADS) {
        const float *p = means + 3 * (size_t)ids[j];
#pragma unroll
        for (int k = 0; k < 3; k++) {
            uint32_t key = splat_order_key(p[k]);
            low[k] = min(low[k], key);
            low[k + 3] = min(low[k + 3], ~key);
        }
    }
#pragma unroll
    for (int k = 0; k < 6; k++) {
        low[k] = splat_order_warp_min(low[k]);
        if ((threadIdx.x & 31) == 0) atomicMin(&box[k], low[k]);
    }
}

__global__ void __launch_bounds__(PRUNE_THREADS)
    morton_kernel(const float *means, const uint32_t *ids, uint32_t n, const uint32_t *box, uint64_t *codes)
{
    uint32_t j = blockIdx.x * PRUNE_THREADS + threadIdx.x;
    if (j >= n) return;
    const float *p = means + 3 * (size_t)ids[j];
    uint64_t code = 0;
#pragma unroll
    for (int k = 0; k < 3; k++) { /* halves: the side of a box of finite floats may overflow */
        float low = 0.5f * splat_order_value(box[k]), side = 0.5f * splat_order_value(~box[k + 3]) - low;
        float t = side > 0.0f ? (0.5f * p[k] - low) / side : 0.0f;
        uint32_t cell = min((uint32_t)(t * (float)(1u << MORTON_BITS)), (1u << MORTON_BITS) - 1);
        code |= splat_morton_spread(cell) << k;
    }
    codes[j] = code;
}

/* *order: the old index of each survivor's new row. */
static splat_status order_survivors(splat_cuda_backend *cuda, const prune_parameters &P, uint32_t n_kept, bool reorder,
                                    const work_memory *work, const uint32_t **order, splat_error *error)
{
    size_t temporary_bytes = work->bytes;
    CUDA_TRY("list the survivors", splat_cuda_select_bytes(work->data, &temporary_bytes, P.reasons, KEPT, P.ids,
                                                           &P.state->n_selected, P.n, cuda->stream));
    *order = P.ids;
    if (!reorder) return SPLAT_OK;
    size_t codes_bytes = splat_cuda_round_up((size_t)n_kept * sizeof(uint64_t));
    char *base = (char *)work->data;
    splat_cuda_buffers64 codes = {(uint64_t *)base, (uint64_t *)(base + codes_bytes)};
    splat_cuda_buffers32 ids = {P.ids, P.order};
    unsigned blocks = splat_cuda_blocks(n_kept, PRUNE_THREADS), box_blocks = 4u * (unsigned)cuda->n_multiprocessors;
    if (box_blocks > blocks) box_blocks = blocks;
    CUDA_TRY("clear a box", cudaMemsetAsync(P.state->box, 0xff, sizeof P.state->box, cuda->stream));
    box_kernel<<<box_blocks, PRUNE_THREADS, 0, cuda->stream>>>(P.means, P.ids, n_kept, P.state->box);
    CUDA_LAUNCHED("density box");
    morton_kernel<<<blocks, PRUNE_THREADS, 0, cuda->stream>>>(P.means, P.ids, n_kept, P.state->box, codes.current);
    CUDA_LAUNCHED("density morton");
    temporary_bytes = work->bytes - 2 * codes_bytes;
    CUDA_TRY("sort along a curve",
             splat_cuda_sort_pairs64(base + 2 * codes_bytes, &temporary_bytes, &codes, &ids, n_kept, 3 * MORTON_BITS,
                                     cuda->stream)); /* stable: then by index */
    *order = ids.current;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- moving rows */

/* Moves, k < n: to row k the row order[k], or to row rows[k] the row order[rows[k]], or, in a cache, to row k the row
 * slots[-k]. */
struct move_list {
    const uint32_t *order, *rows, *slots;
    uint32_t n;
};

__device__ __forceinline__ uint32_t target_row(const move_list &list, uint32_t k)
{
    return list.rows ? list.rows[k] : k;
}

__device__ __forceinline__ uint32_t source_row(const move_list &list, uint32_t k)
{
    return list.slots ? *(list.slots - k) : list.order[target_row(list, k)];
}

/* Columns [first, first + blockDim.x) of the survivors, into temporary; then from there to the front. All reads of a
 * group end before its writes begin: they are two kernels. threadIdx.x is the column; a thread's rows lie blockDim.y
 * apart. */
__global__ void __launch_bounds__(PRUNE_THREADS)
    gather_kernel(const uint32_t *data, const move_list list, uint32_t words, uint32_t first, uint32_t *temporary)
{
    const uint32_t begin = blockIdx.x * MOVE_ROWS * blockDim.y + threadIdx.y, n = list.n;
    uint32_t from[MOVE_ROWS], word[MOVE_ROWS];
#pragma unroll
    for (uint32_t k = 0; k < MOVE_ROWS; k++) {
        const uint32_t row = begin + k * blockDim.y;
        from[k] = row < n ? source_row(list, row) : 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < MOVE_ROWS; k++) word[k] = data[(size_t)from[k] * words + first + threadIdx.x];
#pragma unroll
    for (uint32_t k = 0; k < MOVE_ROWS; k++) {
        const uint32_t row = begin + k * blockDim.y;
        if (row < n) temporary[(size_t)row * blockDim.x + threadIdx.x] = word[k];
    }
}

__global__ void __launch_bounds__(PRUNE_THREADS)
    put_kernel(uint32_t *data, const move_list list, uint32_t words, uint32_t first, const uint32_t *temporary)
{
    const uint32_t begin = blockIdx.x * MOVE_ROWS * blockDim.y + threadIdx.y, n = list.n;
    uint32_t word[MOVE_ROWS];
#pragma unroll
    for (uint32_t k = 0; k < MOVE_ROWS; k++) {
        const uint32_t row = begin + k * blockDim.y;
        word[k] = row < n ? temporary[(size_t)row * blockDim.x + threadIdx.x] : 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < MOVE_ROWS; k++) {
        const uint32_t row = begin + k * blockDim.y;
        if (row < n) data[(size_t)target_row(list, row) * words + first + threadIdx.x] = word[k];
    }
}

/* Columns that move at a time: all groups of an array are of nearly the same width. */
static uint32_t columns_of_group(uint32_t words, work_memory temporary, uint32_t n_rows)
{
    const uint64_t room = temporary.bytes / ((uint64_t)n_rows * sizeof(uint32_t));
    const uint32_t most = room < PRUNE_THREADS ? (uint32_t)room : PRUNE_THREADS, groups = (words + most - 1) / most;
    return (words + groups - 1) / groups;
}

/* Memory for columns on the move: its halves in turn, where they have room for a whole array. */
struct mover {
    work_memory temporary;
    bool is_second;
};

/* If memory has room for two whole arrays, one is put back while the next is gathered: arrays in host memory cross the
 * bus in both directions at a time. */
static splat_status move_array(splat_cuda_backend *cuda, mover *m, uint32_t *data, uint32_t words,
                               const move_list &list, splat_error *error)
{
    const size_t half = m->temporary.bytes / 2 / sizeof(uint32_t);
    if (list.n == 0) return SPLAT_OK;
    const bool is_whole = words <= PRUNE_THREADS && (size_t)list.n * words <= half;
    const uint32_t group = is_whole ? words : columns_of_group(words, m->temporary, list.n);
    uint32_t *place = (uint32_t *)m->temporary.data + (is_whole && m->is_second ? half : 0);
    if (!is_whole) SPLAT_TRY(splat_cuda_join(cuda, error));
    for (uint32_t first = 0; first < words; first += group) {
        uint32_t left = words - first, width = left < group ? left : group;
        dim3 threads(width, PRUNE_THREADS / width);
        unsigned blocks = splat_cuda_blocks(list.n, MOVE_ROWS * threads.y);
        gather_kernel<<<blocks, threads, 0, cuda->stream>>>(data, list, words, first, place);
        CUDA_LAUNCHED("density gather");
        if (is_whole) {
            SPLAT_TRY(splat_cuda_join(cuda, error)); /* the next array is gathered to where the last one was */
            SPLAT_TRY(splat_cuda_fork(cuda, error));
            m->is_second = !m->is_second;
        }
        put_kernel<<<blocks, threads, 0, is_whole ? cuda->side_stream : cuda->stream>>>(data, list, words, first,
                                                                                       place);
        CUDA_LAUNCHED("density put");
    }
    return SPLAT_OK;
}

/* at_home, in_cache: of the arrays of which a cache has rows. */
static splat_status move_rows(splat_cuda_backend *cuda, const splat_density_arrays &arrays, const move_list &all,
                              const move_list &at_home, const move_list &in_cache, work_memory temporary,
                              splat_error *error)
{
    mover m = {temporary, false};
    for (int a = 0; a < arrays.n; a++) {
        SPLAT_TRY(move_array(cuda, &m, arrays.data[a], arrays.words[a], arrays.cached[a] ? at_home : all, error));
        if (arrays.cached[a])
            SPLAT_TRY(move_array(cuda, &m, arrays.cached[a], arrays.words[a], in_cache, error));
    }
    return splat_cuda_join(cuda, error);
}

/* ---------------------------------------------------------------- rows of a cache */

/* The survivors that the cache has rows of, from the end of the list: they move to the first slots in this order. In
 * the list the slot that has their rows takes their place. */
__global__ void __launch_bounds__(PRUNE_THREADS)
    own_kernel(const uint32_t *order, uint32_t n, uint32_t *end, const uint32_t *slot, uint32_t *moved, uint32_t *owner)
{
    const uint32_t k = blockIdx.x * PRUNE_THREADS + threadIdx.x;
    if (k >= n) return;
    const uint32_t j = *(end - k);
    *(end - k) = slot[order[j]] - 1;
    moved[j] = k + 1;
    owner[k] = j + 1;
}

/* Lists the moves at home and within the cache, whose slots are those of the survivors from here on. */
static splat_status list_cached(splat_cuda_backend *cuda, const prune_parameters &P, const splat_rest_cache *cache,
                                const move_list &all, const work_memory *work, move_list *at_home, move_list *in_cache,
                                splat_error *error)
{
    uint32_t *rows = all.order == P.ids ? P.order : P.ids; /* the one that has done its work */
    uint32_t *moved = (uint32_t *)work->data, *end = rows + all.n - 1, n_at_home;
    const size_t bytes = (size_t)all.n * sizeof *moved, slots_bytes = (size_t)cache->n_slots * sizeof *cache->owner;
    size_t temporary_bytes = work->bytes;
    CUDA_TRY("list rows at home",
             splat_cuda_partition_at_home(work->data, &temporary_bytes, all.order, cache->slot, rows,
                                          &P.state->n_at_home, all.n, cuda->stream));
    CUDA_TRY("read their count", cudaMemcpyAsync(&n_at_home, &P.state->n_at_home, sizeof n_at_home,
                                                 cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("clear memory", cudaMemsetAsync(moved, 0, bytes, cuda->stream));
    CUDA_TRY("clear memory", cudaMemsetAsync(cache->owner, 0, slots_bytes, cuda->stream));
    CUDA_TRY("read their count", cudaStreamSynchronize(cuda->stream));
    *at_home = {all.order, rows, NULL, n_at_home};
    *in_cache = {NULL, NULL, end, all.n - n_at_home};
    if (in_cache->n)
        own_kernel<<<splat_cuda_blocks(in_cache->n, PRUNE_THREADS), PRUNE_THREADS, 0, cuda->stream>>>(
            all.order, in_cache->n, end, cache->slot, moved, cache->owner);
    CUDA_LAUNCHED("density slots");
    CUDA_TRY("move slots", cudaMemcpyAsync(cache->slot, moved, bytes, cudaMemcpyDeviceToDevice, cuda->stream));
    CUDA_TRY("clear memory",
             cudaMemsetAsync(cache->slot + all.n, 0, (size_t)(P.n - all.n) * sizeof *cache->slot, cuda->stream));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- host */

/* Lives through the op: state, reasons and two lists of indices. */
static splat_status reserve_lists(splat_cuda_backend *cuda, prune_parameters *P, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    size_t ids_bytes = (size_t)P->n * sizeof(uint32_t);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, sizeof *P->state, (void **)&P->state, error));
    SPLAT_TRY(splat_scratch_take(backend, P->n, (void **)&P->reasons, error));
    SPLAT_TRY(splat_scratch_take(backend, ids_bytes, (void **)&P->ids, error));
    SPLAT_TRY(splat_scratch_take(backend, ids_bytes, (void **)&P->order, error));
    CUDA_TRY("clear its counters", cudaMemsetAsync(P->state, 0, sizeof *P->state, cuda->stream));
    return SPLAT_OK;
}

/* One after the other in the same memory: the cap's sort, the survivors' list, their sort, the columns on the move. */
static splat_status reserve_work(splat_cuda_backend *cuda, uint32_t n, uint32_t n_kept, bool cap, bool reorder,
                                 bool is_cached, work_memory *work, splat_error *error)
{
    splat_cuda_buffers32 keys = {};
    splat_cuda_buffers64 codes = {};
    size_t bytes = (size_t)n_kept * MOVE_COLUMNS * sizeof(uint32_t), phase = 0;
    CUDA_TRY("plan a selection",
             splat_cuda_select_bytes(NULL, &phase, NULL, KEPT, NULL, NULL, n, cuda->stream));
    if (phase > bytes) bytes = phase;
    if (is_cached) {
        CUDA_TRY("plan a partition",
                 splat_cuda_partition_at_home(NULL, &phase, NULL, NULL, NULL, NULL, n_kept, cuda->stream));
        if (phase > bytes) bytes = phase;
    }
    if (cap) {
        CUDA_TRY("plan a sort",
                 splat_cuda_sort_pairs32(NULL, &phase, &keys, &keys, n, 32, cuda->stream));
        phase += 2 * splat_cuda_round_up((size_t)n * sizeof(uint32_t));
        if (phase > bytes) bytes = phase;
    }
    if (reorder) {
        CUDA_TRY("plan a sort",
                 splat_cuda_sort_pairs64(NULL, &phase, &codes, &keys, n_kept, 3 * MORTON_BITS, cuda->stream));
        phase += 2 * splat_cuda_round_up((size_t)n_kept * sizeof(uint64_t));
        if (phase > bytes) bytes = phase;
    }
    work->bytes = bytes;
    return splat_scratch_take(&cuda->base, bytes, &work->data, error);
}

/* The block is looked at here, when nothing more is allocated that it could yield to. */
static work_memory largest_of(work_memory work, const struct splat_density_prune_args *args)
{
    const splat_block *block = args->spare_block;
    if (args->spare_bytes > work.bytes) work = {args->spare, args->spare_bytes};
    if (block && block->bytes > work.bytes) work = {block->data, block->bytes};
    return work;
}

static splat_status prune_in(splat_cuda_backend *cuda, const struct splat_density_prune_args *args,
                             uint32_t counts[N_REASONS], splat_error *error)
{
    const splat_gaussians *g = args->gaussians;
    prune_parameters P = {};
    P.n = g->n;
    P.n_actions = args->n_actions;
    P.actions = args->actions;
    P.min_opacity = args->min_opacity;
    P.max_scale = args->max_scale;
    P.means = g->p.means;
    P.opacities = g->p.opacities;
    P.scales = g->p.scales;
    SPLAT_TRY(reserve_lists(cuda, &P, error));
    P.arrays = splat_density_arrays_list(g, args->moments, args->rest);
    reasons_kernel<<<splat_cuda_blocks(P.n, PRUNE_THREADS), PRUNE_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("density reasons");
    CUDA_TRY("read the counts",
             cudaMemcpyAsync(counts, P.state->counts, sizeof P.state->counts, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the counts", cudaStreamSynchronize(cuda->stream));

    bool cap = args->target_count && counts[KEPT] > args->target_count;
    if (cap) {
        counts[OVER_CAP] = counts[KEPT] - args->target_count;
        counts[KEPT] = args->target_count;
    }
    uint32_t n_kept = counts[KEPT];
    if (n_kept == 0 || (n_kept == P.n && !args->reorder)) return SPLAT_OK; /* nothing moves */
    work_memory work;
    SPLAT_TRY(reserve_work(cuda, P.n, n_kept, cap, args->reorder, P.arrays.slot != NULL, &work, error));
    const uint32_t *order = NULL;
    if (cap) SPLAT_TRY(apply_cap(cuda, P, args->target_count, counts[OVER_CAP], &work, error));
    SPLAT_TRY(order_survivors(cuda, P, n_kept, args->reorder, &work, &order, error));
    P.arrays = splat_density_arrays_list(g, args->moments, args->rest); /* what was reserved may have cost the cache */
    const move_list all = {order, NULL, NULL, n_kept};
    move_list at_home = {}, in_cache = {};
    if (P.arrays.slot) SPLAT_TRY(list_cached(cuda, P, args->rest->cache, all, &work, &at_home, &in_cache, error));
    return move_rows(cuda, P.arrays, all, at_home, in_cache, largest_of(work, args), error);
}

extern "C" splat_status splat_density_prune_cuda(splat_backend *backend, const struct splat_density_prune_args *args,
                                                 splat_error *error)
{
    uint32_t n = args->gaussians->n, counts[N_REASONS] = {};
    splat_density_pruned result = {};
    *args->result = result;
    if (args->n_actions > n)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u actions for %u Gaussians", args->n_actions, n);
    if (n == 0) return SPLAT_OK;
    SPLAT_TRY(prune_in(splat_cuda_of(backend), args, counts, error));
    result.n_kept = counts[KEPT];
    result.n_split_sources = counts[SPLIT_SOURCE];
    result.n_transparent = counts[TRANSPARENT];
    result.n_large = counts[LARGE];
    result.n_over_cap = counts[OVER_CAP];
    *args->result = result;
    return SPLAT_OK;
}
