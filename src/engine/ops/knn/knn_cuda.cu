/* knn on CUDA: the balanced k-d tree of knn_cpu.c, built by one radix sort a level, searched by one thread a point.
 *
 * Node j of level l owns the ordered points [n j / 2^l, n (j + 1) / 2^l). A sort by (node, coordinate along the longest
 * side of the node's box) puts the children of every node of a level in place at once; the leaves hold 8 to 16 points.
 * log2(n / 16) sorts bound the work for any input, where cells of a grid or of a Morton curve fail on tight clusters
 * and on clouds with far outliers.
 *
 * A box's distance, computed with the operations of a point's distance, is never above the computed distance of a point
 * inside (rounding is monotone), so pruning is exact in float32. Each box knows its lowest index and is skipped on a
 * tie when that is too high: n identical points cost O(n log n). Distance and index are one 64-bit key. */
#include "backend/cuda_backend.cuh"
#include "backend/cuda_sort.cuh"
#include "ops/densify/order_cuda.cuh"

extern "C" {
#include "ops/knn/knn.h"
}

#define KNN_THREADS 128
#define LEAF 16
#define MAX_K 32

/* While the tree is built: keys of the lowest coordinates, complements of the keys of the highest, so that all seven
 * are minima. Then the same memory holds them as floats. */
struct __align__(16) knn_node {
    uint32_t low[3], min_index, high[3], unused;
};

struct knn_tree {
    uint32_t n, n_levels; /* leaves are on level n_levels */
    const float *points;
    knn_node *nodes;     /* node j of level l is nodes[2^l + j] */
    uint32_t *first_bad; /* the first point that is not finite */
};

__device__ __forceinline__ uint32_t node_of(uint32_t n, uint32_t level, uint32_t i)
{
    return (uint32_t)(((((uint64_t)i + 1) << level) - 1) / n); /* the last j with n j / 2^level <= i */
}

__device__ __forceinline__ uint32_t range_begin(uint32_t n, uint32_t level, uint32_t j)
{
    return (uint32_t)(((uint64_t)n * j) >> level);
}

/* ---------------------------------------------------------------- building */

__global__ void __launch_bounds__(KNN_THREADS) start_kernel(const __grid_constant__ knn_tree t, uint32_t *order)
{
    uint32_t i = blockIdx.x * KNN_THREADS + threadIdx.x;
    if (i >= t.n) return;
    const float *p = t.points + 3 * (size_t)i;
    order[i] = i;
    if (!(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]))) atomicMin(t.first_bad, i);
}

/* The boxes of a level. On the upper levels a warp is inside one node and adds to it once. */
__global__ void __launch_bounds__(KNN_THREADS)
    boxes_kernel(const __grid_constant__ knn_tree t, const uint32_t *order, uint32_t level)
{
    uint32_t i = blockIdx.x * KNN_THREADS + threadIdx.x, j = UINT32_MAX;
    uint32_t low[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, high[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
             index = UINT32_MAX;
    if (i < t.n) {
        index = order[i];
        j = node_of(t.n, level, i);
#pragma unroll
        for (int a = 0; a < 3; a++) {
            low[a] = splat_order_key(t.points[3 * (size_t)index + a]);
            high[a] = ~low[a];
        }
    }
    bool whole = __all_sync(0xffffffffu, j == __shfl_sync(0xffffffffu, j, 0));
    if (whole) {
        index = splat_order_warp_min(index);
#pragma unroll
        for (int a = 0; a < 3; a++) {
            low[a] = splat_order_warp_min(low[a]);
            high[a] = splat_order_warp_min(high[a]);
        }
    }
    if (i >= t.n || (whole && (threadIdx.x & 31) != 0)) return;
    knn_node *node = &t.nodes[((size_t)1 << level) + j];
    atomicMin(&node->min_index, index);
#pragma unroll
    for (int a = 0; a < 3; a++) {
        atomicMin(&node->low[a], low[a]);
        atomicMin(&node->high[a], high[a]);
    }
}

/* Sort keys of a level: the node, then the coordinate along its longest side (a side may overflow to infinity). */
__global__ void __launch_bounds__(KNN_THREADS)
    keys_kernel(const __grid_constant__ knn_tree t, const uint32_t *order, uint32_t level, uint64_t *keys)
{
    uint32_t i = blockIdx.x * KNN_THREADS + threadIdx.x;
    if (i >= t.n) return;
    uint32_t j = node_of(t.n, level, i), axis = 0;
    const knn_node *node = &t.nodes[((size_t)1 << level) + j];
    float longest = -1.0f;
#pragma unroll
    for (uint32_t a = 0; a < 3; a++) {
        float side = splat_order_value(~node->high[a]) - splat_order_value(node->low[a]);
        if (side > longest) {
            longest = side;
            axis = a;
        }
    }
    keys[i] = (uint64_t)j << 32 | splat_order_key(t.points[3 * (size_t)order[i] + axis]);
}

__global__ void __launch_bounds__(KNN_THREADS) nodes_kernel(const __grid_constant__ knn_tree t)
{
    uint32_t j = blockIdx.x * KNN_THREADS + threadIdx.x;
    if (j == 0 || j >= 2u << t.n_levels) return;
    knn_node node = t.nodes[j];
#pragma unroll
    for (int a = 0; a < 3; a++) {
        node.low[a] = __float_as_uint(splat_order_value(node.low[a]));
        node.high[a] = __float_as_uint(splat_order_value(~node.high[a]));
    }
    t.nodes[j] = node;
}

__global__ void __launch_bounds__(KNN_THREADS)
    items_kernel(const __grid_constant__ knn_tree t, const uint32_t *order, float4 *items)
{
    uint32_t i = blockIdx.x * KNN_THREADS + threadIdx.x;
    if (i >= t.n) return;
    const float *p = t.points + 3 * (size_t)order[i];
    items[i] = make_float4(p[0], p[1], p[2], __uint_as_float(order[i]));
}

/* ---------------------------------------------------------------- searching */

struct knn_search {
    uint32_t n, n_levels, k;
    const float4 *nodes, *items; /* two float4 a node; an item is a point and its index */
    float *distances2;
    uint32_t *indices;
};

/* The squared distance as the CPU rounds it (no fused multiply-add), above the index. Distances are never negative:
 * their bits are ordered as they are. */
__device__ __forceinline__ uint64_t key_of(float dx, float dy, float dz, uint32_t index)
{
    float d = __fadd_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
    return (uint64_t)__float_as_uint(d) << 32 | index;
}

__device__ __forceinline__ float outside(float low, float high, float x)
{
    return fmaxf(fmaxf(low - x, x - high), 0.0f);
}

/* The lowest key that a point of the node can have. */
__device__ __forceinline__ uint64_t node_key(const float4 *nodes, uint32_t at, const float4 &query)
{
    float4 low = nodes[2 * (size_t)at], high = nodes[2 * (size_t)at + 1];
    return key_of(outside(low.x, high.x, query.x), outside(low.y, high.y, query.y), outside(low.z, high.z, query.z),
                  __float_as_uint(low.w));
}

/* best is in ascending order. */
template <int K>
__device__ __forceinline__ void insert(uint64_t (&best)[K], uint64_t key)
{
#pragma unroll
    for (int m = 0; m < K; m++) {
        uint64_t here = best[m];
        best[m] = key < here ? key : here;
        key = key < here ? here : key;
    }
}

template <int K>
__device__ __forceinline__ void scan_leaf(const knn_search &P, uint32_t leaf, const float4 &query, uint64_t (&best)[K])
{
    uint32_t end = range_begin(P.n, P.n_levels, leaf + 1);
    for (uint32_t i = range_begin(P.n, P.n_levels, leaf); i < end; i++) {
        float4 other = P.items[i];
        uint64_t key = key_of(query.x - other.x, query.y - other.y, query.z - other.z, __float_as_uint(other.w));
        if (key < best[K - 1] && __float_as_uint(other.w) != __float_as_uint(query.w)) insert<K>(best, key);
    }
}

/* Depth first, the nearer child first. The tree is complete, so the way back needs no stack: bit l of todo says that
 * the sibling of the path's node on level l is still to be visited. */
template <int K>
__device__ __forceinline__ void find_nearest(const knn_search &P, const float4 &query, uint64_t (&best)[K])
{
    uint32_t at = 1, level = 0, todo = 0;
    for (;;) {
        while (level < P.n_levels) {
            uint64_t left = node_key(P.nodes, 2 * at, query), right = node_key(P.nodes, 2 * at + 1, query);
            bool go_right = right < left;
            at = 2 * at + go_right;
            level++;
            if ((go_right ? left : right) < best[K - 1]) todo |= 1u << level;
        }
        scan_leaf<K>(P, at - (1u << P.n_levels), query, best);
        do {
            if (!todo) return;
            uint32_t up = 31 - __clz(todo);
            at = at >> (level - up) ^ 1;
            level = up;
            todo ^= 1u << up;
        } while (node_key(P.nodes, at, query) >= best[K - 1]);
    }
}

/* Points in leaf order: the threads of a warp visit the same nodes. The first K - k places are taken by 0, the lowest
 * key, so that the last place is the k-th best for any k <= K. */
template <int K>
__global__ void __launch_bounds__(KNN_THREADS) search_kernel(const __grid_constant__ knn_search P)
{
    uint32_t i = blockIdx.x * KNN_THREADS + threadIdx.x, n_taken = K - P.k;
    if (i >= P.n) return;
    float4 query = P.items[i];
    uint64_t best[K];
#pragma unroll
    for (int m = 0; m < K; m++) best[m] = (uint32_t)m < n_taken ? 0 : UINT64_MAX;
    find_nearest<K>(P, query, best);
    size_t row = (size_t)__float_as_uint(query.w) * P.k;
#pragma unroll
    for (int m = 0; m < K; m++) {
        if ((uint32_t)m < n_taken) continue;
        if (P.distances2) P.distances2[row + (m - n_taken)] = __uint_as_float((uint32_t)(best[m] >> 32));
        if (P.indices) P.indices[row + (m - n_taken)] = (uint32_t)best[m];
    }
}

/* ---------------------------------------------------------------- host */

/* One buffer: first_bad, the nodes, the order twice, the sort keys twice (in the end the items, of 16 bytes too), the
 * sort's own memory. */
struct knn_arrays {
    size_t nodes_bytes, order_bytes, keys_bytes, sort_bytes;
    char *base;
    splat_cuda_buffers32 order;
    splat_cuda_buffers64 keys;
};

static splat_status reserve(splat_cuda_backend *cuda, knn_tree *t, knn_arrays *arrays, splat_error *error)
{
    const size_t head_bytes = splat_cuda_round_up(sizeof *t->first_bad);
    arrays->nodes_bytes = splat_cuda_round_up(((size_t)2 << t->n_levels) * sizeof(knn_node));
    arrays->order_bytes = splat_cuda_round_up((size_t)t->n * sizeof(uint32_t));
    arrays->keys_bytes = splat_cuda_round_up((size_t)t->n * sizeof(uint64_t));
    for (uint32_t level = 0; level < t->n_levels; level++) {
        size_t bytes = 0;
        CUDA_TRY("plan a sort", splat_cuda_sort_pairs64(NULL, &bytes, &arrays->keys, &arrays->order, t->n,
                                                        32 + (int)level, cuda->stream));
        if (bytes > arrays->sort_bytes) arrays->sort_bytes = bytes;
    }
    size_t fixed = head_bytes + arrays->nodes_bytes;
    void *scratch;
    SPLAT_TRY(splat_scratch_reset(&cuda->base, error));
    SPLAT_TRY(splat_scratch_take(&cuda->base, fixed + 2 * arrays->order_bytes + 2 * arrays->keys_bytes +
                                                  arrays->sort_bytes, &scratch, error));
    char *base = (char *)scratch, *keys = base + fixed + 2 * arrays->order_bytes;
    CUDA_TRY("clear boxes", cudaMemsetAsync(base, 0xff, fixed, cuda->stream)); /* all are minima */
    t->first_bad = (uint32_t *)base;
    t->nodes = (knn_node *)(base + head_bytes);
    arrays->base = keys + 2 * arrays->keys_bytes;
    arrays->order = {(uint32_t *)(base + fixed), (uint32_t *)(base + fixed + arrays->order_bytes)};
    arrays->keys = {(uint64_t *)keys, (uint64_t *)(keys + arrays->keys_bytes)};
    return SPLAT_OK;
}

static splat_status build(splat_cuda_backend *cuda, const knn_tree &t, knn_arrays *arrays, float4 *items,
                          splat_error *error)
{
    unsigned blocks = splat_cuda_blocks(t.n, KNN_THREADS);
    for (uint32_t level = 0; level <= t.n_levels; level++) {
        boxes_kernel<<<blocks, KNN_THREADS, 0, cuda->stream>>>(t, arrays->order.current, level);
        CUDA_LAUNCHED("knn boxes");
        if (level == t.n_levels) break;
        keys_kernel<<<blocks, KNN_THREADS, 0, cuda->stream>>>(t, arrays->order.current, level,
                                                              arrays->keys.current);
        CUDA_LAUNCHED("knn keys");
        CUDA_TRY("sort points", splat_cuda_sort_pairs64(arrays->base, &arrays->sort_bytes, &arrays->keys,
                                                        &arrays->order, t.n, 32 + (int)level, cuda->stream));
    }
    nodes_kernel<<<splat_cuda_blocks((uint64_t)2 << t.n_levels, KNN_THREADS), KNN_THREADS, 0, cuda->stream>>>(t);
    CUDA_LAUNCHED("knn nodes");
    items_kernel<<<blocks, KNN_THREADS, 0, cuda->stream>>>(t, arrays->order.current, items);
    CUDA_LAUNCHED("knn items");
    return SPLAT_OK;
}

static splat_status search(splat_cuda_backend *cuda, const knn_search &P, splat_error *error)
{
    unsigned blocks = splat_cuda_blocks(P.n, KNN_THREADS);
    if (P.k <= 3)
        search_kernel<3><<<blocks, KNN_THREADS, 0, cuda->stream>>>(P);
    else if (P.k <= 16)
        search_kernel<16><<<blocks, KNN_THREADS, 0, cuda->stream>>>(P);
    else
        search_kernel<MAX_K><<<blocks, KNN_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("knn search");
    return SPLAT_OK;
}

static splat_status knn_in(splat_cuda_backend *cuda, const struct splat_knn_args *args, splat_error *error)
{
    knn_tree t = {args->n, 0, args->points, NULL, NULL};
    knn_arrays arrays = {};
    uint32_t bad = 0;
    while (((uint64_t)LEAF << t.n_levels) < t.n) t.n_levels++;
    SPLAT_TRY(reserve(cuda, &t, &arrays, error));
    start_kernel<<<splat_cuda_blocks(t.n, KNN_THREADS), KNN_THREADS, 0, cuda->stream>>>(t, arrays.order.current);
    CUDA_LAUNCHED("knn start");
    CUDA_TRY("check the points", cudaMemcpyAsync(&bad, t.first_bad, sizeof bad, cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("check the points", cudaStreamSynchronize(cuda->stream));
    if (bad != UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %u has a coordinate that is not finite; remove it", bad);
    float4 *items = (float4 *)arrays.keys.current;
    SPLAT_TRY(build(cuda, t, &arrays, items, error));
    knn_search P = {t.n, t.n_levels, args->k, (const float4 *)t.nodes, items, args->distances2, args->indices};
    return search(cuda, P, error);
}

extern "C" splat_status splat_knn_cuda(splat_backend *backend, const struct splat_knn_args *args, splat_error *error)
{
    uint32_t n = args->n, k = args->k;
    if (k < 1 || k > MAX_K)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "knn: k must be between 1 and %d, not %u", MAX_K, k);
    if (n <= k)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the %u nearest neighbours need at least %u points; there are %u", k, k + 1, n);
    return knn_in(splat_cuda_of(backend), args, error);
}
