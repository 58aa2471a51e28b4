/* knn on the CPU: a balanced k-d tree (Friedman, Bentley, Finkel 1977) with tight boxes.
 *
 * The tree is complete: the leaves of level L hold 8 to 16 points, and node j of level l owns the sorted points
 * [n j / 2^l, n (j + 1) / 2^l), so nothing but boxes is stored and the depth cannot exceed 28, whatever the points are.
 * Splits order points by (coordinate, index), a total order: duplicates are divided like other points.
 *
 * A box's distance, computed with the operations of a point's distance, is never above the computed distance of a point
 * inside (rounding is monotone), so pruning is exact in float32. Ties go to the lowest index; each node knows its
 * lowest index and is skipped on a tie when that is too high. This is what keeps n identical points at O(n log n):
 * without it every leaf could hold a better tie. */
#include "backend/backend.h"
#include "base/checked.h"
#include "ops/knn/knn.h"

#include <math.h>
#include <string.h>

#define LEAF 16
#define MAX_K 32
#define MAX_LEVELS 32

typedef struct item {
    float p[3];
    uint32_t index;
} item;

typedef struct node {
    float low[3], high[3];
    uint32_t min_index;
} node;

typedef struct tree {
    uint32_t n, n_levels; /* leaves are on level n_levels */
    item *items;          /* in leaf order */
    node *nodes;          /* node j of level l is nodes[2^l + j] */
} tree;

/* The k best so far, worst last: a total order by (distance, index). */
typedef struct best {
    uint32_t k;
    float distance2[MAX_K];
    uint32_t index[MAX_K];
} best;

static uint32_t range_begin(uint32_t n, uint32_t level, uint32_t j)
{
    return (uint32_t)(((uint64_t)n * j) >> level);
}

static bool is_before(const item *a, const item *b, int axis)
{
    return a->p[axis] < b->p[axis] || (a->p[axis] == b->p[axis] && a->index < b->index);
}

static void swap_items(item *a, item *b)
{
    item t = *a;
    *a = *b;
    *b = t;
}

/* Puts the item of rank `middle` at its place, the lower ones before it (Hoare's quickselect). The pivot is the median
 * of three at pseudo-random places, so that no order of the input is slow; the result of a total order does not depend
 * on it. */
static void select_middle(item *items, uint32_t begin, uint32_t end, uint32_t middle, int axis)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    while (end - begin > 1) {
        item pick[3];
        for (int i = 0; i < 3; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            pick[i] = items[begin + (uint32_t)(((state >> 32) * (end - begin)) >> 32)];
        }
        if (is_before(&pick[1], &pick[0], axis)) swap_items(&pick[0], &pick[1]);
        if (is_before(&pick[2], &pick[1], axis)) pick[1] = is_before(&pick[2], &pick[0], axis) ? pick[0] : pick[2];
        uint32_t i = begin, j = end - 1; /* the pivot itself stops both scans */
        for (;;) {
            while (is_before(&items[i], &pick[1], axis)) i++;
            while (is_before(&pick[1], &items[j], axis)) j--;
            if (i >= j) break; /* i == j: both stand on the pivot, keys are unique */
            swap_items(&items[i], &items[j]);
        }
        if (i == middle) return;
        if (middle < i)
            end = i;
        else
            begin = i + 1;
    }
}

static node bound(const item *items, uint32_t begin, uint32_t end)
{
    node box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, UINT32_MAX};
    for (uint32_t i = begin; i < end; i++) {
        for (int a = 0; a < 3; a++) {
            box.low[a] = items[i].p[a] < box.low[a] ? items[i].p[a] : box.low[a];
            box.high[a] = items[i].p[a] > box.high[a] ? items[i].p[a] : box.high[a];
        }
        box.min_index = items[i].index < box.min_index ? items[i].index : box.min_index;
    }
    return box;
}

static void build_node(const tree *t, uint32_t level, uint32_t j)
{
    uint32_t begin = range_begin(t->n, level, j), end = range_begin(t->n, level, j + 1);
    node box = bound(t->items, begin, end);
    t->nodes[((size_t)1 << level) + j] = box;
    if (level == t->n_levels) return;
    int axis = 0; /* the longest side; a side may overflow to infinity */
    for (int a = 1; a < 3; a++)
        if (box.high[a] - box.low[a] > box.high[axis] - box.low[axis]) axis = a;
    select_middle(t->items, begin, end, range_begin(t->n, level + 1, 2 * j + 1), axis);
}

static float box_distance2(const node *box, const float p[3])
{
    float d[3];
    for (int a = 0; a < 3; a++) {
        float below = box->low[a] - p[a], above = p[a] - box->high[a];
        float outside = below > above ? below : above;
        d[a] = outside > 0 ? outside : 0;
    }
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static bool is_better(float distance2, uint32_t index, const best *b)
{
    return distance2 < b->distance2[b->k - 1] || (distance2 == b->distance2[b->k - 1] && index < b->index[b->k - 1]);
}

static void insert(best *b, float distance2, uint32_t index)
{
    uint32_t at = b->k - 1;
    for (; at > 0; at--) {
        if (b->distance2[at - 1] < distance2 || (b->distance2[at - 1] == distance2 && b->index[at - 1] < index)) break;
        b->distance2[at] = b->distance2[at - 1];
        b->index[at] = b->index[at - 1];
    }
    b->distance2[at] = distance2;
    b->index[at] = index;
}

static void scan_leaf(const tree *t, uint32_t j, const item *query, best *b)
{
    uint32_t end = range_begin(t->n, t->n_levels, j + 1);
    for (uint32_t i = range_begin(t->n, t->n_levels, j); i < end; i++) {
        const item *other = &t->items[i];
        float dx = query->p[0] - other->p[0], dy = query->p[1] - other->p[1], dz = query->p[2] - other->p[2];
        float distance2 = dx * dx + dy * dy + dz * dz;
        if (is_better(distance2, other->index, b) && other->index != query->index) insert(b, distance2, other->index);
    }
}

static void find_nearest(const tree *t, const item *query, best *b)
{
    struct { /* a sibling that is still to be looked at: one a level at most */
        size_t node;
        float distance2;
    } stack[MAX_LEVELS];
    uint32_t n_stack = 0;
    size_t at = 1, first_leaf = (size_t)1 << t->n_levels;
    for (uint32_t i = 0; i < b->k; i++) { /* worse than any point */
        b->distance2[i] = INFINITY;
        b->index[i] = UINT32_MAX;
    }
    for (;;) {
        while (at < first_leaf) { /* the nearer child first; on a tie the one with the lower index */
            const node *left = &t->nodes[2 * at], *right = left + 1;
            float dl = box_distance2(left, query->p), dr = box_distance2(right, query->p);
            bool left_first = dl < dr || (dl == dr && left->min_index < right->min_index);
            stack[n_stack].node = 2 * at + left_first;
            stack[n_stack++].distance2 = left_first ? dr : dl;
            at = 2 * at + !left_first;
        }
        scan_leaf(t, (uint32_t)(at - first_leaf), query, b);
        do {
            if (n_stack == 0) return;
            at = stack[--n_stack].node;
        } while (!is_better(stack[n_stack].distance2, t->nodes[at].min_index, b));
    }
}

static uint32_t first_not_finite(splat_backend *backend, const float *points, uint32_t n)
{
    uint32_t first = UINT32_MAX;
#pragma omp parallel for num_threads(backend->threads) reduction(min : first)
    for (int64_t i = 0; i < (int64_t)n; i++) {
        const float *p = points + 3 * i;
        if (!(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) && (uint32_t)i < first) first = (uint32_t)i;
    }
    return first;
}

static void build_tree(splat_backend *backend, const tree *t, const float *points)
{
#pragma omp parallel for num_threads(backend->threads)
    for (int64_t i = 0; i < (int64_t)t->n; i++) {
        memcpy(t->items[i].p, points + 3 * i, sizeof t->items[i].p);
        t->items[i].index = (uint32_t)i;
    }
    for (uint32_t level = 0; level <= t->n_levels; level++) {
        int64_t n_nodes = (int64_t)1 << level;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, n_nodes < 1024 ? 1 : 64)
        for (int64_t j = 0; j < n_nodes; j++) build_node(t, level, (uint32_t)j);
    }
}

splat_status splat_knn_cpu(splat_backend *backend, const struct splat_knn_args *args, splat_error *error)
{
    uint32_t n = args->n, k = args->k;
    if (k < 1 || k > MAX_K)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "knn: k must be between 1 and %d, not %u", MAX_K, k);
    if (n <= k)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u nearest neighbours need at least %u points; there are %u", k,
                          k + 1, n);
    uint32_t bad = first_not_finite(backend, args->points, n);
    if (bad != UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %u has a coordinate that is not finite; remove it", bad);

    tree t = {.n = n};
    while (((uint64_t)LEAF << t.n_levels) < n) t.n_levels++;
    size_t item_bytes, n_nodes = (size_t)2 << t.n_levels;
    if (!splat_size_mul(n, sizeof *t.items, &item_bytes))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "knn: %u points are more than memory can hold", n);
    void *items, *nodes;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, item_bytes, &items, error));
    SPLAT_TRY(splat_scratch_take(backend, n_nodes * sizeof *t.nodes, &nodes, error));
    t.items = items;
    t.nodes = nodes;
    build_tree(backend, &t, args->points);
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < (int64_t)n; i++) { /* in leaf order: neighbouring queries visit the same nodes */
        best b;
        b.k = k;
        find_nearest(&t, &t.items[i], &b);
        size_t row = (size_t)t.items[i].index * k;
        if (args->distances2) memcpy(args->distances2 + row, b.distance2, k * sizeof(float));
        if (args->indices) memcpy(args->indices + row, b.index, k * sizeof(uint32_t));
    }
    return SPLAT_OK;
}
