/* A heap of edges would give the next cheapest one after every collapse, at the price of a walk through memory for
 * each, by one thread. Here a pass makes those collapses, cheapest first, whose neighbourhoods no collapse of the pass
 * touches; then the neighbourhoods of all vertices are collected again (mesh_simplify_edges.c). All threads share the
 * work, and order and choice depend on costs and numbers of vertices alone. */
#include "mesh/mesh_simplify.h"

#include "base/large_pages.h"
#include "base/rows.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_simplify_edges.h"

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

/* ---------------------------------------------------------------- passes */

void splat_mesh_simplify_options_init(splat_mesh_simplify_options *options)
{
    *options = (splat_mesh_simplify_options){.boundary_weight = 10, .threads = 1};
}

/* A face has at most three edges, those of a manifold 1.5 each. */
size_t splat_mesh_simplify_bytes(size_t n_vertices, size_t n_faces)
{
    size_t vertex = sizeof(simplify_quadric) + 2 + 3 * sizeof(uint32_t) + sizeof(uint64_t);
    size_t edge = sizeof(simplify_edge) + 4 * sizeof(uint32_t) + 1;
    return n_vertices * vertex + n_faces * (9 * sizeof(uint32_t) + 3 * edge + 2);
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
    s->block_bytes = n * (sizeof *s->quadrics + 2 + sizeof *s->starts + sizeof *s->ring_sizes + sizeof *s->least) +
                     n_half * (sizeof *s->around + 2 * sizeof *s->rings) + n_blocks * sizeof *s->blocks + 9 * 64;
    s->block = rest = splat_zeroed_alloc(s->block_bytes);
    if (!rest) return false;
    s->quadrics = take(&rest, n, sizeof *s->quadrics);
    s->kinds = take(&rest, n, 1);
    s->touched = take(&rest, n, 1);
    s->starts = take(&rest, n, sizeof *s->starts);
    s->ring_sizes = take(&rest, n, sizeof *s->ring_sizes);
    s->least = take(&rest, n, sizeof *s->least);
    s->around = take(&rest, n_half, sizeof *s->around);
    s->rings = take(&rest, 2 * n_half, sizeof *s->rings);
    s->blocks = take(&rest, n_blocks, sizeof *s->blocks);
    return true;
}

static void release(simplifier *s)
{
    splat_zeroed_free(s->block, s->block_bytes);
    splat_zeroed_free(s->edges, s->edge_bytes);
}

/* Drops vertices without faces once they are a quarter: what lies around the others moves together. The order of the
 * others stays, and with it the order of edges. Sizes have done their work in the first quadrics. Errors: MEMORY. */
static splat_status drop_unused(simplifier *s, splat_error *error)
{
    size_t n = s->mesh->n_vertices;
    if (4 * (s->n_used - s->n_chosen) > 3 * n) return SPLAT_OK;
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
    size_t wanted = s->mesh->n_faces > options->target_faces ? s->mesh->n_faces - options->target_faces : 0;
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

static splat_status run_passes(simplifier *s, const splat_mesh_simplify_options *options,
                               splat_mesh_simplify_info *info, splat_error *error)
{
    size_t wanted, first = 0, ignored = 0;
    for (;; info->n_passes++) {
        double worst = info->error;
        simplify_collect_faces(s);
        wanted = count_wanted(s, options);
        if (info->n_passes == 0) first = wanted;
        SPLAT_TRY(tell(options, wanted, first, error));
        if (wanted == 0) return SPLAT_OK;
        SPLAT_TRY(simplify_collect_edges(s, info->n_passes == 0, error));
        simplify_compute_costs(s);
        simplify_choose(s);
        if (s->n_chosen == 0) return SPLAT_OK; /* what is left cannot go */
        SPLAT_TRY(cut_chosen(s, wanted, error));
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(max : worst)
        for (size_t i = 0; i < s->n_chosen; i++) worst = fmax(worst, simplify_collapse(s, s->edges[s->chosen[i]]));
        info->error = worst;
        info->n_collapses += s->n_chosen;
        SPLAT_TRY(splat_mesh_remove_degenerate(s->mesh, -1.0, s->threads, &ignored, error));
        SPLAT_TRY(drop_unused(s, error));
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
    if (status == SPLAT_OK) status = splat_mesh_remove_unreferenced(mesh, options->threads, &n, error);
    if (status == SPLAT_OK && mesh->normals) status = splat_mesh_compute_normals(mesh, options->threads, error);
    return status;
}
