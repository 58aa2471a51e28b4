/* Growing, merging and cutting charts. */
#include "texture/charts.h"

#include "base/array.h"
#include "mesh/mesh_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double growth_cosine = 0.70710678118654752; /* of 45 degrees */
enum { SMALL_CHART = 20, MERGE_ROUNDS = 3 };

static splat_status no_memory(const splat_mesh *mesh, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the charts of a mesh of %zu faces", mesh->n_faces);
}

void splat_charts_free(splat_charts *charts)
{
    free(charts->opposite);
    free(charts->crosses);
    free(charts->of_face);
    free(charts->faces);
    free(charts->cut);
    free(charts->charts);
    memset(charts, 0, sizeof *charts);
}

/* Edges of two faces that run in opposite directions. */
static splat_status find_opposites(const splat_mesh *mesh, int threads, uint32_t *opposite, splat_error *error)
{
    splat_mesh_edges edges;
    SPLAT_TRY(splat_mesh_edges_make(mesh, threads, &edges, error));
    memset(opposite, 255, 3 * mesh->n_faces * sizeof *opposite);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            if (end - i != 2) continue;
            uint32_t a = edges.uses[i].half_edge, b = edges.uses[i + 1].half_edge;
            if (splat_half_edge_from(mesh, a) == splat_half_edge_from(mesh, b)) continue;
            opposite[a] = b;
            opposite[b] = a;
        }
    }
    splat_mesh_edges_free(&edges);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- normals */

static double length_of(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void add_cross(const splat_charts *charts, uint32_t face, double sum[3])
{
    for (size_t c = 0; c < 3; c++) sum[c] += (double)charts->crosses[3 * (size_t)face + c];
}

/* The cosine between a face's normal and a vector; 1 if either has no length. */
static double cosine(const splat_charts *charts, uint32_t face, const double v[3])
{
    const float *f = charts->crosses + 3 * (size_t)face;
    const double n[3] = {(double)f[0], (double)f[1], (double)f[2]};
    double length = length_of(n) * length_of(v);
    return length > 0.0 ? (n[0] * v[0] + n[1] * v[1] + n[2] * v[2]) / length : 1.0;
}

double splat_chart_cosine(const splat_charts *charts, uint32_t face, const double normal[3])
{
    return cosine(charts, face, normal);
}

double splat_chart_face_texels(const splat_charts *charts, uint32_t face, double density)
{
    const float *f = charts->crosses + 3 * (size_t)face;
    const double n[3] = {(double)f[0], (double)f[1], (double)f[2]};
    return 0.5 * length_of(n) * density * density;
}

void splat_chart_normal(const splat_charts *charts, size_t chart, double normal[3])
{
    splat_chart at = charts->charts[chart];
    normal[0] = normal[1] = normal[2] = 0.0;
    for (uint32_t i = 0; i < at.n; i++) add_cross(charts, charts->faces[at.first + i], normal);
    double length = length_of(normal);
    for (int c = 0; c < 3; c++) normal[c] = length > 0.0 ? normal[c] / length : c == 2;
}

/* ---------------------------------------------------------------- growing */

/* A chart from a face on; its faces come into the queue. Returns how many. */
static uint32_t grow_from(splat_charts *charts, uint32_t seed, uint32_t number, uint32_t *queue)
{
    uint32_t n = 0;
    double sum[3] = {0.0, 0.0, 0.0};
    queue[n++] = seed;
    charts->of_face[seed] = number;
    add_cross(charts, seed, sum);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++) {
            uint32_t other = charts->opposite[3 * (size_t)queue[i] + k];
            if (other == UINT32_MAX) continue;
            uint32_t face = other / 3;
            if (charts->of_face[face] != UINT32_MAX || cosine(charts, face, sum) < growth_cosine) continue;
            charts->of_face[face] = number;
            add_cross(charts, face, sum);
            queue[n++] = face;
        }
    }
    return n;
}

static splat_status add_chart(splat_charts *charts, splat_chart chart, splat_error *error)
{
    splat_chart *grown = splat_array_grow(charts->charts, &charts->capacity, charts->n, sizeof *grown);
    if (!grown)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu charts of a mesh", charts->n + 1);
    charts->charts = grown;
    charts->charts[charts->n++] = chart;
    return SPLAT_OK;
}

static splat_status grow_all(const splat_mesh *mesh, splat_charts *charts, splat_error *error)
{
    uint32_t n_done = 0;
    memset(charts->of_face, 255, mesh->n_faces * sizeof *charts->of_face);
    for (uint32_t face = 0; face < mesh->n_faces; face++) {
        if (charts->of_face[face] != UINT32_MAX) continue;
        uint32_t n = grow_from(charts, face, (uint32_t)charts->n, charts->faces + n_done);
        SPLAT_TRY(add_chart(charts, (splat_chart){n_done, n}, error));
        n_done += n;
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- merging */

/* The neighbour of a small chart that it may join, with the nearest normal; UINT32_MAX: none. is_flat: only where all
 * faces of the small chart stay within the limit. */
static uint32_t find_home(const splat_charts *charts, uint32_t chart, const double (*sums)[3], bool is_flat)
{
    splat_chart at = charts->charts[chart];
    uint32_t best = UINT32_MAX;
    double best_cosine = -1.0;
    for (uint32_t i = 0; i < 3 * at.n; i++) {
        uint32_t other = charts->opposite[3 * (size_t)charts->faces[at.first + i / 3] + i % 3];
        if (other == UINT32_MAX) continue;
        uint32_t home = charts->of_face[other / 3];
        if (home == chart || home == best) continue;
        const double *a = sums[chart], *b = sums[home];
        double length = length_of(a) * length_of(b);
        double similarity = length > 0.0 ? (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / length : 1.0;
        if (similarity <= best_cosine) continue;
        const double sum[3] = {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
        bool fits = true;
        for (uint32_t k = 0; is_flat && fits && k < at.n; k++)
            fits = cosine(charts, charts->faces[at.first + k], sum) > SPLAT_CHART_MIN_COSINE;
        if (!fits) continue;
        best = home;
        best_cosine = similarity;
    }
    return best;
}

/* Lists the faces chart by chart again, and numbers the charts that are left in their order. */
static void list_faces(const splat_mesh *mesh, splat_charts *charts, uint32_t *numbers)
{
    size_t n = 0;
    for (size_t c = 0; c < charts->n; c++) charts->charts[c].n = 0;
    for (size_t f = 0; f < mesh->n_faces; f++) charts->charts[charts->of_face[f]].n++;
    for (size_t c = 0, first = 0; c < charts->n; c++) {
        uint32_t size = charts->charts[c].n;
        numbers[c] = (uint32_t)n;
        if (size == 0) continue;
        charts->charts[n++] = (splat_chart){(uint32_t)first, 0};
        first += size;
    }
    charts->n = n;
    for (uint32_t f = 0; f < mesh->n_faces; f++) {
        splat_chart *chart = &charts->charts[charts->of_face[f] = numbers[charts->of_face[f]]];
        charts->faces[chart->first + chart->n++] = f;
    }
}

/* The charts that are small: of fewer faces than the limit or, with densities, of fewer texels. */
typedef struct small_charts {
    double limit;
    const float *densities; /* [n_faces] texels a unit; NULL: faces count */
} small_charts;

/* One round: small charts, in their order, join neighbours; a chart that took part waits for the next round. */
static splat_status merge_round(const splat_mesh *mesh, splat_charts *charts, const small_charts *small,
                                splat_error *error)
{
    const float *d = small->densities;
    size_t n = charts->n;
    double(*sums)[3] = calloc(n + 1, sizeof *sums), *size = calloc(n + 1, sizeof *size);
    uint32_t *numbers = malloc((n + 1) * sizeof *numbers);
    uint8_t *is_done = calloc(n + 1, 1);
    splat_status status = sums && size && numbers && is_done ? SPLAT_OK : no_memory(mesh, error);
    for (uint32_t f = 0; f < mesh->n_faces && status == SPLAT_OK; f++) {
        add_cross(charts, f, sums[charts->of_face[f]]);
        size[charts->of_face[f]] += d ? splat_chart_face_texels(charts, f, (double)d[f]) : 1.0;
    }
    for (uint32_t c = 0; c < n && status == SPLAT_OK; c++) {
        if (size[c] >= small->limit || is_done[c]) continue;
        uint32_t home = find_home(charts, c, (const double(*)[3])sums, !d);
        if (home == UINT32_MAX) continue;
        for (uint32_t i = 0; i < charts->charts[c].n; i++)
            charts->of_face[charts->faces[charts->charts[c].first + i]] = home;
        for (int k = 0; k < 3; k++) sums[home][k] += sums[c][k];
        is_done[c] = is_done[home] = 1;
    }
    if (status == SPLAT_OK) list_faces(mesh, charts, numbers);
    free(sums);
    free(size);
    free(numbers);
    free(is_done);
    return status;
}

static splat_status merge_small(const splat_mesh *mesh, splat_charts *charts, small_charts small, splat_error *error)
{
    size_t n = charts->n + 1;
    for (int round = 0; round < MERGE_ROUNDS && charts->n < n; round++) {
        n = charts->n;
        SPLAT_TRY(merge_round(mesh, charts, &small, error));
    }
    return SPLAT_OK;
}

splat_status splat_charts_absorb(const splat_mesh *mesh, splat_charts *charts, const float *densities, double least,
                                 splat_error *error)
{
    return merge_small(mesh, charts, (small_charts){least, densities}, error);
}

/* Cuts the faces off a chart that have come to stand too steep on its mean normal, which they took part in turning.
 * queue: room for the faces of the chart. */
static splat_status cut_steep_of(splat_charts *charts, size_t chart, uint32_t *queue, splat_chart_cuts *cuts,
                                 splat_error *error)
{
    splat_chart at = charts->charts[chart];
    uint32_t *faces = charts->faces + at.first, n_kept = 0, n_steep = 0;
    double normal[3];
    splat_chart_normal(charts, chart, normal);
    for (uint32_t i = 0; i < at.n; i++) {
        uint32_t face = faces[i];
        if (cosine(charts, face, normal) > SPLAT_CHART_MIN_COSINE) faces[n_kept++] = face;
        else queue[n_steep++] = face;
    }
    memcpy(faces + n_kept, queue, n_steep * sizeof *faces);
    return n_steep > 0 && n_kept > 0 ? splat_charts_cut(charts, chart, n_kept, queue, cuts, error) : SPLAT_OK;
}

static splat_status cut_steep(const splat_mesh *mesh, splat_charts *charts, splat_error *error)
{
    const int threads = charts->threads;
    uint32_t *queue = malloc((mesh->n_faces + 1) * sizeof *queue);
    splat_chart_cuts *cuts = calloc((size_t)threads, sizeof *cuts);
    size_t next = 0;
    bool good = true;
    if (!queue || !cuts) {
        free(queue);
        free(cuts);
        return no_memory(mesh, error);
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(&& : good)
    for (int thread = 0; thread < threads; thread++)
        while (good) {
            splat_error ignored;
            size_t c = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (c >= charts->n) break;
            good = cut_steep_of(charts, c, queue + charts->charts[c].first, &cuts[thread], &ignored) == SPLAT_OK;
        }
    splat_status status = good ? splat_charts_add_cuts(charts, 0, cuts, threads, error) : no_memory(mesh, error);
    for (int i = 0; i < threads; i++) free(cuts[i].items);
    free(cuts);
    free(queue);
    return status;
}

splat_status splat_charts_grow(const splat_mesh *mesh, int threads, splat_charts *charts, splat_error *error)
{
    size_t n = mesh->n_faces;
    *charts = (splat_charts){.threads = threads};
    if (n > UINT32_MAX / 3)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mesh of %zu faces has too many for an atlas; simplify it", n);
    charts->opposite = malloc(3 * (n + 1) * sizeof *charts->opposite);
    charts->crosses = malloc(3 * (n + 1) * sizeof *charts->crosses);
    charts->of_face = malloc((n + 1) * sizeof *charts->of_face);
    charts->faces = malloc((n + 1) * sizeof *charts->faces);
    charts->cut = calloc(n + 1, sizeof *charts->cut);
    splat_status status = SPLAT_OK;
    if (!charts->opposite || !charts->crosses || !charts->of_face || !charts->faces || !charts->cut) {
        status = no_memory(mesh, error);
        goto done;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t f = 0; f < n; f++) {
        double cross[3];
        splat_mesh_face_cross(mesh, f, cross);
        for (size_t c = 0; c < 3; c++) charts->crosses[3 * f + c] = (float)cross[c];
    }
    SPLAT_TRY_GOTO(status, done, find_opposites(mesh, threads, charts->opposite, error));
    SPLAT_TRY_GOTO(status, done, grow_all(mesh, charts, error));
    for (int round = 0; round < 3 && status == SPLAT_OK; round++) {
        if (round) status = cut_steep(mesh, charts, error);
        if (status == SPLAT_OK) status = merge_small(mesh, charts, (small_charts){.limit = SMALL_CHART}, error);
    }
done:
    if (status != SPLAT_OK) splat_charts_free(charts);
    return status;
}

/* ---------------------------------------------------------------- cutting */

/* States of faces in charts->cut. */
enum { KEPT, CUT, WAITING };

splat_status splat_charts_cut(splat_charts *charts, size_t chart, uint32_t keep, uint32_t *queue,
                              splat_chart_cuts *cuts, splat_error *error)
{
    splat_chart at = charts->charts[chart];
    uint32_t *rest = charts->faces + at.first + keep, n_rest = at.n - keep, n_done = 0;
    charts->charts[chart].n = keep;
    for (uint32_t i = 0; i < n_rest; i++) charts->cut[rest[i]] = WAITING;
    for (uint32_t i = 0; i < n_rest; i++) {
        if (charts->cut[rest[i]] != WAITING) continue;
        uint32_t first = n_done;
        queue[n_done++] = rest[i];
        charts->cut[rest[i]] = CUT;
        for (uint32_t k = first; k < n_done; k++) {
            for (size_t side = 0; side < 3; side++) {
                uint32_t other = charts->opposite[3 * (size_t)queue[k] + side];
                /* the cuts of other charts are those of other threads */
                if (other == UINT32_MAX || charts->of_face[other / 3] != chart) continue;
                if (charts->cut[other / 3] != WAITING) continue;
                charts->cut[other / 3] = CUT;
                queue[n_done++] = other / 3;
            }
        }
        splat_chart_cut *grown = splat_array_grow(cuts->items, &cuts->capacity, cuts->n, sizeof *grown);
        if (!grown) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu charts of a mesh", charts->n + 1);
        cuts->items = grown;
        cuts->items[cuts->n++] = (splat_chart_cut){(uint32_t)chart, {at.first + keep + first, n_done - first}};
    }
    memcpy(rest, queue, n_rest * sizeof *rest);
    return SPLAT_OK;
}

/* Gives the faces of charts from number `first` on their number. */
static void number_faces(splat_charts *charts, size_t first)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(charts->threads)
    for (size_t c = first; c < charts->n; c++) {
        const uint32_t *faces = charts->faces + charts->charts[c].first;
        for (uint32_t i = 0; i < charts->charts[c].n; i++) {
            charts->of_face[faces[i]] = (uint32_t)c;
            charts->cut[faces[i]] = KEPT;
        }
    }
}

splat_status splat_charts_add_cuts(splat_charts *charts, size_t first, splat_chart_cuts *cuts, int n,
                                   splat_error *error)
{
    size_t n_old = charts->n, n_new = 0, n_parents = n_old - first;
    for (int i = 0; i < n; i++) n_new += cuts[i].n;
    if (n_new == 0) return SPLAT_OK;
    uint32_t *starts = calloc(n_parents + 1, sizeof *starts);
    splat_chart *grown = realloc(charts->charts, (n_old + n_new) * sizeof *grown);
    if (grown) {
        charts->charts = grown;
        charts->capacity = n_old + n_new;
    }
    if (!starts || !grown) {
        free(starts);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu charts of a mesh", n_old + n_new);
    }
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < cuts[i].n; k++) starts[cuts[i].items[k].parent - first + 1]++;
    for (size_t p = 0; p < n_parents; p++) starts[p + 1] += starts[p];
    for (int i = 0; i < n; i++) { /* one thread has made all cuts of a parent, in their order */
        for (size_t k = 0; k < cuts[i].n; k++)
            charts->charts[n_old + starts[cuts[i].items[k].parent - first]++] = cuts[i].items[k].chart;
        cuts[i].n = 0;
    }
    free(starts);
    charts->n = n_old + n_new;
    number_faces(charts, n_old);
    return SPLAT_OK;
}
