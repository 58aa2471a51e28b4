/* bin on CUDA: the tiles of each Gaussian are enumerated twice, row by row, first to count the instances of the tiles,
 * then to put (depth, Gaussian) into the tile's list at whichever place is free; at last blocks sort the lists (CUB).
 * The first time keeps the span of each row for the second where there is room.
 * Blocks count in shared memory, and each keeps where its share of every list begins, so the places too are given out
 * there. All keys of a list differ, so the order of the list does not depend on who came first. The host never waits
 * for a count: arrays are sized by the view's last count with a margin, and a step that needs more sets `overflow` and
 * does nothing. Only where a view may have more instances than there is room for does the host wait for the counts of
 * the rows, and choose a band. */
#include "backend/cuda_backend.cuh"
#include "ops/bin/bin_walk.cuh"

extern "C" {
#include "ops/bin/band.h"
#include "ops/bin/bin.h"
#include "ops/bin/bin_bytes.h"
#include "ops/raster/raster.h"
}

#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cstdlib>

#define BIN_THREADS 256 /* of simple kernels */
/* Room beyond one and a quarter times the last known count of the view. */
#define INSTANCE_MARGIN 65536
#define LEAST_INSTANCE_MARGIN 16384 /* beyond a sixteenth more than the count, below a bound */
#define MAX_TILE_ROWS (65536 / SPLAT_TILE) /* of the largest picture, see splat_view_begin */

static_assert(SPLAT_BIN_RANGE_TILES >= MAX_TILE_ROWS, "a block counts a row of tiles or more");
static_assert(SPLAT_BIN_RANGE_TILES * sizeof(uint32_t) +
                      WALK_THREADS * WALK_EACH * (sizeof(uint32_t) + sizeof(uint16_t)) +
                      (WALK_WARPS + 1) * sizeof(uint32_t) <= 48 * 1024,
              "what every device's blocks may have of shared memory");

/* The rows of tiles of a block, and its numbers: shared[tile of the range], and first: the range's first tile of the
 * band. */
struct walk_range {
    uint32_t begin, end, n_tiles, first;
};

__device__ __forceinline__ walk_range range_of(const bin_parameters &P)
{
    walk_range r;
    r.begin = P.row_begin + blockIdx.y * P.range_rows;
    r.end = min(r.begin + P.range_rows, P.row_end);
    r.n_tiles = (r.end - r.begin) * P.tiles_x;
    r.first = (r.begin - P.row_begin) * P.tiles_x;
    return r;
}

__device__ __forceinline__ uint32_t *share_of(const bin_parameters &P, const walk_range &r)
{
    return P.shares + (size_t)blockIdx.x * (P.row_end - P.row_begin) * P.tiles_x + r.first;
}

__global__ void __launch_bounds__(WALK_THREADS, WALK_RESIDENT)
    count_kernel(const __grid_constant__ bin_parameters P)
{
    extern __shared__ uint32_t counts[];
    const walk_range r = range_of(P);
    for (uint32_t i = threadIdx.x; i < r.n_tiles; i += WALK_THREADS) counts[i] = 0;
    __syncthreads();
    walk_rows<SPANS_FOUND>(P, r.begin, r.end, [&](uint32_t, uint32_t y, int2 span) {
        uint32_t *row = counts + (y - r.begin) * P.tiles_x;
        for (int x = span.x; x < span.y; x++) atomicAdd(&row[x], 1u);
    });
    __syncthreads();
    uint32_t *share = share_of(P, r), *lengths = P.lengths + r.first;
    for (uint32_t i = threadIdx.x; i < r.n_tiles; i += WALK_THREADS)
        share[i] = counts[i] ? atomicAdd(&lengths[i], counts[i]) : 0;
}

/* Longest lists first: the last blocks of a launch are then short ones, and the device does not end on a long one. A
 * counting sort by the list's length in steps of an eighth of an octave. */
#define LENGTH_CLASSES 256
__device__ __forceinline__ uint32_t length_class(uint32_t length)
{
    return LENGTH_CLASSES - 1 - min(LENGTH_CLASSES - 1, (int)(8.0f * log2f(1.0f + (float)length)));
}

/* Lengths and first instances of the tiles' lists, and the order of the tiles, in one block. */
#define LISTS_THREADS 1024
#define LISTS_EACH 4 /* tiles of a thread at a time */
__global__ void __launch_bounds__(LISTS_THREADS) lists_kernel(const __grid_constant__ bin_parameters P)
{
    typedef cub::BlockScan<uint64_t, LISTS_THREADS, cub::BLOCK_SCAN_WARP_SCANS> begin_scan;
    __shared__ typename begin_scan::TempStorage begin_storage;
    __shared__ uint32_t next[LENGTH_CLASSES];
    const uint32_t n_tiles = P.tiles_x * (P.row_end - P.row_begin);
    uint32_t *tile_begin = P.tile_begin + P.tiles_x * P.row_begin;
    if (threadIdx.x < LENGTH_CLASSES) next[threadIdx.x] = 0;
    __syncthreads();
    uint64_t total = 0;
    for (uint32_t base = 0; base < n_tiles; base += LISTS_THREADS * LISTS_EACH) {
        const uint32_t tile = base + LISTS_EACH * threadIdx.x;
        uint64_t begin[LISTS_EACH], sum;
#pragma unroll
        for (int i = 0; i < LISTS_EACH; i++) {
            begin[i] = tile + i < n_tiles ? P.lengths[tile + i] : 0;
            if (tile + i < n_tiles) atomicAdd(&next[length_class((uint32_t)begin[i])], 1u);
        }
        begin_scan(begin_storage).ExclusiveSum(begin, begin, sum);
#pragma unroll
        for (int i = 0; i < LISTS_EACH; i++)
            if (tile + i < n_tiles) tile_begin[tile + i] = (uint32_t)(total + begin[i]);
        total += sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        tile_begin[n_tiles] = (uint32_t)total;
        P.state->n_band = total;
        if (P.row_begin == 0) P.state->n_instances = P.n_view ? P.n_view : total;
        if (total > P.capacity) P.state->overflow = 1; /* for all of the view */
    }
    if (threadIdx.x < 32) { /* counts to their exclusive sums, as many classes a lane */
        constexpr int EACH = LENGTH_CLASSES / 32;
        uint32_t *own = next + EACH * threadIdx.x, sum = 0;
        for (int i = 0; i < EACH; i++) sum += own[i];
        uint32_t before = inclusive_warp_sum(sum) - sum;
        for (int i = 0; i < EACH; i++) {
            uint32_t count = own[i];
            own[i] = before;
            before += count;
        }
    }
    __syncthreads();
    for (uint32_t tile = threadIdx.x; tile < n_tiles; tile += LISTS_THREADS)
        P.tile_order[atomicAdd(&next[length_class(P.lengths[tile])], 1u)] = P.tiles_x * P.row_begin + tile;
}

__global__ void __launch_bounds__(WALK_THREADS, WALK_RESIDENT) emit_kernel(const __grid_constant__ bin_parameters P)
{
    extern __shared__ uint32_t next[];
    if (P.state->overflow) return;
    const walk_range r = range_of(P);
    const uint32_t *share = share_of(P, r), *tile_begin = P.tile_begin + P.row_begin * P.tiles_x + r.first;
    for (uint32_t i = threadIdx.x; i < r.n_tiles; i += WALK_THREADS) next[i] = tile_begin[i] + share[i];
    __syncthreads();
    walk_rows<SPANS_KEPT>(P, r.begin, r.end, [&](uint32_t v, uint32_t y, int2 span) {
        uint32_t *row = next + (y - r.begin) * P.tiles_x;
        const uint64_t key = (uint64_t)__float_as_uint(P.depth[v]) << 32 | v;
        for (int x = span.x; x < span.y; x++) P.keys[atomicAdd(&row[x], 1u)] = key;
    });
}

/* ---------------------------------------------------------------- sorting the lists */

#define SHORT_THREADS 128
#define SHORT_MOST (7 * SHORT_THREADS) /* keys that so many threads sort */
#define LONG_THREADS 512
#define LONG_RUN (8 * LONG_THREADS) /* longer lists are sorted in runs, which are then merged */
#define LONG_SPLIT 4                /* blocks that share the runs of a list */
#define SHORT_GROUPS (LONG_THREADS / SHORT_THREADS)
#define MERGE_SPLIT 8               /* and its keys in merging */

struct less_than {
    __device__ __forceinline__ bool operator()(uint64_t a, uint64_t b) const { return a < b; }
};

/* CUB's sort of a block, by SHORT_THREADS of its threads that meet at a barrier of their own. */
template <int ITEMS>
class group_sort
    : public cub::BlockMergeSortStrategy<uint64_t, cub::NullType, SHORT_THREADS, ITEMS, group_sort<ITEMS>> {
    typedef cub::BlockMergeSortStrategy<uint64_t, cub::NullType, SHORT_THREADS, ITEMS, group_sort<ITEMS>> strategy;

public:
    __device__ __forceinline__ group_sort(typename strategy::TempStorage &storage, uint32_t thread)
        : strategy(storage, thread)
    {
    }

    __device__ __forceinline__ void SyncImplementation() const
    {
        asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / SHORT_THREADS), "n"(SHORT_THREADS) : "memory");
    }
};

/* n <= THREADS * ITEMS keys by THREADS threads, to the list or, not yet LAST, to where they were. An odd number of
 * ITEMS has no conflicts of banks where a thread writes its items side by side. */
template <typename SORT, int THREADS, int ITEMS, bool LAST>
__device__ __forceinline__ void sort_run(const bin_parameters &P, uint32_t begin, uint32_t n, SORT sort)
{
    const uint32_t thread = threadIdx.x % THREADS;
    uint64_t keys[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        uint32_t i = k * THREADS + thread;
        keys[k] = i < n ? P.keys[begin + i] : ~(uint64_t)0; /* larger than any: depths are finite */
    }
    sort.Sort(keys, less_than());
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        uint32_t i = ITEMS * thread + k;
        if (i >= n) break;
        if (LAST)
            P.instances[begin + i] = (uint32_t)keys[k];
        else
            P.keys[begin + i] = keys[k];
    }
}

template <int ITEMS>
__device__ __forceinline__ void sort_short(const bin_parameters &P, uint32_t begin, uint32_t n, uint64_t *shared)
{
    typedef group_sort<ITEMS> sort;
    sort_run<sort, SHORT_THREADS, ITEMS, true>(
        P, begin, n, sort(*(typename sort::TempStorage *)shared, threadIdx.x % SHORT_THREADS));
}

template <int ITEMS, bool LAST>
__device__ __forceinline__ void sort_long(const bin_parameters &P, uint32_t begin, uint32_t n, uint64_t *shared)
{
    typedef cub::BlockMergeSort<uint64_t, LONG_THREADS, ITEMS> sort;
    sort_run<sort, LONG_THREADS, ITEMS, LAST>(P, begin, n, sort(*(typename sort::TempStorage *)shared));
}

/* The list at place `place` of the order of tiles, if it is short; by SHORT_THREADS threads. */
__device__ __forceinline__ void sort_short_list(const bin_parameters &P, uint32_t place, uint64_t *shared)
{
    const uint32_t tile = P.tile_order[place], begin = P.tile_begin[tile], n = P.tile_begin[tile + 1] - begin;
    if (n == 0 || n > SHORT_MOST) return;
    if (n <= SHORT_THREADS)
        sort_short<1>(P, begin, n, shared);
    else if (n <= 2 * SHORT_THREADS)
        sort_short<2>(P, begin, n, shared);
    else if (n <= 3 * SHORT_THREADS)
        sort_short<3>(P, begin, n, shared);
    else if (n <= 5 * SHORT_THREADS)
        sort_short<5>(P, begin, n, shared);
    else
        sort_short<7>(P, begin, n, shared);
}

/* How many of n ascending keys are less. */
__device__ __forceinline__ uint32_t count_less(const uint64_t *keys, uint32_t n, uint64_t key)
{
    uint32_t first = 0;
    while (n > 0) {
        uint32_t half = n / 2;
        bool beyond = keys[first + half] < key;
        first = beyond ? first + half + 1 : first;
        n = beyond ? n - half - 1 : half;
    }
    return first;
}

/* The lists that are too long for sort_short, the first in the order of tiles: whole, or their runs. The block is one
 * of a table of columns x LONG_SPLIT. */
__device__ __forceinline__ void sort_long_lists(const bin_parameters &P, uint32_t n_tiles, uint32_t column,
                                                uint32_t columns, uint32_t split, uint64_t *shared)
{
    for (uint32_t i = column; i < n_tiles; i += columns) {
        const uint32_t tile = P.tile_order[i], begin = P.tile_begin[tile], n = P.tile_begin[tile + 1] - begin;
        if (length_class(n) > length_class(SHORT_MOST)) return;
        if (n > LONG_RUN) {
            for (uint32_t at = split * LONG_RUN; at < n; at += LONG_SPLIT * LONG_RUN)
                sort_long<LONG_RUN / LONG_THREADS, false>(P, begin + at, min(n - at, LONG_RUN), shared);
            continue;
        }
        if (n <= SHORT_MOST || split > 0) continue;
        if (n <= 3 * LONG_THREADS)
            sort_long<3, true>(P, begin, n, shared);
        else if (n <= 5 * LONG_THREADS)
            sort_long<5, true>(P, begin, n, shared);
        else
            sort_long<LONG_RUN / LONG_THREADS, true>(P, begin, n, shared);
    }
}

/* The first blocks sort long lists, a block each; the others as many short ones as they have groups of threads. */
__global__ void __launch_bounds__(LONG_THREADS, 2)
    sort_kernel(const __grid_constant__ bin_parameters P, uint32_t columns)
{
    __shared__ uint64_t shared[LONG_RUN + 1];
    static_assert(SHORT_GROUPS * (SHORT_MOST + 1) <= LONG_RUN + 1, "each group has its part of it");
    if (P.state->overflow) return;
    const uint32_t n_tiles = P.tiles_x * (P.row_end - P.row_begin), of_long = columns * LONG_SPLIT;
    if (blockIdx.x < of_long) {
        sort_long_lists(P, n_tiles, blockIdx.x % columns, columns, blockIdx.x / columns, shared);
        return;
    }
    const uint32_t group = threadIdx.x / SHORT_THREADS, place = (blockIdx.x - of_long) * SHORT_GROUPS + group;
    if (place < n_tiles) sort_short_list(P, place, shared + group * (SHORT_MOST + 1));
}

/* The lists of more than a run: a key's place is the sum of its ranks in the runs. */
__global__ void __launch_bounds__(BIN_THREADS) merge_runs_kernel(const __grid_constant__ bin_parameters P)
{
    if (P.state->overflow) return;
    const uint32_t n_tiles = P.tiles_x * (P.row_end - P.row_begin);
    for (uint32_t i = blockIdx.x; i < n_tiles; i += gridDim.x) {
        const uint32_t tile = P.tile_order[i], begin = P.tile_begin[tile], n = P.tile_begin[tile + 1] - begin;
        if (length_class(n) > length_class(LONG_RUN)) return;
        if (n <= LONG_RUN) continue;
        const uint64_t *keys = P.keys + begin;
        for (uint32_t k = blockIdx.y * BIN_THREADS + threadIdx.x; k < n; k += MERGE_SPLIT * BIN_THREADS) {
            const uint64_t key = keys[k];
            uint32_t rank = k % LONG_RUN;
            for (uint32_t run = 0; run < n; run += LONG_RUN)
                if (run != k - k % LONG_RUN) rank += count_less(keys + run, min(n - run, LONG_RUN), key);
            P.instances[begin + rank] = (uint32_t)key;
        }
    }
}

/* The instances of the rows of tiles. A block sums in shared memory: its share of the Gaussians has less than 2^32
 * tiles in a row. */
__global__ void __launch_bounds__(BIN_THREADS)
    count_rows_kernel(const __grid_constant__ bin_parameters P, uint32_t tiles_y, unsigned long long *rows)
{
    __shared__ uint32_t sums[MAX_TILE_ROWS];
    for (uint32_t i = threadIdx.x; i < tiles_y; i += BIN_THREADS) sums[i] = 0;
    __syncthreads();
    for (uint64_t v = blockIdx.x * BIN_THREADS + threadIdx.x; v < P.n; v += gridDim.x * BIN_THREADS) {
        const ushort4 rect = P.rects[v];
        if (rect.x >= rect.z) continue;
        tile_walk w = walk_of(P, (uint32_t)v);
        for (int y = w.rect.y; y < w.rect.w; y++) {
            int2 span = row_span(P, w, y);
            atomicAdd(&sums[y], (uint32_t)(span.y - span.x));
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < tiles_y; i += BIN_THREADS)
        if (sums[i]) atomicAdd(&rows[i], (unsigned long long)sums[i]);
}

/* ---------------------------------------------------------------- host */

static splat_status check_count(uint64_t n_instances, splat_error *error)
{
    if (n_instances <= INT32_MAX - 1) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                      "a view has %llu (Gaussian, tile) pairs; at most 2^31 fit: use a smaller resolution or "
                      "fewer Gaussians", (unsigned long long)n_instances);
}

/* The room for instances that the view's last count asks for; 0: it is not known, or they may not be trusted to fit.
 * Where the bound leaves less than the usual margin, but some, all that it leaves is cheaper than to wait. */
static uint64_t expected_instances(const splat_cuda_backend *cuda, const splat_frame *frame)
{
    const uint64_t known = frame->hint.n_instances, most = frame->max_instances;
    uint64_t wanted = known + known / 4 + INSTANCE_MARGIN;
    if (!known || cuda->base.deterministic) return 0;
    if (!most || (!frame->row_begin && wanted <= most)) return wanted;
    return !frame->row_begin && known + known / 16 + LEAST_INSTANCE_MARGIN <= most ? most : 0;
}

/* Waits for the counts of the rows, and sets the band's last row and its count. */
static splat_status choose_band(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    const size_t bytes = frame->tiles_y * sizeof(uint64_t);
    void *rows;
    SPLAT_TRY(splat_scratch_take(&cuda->base, bytes, &rows, error));
    uint64_t *counts = (uint64_t *)malloc(bytes), n_band = 0;
    if (!counts) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the counts of the rows of tiles");
    unsigned blocks = splat_cuda_blocks(P->n, BIN_THREADS), most = 4 * (unsigned)cuda->n_multiprocessors;
    cudaError_t result = cudaMemsetAsync(rows, 0, bytes, cuda->stream);
    if (result == cudaSuccess) {
        count_rows_kernel<<<blocks < most ? blocks : most, BIN_THREADS, 0, cuda->stream>>>(
            *P, frame->tiles_y, (unsigned long long *)rows);
        result = cudaGetLastError();
    }
    if (result == cudaSuccess)
        result = cudaMemcpyAsync(counts, rows, bytes, cudaMemcpyDeviceToHost, cuda->stream);
    if (result == cudaSuccess) result = cudaStreamSynchronize(cuda->stream);
    splat_status status = splat_cuda_check(result, "count the instances of the rows", error);
    if (status == SPLAT_OK) status = splat_band_choose(frame, counts, &n_band, error);
    if (status == SPLAT_OK) status = check_count(n_band, error);
    if (status == SPLAT_OK) {
        for (uint32_t y = frame->row_begin; y < frame->tiles_y; y++) P->n_view += counts[y];
        P->row_end = frame->row_end;
        P->capacity = (uint32_t)n_band;
        frame->n_instances = n_band;
    }
    free(counts);
    return status;
}

/* How the Gaussians and the rows of tiles are shared out among blocks. */
static dim3 walk_grid(const splat_cuda_backend *cuda, const bin_parameters *P)
{
    const uint32_t rows = P->row_end - P->row_begin, ranges = (rows + P->range_rows - 1) / P->range_rows;
    size_t blocks = splat_bin_blocks(P->n), most = WALK_PER_MULTIPROCESSOR * (size_t)cuda->n_multiprocessors;
    if (blocks > most) blocks = most;
    return dim3(blocks > ranges ? (unsigned)(blocks / ranges) : 1, ranges);
}

static size_t walk_shared_bytes(const bin_parameters *P)
{
    const uint32_t rows = P->row_end - P->row_begin;
    return (size_t)(rows < P->range_rows ? rows : P->range_rows) * P->tiles_x * sizeof(uint32_t);
}

static splat_status take_counts(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    const uint32_t rows = P->row_end - P->row_begin;
    const size_t n_tiles = (size_t)P->tiles_x * rows;
    P->range_rows = SPLAT_BIN_RANGE_TILES / P->tiles_x;
    const dim3 grid = walk_grid(cuda, P);
    const size_t of_rows = 1 + (size_t)grid.x * grid.y;
    SPLAT_TRY(splat_scratch_take(backend, (n_tiles + of_rows) * sizeof(uint32_t), (void **)&P->lengths, error));
    P->row_counts = P->lengths + n_tiles;
    SPLAT_TRY(splat_scratch_take(backend, grid.x * n_tiles * sizeof(uint32_t), (void **)&P->shares, error));
    return SPLAT_OK;
}

/* The lengths of the tiles' lists, and the order of the tiles. row_counts[0] lies behind the lengths. */
static splat_status count_tiles(splat_cuda_backend *cuda, const bin_parameters &P, splat_error *error)
{
    const size_t n_tiles = (size_t)P.tiles_x * (P.row_end - P.row_begin);
    CUDA_TRY("clear memory", cudaMemsetAsync(P.lengths, 0, (n_tiles + 1) * sizeof(uint32_t), cuda->stream));
    count_kernel<<<walk_grid(cuda, &P), WALK_THREADS, walk_shared_bytes(&P), cuda->stream>>>(P);
    CUDA_LAUNCHED("count");
    lists_kernel<<<1, LISTS_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("lists");
    return SPLAT_OK;
}

/* For a view without a bound that was not seen before. */
static splat_status wait_for_count(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    unsigned long long count = 0;
    CUDA_TRY("read the instance count",
             cudaMemcpyAsync(&count, &P->state->n_band, sizeof count, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the instance count", cudaStreamSynchronize(cuda->stream));
    SPLAT_TRY(check_count(count, error));
    P->capacity = (uint32_t)count;
    frame->n_instances = count;
    return SPLAT_OK;
}

static splat_status take_instances(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    SPLAT_TRY(splat_scratch_take(backend, P->capacity * sizeof(uint64_t), (void **)&P->keys, error));
    if (!frame->instances || P->capacity > frame->instance_room) {
        uint64_t room = splat_band_is_view(frame) ? P->capacity : frame->max_instances;
        size_t bytes = splat_cuda_round_up(room * sizeof(uint32_t));
        frame->instances = NULL;
        SPLAT_TRY(splat_frame_take(backend, frame, bytes, (void **)&frame->instances, error));
        frame->instance_room = room;
    }
    P->instances = frame->instances;
    return SPLAT_OK;
}

static splat_status list_instances(splat_cuda_backend *cuda, const bin_parameters &P, splat_error *error)
{
    const unsigned n_tiles = P.tiles_x * (P.row_end - P.row_begin), most = 2 * (unsigned)cuda->n_multiprocessors;
    const unsigned columns = n_tiles < most ? n_tiles : most;
    emit_kernel<<<walk_grid(cuda, &P), WALK_THREADS, walk_shared_bytes(&P), cuda->stream>>>(P);
    CUDA_LAUNCHED("emit");
    sort_kernel<<<columns * LONG_SPLIT + (n_tiles + SHORT_GROUPS - 1) / SHORT_GROUPS, LONG_THREADS, 0, cuda->stream>>>(
        P, columns);
    CUDA_LAUNCHED("sort lists");
    merge_runs_kernel<<<dim3((columns + 3) / 4, MERGE_SPLIT), BIN_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("merge runs");
    return SPLAT_OK;
}

static bin_parameters parameters_of(const splat_frame *frame)
{
    bin_parameters P = {};
    P.n = frame->n_visible;
    P.tiles_x = frame->tiles_x;
    P.row_begin = frame->row_begin;
    P.row_end = frame->tiles_y;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    P.last_x = (float)(frame->camera.width - 1);
    P.last_y = (float)(frame->camera.height - 1);
    P.mean2d = (const float2 *)frame->mean2d;
    P.conic = (const float4 *)frame->conic;
    P.depth = frame->depth;
    P.rects = (const ushort4 *)frame->tile_rect;
    P.tile_begin = frame->tile_begin;
    P.tile_order = frame->tile_order;
    P.state = splat_cuda_state_of(frame);
    return P;
}

/* The band's rows, and the room for its instances unless the host waits for their count. */
static splat_status plan_band(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, bool *waits,
                              splat_error *error)
{
    uint64_t expected = expected_instances(cuda, frame);
    *waits = false;
    if (P->n && frame->max_instances && !expected) return choose_band(cuda, frame, P, error);
    frame->row_end = frame->tiles_y;
    *waits = P->n && !expected;
    P->capacity = *waits ? UINT32_MAX : (uint32_t)expected; /* nothing is written before the host knows */
    return check_count(expected, error);
}

extern "C" splat_status splat_bin_cuda(splat_backend *backend, const struct splat_bin_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_frame *frame = args->frame;
    frame->n_instances = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    bool waits;
    bin_parameters P = parameters_of(frame);
    SPLAT_TRY(plan_band(cuda, frame, &P, &waits, error));
    SPLAT_TRY(take_counts(cuda, frame, &P, error));
    if (waits) {
        SPLAT_TRY(count_tiles(cuda, P, error));
        SPLAT_TRY(wait_for_count(cuda, frame, &P, error));
    }
    const bool any = P.capacity && P.n;
    if (any) SPLAT_TRY(take_instances(cuda, frame, &P, error)); /* before the launches, so that they follow closely */
    if (!waits) {
        P.rows = P.instances;
        SPLAT_TRY(count_tiles(cuda, P, error));
    }
    if (any) SPLAT_TRY(list_instances(cuda, P, error));
    return splat_scratch_reset(backend, error);
}
