/* bin on CUDA: the Gaussians with a tile are listed, sorted by depth, their tiles enumerated row by row, then sorted by
 * a narrow tile key (CUB; both sorts are stable). The host never waits for a count: arrays are sized by the view's last
 * counts with a margin, and a step that needs more sets `overflow` and does nothing. Only where a view may have more
 * instances than there is room for does the host wait for the counts of the rows, and choose a band. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/bin/band.h"
#include "ops/bin/bin.h"
#include "ops/raster/raster.h"
}

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cstdlib>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#define BIN_THREADS 256
#define LARGE_ROWS 8          /* taller Gaussians are done by a whole warp, a row a lane */
/* Room beyond one and a quarter times the last known count of the view. */
#define LISTED_MARGIN 16384
#define INSTANCE_MARGIN 65536
#define LEAST_INSTANCE_MARGIN 16384 /* beyond a sixteenth more than the count, below a bound */
#define MAX_TILE_ROWS (65536 / SPLAT_TILE) /* of the largest picture, see splat_view_begin */

struct bin_parameters {
    uint32_t n, tiles_x, capacity; /* n: room of the list; capacity: room for instances */
    uint32_t row_begin, row_end;   /* the band */
    uint64_t n_view;       /* instances of the whole view where it is done in bands, else 0 */
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
    splat_cuda_view_state *state;
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
    w.rect.y = (unsigned short)max((uint32_t)w.rect.y, P.row_begin);
    w.rect.w = (unsigned short)min((uint32_t)w.rect.w, P.row_end);
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
        if (P.row_begin == 0) P.state->n_instances = P.n_view ? P.n_view : P.offsets[P.n];
        if (P.offsets[P.n] > P.capacity || P.state->n_listed > P.n) P.state->overflow = 1; /* for all of the view */
    }
    /* padding, which sorts behind every tile */
    for (uint64_t k = P.offsets[P.n] + j; k < P.capacity; k += gridDim.x * BIN_THREADS) ((KEY *)P.keys)[k] = (KEY)~0u;
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

/* tile_begin of the tiles first to end from the sorted keys; keys of padding are larger than every tile. */
template <typename KEY>
__global__ void __launch_bounds__(BIN_THREADS)
    ranges_kernel(const KEY *keys, uint32_t capacity, uint32_t first, uint32_t end, uint32_t *tile_begin)
{
    uint32_t i = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (i > capacity) return;
    uint32_t here = i < capacity ? min((uint32_t)keys[i], end) : end;
    uint32_t before = i > 0 ? min((uint32_t)keys[i - 1], end) + 1 : first;
    for (uint32_t tile = before; tile <= here; tile++) tile_begin[tile] = i;
}

/* Depth keys of the listed (positive floats sort as their bits), and padding after them. */
__global__ void __launch_bounds__(BIN_THREADS) depth_keys_kernel(const float *depth, const uint32_t *listed, uint32_t n,
                                                                 uint32_t *keys, const splat_cuda_view_state *state)
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
    tile_order_kernel(const uint32_t *tile_begin, uint32_t first, uint32_t end, uint32_t *tile_order)
{
    __shared__ uint32_t next[LENGTH_CLASSES];
    if (threadIdx.x < LENGTH_CLASSES) next[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t tile = first + threadIdx.x; tile < end; tile += ORDER_THREADS)
        atomicAdd(&next[length_class(tile_begin, tile)], 1);
    __syncthreads();
    if (threadIdx.x < 32) { /* counts to their exclusive sums, as many classes a lane */
        constexpr int EACH = LENGTH_CLASSES / 32;
        uint32_t *own = next + EACH * threadIdx.x, sum = 0;
        for (int i = 0; i < EACH; i++) sum += own[i];
        uint32_t before = sum;
#pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            uint32_t other = __shfl_up_sync(0xffffffffu, before, offset);
            if ((int)threadIdx.x >= offset) before += other;
        }
        before -= sum;
        for (int i = 0; i < EACH; i++) {
            uint32_t count = own[i];
            own[i] = before;
            before += count;
        }
    }
    __syncthreads();
    for (uint32_t tile = first + threadIdx.x; tile < end; tile += ORDER_THREADS)
        tile_order[atomicAdd(&next[length_class(tile_begin, tile)], 1)] = tile;
}

/* Deterministic: from sorted slots to visible indices. */
__global__ void __launch_bounds__(BIN_THREADS)
    slots_kernel(const uint32_t *slots, const uint32_t *emitted, uint32_t capacity, const uint64_t *count,
                 uint32_t *instances, const splat_cuda_view_state *state)
{
    uint32_t i = blockIdx.x * BIN_THREADS + threadIdx.x;
    if (i < capacity && i < *count && !state->overflow) instances[i] = emitted[slots[i]]; /* the rest is padding */
}

/* Gaussians that may lie in the rows of tiles [row_begin, row_end). */
struct has_tiles {
    const ushort4 *rects;
    uint32_t row_begin, row_end;
    __host__ __device__ bool operator()(uint32_t v) const
    {
        ushort4 r = rects[v];
        return r.x < r.z && r.y < r.w && r.w > row_begin && r.y < row_end;
    }
};

/* rows[y]: the instances of row y of tiles; rows[tiles_y + y]: the Gaussians whose first row in the band it is. A block
 * sums in shared memory: its share of the Gaussians has less than 2^32 tiles in a row. */
__global__ void __launch_bounds__(BIN_THREADS)
    count_rows_kernel(const __grid_constant__ bin_parameters P, uint32_t n_visible, uint32_t tiles_y,
                      unsigned long long *rows)
{
    __shared__ uint32_t sums[2 * MAX_TILE_ROWS];
    uint32_t lane = threadIdx.x & 31, step = gridDim.x * BIN_THREADS;
    for (uint32_t i = threadIdx.x; i < 2 * tiles_y; i += BIN_THREADS) sums[i] = 0;
    __syncthreads();
    for (uint64_t base = (uint64_t)blockIdx.x * BIN_THREADS; base < n_visible; base += step) {
        uint64_t v = base + threadIdx.x;
        bool listed = v < n_visible && has_tiles{P.rects, P.row_begin, P.row_end}((uint32_t)v);
        tile_walk w;
        w.rect = make_ushort4(0, 0, 0, 0);
        if (listed) {
            w = walk_of(P, (uint32_t)v);
            atomicAdd(&sums[tiles_y + w.rect.y], 1u);
        }
        bool any = w.rect.x < w.rect.z, large = any && w.rect.w - w.rect.y > LARGE_ROWS;
        if (any && !large)
            for (int y = w.rect.y; y < w.rect.w; y++) {
                int2 span = row_span(P, w, y);
                atomicAdd(&sums[y], (uint32_t)(span.y - span.x));
            }
        for (unsigned todo = __ballot_sync(0xffffffffu, large); todo; todo &= todo - 1) {
            uint32_t id = __shfl_sync(0xffffffffu, (uint32_t)v, __ffs(todo) - 1);
            tile_walk big = walk_of(P, id);
            for (int y = big.rect.y + (int)lane; y < big.rect.w; y += 32) {
                int2 span = row_span(P, big, y);
                atomicAdd(&sums[y], (uint32_t)(span.y - span.x));
            }
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 2 * tiles_y; i += BIN_THREADS)
        if (sums[i]) atomicAdd(&rows[i], (unsigned long long)sums[i]);
}

/* ---------------------------------------------------------------- host */

struct widen_count {
    __host__ __device__ uint64_t operator()(uint32_t count) const { return count; }
};
typedef thrust::transform_iterator<widen_count, const uint32_t *> count_iterator;
typedef thrust::counting_iterator<uint32_t> index_iterator;

static has_tiles in_band(const bin_parameters &P)
{
    return has_tiles{P.rects, P.row_begin, P.row_end};
}

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

/* Waits for the counts of the rows, and sets the band's last row, its count and the length of its list. */
static splat_status choose_band(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    const size_t bytes = 2 * frame->tiles_y * sizeof(uint64_t);
    void *rows;
    SPLAT_TRY(splat_scratch_take(&cuda->base, bytes, &rows, error));
    uint64_t *counts = (uint64_t *)malloc(bytes), n_band = 0, n_listed = 0;
    if (!counts) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the counts of the rows of tiles");
    unsigned blocks = splat_cuda_blocks(frame->n_visible, BIN_THREADS), most = 4 * (unsigned)cuda->n_multiprocessors;
    cudaError_t result = cudaMemsetAsync(rows, 0, bytes, cuda->stream);
    if (result == cudaSuccess) {
        count_rows_kernel<<<blocks < most ? blocks : most, BIN_THREADS, 0, cuda->stream>>>(
            *P, frame->n_visible, frame->tiles_y, (unsigned long long *)rows);
        result = cudaGetLastError();
    }
    if (result == cudaSuccess)
        result = cudaMemcpyAsync(counts, rows, bytes, cudaMemcpyDeviceToHost, cuda->stream);
    if (result == cudaSuccess) result = cudaStreamSynchronize(cuda->stream);
    splat_status status = splat_cuda_check(result, "count the instances of the rows", error);
    if (status == SPLAT_OK) status = splat_band_choose(frame, counts, &n_band, error);
    if (status == SPLAT_OK) status = check_count(n_band, error);
    if (status == SPLAT_OK) {
        for (uint32_t y = frame->row_begin; y < frame->row_end; y++) n_listed += counts[frame->tiles_y + y];
        for (uint32_t y = frame->row_begin; y < frame->tiles_y; y++) P->n_view += counts[y];
        P->row_end = frame->row_end;
        P->n = (uint32_t)n_listed;
        P->capacity = (uint32_t)n_band;
        frame->n_instances = n_band;
    }
    free(counts);
    return status;
}

/* Working arrays. `order`: the list, then the list by depth. */
struct bin_arrays {
    uint32_t *keys[2], *order, *order_swap;
    void *temporary;
    size_t temporary_bytes;
};

/* The deterministic backward pass reads the order and the offsets: they are the frame's, taken once a view. */
static splat_status take_order(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, bin_arrays *arrays,
                               splat_error *error)
{
    const size_t n = frame->n_visible, sums = splat_cuda_round_up((n + 1) * sizeof(uint64_t));
    void *data;
    if (!frame->slot_offsets) {
        SPLAT_TRY(splat_frame_take(&cuda->base, frame, sums + n * sizeof(uint32_t), &data, error));
        frame->slot_offsets = (uint64_t *)data;
        frame->depth_order = (uint32_t *)((char *)data + sums);
    }
    P->offsets = frame->slot_offsets;
    arrays->order = frame->depth_order;
    return SPLAT_OK;
}

static splat_status take_arrays(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, bin_arrays *arrays,
                                splat_error *error)
{
    splat_backend *backend = &cuda->base;
    const size_t n = frame->n_visible, each = ((size_t)P->n + 1) * sizeof(uint32_t);
    cub::DoubleBuffer<uint32_t> none;
    size_t select = 0, sort = 0, scan = 0;
    cub::DeviceSelect::If(NULL, select, index_iterator(0), (uint32_t *)NULL, (unsigned *)NULL, (int)n, in_band(*P),
                          cuda->stream);
    cub::DeviceRadixSort::SortPairs(NULL, sort, none, none, (int)P->n, 0, 32, cuda->stream);
    cub::DeviceScan::ExclusiveSum(NULL, scan, count_iterator(NULL, widen_count()), (uint64_t *)NULL, (int)P->n + 1,
                                  cuda->stream);
    arrays->temporary_bytes = select > sort ? select : sort;
    if (scan > arrays->temporary_bytes) arrays->temporary_bytes = scan;
    if (cuda->base.deterministic) {
        SPLAT_TRY(take_order(cuda, frame, P, arrays, error));
    } else { /* a hint may be too low: the list itself needs room for all */
        SPLAT_TRY(splat_scratch_take(backend, n * sizeof(uint32_t), (void **)&arrays->order, error));
        SPLAT_TRY(splat_scratch_take(backend, ((size_t)P->n + 1) * sizeof(uint64_t), (void **)&P->offsets, error));
    }
    SPLAT_TRY(splat_scratch_take(backend, each, (void **)&arrays->order_swap, error));
    SPLAT_TRY(splat_scratch_take(backend, each, (void **)&arrays->keys[0], error));
    SPLAT_TRY(splat_scratch_take(backend, each, (void **)&arrays->keys[1], error));
    SPLAT_TRY(splat_scratch_take(backend, arrays->temporary_bytes, &arrays->temporary, error));
    P->order = arrays->order;
    P->counts = arrays->keys[0]; /* the keys are done with when tiles are counted */
    return SPLAT_OK;
}

static splat_status sort_by_depth(splat_cuda_backend *cuda, const splat_frame *frame, const bin_parameters &P,
                                  const bin_arrays *arrays, splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    CUDA_TRY("list the visible",
             cub::DeviceSelect::If(arrays->temporary, bytes, index_iterator(0), arrays->order, &P.state->n_listed,
                                   (int)frame->n_visible, in_band(P), cuda->stream));
    depth_keys_kernel<<<splat_cuda_blocks(P.n, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
        frame->depth, arrays->order, P.n, arrays->keys[0], P.state);
    CUDA_LAUNCHED("depth keys");
    bytes = arrays->temporary_bytes;
    cub::DoubleBuffer<uint32_t> keys(arrays->keys[0], arrays->keys[1]), order(arrays->order, arrays->order_swap);
    CUDA_TRY("sort by depth", cub::DeviceRadixSort::SortPairs(arrays->temporary, bytes, keys, order, (int)P.n, 0, 32,
                                                              cuda->stream));
    if (order.Current() != arrays->order) /* an odd number of passes */
        CUDA_TRY("sort by depth", cudaMemcpyAsync(arrays->order, order.Current(), P.n * sizeof(uint32_t),
                                                  cudaMemcpyDeviceToDevice, cuda->stream));
    return SPLAT_OK;
}

static splat_status count_tiles(splat_cuda_backend *cuda, const bin_parameters &P, const bin_arrays *arrays,
                                splat_error *error)
{
    size_t bytes = arrays->temporary_bytes;
    count_kernel<<<splat_cuda_blocks((uint64_t)P.n + 1, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("count");
    CUDA_TRY("sum counts",
             cub::DeviceScan::ExclusiveSum(arrays->temporary, bytes, count_iterator(P.counts, widen_count()), P.offsets,
                                           (int)P.n + 1, cuda->stream));
    return SPLAT_OK;
}

/* For a view without a bound that was not seen before. */
static splat_status wait_for_count(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, splat_error *error)
{
    uint64_t count = 0;
    CUDA_TRY("read the instance count",
             cudaMemcpyAsync(&count, P->offsets + P->n, sizeof count, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("read the instance count", cudaStreamSynchronize(cuda->stream));
    SPLAT_TRY(check_count(count, error));
    P->capacity = (uint32_t)count;
    frame->n_instances = count;
    return SPLAT_OK;
}

static splat_status take_instances(splat_cuda_backend *cuda, splat_frame *frame, uint32_t capacity, splat_error *error)
{
    if (frame->instances && capacity <= frame->instance_room) return SPLAT_OK;
    uint64_t room = splat_band_is_view(frame) ? capacity : frame->max_instances;
    size_t bytes = splat_cuda_round_up(room * sizeof(uint32_t));
    void *data;
    frame->instances = NULL;
    SPLAT_TRY(splat_frame_take(&cuda->base, frame, (cuda->base.deterministic ? 2 : 1) * bytes, &data, error));
    frame->instances = (uint32_t *)data;
    frame->instance_slots = cuda->base.deterministic ? (uint32_t *)((char *)data + bytes) : NULL;
    frame->instance_room = room;
    return SPLAT_OK;
}

/* Emits, sorts by tile and finds the tiles' ranges. Values are emitted to where the sort is likely to leave them. */
template <typename KEY>
static splat_status sort_tiles(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters P, splat_error *error)
{
    splat_backend *backend = &cuda->base;
    uint32_t n_tiles = frame->tiles_x * frame->tiles_y;
    int bits = 1;
    while (((1ull << bits) - 1) <= n_tiles) bits++; /* all ones is the padding */
    size_t sort_bytes = 0, key_bytes = (size_t)P.capacity * sizeof(KEY), value_bytes = (size_t)P.capacity * 4;
    void *keys[2], *values_swap, *temporary;
    cub::DoubleBuffer<KEY> sort_keys;
    cub::DoubleBuffer<uint32_t> sort_values;
    cub::DeviceRadixSort::SortPairs(NULL, sort_bytes, sort_keys, sort_values, (int)P.capacity, 0, bits, cuda->stream);
    SPLAT_TRY(splat_scratch_take(backend, key_bytes, &keys[0], error));
    SPLAT_TRY(splat_scratch_take(backend, key_bytes, &keys[1], error));
    SPLAT_TRY(splat_scratch_take(backend, value_bytes, &values_swap, error));
    if (cuda->base.deterministic) SPLAT_TRY(splat_scratch_take(backend, value_bytes, (void **)&P.emitted, error));
    SPLAT_TRY(splat_scratch_take(backend, sort_bytes, &temporary, error));
    P.keys = keys[0];
    P.values = cuda->base.deterministic ? frame->instance_slots : frame->instances;
    sort_keys = cub::DoubleBuffer<KEY>((KEY *)keys[0], (KEY *)keys[1]);
    sort_values = cub::DoubleBuffer<uint32_t>(P.values, (uint32_t *)values_swap);
    if (P.capacity) {
        emit_kernel<KEY><<<splat_cuda_blocks(P.n, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("emit");
        CUDA_TRY("sort instances", cub::DeviceRadixSort::SortPairs(temporary, sort_bytes, sort_keys, sort_values,
                                                                   (int)P.capacity, 0, bits, cuda->stream));
        if (sort_values.Current() != P.values) /* an odd number of passes: few tiles, or more than 65,534 */
            CUDA_TRY("sort instances", cudaMemcpyAsync(P.values, sort_values.Current(), value_bytes,
                                                       cudaMemcpyDeviceToDevice, cuda->stream));
        if (cuda->base.deterministic)
            slots_kernel<<<splat_cuda_blocks(P.capacity, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
                P.values, P.emitted, P.capacity, P.offsets + P.n, frame->instances, P.state);
        CUDA_LAUNCHED("slots");
    }
    ranges_kernel<KEY><<<splat_cuda_blocks((uint64_t)P.capacity + 1, BIN_THREADS), BIN_THREADS, 0, cuda->stream>>>(
        sort_keys.Current(), P.capacity, P.tiles_x * P.row_begin, P.tiles_x * P.row_end, frame->tile_begin);
    CUDA_LAUNCHED("ranges");
    return SPLAT_OK;
}

/* Ends the work on a band. */
static splat_status order_tiles(splat_cuda_backend *cuda, splat_frame *frame, splat_error *error)
{
    tile_order_kernel<<<1, ORDER_THREADS, 0, cuda->stream>>>(frame->tile_begin, frame->tiles_x * frame->row_begin,
                                                             frame->tiles_x * frame->row_end, frame->tile_order);
    CUDA_LAUNCHED("tile order");
    return splat_scratch_reset(&cuda->base, error);
}

/* A band without instances. */
static splat_status empty_band(splat_cuda_backend *cuda, splat_frame *frame, splat_error *error)
{
    size_t begin = (size_t)frame->tiles_x * frame->row_begin, end = (size_t)frame->tiles_x * frame->row_end;
    frame->n_order = frame->n_slots = 0;
    CUDA_TRY("clear memory", cudaMemsetAsync(frame->tile_begin + begin, 0,
                                             (end - begin + 1) * sizeof *frame->tile_begin, cuda->stream));
    return order_tiles(cuda, frame, error);
}

static bin_parameters parameters_of(const splat_frame *frame)
{
    bin_parameters P = {};
    P.tiles_x = frame->tiles_x;
    P.row_begin = frame->row_begin;
    P.row_end = frame->tiles_y;
    P.widen = frame->jitter ? 0.5f : 0.0f;
    P.last_x = (float)(frame->camera.width - 1);
    P.last_y = (float)(frame->camera.height - 1);
    P.mean2d = (const float2 *)frame->mean2d;
    P.conic = (const float4 *)frame->conic;
    P.rects = (const ushort4 *)frame->tile_rect;
    P.state = splat_cuda_state_of(frame);
    return P;
}

/* The band as far as it is known before anything is sorted: its rows, the room of the list, and, unless the host waits
 * for the count later, the room for instances. */
static splat_status plan_band(splat_cuda_backend *cuda, splat_frame *frame, bin_parameters *P, bool *waits,
                              splat_error *error)
{
    uint64_t expected = expected_instances(cuda, frame);
    *waits = false;
    if (frame->max_instances && !expected) return choose_band(cuda, frame, P, error);
    uint64_t listed = frame->hint.n_visible + frame->hint.n_visible / 4 + LISTED_MARGIN;
    bool hinted = frame->hint.n_visible && !cuda->base.deterministic;
    P->n = hinted && listed < frame->n_visible ? (uint32_t)listed : frame->n_visible;
    P->capacity = (uint32_t)expected;
    frame->row_end = frame->tiles_y;
    *waits = !expected;
    return check_count(expected, error);
}

extern "C" splat_status splat_bin_cuda(splat_backend *backend, const struct splat_bin_args *args, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_frame *frame = args->frame;
    frame->n_instances = 0;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (frame->n_visible == 0) {
        frame->row_end = frame->tiles_y;
        return empty_band(cuda, frame, error);
    }
    bool waits;
    bin_parameters P = parameters_of(frame);
    SPLAT_TRY(plan_band(cuda, frame, &P, &waits, error));
    if (!waits && P.capacity == 0) return empty_band(cuda, frame, error);
    bin_arrays arrays;
    SPLAT_TRY(take_arrays(cuda, frame, &P, &arrays, error));
    SPLAT_TRY(sort_by_depth(cuda, frame, P, &arrays, error));
    SPLAT_TRY(count_tiles(cuda, P, &arrays, error));
    if (waits) SPLAT_TRY(wait_for_count(cuda, frame, &P, error));
    SPLAT_TRY(take_instances(cuda, frame, P.capacity, error));
    frame->n_order = P.n;
    frame->n_slots = P.capacity;
    if (frame->tiles_x * frame->tiles_y >= UINT16_MAX)
        SPLAT_TRY(sort_tiles<uint32_t>(cuda, frame, P, error));
    else
        SPLAT_TRY(sort_tiles<uint16_t>(cuda, frame, P, error));
    return order_tiles(cuda, frame, error);
}
