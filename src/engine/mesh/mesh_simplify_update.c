/* Next to a collapse a ring only names the vertex that stays instead of the one that went, because chosen edges lie
 * apart. Costs change where the vertex that stays is an end. */
#include "mesh/mesh_simplify_update.h"

/* The cost, where the ring's neighbour i is above v. */
static void update_cost(simplifier *s, size_t v, size_t i)
{
    uint32_t u = simplify_ring(s, v)[i];
    s->costs[s->ring_starts[v] + i] = u > v ? simplify_cost(s, (simplify_edge){(uint32_t)v, u}) : SIMPLIFY_NONE;
}

/* Neighbours that went are replaced by those that they moved into, which have smaller numbers. */
static void rename_neighbors(simplifier *s, size_t v)
{
    uint32_t *ring = s->rings + s->ring_starts[v], *costs = s->costs + s->ring_starts[v];
    size_t n = 0, n_before = s->ring_sizes[v];
    bool merged = false;
    for (size_t i = 0; i < n_before; i++) {
        uint32_t u = ring[i];
        uint8_t change = s->touched[u];
        merged |= (change & (SIMPLIFY_MERGED | SIMPLIFY_GONE)) != 0;
        if (!(change & SIMPLIFY_GONE)) {
            ring[n] = u;
            costs[n++] = costs[i];
            continue;
        }
        size_t at = n;
        u = (uint32_t)s->least[u];
        while (at > 0 && ring[at - 1] > u) at--;
        if (at > 0 && ring[at - 1] == u) continue;
        for (size_t k = n++; k > at; k--) {
            ring[k] = ring[k - 1];
            costs[k] = costs[k - 1];
        }
        ring[at] = u;
    }
    s->ring_sizes[v] = (uint32_t)n;
    for (size_t i = n; i < n_before; i++) costs[i] = SIMPLIFY_NONE;
    for (size_t i = 0; merged && i < n; i++)
        if (s->touched[ring[i]] & SIMPLIFY_MERGED) update_cost(s, v, i);
}

/* The neighbours of both, into ring; how many they are. */
static size_t merge_rings(const simplifier *s, uint32_t v, uint32_t other, uint32_t *ring)
{
    const uint32_t *p = simplify_ring(s, v), *q = simplify_ring(s, other);
    size_t n_p = s->ring_sizes[v], n_q = s->ring_sizes[other], n = 0, i = 0, k = 0;
    while (i < n_p || k < n_q) {
        uint32_t u = k == n_q || (i < n_p && p[i] <= q[k]) ? p[i] : q[k];
        i += i < n_p && p[i] == u;
        k += k < n_q && q[k] == u;
        if (u != v && u != other) ring[n++] = u;
    }
    return n;
}

static void clear_costs(simplifier *s, size_t v)
{
    for (size_t i = 0; i < s->ring_sizes[v]; i++) s->costs[s->ring_starts[v] + i] = SIMPLIFY_NONE;
}

/* A ring that may grow, in the room behind the rings of the block; false: there is none. */
static bool move_ring(simplifier *s, size_t v, size_t *room, size_t room_end)
{
    uint32_t other = s->chains[v];
    bool torn = s->touched[v] & SIMPLIFY_TORN;
    size_t most = torn ? 2 * (size_t)s->face_counts[v] : s->ring_sizes[v] + (size_t)s->ring_sizes[other];
    if (most > room_end - *room) return false;
    clear_costs(s, v);
    size_t n = torn ? 0 : merge_rings(s, (uint32_t)v, other, s->rings + *room);
    s->ring_starts[v] = *room;
    if (torn) simplify_collect_ring(s, v, false);
    else s->ring_sizes[v] = (uint32_t)n;
    *room += s->ring_sizes[v];
    for (size_t i = 0; i < s->ring_sizes[v]; i++) update_cost(s, v, i);
    return true;
}

static bool update_block(simplifier *s, size_t block)
{
    size_t n = s->mesh->n_vertices, begin = block * SIMPLIFY_BLOCK, end = begin + SIMPLIFY_BLOCK;
    if (end > n) end = n;
    size_t room_end = 2 * (size_t)s->starts[end];
    for (size_t v = begin; v < end; v++) {
        uint8_t change = s->touched[v];
        if (change == 0) continue;
        if (change & SIMPLIFY_GONE) clear_costs(s, v);
        else if (change == SIMPLIFY_TOUCHED) rename_neighbors(s, v);
        else if (!move_ring(s, v, &s->ring_ends[block], room_end)) return false;
    }
    return true;
}

void simplify_update(simplifier *s)
{
    size_t n_blocks = (s->mesh->n_vertices + SIMPLIFY_BLOCK - 1) / SIMPLIFY_BLOCK, n_full = 0;
#pragma omp parallel for schedule(dynamic) num_threads(s->threads) reduction(+ : n_full)
    for (size_t b = 0; b < n_blocks; b++) n_full += !update_block(s, b);
    s->stale = n_full > 0;
}
