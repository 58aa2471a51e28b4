/* Cleaning steps that look at vertices: merging, pieces, vertices that no face uses. */
#include "mesh/mesh_clean_vertices.h"

#include "base/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_status no_memory(const splat_mesh *mesh, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu vertices", mesh->n_vertices);
}

/* ---------------------------------------------------------------- merging */

/* Vertices that stay, in a hash of cells as wide as the distance: those within it lie in 27 cells. With distance 0 the
 * cell is the position itself. */
typedef struct merge_table {
    const splat_mesh *mesh;
    double distance;
    uint32_t *heads, *next; /* [mask + 1], [n_vertices]; UINT32_MAX: none */
    size_t mask;
} merge_table;

static void cell_of(const merge_table *table, size_t vertex, int64_t cell[3])
{
    for (size_t c = 0; c < 3; c++) {
        float x = table->mesh->vertices[3 * vertex + c] + 0.0f; /* -0 becomes 0 */
        int32_t bits;
        memcpy(&bits, &x, sizeof bits);
        double scaled = table->distance > 0.0 ? floor((double)x / table->distance) : 0.0;
        if (fabs(scaled) > 4e18) scaled = 0.0; /* a distance below the spacing of floats there */
        cell[c] = table->distance > 0.0 ? (int64_t)scaled : bits;
    }
}

static size_t hash_cell(const merge_table *table, const int64_t cell[3])
{
    uint64_t h = 0;
    for (int c = 0; c < 3; c++) {
        h = (h ^ (uint64_t)cell[c]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return (size_t)h & table->mask;
}

/* Lowers *found to the first vertex of the cell that is near enough. Chains also hold vertices of other cells, which
 * are as welcome when they are near. */
static void search_cell(const merge_table *table, size_t vertex, const int64_t cell[3], uint32_t *found)
{
    const float *v = table->mesh->vertices + 3 * vertex;
    for (uint32_t i = table->heads[hash_cell(table, cell)]; i != UINT32_MAX; i = table->next[i]) {
        const float *w = table->mesh->vertices + 3 * (size_t)i;
        double x = (double)v[0] - (double)w[0], y = (double)v[1] - (double)w[1], z = (double)v[2] - (double)w[2];
        if (x * x + y * y + z * z <= table->distance * table->distance && i < *found) *found = i;
    }
}

static uint32_t find_near(const merge_table *table, size_t vertex, const int64_t cell[3])
{
    uint32_t found = UINT32_MAX;
    int64_t reach = table->distance > 0.0 ? 1 : 0;
    for (int64_t z = -reach; z <= reach; z++)
        for (int64_t y = -reach; y <= reach; y++)
            for (int64_t x = -reach; x <= reach; x++) {
                const int64_t near[3] = {cell[0] + x, cell[1] + y, cell[2] + z};
                search_cell(table, vertex, near, &found);
            }
    return found;
}

static void insert(merge_table *table, size_t vertex, size_t slot)
{
    table->next[vertex] = table->heads[slot];
    table->heads[slot] = (uint32_t)vertex;
}

/* In turn: what an earlier vertex joined decides for the next. */
static void merge_near(merge_table *table, uint32_t *joined)
{
    for (size_t i = 0; i < table->mesh->n_vertices; i++) {
        int64_t cell[3];
        cell_of(table, i, cell);
        joined[i] = find_near(table, i, cell);
        if (joined[i] != UINT32_MAX) continue;
        joined[i] = (uint32_t)i;
        insert(table, i, hash_cell(table, cell));
    }
}

/* Being equal has no order, so all vertices go in first, by all threads, and then each finds the first like it. */
static void merge_equal(merge_table *table, int threads, uint32_t *joined)
{
    size_t n = table->mesh->n_vertices;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        int64_t cell[3];
        cell_of(table, i, cell);
        table->next[i] = __atomic_exchange_n(&table->heads[hash_cell(table, cell)], (uint32_t)i, __ATOMIC_RELAXED);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        int64_t cell[3];
        cell_of(table, i, cell);
        joined[i] = (uint32_t)i;
        search_cell(table, i, cell, &joined[i]);
    }
}

splat_status splat_mesh_merge_vertices(splat_mesh *mesh, double distance, int threads, size_t *n_vertices,
                                       splat_error *error)
{
    size_t n = mesh->n_vertices, n_joined = 0;
    merge_table table = {mesh, distance, NULL, NULL, 15};
    while (table.mask < 2 * n) table.mask = 2 * table.mask + 1;
    table.heads = malloc((table.mask + 1) * sizeof *table.heads);
    table.next = malloc((n ? n : 1) * sizeof *table.next);
    uint32_t *joined = malloc((n ? n : 1) * sizeof *joined);
    splat_status status = SPLAT_OK;
    if (!table.heads || !table.next || !joined) {
        status = no_memory(mesh, error);
        goto done;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i <= table.mask; i++) table.heads[i] = UINT32_MAX;
    if (distance > 0.0) merge_near(&table, joined);
    else merge_equal(&table, threads, joined);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : n_joined)
    for (size_t i = 0; i < n; i++) n_joined += joined[i] != (uint32_t)i;
    *n_vertices += n_joined;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < (n_joined ? 3 * mesh->n_faces : 0); i++) mesh->faces[i] = joined[mesh->faces[i]];
done:
    free(table.heads);
    free(table.next);
    free(joined);
    return status;
}

/* ---------------------------------------------------------------- pieces */

/* Finds the root in a forest that threads join at the same time: every parent is smaller than its child. */
static uint32_t root_of(uint32_t *parents, uint32_t v)
{
    for (;;) {
        uint32_t parent = __atomic_load_n(&parents[v], __ATOMIC_RELAXED);
        if (parent == v) return v;
        uint32_t above = __atomic_load_n(&parents[parent], __ATOMIC_RELAXED);
        if (above != parent) /* else nothing to shorten */
            __atomic_compare_exchange_n(&parents[v], &parent, above, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        v = above;
    }
}

/* The smaller root wins, so that in the end the root of a piece is its smallest vertex. */
static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    for (;;) {
        a = root_of(parents, a);
        b = root_of(parents, b);
        if (a == b) return;
        uint32_t low = a < b ? a : b, high = a < b ? b : a, expected = high;
        if (__atomic_compare_exchange_n(&parents[high], &expected, low, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return;
    }
}

/* roots[n_faces] become numbers in the order of the faces, from parents[] and first[], whose vertices are UINT32_MAX;
 * how many there are. Blocks count the faces that are the first of their piece, then number their own. */
static size_t number_pieces(size_t n_faces, int threads, uint32_t *roots, uint32_t *parents, uint32_t *first)
{
    enum { BLOCKS = 64 };
    size_t length = (n_faces + BLOCKS - 1) / BLOCKS, counts[BLOCKS] = {0}, n = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n_faces; i++) {
        uint32_t *least = &first[roots[i]], now = __atomic_load_n(least, __ATOMIC_RELAXED), face = (uint32_t)i;
        while (face < now && !__atomic_compare_exchange_n(least, &now, face, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = b * length; i < n_faces && i < (b + 1) * length; i++) counts[b] += first[roots[i]] == i;
    for (size_t b = 0; b < BLOCKS; b++) {
        size_t count = counts[b];
        counts[b] = n;
        n += count;
    }
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (size_t b = 0; b < BLOCKS; b++)
            for (size_t i = b * length; i < n_faces && i < (b + 1) * length; i++)
                if (first[roots[i]] == i) parents[roots[i]] = (uint32_t)counts[b]++;
#pragma omp for schedule(static)
        for (size_t i = 0; i < n_faces; i++) roots[i] = parents[roots[i]];
    }
    return n;
}

splat_status splat_mesh_components(const splat_mesh *mesh, int threads, uint32_t *pieces, size_t *n,
                                   splat_error *error)
{
    size_t n_vertices = mesh->n_vertices;
    uint32_t *parents = malloc((n_vertices ? n_vertices : 1) * sizeof *parents);
    uint32_t *first = malloc((n_vertices ? n_vertices : 1) * sizeof *first);
    splat_status status = parents && first ? SPLAT_OK : no_memory(mesh, error);
    *n = 0;
    if (status == SPLAT_OK) {
#pragma omp parallel num_threads(threads)
        {
#pragma omp for schedule(static)
            for (size_t v = 0; v < n_vertices; v++) {
                parents[v] = (uint32_t)v;
                first[v] = UINT32_MAX;
            }
#pragma omp for schedule(static)
            for (size_t i = 0; i < mesh->n_faces; i++)
                for (size_t k = 1; k < 3; k++) join(parents, mesh->faces[3 * i], mesh->faces[3 * i + k]);
#pragma omp for schedule(static)
            for (size_t i = 0; i < mesh->n_faces; i++) pieces[i] = root_of(parents, mesh->faces[3 * i]);
        }
        *n = number_pieces(mesh->n_faces, threads, pieces, parents, first);
    }
    free(parents);
    free(first);
    return status;
}

/* sizes[piece]: its faces. Neighbours in the list are of one piece, most often, and are counted together. */
static void count_faces(const uint32_t *pieces, size_t n, int threads, size_t *sizes)
{
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t begin = 0; begin < n; begin += BLOCK)
        for (size_t i = begin, end; i < n && i < begin + BLOCK; i = end) {
            for (end = i + 1; end < n && end < begin + BLOCK && pieces[end] == pieces[i]; end++) {}
            __atomic_fetch_add(&sizes[pieces[i]], end - i, __ATOMIC_RELAXED);
        }
}

splat_status splat_mesh_remove_small_components(splat_mesh *mesh, size_t min_faces, int threads,
                                                size_t *n_components, size_t *n_faces, splat_error *error)
{
    size_t n = mesh->n_faces, n_pieces = 0;
    uint32_t *pieces = malloc((n ? n : 1) * sizeof *pieces);
    size_t *sizes = calloc(n ? n : 1, sizeof *sizes);
    uint8_t *keep = malloc(n ? n : 1);
    splat_status status = pieces && sizes && keep ? SPLAT_OK : no_memory(mesh, error);
    if (status == SPLAT_OK) status = splat_mesh_components(mesh, threads, pieces, &n_pieces, error);
    if (status == SPLAT_OK) {
        count_faces(pieces, n, threads, sizes);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < n; i++) keep[i] = sizes[pieces[i]] >= min_faces;
        for (size_t i = 0; i < n_pieces; i++) *n_components += sizes[i] < min_faces;
        splat_mesh_keep_faces(mesh, keep, threads);
        *n_faces += n - mesh->n_faces;
    }
    free(pieces);
    free(sizes);
    free(keep);
    return status;
}

/* ---------------------------------------------------------------- vertices */

splat_status splat_mesh_remove_unreferenced(splat_mesh *mesh, int threads, size_t *n_vertices, splat_error *error)
{
    size_t before = mesh->n_vertices;
    uint8_t *used = calloc(before ? before : 1, 1);
    if (!used) return no_memory(mesh, error);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) __atomic_store_n(&used[mesh->faces[i]], 1, __ATOMIC_RELAXED);
    splat_status status = splat_mesh_keep_vertices(mesh, used, threads, error);
    if (status == SPLAT_OK) *n_vertices += before - mesh->n_vertices;
    free(used);
    return status;
}

/* ---------------------------------------------------------------- keeping */

/* Keeping some of the faces or vertices of a mesh. */

void splat_mesh_keep_faces(splat_mesh *mesh, const uint8_t *keep, int threads)
{
    size_t n = mesh->n_faces;
    mesh->n_faces = splat_keep_rows(mesh->faces, 12, n, keep, threads);
    if (mesh->uvs) splat_keep_rows(mesh->uvs, 24, n, keep, threads);
    if (mesh->face_pages) splat_keep_rows(mesh->face_pages, 1, n, keep, threads);
}

/* moved[i]: the vertices up to and with i that are kept. */
static void count_kept(size_t n, const uint8_t *keep, int threads, uint32_t *moved)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) moved[i] = keep[i] != 0;
    splat_add_up(moved, n, threads);
}

/* keep_faces[i] = 0 where a corner goes; the others name their corners by where those go. */
static void rename_corners(splat_mesh *mesh, const uint8_t *keep, const uint32_t *moved, int threads,
                           uint8_t *keep_faces)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < mesh->n_faces; i++) {
        uint32_t *f = mesh->faces + 3 * i;
        keep_faces[i] = keep[f[0]] && keep[f[1]] && keep[f[2]];
        for (size_t k = 0; k < 3 && keep_faces[i]; k++) f[k] = moved[f[k]] - 1;
    }
}

splat_status splat_mesh_keep_vertices(splat_mesh *mesh, const uint8_t *keep, int threads, splat_error *error)
{
    size_t n = mesh->n_vertices;
    if (!memchr(keep, 0, n)) return SPLAT_OK; /* the usual case */
    uint32_t *moved = malloc(n * sizeof *moved);
    uint8_t *keep_faces = malloc(mesh->n_faces + 1);
    if (!moved || !keep_faces) {
        free(moved);
        free(keep_faces);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to clean a mesh of %zu vertices", n);
    }
    count_kept(n, keep, threads, moved);
    rename_corners(mesh, keep, moved, threads, keep_faces);
    splat_mesh_keep_faces(mesh, keep_faces, threads);
    mesh->n_vertices = splat_keep_rows(mesh->vertices, 12, n, keep, threads);
    if (mesh->normals) splat_keep_rows(mesh->normals, 12, n, keep, threads);
    if (mesh->colors) splat_keep_rows(mesh->colors, 4, n, keep, threads);
    free(moved);
    free(keep_faces);
    return SPLAT_OK;
}
