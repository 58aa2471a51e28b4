/* A heap of edges would give the next cheapest one after every collapse, at the price of a walk through memory for
 * each, by one thread. Here a pass makes those collapses, cheapest first, whose neighbourhoods no collapse of the pass
 * touches; then the touched neighbourhoods are updated (mesh_simplify_update.c). When a third of the vertices are gone,
 * all neighbourhoods are collected again (mesh_simplify_edges.c): dead rows between the others cost time. All threads
 * share the work, and order and choice depend on costs and numbers of vertices alone. */
#include "mesh/mesh_simplify.h"

#include "base/large_pages.h"
#include "base/rows.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_simplify_edges.h"
#include "mesh/mesh_simplify_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the edges of a pass */

/* Which edges collapse in a pass: going through all from the cheapest on, those whose neighbourhoods no chosen one has
 * touched. Threads find the same ones in rounds: an edge in work that comes before all others around it is next in any
 * order (Blelloch, Fineman, Shun, "Greedy sequential maximal independent set and matching are parallel on average",
 * SPAA 2012). As chosen edges have no neighbours in common faces, each is looked at on the mesh as the pass found
 * it. */

/* The part of all edges, from the cheapest on, that a pass may collapse: the rest waits for better neighbours. */
static const double pass_share = 0.3;
enum { FEW = 2048, CHUNK = 1024 }; /* edges in work: so few take one thread less time; those taken at once */
enum { WAITS, GOES, STAYS };

static size_t count_blocks(const simplifier *s)
{
    return (s->mesh->n_vertices + SIMPLIFY_BLOCK - 1) / SIMPLIFY_BLOCK;
}

/* The costs of a block of vertices, from *begin to the returned end. */
static size_t costs_of_block(const simplifier *s, size_t block, size_t *begin)
{
    *begin = 2 * (size_t)s->starts[block * SIMPLIFY_BLOCK];
    return s->ring_ends[block];
}

/* The cost of the edge of this rank: 11, 11 and 10 bits from the top. */
static uint32_t cost_of_rank(const simplifier *s, size_t rank)
{
    static const int shifts[] = {21, 10, 0}, widths[] = {11, 11, 10};
    uint32_t prefix = 0;
    for (int round = 0; round < 3; round++) {
        int shift = shifts[round], bits = widths[round];
        size_t counts[2048] = {0};
        uint32_t above = shift + bits == 32 ? 0 : ~(uint32_t)0 << (shift + bits);
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(+ : counts)
        for (size_t b = 0; b < count_blocks(s); b++) {
            size_t i, end = costs_of_block(s, b, &i);
            for (; i < end; i++)
                if ((s->costs[i] & above) == prefix) counts[s->costs[i] >> shift & ((1u << bits) - 1)]++;
        }
        uint32_t digit = 0;
        for (; rank >= counts[digit]; digit++) rank -= counts[digit];
        prefix |= digit << shift;
    }
    return prefix;
}

/* The edges that cost at most this become candidates, by their vertices. */
static void list_candidates(simplifier *s, uint32_t cost)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t b = 0; b < count_blocks(s); b++) {
        size_t i, end = costs_of_block(s, b, &i), n = 0;
        for (; i < end; i++) n += s->costs[i] <= cost;
        s->blocks[b] = n;
    }
    s->n_candidates = simplify_sum_blocks(s, count_blocks(s));
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t b = 0; b < count_blocks(s); b++) {
        size_t at = s->blocks[b];
        for (size_t v = b * SIMPLIFY_BLOCK; v < s->mesh->n_vertices && v < (b + 1) * SIMPLIFY_BLOCK; v++) {
            const uint32_t *ring = simplify_ring(s, v), *costs = s->costs + s->ring_starts[v];
            for (size_t i = 0; i < s->ring_sizes[v]; i++) {
                if (costs[i] > cost) continue;
                s->edges[at] = (simplify_edge){(uint32_t)v, ring[i]};
                s->keys[at] = costs[i];
                s->active[at] = (uint32_t)at;
                at++;
            }
        }
    }
    s->n_active = s->n_candidates;
}

/* Copies those of from[n] with this verdict, in their order. */
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
            if (s->verdicts[i] == verdict) to[at++] = from[i];
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

/* Verdicts of a chunk of the edges in work. */
static void judge_chunk(simplifier *s, size_t begin, size_t end)
{
    uint32_t found[CHUNK], places[CHUNK];
    size_t n = 0;
    for (size_t i = begin; i < end; i++) {
        s->verdicts[i] = WAITS;
        if (!is_first(s, s->edges[s->active[i]], simplify_rank(s, s->active[i]))) continue;
        places[n] = (uint32_t)(i - begin);
        found[n++] = s->active[i];
    }
    for (size_t i = 0; i < n; i++) {
        simplify_edge edge = s->edges[found[i]];
        simplify_fetch(s, found, n, i);
        bool goes = simplify_may_collapse(s, edge);
        s->verdicts[begin + places[i]] = goes ? GOES : STAYS;
        if (goes) touch(s, edge);
    }
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
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n; i += CHUNK) judge_chunk(s, i, i + CHUNK < n ? i + CHUNK : n);
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

static void choose_below(simplifier *s, uint32_t cost)
{
    memset(s->touched, 0, s->mesh->n_vertices);
    s->n_chosen = 0;
    list_candidates(s, cost);
    while (s->n_active > FEW) run_round(s);
    finish(s);
}

void simplify_choose(simplifier *s)
{
    size_t limit = (size_t)(pass_share * (double)s->n_edges) + 16;
    choose_below(s, limit < s->n_edges ? cost_of_rank(s, limit - 1) : SIMPLIFY_NONE - 1);
    if (s->n_chosen == 0 && limit < s->n_edges) choose_below(s, SIMPLIFY_NONE - 1); /* the cheap ones cannot go */
}

/* ---------------------------------------------------------------- passes */

void splat_mesh_simplify_options_init(splat_mesh_simplify_options *options)
{
    *options = (splat_mesh_simplify_options){.boundary_weight = 10, .threads = 1};
}

/* A face has at most three edges, those of a manifold 1.5 each. */
size_t splat_mesh_simplify_bytes(size_t n_vertices, size_t n_faces)
{
    size_t vertex = sizeof(simplify_quadric) + 2 + 5 * sizeof(uint32_t) + 2 * sizeof(uint64_t);
    size_t edge = sizeof(simplify_edge) + 4 * sizeof(uint32_t) + 1;
    return n_vertices * vertex + n_faces * (15 * sizeof(uint32_t) + 3 * edge + 2);
}

static void *take(uint8_t **rest, size_t n, size_t size)
{
    void *array = *rest;
    *rest += (n * size + 63) & ~(size_t)63;
    return array;
}

/* One block holds all arrays of vertices and faces: when threads first write to it, the system clears it in large
 * pages. */
static bool allocate(simplifier *s)
{
    size_t n = s->mesh->n_vertices + 2, n_half = 3 * s->mesh->n_faces + 1;
    size_t n_blocks = (n + n_half) / SIMPLIFY_BLOCK + 1;
    uint8_t *rest;
    s->block_bytes = n * (sizeof *s->quadrics + 2 + 4 * sizeof *s->starts + sizeof *s->ring_starts + sizeof *s->least) +
                     n_half * (sizeof *s->around + 2 * (sizeof *s->rings + sizeof *s->costs)) +
                     2 * n_blocks * sizeof *s->blocks + 14 * 64;
    s->block = rest = splat_zeroed_alloc(s->block_bytes);
    if (!rest) return false;
    s->quadrics = take(&rest, n, sizeof *s->quadrics);
    s->kinds = take(&rest, n, 1);
    s->touched = take(&rest, n, 1);
    s->starts = take(&rest, n, sizeof *s->starts);
    s->chains = take(&rest, n, sizeof *s->chains);
    s->face_counts = take(&rest, n, sizeof *s->face_counts);
    s->ring_starts = take(&rest, n, sizeof *s->ring_starts);
    s->ring_sizes = take(&rest, n, sizeof *s->ring_sizes);
    s->least = take(&rest, n, sizeof *s->least);
    s->around = take(&rest, n_half, sizeof *s->around);
    s->rings = take(&rest, 2 * n_half, sizeof *s->rings);
    s->costs = take(&rest, 2 * n_half, sizeof *s->costs);
    s->blocks = take(&rest, n_blocks, sizeof *s->blocks);
    s->ring_ends = take(&rest, n_blocks, sizeof *s->ring_ends);
    return true;
}

static void release(simplifier *s)
{
    splat_zeroed_free(s->block, s->block_bytes);
    splat_zeroed_free(s->edges, s->edge_bytes);
}

static bool has_many_unused(const simplifier *s)
{
    return 3 * s->n_used <= 2 * s->mesh->n_vertices;
}

/* Drops faces that are gone, and vertices without faces once they are many: what lies around the others moves together.
 * The order of the others stays, and with it the order of edges. Sizes have done their work in the first quadrics.
 * Errors: MEMORY. */
static splat_status drop_unused(simplifier *s, splat_error *error)
{
    size_t n = s->mesh->n_vertices, ignored = 0;
    SPLAT_TRY(splat_mesh_remove_degenerate(s->mesh, -1.0, s->threads, &ignored, error));
    if (!has_many_unused(s)) return SPLAT_OK;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t v = 0; v < n; v++) s->touched[v] = 0;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < 3 * s->mesh->n_faces; i++)
        __atomic_store_n(&s->touched[s->mesh->faces[i]], 1, __ATOMIC_RELAXED);
    SPLAT_TRY(splat_mesh_keep_vertices(s->mesh, s->touched, s->threads, error));
    splat_keep_rows(s->quadrics, sizeof *s->quadrics, n, s->touched, s->threads);
    return SPLAT_OK;
}

/* Keeps the first of the chosen edges in their order, as many as remove n_wanted faces. Errors: MEMORY. */
static splat_status cut_chosen(simplifier *s, size_t n_wanted, splat_error *error)
{
    size_t n_gone = 0, n = s->n_chosen;
    if (2 * n <= n_wanted) return SPLAT_OK; /* an edge has two faces at most */
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(+ : n_gone)
    for (size_t i = 0; i < n; i++) n_gone += simplify_faces_at(s, s->edges[s->chosen[i]]);
    if (n_gone <= n_wanted) return SPLAT_OK;
    uint64_t *ranks = malloc(n * sizeof *ranks);
    if (!ranks) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify a mesh of %zu edges", s->n_edges);
    for (size_t i = 0; i < n; i++) ranks[i] = simplify_rank(s, s->chosen[i]);
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    s->n_chosen = 0;
    for (n_gone = 0; n_gone < n_wanted; n_gone += simplify_faces_at(s, s->edges[s->chosen[s->n_chosen++]]))
        s->chosen[s->n_chosen] = (uint32_t)ranks[s->n_chosen];
    free(ranks);
    return SPLAT_OK;
}

/* Faces that still have to go; a collapse takes two of them and one vertex. */
static size_t count_wanted(const simplifier *s, const splat_mesh_simplify_options *options)
{
    size_t wanted = s->n_faces > options->target_faces ? s->n_faces - options->target_faces : 0;
    if (options->target_vertices) {
        size_t excess = s->n_used > options->target_vertices ? s->n_used - options->target_vertices : 0;
        if (2 * excess < wanted) wanted = 2 * excess;
    }
    return wanted;
}

static splat_status tell(const splat_mesh_simplify_options *options, size_t wanted, size_t first, splat_error *error)
{
    double fraction = first ? 1.0 - (double)wanted / (double)first : 1.0;
    if (!options->progress || options->progress(options->progress_user, "simplifying", fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while simplifying");
}

/* Collapses the chosen edges; returns the largest error. */
static double collapse_chosen(simplifier *s)
{
    double worst = 0.0;
    size_t n_vertices = 0, n_edges = 0, n_faces = 0;
#pragma omp parallel num_threads(s->threads) reduction(max : worst) reduction(+ : n_vertices, n_edges, n_faces)
    {
        simplify_losses losses = {0};
#pragma omp for schedule(static)
        for (size_t i = 0; i < s->n_chosen; i++) {
            simplify_fetch(s, s->chosen, s->n_chosen, i);
            worst = fmax(worst, simplify_collapse(s, s->edges[s->chosen[i]], &losses));
        }
        n_vertices += losses.n_vertices;
        n_edges += losses.n_edges;
        n_faces += losses.n_faces;
    }
    s->n_used -= n_vertices;
    s->n_edges -= n_edges;
    s->n_faces -= n_faces;
    return worst;
}

static splat_status run_passes(simplifier *s, const splat_mesh_simplify_options *options,
                               splat_mesh_simplify_info *info, splat_error *error)
{
    size_t wanted, first = 0;
    for (s->stale = true;; info->n_passes++) {
        bool is_first = info->n_passes == 0;
        if (s->stale) simplify_collect_faces(s, is_first);
        wanted = count_wanted(s, options);
        if (is_first) first = wanted;
        SPLAT_TRY(tell(options, wanted, first, error));
        if (wanted == 0) return SPLAT_OK;
        if (s->stale) SPLAT_TRY(simplify_collect_edges(s, is_first, error));
        simplify_choose(s);
        if (s->n_chosen == 0) return SPLAT_OK; /* what is left cannot go */
        SPLAT_TRY(cut_chosen(s, wanted, error));
        info->error = fmax(info->error, collapse_chosen(s));
        info->n_collapses += s->n_chosen;
        s->stale |= has_many_unused(s);
        if (!s->stale) simplify_update(s);
        if (s->stale) SPLAT_TRY(drop_unused(s, error));
    }
}

splat_status splat_mesh_simplify(splat_mesh *mesh, const splat_mesh_simplify_options *options,
                                 splat_mesh_simplify_info *info, splat_error *error)
{
    splat_mesh_simplify_info ignored, *report = info ? info : &ignored;
    simplifier s = {.mesh = mesh, .threads = options->threads, .boundary_weight = options->boundary_weight,
                    .sizes = options->sizes, .counts_sizes = options->max_sizes > 0.0,
                    .max_cost = options->max_error * options->max_error};
    float low[3], high[3];
    size_t n = 0;
    if (options->threads < 1 || !(options->max_error >= 0.0) || !(options->boundary_weight >= 0.0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "simplification needs a thread, and a largest error and a "
                          "boundary weight that are not negative");
    if (!(options->max_sizes >= 0.0) || (s.counts_sizes && (!options->sizes || options->max_error > 0.0)))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a largest error in sizes is not negative, needs sizes, and "
                          "excludes another largest error");
    if (s.counts_sizes) s.max_cost = options->max_sizes * options->max_sizes;
    if (mesh->n_faces > UINT32_MAX / 3)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a mesh of %zu faces has too many edges to be simplified",
                          mesh->n_faces);
    *report = (splat_mesh_simplify_info){.peak_bytes = splat_mesh_simplify_bytes(mesh->n_vertices, mesh->n_faces)};
    splat_mesh_drop_texture(mesh);
    SPLAT_TRY(splat_mesh_remove_degenerate(mesh, -1.0, options->threads, &n, error));
    splat_mesh_bounds(mesh, low, high);
    for (int c = 0; c < 3; c++) s.center[c] = 0.5 * ((double)low[c] + (double)high[c]);
    splat_status status = allocate(&s) ? run_passes(&s, options, report, error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to simplify a mesh of %zu "
                                                    "faces: %zu bytes are needed", mesh->n_faces, report->peak_bytes);
    release(&s);
    report->error = sqrt(report->error);
    splat_error late;
    splat_status cleaned = splat_mesh_remove_degenerate(mesh, -1.0, options->threads, &n,
                                                        status == SPLAT_OK ? error : &late);
    if (status == SPLAT_OK) status = cleaned;
    if (status == SPLAT_OK) status = splat_mesh_remove_unreferenced(mesh, options->threads, &n, error);
    if (status == SPLAT_OK && mesh->normals) status = splat_mesh_compute_normals(mesh, options->threads, error);
    return status;
}
