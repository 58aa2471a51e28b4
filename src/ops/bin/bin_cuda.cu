/* bin on CUDA: the Gaussians with a tile are listed, sorted by depth, their tiles enumerated row by row, then sorted by
 * a narrow tile key (CUB; both sorts are stable). The host never waits for a count: arrays are sized by the view's last
 * counts with a margin, and a step that needs more sets `overflow` and does nothing. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/bin/bin.h"
#include "ops/raster/raster.h"
}

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#define BIN_THREADS 256
#define LARGE_ROWS 8          /* taller Gaussians are done by a whole warp, a row a lane */
/* Room beyond one and a quarter times the last known count of the view. */
#define LISTED_MARGIN 16384
#define INSTANCE_MARGIN 65536

struct bin_parameters {
    uint32_t n, tiles_x, capacity; /* n: room of the list; capacity: room for instances */
    float widen;           /* half a pixel with ray jitter */
    float last_x, last_y;  /* of the picture */
    const float2 *mean2d;
    const float4 *conic;
    const ushort4 *rects;
    const uint32_t *order; /* visible indices, by depth */
    uint64_t *offsets;     /* [n + 1] exclusive sums of the counts */
    uint32_t *counts;
    uint32_t *values;
    uint32_t *emitted;     /* deterministic: the visible index of each slot; values are slots then */
    void *keys;
    splat_cuda_step_state *state;
};

/* The tiles of a row that the ellipse alpha >= 1/255 meets: it and the row's band are convex, so its x range there
 * decides (as AccuTile of Speedy-Splat does). */
struct tile_walk {
    float u, v, a, b, c, k, det, hx, hy;
    ushort4 rect;
    bool whole_rows; /* a needle too thin for float: every tile of its rectangle is taken */
};

__device__ __forceinline__ tile_walk walk_of(const bin_parameters &P, uint32_t id)
{
    tile_walk w;
    w.rect = P.rects[id];
    float k = 2.0f * (logf(255.0f * P.conic[id].w) + 5e-5f);
    if (!(k > 0.0f)) w.rect.z = w.rect.x; /* too faint for any pixel */
    if (w.rect.x >= w.rect.z) return w;
    float2 m = P.mean2d[id];
    float4 q = P.conic[id];
    w.u = m.x, w.v = m.y, w.a = q.x, w.b = q.y, w.c = q.z;
    w.det = splat_determinant(q.x, q.y, q.z);
    float ratio = q.x * q.z / w.det;
    w.whole_rows = !(w.det > 0.0f && ratio < SPLAT_CULL_RATIO);
    w.k = k * (1.001f + 4e-6f * ratio);
    w.hx = sqrtf(w.k * q.z / w.det);
    w.hy = sqrtf(w.k * q.x / w.det);
    return w;
}

/* Half-open tile columns of row y. */
__device__ __forceinline__ int2 row_span(const bin_parameters &P, const tile_walk &w, int y)
{
    if (w.whole_rows) return make_int2(w.rect.x, w.rect.z);
    float low = fmaxf((float)(y * SPLAT_TILE) - w.v - P.widen - 0.01f, -w.hy);
    float bottom = fminf((float)(y * SPLAT_TILE + SPLAT_TILE - 1), P.last_y); /* the last tiles may be short */
    float high = fminf(bottom - w.v + P.widen + 0.01f, w.hy);
    if (!(low <= high)) return make_int2(0, 0);
    float turn = -w.b / w.c * w.hx; /* dy of the rightmost point; the leftmost is opposite */
    float right = fminf(fmaxf(turn, low), high), left = fminf(fmaxf(-turn, low), high);
    float ak = w.a * w.k;
    float x1 = (-w.b * right + sqrtf(fmaxf(ak - w.det * right * right, 0.0f))) / w.a;
    float x0 = (-w.b * left - sqrtf(fmaxf(ak - w.det * left * left, 0.0f))) / w.a;
    x0 = w.u + x0 - P.widen - 0.01f;
    x1 = w.u + x1 + P.widen + 0.01f;
    if (x0 > P.last_x) return make_int2(0, 0);
    int first = max((int)w.rect.x, (int)ceilf((x0 - (SPLAT_TILE - 1)) / SPLAT_TILE));
    int last = min((int)w.rect.z, (int)floorf(x1 / SPLAT_TILE) + 1);
    return make_int2(first, max(first, last));
}

__global__ void __launch_bounds__(BIN_THREADS) count_kernel(const __grid_constant__ bin_parameters P)
{
    uint32_t j = blockIdx.x * BIN_THREADS + threadIdx.x, lane = threadIdx.x & 31, count = 0;
    tile_walk w;
    w.rect = make_ushort4(0, 0, 0, 0);
    if (j < min(P.n, P.state->n_listed)) w = walk_of(P, P.order[j]);
    bool any = w.rect.x < w.rect.z, large = any && w.rect.w - w.rect.y > LARGE_ROWS;
    if (any && !large)
        for (int y = w.rect.y; y < w.rect.w; y++) {
            int2 span = row_span(P, w, y);
            count += span.y - span.x;
        }
    for (unsigned todo = __ballot_sync(0xffffffffu, large); todo; todo &= todo - 1) {
        int source = __ffs(todo) - 1;
        uint32_t k = __shfl_sync(0xffffffffu, j, source), sum = 0;
        tile_walk big = walk_of(P, P.order[k]);
        for (int y = big.rect.y + (int)lane; y < big.rect.w; y += 32) {
            int2 span = row_span(P, big, y);
            sum += span.y - span.x;
        }
        sum = splat_warp_sum_u32(sum);
        if ((int)lane == source) count = sum;
    }
    if (j <= P.n) P.counts[j] = count; /* the last is 0: the sums run to n + 1 */
}

template <typename KEY>
__device__ __forceinline__ void put(const bin_parameters &P, uint64_t to, int x, int y, uint32_t id)
{
    ((KEY *)P.keys)[to] = (KEY)((uint32_t)y * P.tiles_x + (uint32_t)x);
    P.values[to] = P.emitted ? (uint32_t)to : id;
    if (P.emitted) P.emitted[to] = id;
}

template <typename KEY>
__global__ void __launch_bounds__(BIN_THREADS) emit_kernel(const __grid_constant__ bin_parameters P)
{
    uint32_t j = blockIdx.x * BIN_THREADS + threadIdx.x, lane = threadIdx.x & 31;
    if (j == 0) {
        P.state->n_instances = P.offsets[P.n];
        P.state->overflow = P.offsets[P.n] > P.capacity || P.state->n_listed > P.n;
    }
    tile_walk w;
    w.rect = make_ushort4(0, 0, 0, 0);
    uint64_t at = 0;
    uint32_t id = 0;
    if (j < min(P.n, P.state->n_listed)) {
        id = P.order[j];
        at = P.offsets[j];
        if (P.offsets[j + 1] <= P.capacity) w = walk_of(P, id);
    }
    bool any = w.rect.x < w.rect.z, large = any && w.rect.w - w.rect.y > LARGE_ROWS;
    if (any && !large)
        for (int y = w.rect.y; y < w.rect.w; y++) {
            int2 span = row_span(P, w, y);
            for (int x = span.x; x < span.y; x++, at++) put<KEY>(P, at, x, y, id);
        }
    for (unsigned todo = __ballot_sync(0xffffffffu, large); todo; todo &= todo - 1) {
        int source = __ffs(todo) - 1;
        uint32_t big_id = __shfl_sync(0xffffffffu, id, source);
        uint64_t next = __shfl_sync(0xffffffffu, at, source);
        tile_walk big = walk_of(P, big_id);
        for (int y0 = big.rect.y; y0 < big.rect.w; y0 += 32) {
            int y = y0 + (int)lane;
            int2 span = y < big.rect.w ? row_span(P, big, y) : make_int2(0, 0);
            uint32_t length = span.y - span.x, before = length;
#pragma unroll
            for (int offset = 1; offset < 32; offset *= 2) {
                uint32_t other = __shfl_up_sync(0xffffffffu, before, offset);
                if ((int)lane >= offset) before += other;
            }
            uint64_t to = next + before - length;
            for (int x = span.x; x < span.y; x++, to++) put<KEY>(P, to, x, y, big_id);
            next += __shfl_sync(0xffffffffu, before, 31);
        }
    }
}

/* tile_begin from the sorted keys; keys of padding are larger than every tile. */
template <typename KEY>
__global__ void __launch_bounds__(BIN_THREADS)
    ranges_kernel(const KEY *keys, uint32_t capacity, uint32_t n_tiles, uint32_t *tile_begin)
{
    uint32_t i = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (i > capacity) return;
    uint32_t here = i < capacity ? min((uint32_t)keys[i], n_tiles) : n_tiles;
    uint32_t before = i > 0 ? min((uint32_t)keys[i - 1], n_tiles) + 1 : 0;
    for (uint32_t tile = before; tile <= here; tile++) tile_begin[tile] = i;
}

/* Depth keys of the listed (positive floats sort as their bits), and padding behind them. */
__global__ void __launch_bounds__(BIN_THREADS) depth_keys_kernel(const float *depth, const uint32_t *listed, uint32_t n,
                                                                 uint32_t *keys, const splat_cuda_step_state *state)
{
    uint32_t j = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (j < n) keys[j] = j < state->n_listed ? __float_as_uint(depth[listed[j]]) : 0xffffffffu;
}

/* Longest lists first: the last blocks of a launch are then short ones, and the device does not end on a long one. A
 * counting sort by the list's length in steps of an eighth of an octave, in one block. */
#define ORDER_THREADS 1024
#define LENGTH_CLASSES 256
__device__ __forceinline__ uint32_t length_class(const uint32_t *tile_begin, uint32_t tile)
{
    float length = (float)(tile_begin[tile + 1] - tile_begin[tile]);
    return LENGTH_CLASSES - 1 - min(LENGTH_CLASSES - 1, (int)(8.0f * log2f(1.0f + length)));
}

__global__ void __launch_bounds__(ORDER_THREADS)
    tile_order_kernel(const uint32_t *tile_begin, uint32_t n_tiles, uint32_t *tile_order)
{
    __shared__ uint32_t next[LENGTH_CLASSES];
    if (threadIdx.x < LENGTH_CLASSES) next[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t tile = threadIdx.x; tile < n_tiles; tile += ORDER_THREADS)
        atomicAdd(&next[length_class(tile_begin, tile)], 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (int i = 0; i < LENGTH_CLASSES; i++) {
            uint32_t count = next[i];
            next[i] = sum;
            sum += count;
        }
    }
    __syncthreads();
    for (uint32_t tile = threadIdx.x; tile < n_tiles; tile += ORDER_THREADS)
        tile_order[atomicAdd(&next[length_class(tile_begin, tile)], 1)] = tile;
}

/* Deterministic: from sorted slots to visible indices. */
__global__ void __launch_bounds__(BIN_THREADS)
    slots_kernel(const uint32_t *slots, const uint32_t *emitted, uint32_t capacity, uint32_t *instances,
                 const splat_cuda_step_state *state)
{
    uint32_t i = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (i < capacity && i < state->n_instances && !state->overflow) instances[i] = emitted[slots[i]];
}

/* ---------------------------------------------------------------- host */

struct has_tiles {
    const ushort4 *rects;
    __host__ __device__ bool operator()(uint32_t v) const { return rects[v].x < rects[v].z && rects[v].y < rects[v].w; }
};

struct widen_count {
    __host__ __device__ uint64_t operator()(uint32_t count) const { return count; }
};
typedef thrust::transform_iterator<widen_count, const uint32_t *> count_iterator;
typedef thrust::counting_iterator<uint32_t> index_iterator;

/* Transients of the op, cut from one block. n: entries of the frame; room: of the list, <= n. */
struct bin_arrays {
    uint32_t room;
    uint32_t *listed, *keys, *keys_sorted, *order, *counts;
    uint64_t *offsets;
    void *temporary;
    size_t temporary_bytes;
};

static splat_status reserve_arrays(splat_cuda_backend *cuda, splat_frame *frame, bin_arrays *arrays, splat_error *error)
{
    const uint32_t n = frame->n_visible;
    uint64_t wanted = frame->n_visible_hint + frame->n_visible_hint / 4 + LISTED_MARGIN;
    bool hinted = frame->n_visible_hint && !cuda->deterministic;
    arrays->room = hinted && wanted < n ? (uint32_t)wanted : n;
    size_t select = 0, sort = 0, scan = 0;
    cub::DeviceSelect::If(NULL, select, index_iterator(0), (uint32_t *)NULL, (unsigned *)NULL, (int)n, has_tiles{NULL},
                          cuda->stream);
    cub::DeviceRadixSort::SortPairs(NULL, sort, (const uint32_t *)NULL, (uint32_t *)NULL, (const uint32_t *)NULL,
                                    (uint32_t *)NULL, (int)n, 0, 32, cuda->stream);
    cub::DeviceScan::ExclusiveSum(NULL, scan, count_iterator(NULL, widen_count()), (uint64_t *)NULL, (int)n + 1,
                                  cuda->stream);
    arrays->temporary_bytes = select > sort ? select : sort;
    if (scan > arrays->temporary_bytes) arrays->temporary_bytes = scan;
    size_t each = splat_cuda_round_up(((size_t)n + 1) * sizeof(uint32_t)),
           sums = splat_cuda_round_up(((size_t)n + 1) * sizeof(uint64_t));
    SPLAT_TRY(splat_block_ensure(&cuda->base, &frame->block_order, "depth order", SPLAT_OWNER_TRANSIENTS,
                                 4 * each + sums + arrays->temporary_bytes, error));
    char *base = (char *)frame->block_order.data;
    arrays->listed = (uint32_t *)base;
    arrays->keys = (uint32_t *)(base + each);
    arrays->keys_sorted = (uint32_t *)(base + 2 * each);
    arrays->order = (uint32_t *)(base + 3 * each);
    arrays->counts = arrays->keys; /* the keys are done with when tiles are counted */
    arrays->offsets = (uint64_t *)(base + 4 * each);
    arrays->temporary = base + 4 * each + sums;
    return SPLAT_OK;
}

static splat_status sort_by_depth(splat_cuda_backend *cuda, const splat_frame *frame, bin_arrays *arrays,
                                  splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    CUDA_TRY("list the visible",
             cub::DeviceSelect::If(arrays->temporary, bytes, index_iterator(0), arrays->listed, &cuda->state->n_listed,
                                   (int)frame->n_visible, has_tiles{(const ushort4 *)frame->tile_rect}, cuda->stream));
    depth_keys_kernel<<<splat_cuda_blocks(arrays->room, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
        frame->depth, arrays->listed, arrays->room, arrays->keys, cuda->state);
    CUDA_LAUNCHED("depth keys");
    bytes = arrays->temporary_bytes;
    CUDA_TRY("sort by depth",
             cub::DeviceRadixSort::SortPairs(arrays->temporary, bytes, arrays->keys, arrays->keys_sorted,
                                             arrays->listed, arrays->order, (int)arrays->room, 0, 32, cuda->stream));
    return SPLAT_OK;
}

/* How many instances to make room for: from the view's last count, or, for a view not seen before, by waiting. */
static splat_status capacity_of(splat_cuda_backend *cuda, splat_frame *frame, const bin_arrays *arrays,
                                uint32_t *capacity, splat_error *error)
{
    uint64_t wanted = frame->n_instances_hint + frame->n_instances_hint / 4 + INSTANCE_MARGIN;
    bool counts = !frame->n_instances_hint || cuda->deterministic;
    if (counts) {
        CUDA_TRY("read the instance count", cudaMemcpyAsync(&wanted, arrays->offsets + arrays->room, sizeof wanted,
                                                            cudaMemcpyDeviceToHost, cuda->stream));
        CUDA_TRY("read the instance count", cudaStreamSynchronize(cuda->stream));
    }
    if (wanted > INT32_MAX - 1)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "a view has %llu (Gaussian, tile) pairs; at most 2^31 fit: use a smaller resolution or "
                          "fewer Gaussians", (unsigned long long)wanted);
    if (counts) frame->n_instances = wanted;
    *capacity = (uint32_t)wanted;
    return SPLAT_OK;
}

/* Emits, sorts by tile and finds the tiles' ranges. */
template <typename KEY>
static splat_status sort_tiles(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters P, splat_error *error)
{
    uint32_t n_tiles = frame->tiles_x * frame->tiles_y;
    int bits = 1;
    while (((1ull << bits) - 1) <= n_tiles) bits++; /* all ones is the padding */
    size_t keys_bytes = splat_cuda_round_up((size_t)P.capacity * sizeof(KEY)),
           values_bytes = splat_cuda_round_up((size_t)P.capacity * 4);
    size_t sort_bytes = 0, n_arrays = cuda->deterministic ? 2 : 1;
    cub::DeviceRadixSort::SortPairs(NULL, sort_bytes, (const KEY *)NULL, (KEY *)NULL, (const uint32_t *)NULL,
                                    (uint32_t *)NULL, (int)P.capacity, 0, bits, cuda->stream);
    SPLAT_TRY(splat_block_ensure(&cuda->base, &frame->block_instances, "instances", SPLAT_OWNER_TRANSIENTS,
                                 n_arrays * values_bytes, error));
    SPLAT_TRY(splat_block_ensure(&cuda->base, &frame->block_scratch, "instance sort", SPLAT_OWNER_TRANSIENTS,
                                 2 * keys_bytes + n_arrays * values_bytes + sort_bytes, error));
    char *base = (char *)frame->block_scratch.data;
    KEY *keys = (KEY *)base, *keys_sorted = (KEY *)(base + keys_bytes);
    P.keys = keys;
    P.values = (uint32_t *)(base + 2 * keys_bytes);
    P.emitted = cuda->deterministic ? (uint32_t *)(base + 2 * keys_bytes + values_bytes) : NULL;
    frame->instances = (uint32_t *)frame->block_instances.data;
    frame->instance_slots = cuda->deterministic ? (uint32_t *)((char *)frame->block_instances.data + values_bytes)
                                                : NULL;
    if (P.capacity) {
        uint32_t *sorted = cuda->deterministic ? frame->instance_slots : frame->instances;
        CUDA_TRY("clear keys", cudaMemsetAsync(keys, 0xff, (size_t)P.capacity * sizeof(KEY), cuda->stream));
        emit_kernel<KEY><<<splat_cuda_blocks(P.n, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("emit");
        CUDA_TRY("sort instances", cub::DeviceRadixSort::SortPairs(base + 2 * keys_bytes + n_arrays * values_bytes,
                                                                   sort_bytes, keys, keys_sorted, P.values, sorted,
                                                                   (int)P.capacity, 0, bits, cuda->stream));
        if (cuda->deterministic)
            slots_kernel<<<splat_cuda_blocks(P.capacity, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
                frame->instance_slots, P.emitted, P.capacity, frame->instances, cuda->state);
        CUDA_LAUNCHED("slots");
    }
    ranges_kernel<KEY><<<splat_cuda_blocks((uint64_t)P.capacity + 1, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
        keys_sorted, P.capacity, n_tiles, frame->tile_begin);
    CUDA_LAUNCHED("ranges");
    return SPLAT_OK;
}

static splat_status order_tiles(splat_cuda_backend *cuda, splat_frame *frame, uint32_t n_tiles, splat_error *error)
{
    uint32_t *order = frame->tile_begin + n_tiles + 1; /* the block has room for both, see splat_frame_reserve */
    tile_order_kernel<<<1, ORDER_THREADS, 0, cuda->stream>>>(frame->tile_begin, n_tiles, order);
    CUDA_LAUNCHED("tile order");
    cuda->tile_order = order;
    return SPLAT_OK;
}

extern "C" splat_status splat_bin_cuda(splat_backend *backend, const struct splat_bin_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_frame *frame = args->frame;
    size_t n_tiles = (size_t)frame->tiles_x * frame->tiles_y;
    if (frame->n_visible == 0) {
        CUDA_TRY("clear memory",
                 cudaMemsetAsync(frame->tile_begin, 0, (n_tiles + 1) * sizeof *frame->tile_begin, cuda->stream));
        return order_tiles(cuda, frame, (uint32_t)n_tiles, error);
    }
    bin_arrays arrays;
    SPLAT_TRY(reserve_arrays(cuda, frame, &arrays, error));
    SPLAT_TRY(sort_by_depth(cuda, frame, &arrays, error));
    bin_parameters P = {};
    P.n = arrays.room;
    P.tiles_x = frame->tiles_x;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    P.last_x = (float)(frame->camera.width - 1);
    P.last_y = (float)(frame->camera.height - 1);
    P.mean2d = (const float2 *)frame->mean2d;
    P.conic = (const float4 *)frame->conic;
    P.rects = (const ushort4 *)frame->tile_rect;
    P.order = arrays.order;
    P.offsets = arrays.offsets;
    P.counts = arrays.counts;
    P.state = cuda->state;
    count_kernel<<<splat_cuda_blocks((uint64_t)P.n + 1, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("count");
    size_t bytes = arrays.temporary_bytes;
    CUDA_TRY("sum counts",
             cub::DeviceScan::ExclusiveSum(arrays.temporary, bytes, count_iterator(arrays.counts, widen_count()),
                                           arrays.offsets, (int)P.n + 1, cuda->stream));
    SPLAT_TRY(capacity_of(cuda, frame, &arrays, &P.capacity, error));
    cuda->order = arrays.order;
    cuda->offsets = arrays.offsets;
    cuda->n_order = P.n;
    cuda->n_slots = P.capacity;
    frame->slot_begin = NULL;
    SPLAT_TRY(n_tiles >= UINT16_MAX ? sort_tiles<uint32_t>(cuda, frame, P, error)
                                    : sort_tiles<uint16_t>(cuda, frame, P, error));
    return order_tiles(cuda, frame, (uint32_t)n_tiles, error);
}
