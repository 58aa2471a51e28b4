/* Building by selection of medians, level by level, and the search from the root with the nearest found so far. */
#include "base/point_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAF 16
#define MAX_LEVELS 32

static uint32_t range_begin(uint32_t n, uint32_t level, uint32_t j)
{
    return (uint32_t)(((uint64_t)n * j) >> level);
}

/* ---------------------------------------------------------------- building */

enum { MANY = 131072 }; /* points of a node that all threads make together */

static splat_tree_node bound(const splat_tree_point *points, uint32_t begin, uint32_t end)
{
    splat_tree_node box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, SPLAT_NO_POINT};
    for (uint32_t i = begin; i < end; i++) {
        for (int a = 0; a < 3; a++) {
            box.low[a] = points[i].place[a] < box.low[a] ? points[i].place[a] : box.low[a];
            box.high[a] = points[i].place[a] > box.high[a] ? points[i].place[a] : box.high[a];
        }
        box.min_index = points[i].index < box.min_index ? points[i].index : box.min_index;
    }
    return box;
}

/* The same by all threads, a block each at a time. */
static splat_tree_node bound_together(const splat_tree_point *points, uint32_t begin, uint32_t end, int threads)
{
    enum { BLOCKS = 64 };
    splat_tree_node boxes[BLOCKS];
    uint64_t n = end - begin;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint32_t b = 0; b < BLOCKS; b++)
        boxes[b] = bound(points, begin + (uint32_t)(n * b / BLOCKS), begin + (uint32_t)(n * (b + 1) / BLOCKS));
    for (int b = 1; b < BLOCKS; b++) {
        for (int a = 0; a < 3; a++) {
            boxes->low[a] = boxes[b].low[a] < boxes->low[a] ? boxes[b].low[a] : boxes->low[a];
            boxes->high[a] = boxes[b].high[a] > boxes->high[a] ? boxes[b].high[a] : boxes->high[a];
        }
        boxes->min_index = boxes[b].min_index < boxes->min_index ? boxes[b].min_index : boxes->min_index;
    }
    return *boxes;
}

static void build_node(const splat_point_tree *tree, uint32_t level, uint32_t j, int threads)
{
    uint32_t begin = range_begin(tree->n, level, j), end = range_begin(tree->n, level, j + 1);
    splat_tree_node box =
        threads > 1 ? bound_together(tree->points, begin, end, threads) : bound(tree->points, begin, end);
    tree->nodes[((size_t)1 << level) + j] = box;
    if (level == tree->n_levels) return;
    int axis = 0; /* the longest side; a side may overflow to infinity */
    for (int a = 1; a < 3; a++)
        if (box.high[a] - box.low[a] > box.high[axis] - box.low[axis]) axis = a;
    splat_points_select(tree->points, begin, end, range_begin(tree->n, level + 1, 2 * j + 1), axis, threads);
}

static uint32_t count_levels(uint32_t n)
{
    uint32_t levels = 0;
    while (((uint64_t)LEAF << levels) < n) levels++;
    return levels;
}

/* Sizes fit 64 bits, whatever n is. */
size_t splat_point_tree_bytes(uint32_t n)
{
    return (size_t)n * sizeof(splat_tree_point) + ((size_t)2 << count_levels(n)) * sizeof(splat_tree_node);
}

static uint32_t first_not_finite(const float *points, uint32_t n, int threads)
{
    uint32_t first = SPLAT_NO_POINT;
#pragma omp parallel for num_threads(threads) reduction(min : first)
    for (int64_t i = 0; i < (int64_t)n; i++) {
        const float *p = points + 3 * i;
        if (!(isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) && (uint32_t)i < first) first = (uint32_t)i;
    }
    return first;
}

splat_status splat_point_tree_build(splat_point_tree *tree, const float *points, uint32_t n, void *memory, int threads,
                                    splat_error *error)
{
    uint32_t bad = first_not_finite(points, n, threads);
    if (bad != SPLAT_NO_POINT)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "point %u has a coordinate that is not finite; remove it", bad);
    tree->n = n;
    tree->n_levels = count_levels(n);
    tree->points = memory;
    tree->nodes = (splat_tree_node *)(tree->points + n);
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < (int64_t)n; i++) {
        memcpy(tree->points[i].place, points + 3 * i, sizeof tree->points[i].place);
        tree->points[i].index = (uint32_t)i;
    }
    for (uint32_t level = 0; level <= tree->n_levels; level++) {
        int64_t n_nodes = (int64_t)1 << level;
        if (n >> level > MANY) { /* one after the other */
            for (uint32_t j = 0; j < n_nodes; j++) build_node(tree, level, j, threads);
            continue;
        }
#pragma omp parallel for num_threads(threads) schedule(dynamic, n_nodes < 1024 ? 1 : 64)
        for (int64_t j = 0; j < n_nodes; j++) build_node(tree, level, (uint32_t)j, 1);
    }
    return SPLAT_OK;
}

splat_status splat_point_tree_make(splat_point_tree *tree, const float *points, size_t n, int threads,
                                   splat_error *error)
{
    memset(tree, 0, sizeof *tree);
    if (threads < 1) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a tree of points needs a thread, not %d", threads);
    if (n >= SPLAT_NO_POINT)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a tree of points takes less than 2^32 - 1 of them, not %zu", n);
    void *memory = malloc(splat_point_tree_bytes((uint32_t)n));
    if (!memory)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the %zu bytes of a tree of %zu points",
                          splat_point_tree_bytes((uint32_t)n), n);
    splat_status status = splat_point_tree_build(tree, points, (uint32_t)n, memory, threads, error);
    if (status != SPLAT_OK) {
        free(memory);
        memset(tree, 0, sizeof *tree);
    }
    return status;
}

void splat_point_tree_free(splat_point_tree *tree)
{
    free(tree->points);
    memset(tree, 0, sizeof *tree);
}

/* ---------------------------------------------------------------- searching */

/* A place and the k best so far, worst last: a total order by (distance, index). */
typedef struct search {
    const splat_point_tree *tree;
    float place[3];
    uint32_t k, skip;
    float *distance2;
    uint32_t *index;
} search;

static float box_distance2(const splat_tree_node *box, const float place[3])
{
    float d[3];
    for (int a = 0; a < 3; a++) {
        float below = box->low[a] - place[a], above = place[a] - box->high[a];
        float outside = below > above ? below : above;
        d[a] = outside > 0 ? outside : 0;
    }
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static float point_distance2(const search *s, const splat_tree_point *other)
{
    float dx = s->place[0] - other->place[0], dy = s->place[1] - other->place[1], dz = s->place[2] - other->place[2];
    return dx * dx + dy * dy + dz * dz;
}

static bool is_better(float distance2, uint32_t index, const search *s)
{
    return distance2 < s->distance2[s->k - 1] || (distance2 == s->distance2[s->k - 1] && index < s->index[s->k - 1]);
}

static void insert(const search *s, float distance2, uint32_t index)
{
    uint32_t at = s->k - 1;
    for (; at > 0; at--) {
        if (s->distance2[at - 1] < distance2 || (s->distance2[at - 1] == distance2 && s->index[at - 1] < index)) break;
        s->distance2[at] = s->distance2[at - 1];
        s->index[at] = s->index[at - 1];
    }
    s->distance2[at] = distance2;
    s->index[at] = index;
}

static bool leaf_has_within(const search *s, uint32_t j, float distance2)
{
    const splat_point_tree *tree = s->tree;
    uint32_t end = range_begin(tree->n, tree->n_levels, j + 1);
    for (uint32_t i = range_begin(tree->n, tree->n_levels, j); i < end; i++)
        if (point_distance2(s, &tree->points[i]) <= distance2) return true;
    return false;
}

static void scan_leaf(const search *s, uint32_t j)
{
    const splat_point_tree *tree = s->tree;
    uint32_t end = range_begin(tree->n, tree->n_levels, j + 1);
    for (uint32_t i = range_begin(tree->n, tree->n_levels, j); i < end; i++) {
        const splat_tree_point *other = &tree->points[i];
        float distance2 = point_distance2(s, other);
        if (is_better(distance2, other->index, s) && other->index != s->skip) insert(s, distance2, other->index);
    }
}

void splat_point_tree_nearest(const splat_point_tree *tree, const float place[3], uint32_t k, uint32_t skip,
                              float *distances2, uint32_t *indices)
{
    struct { /* a sibling that is still to be visited: one a level at most */
        size_t node;
        float distance2;
    } stack[MAX_LEVELS];
    uint32_t n_stack = 0;
    size_t at = 1, first_leaf = (size_t)1 << tree->n_levels;
    const search s = {tree, {place[0], place[1], place[2]}, k, skip, distances2, indices};
    for (uint32_t i = 0; i < k; i++) { /* worse than any point */
        distances2[i] = INFINITY;
        indices[i] = SPLAT_NO_POINT;
    }
    if (!(isfinite(place[0]) && isfinite(place[1]) && isfinite(place[2]))) return;
    for (;;) {
        while (at < first_leaf) { /* the nearer child first; on a tie the one with the lower index */
            const splat_tree_node *left = &tree->nodes[2 * at], *right = left + 1;
            float dl = box_distance2(left, s.place), dr = box_distance2(right, s.place);
            bool left_first = dl < dr || (dl == dr && left->min_index < right->min_index);
            stack[n_stack].node = 2 * at + left_first;
            stack[n_stack++].distance2 = left_first ? dr : dl;
            at = 2 * at + !left_first;
        }
        scan_leaf(&s, (uint32_t)(at - first_leaf));
        do {
            if (n_stack == 0) return;
            at = stack[--n_stack].node;
        } while (!is_better(stack[n_stack].distance2, tree->nodes[at].min_index, &s));
    }
}

bool splat_point_tree_has_within(const splat_point_tree *tree, const float place[3], float distance2)
{
    size_t stack[MAX_LEVELS], at = 1, first_leaf = (size_t)1 << tree->n_levels;
    uint32_t n_stack = 0;
    const search s = {.tree = tree, .place = {place[0], place[1], place[2]}};
    if (!(isfinite(place[0]) && isfinite(place[1]) && isfinite(place[2]))) return false;
    for (;;) {
        while (at < first_leaf) { /* the nearer child first */
            float dl = box_distance2(&tree->nodes[2 * at], place), dr = box_distance2(&tree->nodes[2 * at + 1], place);
            if (!(dl <= distance2) && !(dr <= distance2)) break;
            bool right_first = dr < dl;
            if (dl <= distance2 && dr <= distance2) stack[n_stack++] = 2 * at + !right_first;
            at = 2 * at + right_first;
        }
        if (at >= first_leaf && leaf_has_within(&s, (uint32_t)(at - first_leaf), distance2)) return true;
        if (n_stack == 0) return false;
        at = stack[--n_stack];
    }
}

splat_status splat_point_tree_query(const splat_point_tree *tree, const float *places, size_t n, uint32_t k,
                                    int threads, float *distances2, uint32_t *indices, splat_error *error)
{
    if (k < 1 || k > SPLAT_POINT_TREE_MAX_K || threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "1 to %d nearest points can be asked for, with a thread; not "
                          "%u with %d", SPLAT_POINT_TREE_MAX_K, k, threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256)
    for (size_t i = 0; i < n; i++) {
        float best_distance2[SPLAT_POINT_TREE_MAX_K];
        uint32_t best[SPLAT_POINT_TREE_MAX_K];
        splat_point_tree_nearest(tree, places + 3 * i, k, SPLAT_NO_POINT, best_distance2, best);
        if (distances2) memcpy(distances2 + i * k, best_distance2, k * sizeof *best_distance2);
        if (indices) memcpy(indices + i * k, best, k * sizeof *best);
    }
    return SPLAT_OK;
}
