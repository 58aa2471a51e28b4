/* Hoare's quickselect by one thread; of many points all threads divide them around pivots near the rank that is asked
 * for, in place: each its blocks, and then what stands on the wrong side changes places. */
#include "base/point_select.h"

#include <stdbool.h>
#include <string.h>

enum {
    FEW = 65536,   /* points that one thread is done with sooner */
    BLOCKS = 64,
    SAMPLE = 255,  /* points that a pivot is chosen from */
    ASIDE = 16     /* ranks of the sample between what is asked for and the pivot: two deviations */
};

static bool is_before(const splat_tree_point *a, const splat_tree_point *b, int axis)
{
    return a->place[axis] < b->place[axis] || (a->place[axis] == b->place[axis] && a->index < b->index);
}

static void swap_points(splat_tree_point *a, splat_tree_point *b)
{
    splat_tree_point t = *a;
    *a = *b;
    *b = t;
}

/* A place of [begin, end), the next of a pseudo-random series. */
static uint32_t pick_place(uint64_t *state, uint32_t begin, uint32_t end)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return begin + (uint32_t)(((*state >> 32) * (end - begin)) >> 32);
}

/* The pivot is the median of three at pseudo-random places, so that no order of the input is slow; the result of a
 * total order does not depend on it. */
static void select_alone(splat_tree_point *points, uint32_t begin, uint32_t end, uint32_t middle, int axis)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    while (end - begin > 1) {
        splat_tree_point pick[3];
        for (int i = 0; i < 3; i++) pick[i] = points[pick_place(&state, begin, end)];
        if (is_before(&pick[1], &pick[0], axis)) swap_points(&pick[0], &pick[1]);
        if (is_before(&pick[2], &pick[1], axis)) pick[1] = is_before(&pick[2], &pick[0], axis) ? pick[0] : pick[2];
        uint32_t i = begin, j = end - 1; /* the pivot itself stops both scans */
        for (;;) {
            while (is_before(&points[i], &pick[1], axis)) i++;
            while (is_before(&pick[1], &points[j], axis)) j--;
            if (i >= j) break; /* i == j: both stand on the pivot, keys are unique */
            swap_points(&points[i], &points[j]);
        }
        if (i == middle) return;
        if (middle < i)
            end = i;
        else
            begin = i + 1;
    }
}

/* Those of [begin, end) before the pivot to the front; where the others begin. */
static uint32_t divide_block(splat_tree_point *points, uint32_t begin, uint32_t end, const splat_tree_point *pivot,
                             int axis)
{
    for (;;) {
        while (begin < end && is_before(&points[begin], pivot, axis)) begin++;
        while (begin < end && !is_before(&points[end - 1], pivot, axis)) end--;
        if (begin == end) return begin;
        swap_points(&points[begin], &points[end - 1]);
    }
}

/* Points on the wrong side: [first[b], first[b] + n[b]) of each block. */
typedef struct strays {
    uint32_t first[BLOCKS], n[BLOCKS];
} strays;

static void keep_part(strays *s, int b, uint32_t begin, uint32_t end, uint32_t low, uint32_t high)
{
    begin = begin > low ? begin : low;
    end = end < high ? end : high;
    s->first[b] = begin;
    s->n[b] = end > begin ? end - begin : 0;
}

/* Finds the k-th stray, with its block and the number of strays that follow in the block. */
static uint32_t find_stray(const strays *s, uint32_t k, int *block)
{
    for (*block = 0; k >= s->n[*block]; ++*block) k -= s->n[*block];
    return k;
}

/* The strays [begin, end) of both sides change places. */
static void exchange(splat_tree_point *points, const strays *a, const strays *b, uint32_t begin, uint32_t end)
{
    int of_a, of_b;
    if (begin >= end) return;
    uint32_t i = find_stray(a, begin, &of_a), j = find_stray(b, begin, &of_b);
    for (uint32_t k = begin; k < end; k++) {
        for (; i == a->n[of_a]; of_a++) i = 0;
        for (; j == b->n[of_b]; of_b++) j = 0;
        swap_points(&points[a->first[of_a] + i++], &points[b->first[of_b] + j++]);
    }
}

static uint32_t divide(splat_tree_point *points, uint32_t begin, uint32_t end, const splat_tree_point *pivot, int axis,
                       int threads)
{
    uint32_t starts[BLOCKS + 1], ends[BLOCKS], middle = begin, n = 0;
    strays after, before; /* that stand too far in front, and too far behind */
    for (uint32_t b = 0; b <= BLOCKS; b++) starts[b] = begin + (uint32_t)((uint64_t)(end - begin) * b / BLOCKS);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int b = 0; b < BLOCKS; b++) ends[b] = divide_block(points, starts[b], starts[b + 1], pivot, axis);
    for (int b = 0; b < BLOCKS; b++) middle += ends[b] - starts[b];
    for (int b = 0; b < BLOCKS; b++) {
        keep_part(&after, b, ends[b], starts[b + 1], begin, middle);
        keep_part(&before, b, starts[b], ends[b], middle, end);
        n += after.n[b]; /* as many as those of `before` */
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t b = 0; b < BLOCKS; b++)
        exchange(points, &after, &before, (uint32_t)(n * b / BLOCKS), (uint32_t)(n * (b + 1) / BLOCKS));
    return middle;
}

void splat_points_select(splat_tree_point *points, uint32_t begin, uint32_t end, uint32_t middle, int axis,
                         int threads)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    while (end - begin > FEW) {
        splat_tree_point sample[SAMPLE];
        for (uint64_t i = 0, n = end - begin; i < SAMPLE; i++) /* no point twice */
            sample[i] = points[pick_place(&state, begin + (uint32_t)(i * n / SAMPLE),
                                          begin + (uint32_t)((i + 1) * n / SAMPLE))];
        int rank = (int)((uint64_t)(middle - begin) * SAMPLE / (end - begin));
        rank += 2 * rank > SAMPLE ? -ASIDE : ASIDE; /* the smaller part is left most often */
        select_alone(sample, 0, SAMPLE, (uint32_t)rank, axis);
        uint32_t at = divide(points, begin, end, &sample[rank], axis, threads); /* neither begin nor end */
        if (middle < at)
            end = at;
        else
            begin = at;
    }
    select_alone(points, begin, end, middle, axis);
}
