/* Which edges collapse in a pass: going through all from the cheapest on, those whose neighbourhoods no chosen one has
 * touched. Threads find the same ones in rounds: an edge in work that comes before all others around it is next in any
 * order (Blelloch, Fineman, Shun, "Greedy sequential maximal independent set and matching are parallel on average",
 * SPAA 2012). As chosen edges have no neighbours in common faces, each is looked at on the mesh as the pass found
 * it. */
#include "mesh/mesh_simplify_parts.h"

#include <stdlib.h>
#include <string.h>

/* The part of all edges, from the cheapest on, that a pass may collapse: the rest waits for better neighbours. */
static const double pass_share = 0.3;
enum { FEW = 2048 }; /* edges in work that one thread is done with sooner */
enum { WAITS, GOES, STAYS };

/* The key of the edge of this rank: 11, 11 and 10 bits from the top. */
static uint32_t key_of_rank(const simplifier *s, size_t rank)
{
    static const int shifts[] = {21, 10, 0}, widths[] = {11, 11, 10};
    uint32_t prefix = 0;
    for (int round = 0; round < 3; round++) {
        int shift = shifts[round], bits = widths[round];
        size_t counts[2048] = {0};
        uint32_t above = shift + bits == 32 ? 0 : ~(uint32_t)0 << (shift + bits);
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(+ : counts)
        for (size_t i = 0; i < s->n_edges; i++)
            if ((s->keys[i] & above) == prefix) counts[s->keys[i] >> shift & ((1u << bits) - 1)]++;
        uint32_t digit = 0;
        for (; rank >= counts[digit]; digit++) rank -= counts[digit];
        prefix |= digit << shift;
    }
    return prefix;
}

/* Copies those of from[n] (NULL: the numbers 0 to n - 1) with this verdict, in their order. */
static size_t pick(simplifier *s, const uint32_t *from, size_t n, uint8_t verdict, uint32_t *to)
{
    size_t n_blocks = (n + SIMPLIFY_BLOCK - 1) / SIMPLIFY_BLOCK;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t b = 0; b < n_blocks; b++) {
        s->blocks[b] = 0;
        for (size_t i = b * SIMPLIFY_BLOCK; i < n && i < (b + 1) * SIMPLIFY_BLOCK; i++)
            s->blocks[b] += s->verdicts[i] == verdict;
    }
    size_t total = simplify_sum_blocks(s, n_blocks);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t b = 0; b < n_blocks; b++) {
        size_t at = s->blocks[b];
        for (size_t i = b * SIMPLIFY_BLOCK; i < n && i < (b + 1) * SIMPLIFY_BLOCK; i++)
            if (s->verdicts[i] == verdict) to[at++] = from ? from[i] : (uint32_t)i;
    }
    return total;
}

static void lower(uint64_t *least, uint64_t rank)
{
    uint64_t now = __atomic_load_n(least, __ATOMIC_RELAXED);
    while (rank < now && !__atomic_compare_exchange_n(least, &now, rank, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static bool is_first(const simplifier *s, simplify_edge edge, uint64_t rank)
{
    const uint32_t ends[2] = {edge.a, edge.b};
    if (s->least[edge.a] != rank || s->least[edge.b] != rank) return false;
    for (int k = 0; k < 2; k++) {
        const uint32_t *ring = simplify_ring(s, ends[k]);
        for (size_t i = 0; i < s->ring_sizes[ends[k]]; i++)
            if (s->least[ring[i]] < rank) return false;
    }
    return true;
}

static void touch(simplifier *s, simplify_edge edge)
{
    const uint32_t ends[2] = {edge.a, edge.b};
    for (int k = 0; k < 2; k++) {
        const uint32_t *ring = simplify_ring(s, ends[k]);
        for (size_t i = 0; i < s->ring_sizes[ends[k]]; i++)
            __atomic_store_n(&s->touched[ring[i]], 1, __ATOMIC_RELAXED);
    }
}

static bool is_touched(const simplifier *s, simplify_edge edge)
{
    return s->touched[edge.a] || s->touched[edge.b];
}

static void run_round(simplifier *s)
{
    size_t n = s->n_active;
#pragma omp parallel num_threads(s->threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            simplify_edge edge = s->edges[s->active[i]];
            uint64_t rank = simplify_rank(s, s->active[i]);
            lower(&s->least[edge.a], rank);
            lower(&s->least[edge.b], rank);
        }
#pragma omp for schedule(dynamic, 1024)
        for (size_t i = 0; i < n; i++) {
            simplify_edge edge = s->edges[s->active[i]];
            s->verdicts[i] = WAITS;
            if (!is_first(s, edge, simplify_rank(s, s->active[i]))) continue;
            s->verdicts[i] = simplify_may_collapse(s, edge) ? GOES : STAYS;
            if (s->verdicts[i] == GOES) touch(s, edge);
        }
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            simplify_edge edge = s->edges[s->active[i]];
            __atomic_store_n(&s->least[edge.a], UINT64_MAX, __ATOMIC_RELAXED);
            __atomic_store_n(&s->least[edge.b], UINT64_MAX, __ATOMIC_RELAXED);
            if (s->verdicts[i] == WAITS && is_touched(s, edge)) s->verdicts[i] = STAYS;
        }
    }
    s->n_chosen += pick(s, s->active, n, GOES, s->chosen + s->n_chosen);
    s->n_active = pick(s, s->active, n, WAITS, s->next);
    uint32_t *waiting = s->next;
    s->next = s->active;
    s->active = waiting;
}

static int compare_ranks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One after the other. */
static void finish(simplifier *s)
{
    uint64_t ranks[FEW];
    for (size_t i = 0; i < s->n_active; i++) ranks[i] = simplify_rank(s, s->active[i]);
    qsort(ranks, s->n_active, sizeof *ranks, compare_ranks);
    for (size_t i = 0; i < s->n_active; i++) {
        simplify_edge edge = s->edges[(uint32_t)ranks[i]];
        if (is_touched(s, edge) || !simplify_may_collapse(s, edge)) continue;
        touch(s, edge);
        s->chosen[s->n_chosen++] = (uint32_t)ranks[i];
    }
}

static void choose_below(simplifier *s, uint32_t key)
{
    memset(s->touched, 0, s->mesh->n_vertices);
    s->n_chosen = 0;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < s->n_edges; i++) s->verdicts[i] = s->keys[i] <= key ? GOES : STAYS;
    s->n_active = pick(s, NULL, s->n_edges, GOES, s->active);
    while (s->n_active > FEW) run_round(s);
    finish(s);
}

void simplify_choose(simplifier *s)
{
    size_t limit = (size_t)(pass_share * (double)s->n_edges) + 16;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t v = 0; v < s->mesh->n_vertices; v++) s->least[v] = UINT64_MAX;
    choose_below(s, limit < s->n_edges ? key_of_rank(s, limit - 1) : UINT32_MAX);
    if (s->n_chosen == 0 && limit < s->n_edges) choose_below(s, UINT32_MAX); /* the cheap ones cannot go */
}
