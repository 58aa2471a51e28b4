/* Patches by union and find over vertices, then sums over their faces, in the order of the faces. */
#include "mesh/mesh_patches.h"

#include <math.h>
#include <stdlib.h>

typedef struct patch_work {
    const splat_mesh *mesh;
    uint8_t *keep;
    uint32_t *parents; /* [n_vertices]: of vertices without keep; a root is its own */
    uint32_t *numbers; /* [n_vertices]: of a root's patch */
} patch_work;

typedef struct patch {
    double area, lids; /* the second: of circles as long as the loops of the rim */
    double middle[3];  /* of the rim */
    size_t n_rim, first_rim;
    bool is_open; /* the mesh ends there */
} patch;

/* An edge between a patch and what stays. */
typedef struct rim_edge {
    uint32_t from, to;
    double length;
} rim_edge;

static uint32_t root_of(const patch_work *w, uint32_t v)
{
    while (w->parents[v] != v) v = w->parents[v] = w->parents[w->parents[v]];
    return v;
}

static void unite(const patch_work *w, uint32_t a, uint32_t b)
{
    a = root_of(w, a);
    b = root_of(w, b);
    if (a < b) w->parents[b] = a;
    else w->parents[a] = b;
}

static double edge_length(const splat_mesh *mesh, uint32_t a, uint32_t b)
{
    const float *p = mesh->vertices + 3 * (size_t)a, *q = mesh->vertices + 3 * (size_t)b;
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += ((double)p[k] - (double)q[k]) * ((double)p[k] - (double)q[k]);
    return sqrt(sum);
}

/* The corner of a face from which the side opposite is a rim; -1: none. */
static int rim_corner(const patch_work *w, const uint32_t *f)
{
    if (w->keep[f[0]] + w->keep[f[1]] + w->keep[f[2]] != 2) return -1;
    return !w->keep[f[0]] ? 0 : !w->keep[f[1]] ? 1 : 2;
}

/* Areas and numbers of edges; how many edges all rims have. */
static size_t add_faces(const patch_work *w, patch *patches)
{
    size_t n = 0;
    for (size_t i = 0; i < w->mesh->n_faces; i++) {
        const uint32_t *f = w->mesh->faces + 3 * i;
        if (w->keep[f[0]] & w->keep[f[1]] & w->keep[f[2]]) continue;
        patch *p = &patches[w->numbers[root_of(w, f[!w->keep[f[0]] ? 0 : !w->keep[f[1]] ? 1 : 2])]];
        p->area += splat_mesh_face_area(w->mesh, i);
        const bool is_rim = rim_corner(w, f) >= 0;
        p->n_rim += is_rim;
        n += is_rim;
    }
    return n;
}

/* Edges by patches. */
static void list_rims(const patch_work *w, patch *patches, size_t n_patches, rim_edge *edges)
{
    for (size_t k = 0, first = 0; k < n_patches; first += patches[k++].n_rim) patches[k].first_rim = first;
    for (size_t k = 0; k < n_patches; k++) patches[k].n_rim = 0;
    for (size_t i = 0; i < w->mesh->n_faces; i++) {
        const uint32_t *f = w->mesh->faces + 3 * i;
        const int corner = rim_corner(w, f);
        if (corner < 0) continue;
        patch *p = &patches[w->numbers[root_of(w, f[corner])]];
        const uint32_t from = f[(corner + 1) % 3], to = f[(corner + 2) % 3];
        edges[p->first_rim + p->n_rim++] = (rim_edge){from, to, edge_length(w->mesh, from, to)};
    }
}

/* Edges that share vertices are a loop. The parents of vertices that stay, and lengths[n_vertices], are work. */
static void measure_loops(const patch_work *w, const rim_edge *edges, double *lengths, patch *p)
{
    for (size_t i = 0; i < p->n_rim; i++) {
        w->parents[edges[i].from] = edges[i].from;
        w->parents[edges[i].to] = edges[i].to;
        lengths[edges[i].from] = lengths[edges[i].to] = 0;
    }
    for (size_t i = 0; i < p->n_rim; i++) unite(w, edges[i].from, edges[i].to);
    for (size_t i = 0; i < p->n_rim; i++) lengths[root_of(w, edges[i].from)] += edges[i].length;
    for (size_t i = 0; i < p->n_rim; i++)
        for (size_t k = 0; k < 3; k++) p->middle[k] += (double)w->mesh->vertices[3 * (size_t)edges[i].from + k];
    for (size_t k = 0; k < 3 && p->n_rim; k++) p->middle[k] /= (double)p->n_rim;
    for (size_t i = 0; i < p->n_rim; i++) {
        double *length = &lengths[root_of(w, edges[i].from)];
        p->lids += *length * *length / (4 * 3.14159265358979);
        *length = 0;
    }
}

/* Sums of such numbers are equal by chance only. */
static uint64_t mix(uint32_t vertex)
{
    uint64_t x = (vertex + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 27);
}

/* The faces around a vertex close if each of the vertices around it begins as many sides as it ends. */
static void find_open(const patch_work *w, uint64_t *balances, patch *patches)
{
    for (size_t i = 0; i < w->mesh->n_faces; i++)
        for (size_t k = 0; k < 3; k++) {
            const uint32_t *f = w->mesh->faces + 3 * i, v = f[k];
            if (w->keep[v]) continue;
            balances[v] += mix(f[(k + 1) % 3]) - mix(f[(k + 2) % 3]);
        }
    for (uint32_t v = 0; v < w->mesh->n_vertices; v++)
        if (!w->keep[v] && balances[v]) patches[w->numbers[root_of(w, v)]].is_open = true;
}

static size_t number_patches(const patch_work *w)
{
    size_t n = 0;
    for (uint32_t v = 0; v < w->mesh->n_vertices; v++) w->parents[v] = v;
    for (size_t i = 0; i < w->mesh->n_faces; i++) {
        const uint32_t *f = w->mesh->faces + 3 * i;
        for (int k = 0; k < 3; k++)
            if (!w->keep[f[k]] && !w->keep[f[(k + 1) % 3]]) unite(w, f[k], f[(k + 1) % 3]);
    }
    for (uint32_t v = 0; v < w->mesh->n_vertices; v++)
        if (!w->keep[v] && w->parents[v] == v) w->numbers[v] = (uint32_t)n++;
    return n;
}

static bool is_lid(const patch *p, const splat_mesh_patch_options *o)
{
    if (p->is_open || !(p->area <= o->roundness * p->lids)) return false;
    for (size_t i = 0; i < o->n_centers; i++) {
        double distance2 = 0;
        for (size_t k = 0; k < 3; k++) {
            const double offset = p->middle[k] - (double)o->centers[3 * i + k];
            distance2 += offset * offset;
        }
        if (p->lids > 3.14159265358979 * o->most_radius * o->most_radius * distance2) return false;
    }
    return true;
}

/* Decides for all patches before the first vertex changes. is_in: [patches]. */
static size_t choose(const patch_work *w, const uint8_t *is_in, size_t n_patches)
{
    size_t n = 0;
    for (uint32_t v = 0; v < w->mesh->n_vertices; v++)
        if (!w->keep[v]) w->numbers[v] = w->numbers[root_of(w, v)];
    for (size_t v = 0; v < w->mesh->n_vertices; v++)
        if (!w->keep[v]) w->keep[v] = is_in[w->numbers[v]];
    for (size_t k = 0; k < n_patches; k++) n += is_in[k];
    return n;
}

static splat_status no_memory(const splat_mesh *mesh, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the patches of %zu vertices", mesh->n_vertices);
}

/* patches: [n], 0. */
static splat_status measure(const patch_work *w, patch *patches, size_t n, splat_error *error)
{
    const size_t n_edges = add_faces(w, patches);
    rim_edge *edges = malloc((n_edges + 1) * sizeof *edges);
    double *lengths = malloc((w->mesh->n_vertices + 1) * sizeof *lengths);
    uint64_t *balances = calloc(w->mesh->n_vertices + 1, sizeof *balances);
    const bool ok = edges && lengths && balances;
    if (ok) {
        list_rims(w, patches, n, edges);
        for (size_t k = 0; k < n; k++) measure_loops(w, edges + patches[k].first_rim, lengths, &patches[k]);
        find_open(w, balances, patches);
    }
    free(edges);
    free(lengths);
    free(balances);
    return ok ? SPLAT_OK : no_memory(w->mesh, error);
}

splat_status splat_mesh_keep_patches(const splat_mesh *mesh, const splat_mesh_patch_options *options, uint8_t *keep,
                                     size_t *n_patches, splat_error *error)
{
    const size_t room = mesh->n_vertices + 1;
    patch_work w = {mesh, keep, malloc(room * sizeof *w.parents), malloc(room * sizeof *w.numbers)};
    const size_t n = w.parents && w.numbers ? number_patches(&w) : 0;
    patch *patches = calloc(n + 1, sizeof *patches);
    uint8_t *is_in = calloc(n + 1, 1);
    splat_status status = w.parents && w.numbers && patches && is_in ? measure(&w, patches, n, error)
                                                                     : no_memory(mesh, error);
    *n_patches = 0;
    if (status == SPLAT_OK) {
        for (size_t k = 0; k < n; k++) is_in[k] = is_lid(&patches[k], options);
        *n_patches = choose(&w, is_in, n);
    }
    free(w.parents);
    free(w.numbers);
    free(patches);
    free(is_in);
    return status;
}
