/* Figures of faces, edges and pieces, and the judgement of a report. */
#include "mesh/measure/mesh_quality.h"

#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of numbers that come one at a time (Welford: variances do not cancel). */
typedef struct figure_sum { size_t n; double min, max, mean, square; } figure_sum;

static void add(figure_sum *sum, double x)
{
    if (sum->n == 0 || x < sum->min) sum->min = x;
    if (sum->n == 0 || x > sum->max) sum->max = x;
    double before = x - sum->mean;
    sum->mean += before / (double)++sum->n;
    sum->square += before * (x - sum->mean);
}

static splat_mesh_figure figure_of(const figure_sum *sum)
{
    splat_mesh_figure figure = {sum->min, sum->max, sum->mean, sum->n ? sqrt(sum->square / (double)sum->n) : 0.0};
    return figure;
}

static void measure_faces(const splat_mesh *mesh, splat_mesh_quality *q)
{
    figure_sum area = {0}, aspect = {0}, length = {0};
    for (size_t i = 0; i < mesh->n_faces; i++) {
        double face_area = splat_mesh_face_area(mesh, i), squares = 0.0;
        for (size_t h = 3 * i; h < 3 * i + 3; h++) {
            const float *a = mesh->vertices + 3 * (size_t)splat_half_edge_from(mesh, h);
            const float *b = mesh->vertices + 3 * (size_t)splat_half_edge_to(mesh, h);
            double side2 = 0.0;
            for (int c = 0; c < 3; c++) side2 += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
            squares += side2;
            add(&length, sqrt(side2));
        }
        double shape = squares > 0.0 ? 4.0 * sqrt(3.0) * face_area / squares : 0.0;
        add(&area, face_area);
        add(&aspect, shape);
        q->n_degenerate_faces += face_area < 1e-10;
        q->n_low_quality_faces += shape < 0.3;
        q->surface_area += face_area;
    }
    q->area = figure_of(&area);
    q->aspect = figure_of(&aspect);
    q->edge_length = figure_of(&length);
    q->edge_uniformity = q->edge_length.mean > 0.0 ? 1.0 - q->edge_length.deviation / q->edge_length.mean : 0.0;
}

static double face_cosine(const splat_mesh *mesh, size_t a, size_t b)
{
    double m[3], n[3];
    splat_mesh_face_cross(mesh, a, m);
    splat_mesh_face_cross(mesh, b, n);
    double lengths = sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]) * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    return lengths > 0.0 ? (m[0] * n[0] + m[1] * n[1] + m[2] * n[2]) / lengths : 0.0;
}

/* One edge with its uses [first, end). */
static void measure_edge(const splat_mesh *mesh, const splat_edge_use *uses, size_t n, uint32_t low,
                         splat_mesh_quality *q, figure_sum *cosines)
{
    size_t n_up = 0;
    for (size_t k = 0; k < n; k++) n_up += splat_half_edge_from(mesh, uses[k].half_edge) == low;
    q->n_edges++;
    q->n_boundary_edges += n == 1;
    q->n_non_manifold_edges += n > 2;
    if (n != 2) q->is_watertight = false;
    if (n_up > 1 || n - n_up > 1) q->is_winding_consistent = false;
    if (n != 2) return;
    double cosine = face_cosine(mesh, uses[0].half_edge / 3, uses[1].half_edge / 3);
    add(cosines, cosine);
    q->n_flipped_normals += cosine < 0.0;
}

static splat_status measure_edges(const splat_mesh *mesh, splat_mesh_quality *q, splat_error *error)
{
    splat_mesh_edges edges;
    figure_sum cosines = {0}, valence = {0};
    SPLAT_TRY(splat_mesh_edges_make(mesh, 1, &edges, error));
    uint32_t *valences = calloc(mesh->n_vertices ? mesh->n_vertices : 1, sizeof *valences);
    uint8_t *used = calloc(mesh->n_vertices ? mesh->n_vertices : 1, 1);
    if (!valences || !used) {
        free(valences);
        free(used);
        splat_mesh_edges_free(&edges);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to measure a mesh of %zu faces", mesh->n_faces);
    }
    q->is_watertight = q->is_winding_consistent = mesh->n_faces > 0;
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            measure_edge(mesh, edges.uses + i, end - i, (uint32_t)v, q, &cosines);
            valences[v]++;
            valences[edges.uses[i].high]++;
        }
    }
    size_t n_used = 0;
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) used[mesh->faces[i]] = 1;
    for (size_t v = 0; v < mesh->n_vertices; v++) {
        if (!used[v]) continue;
        n_used++;
        add(&valence, valences[v]);
    }
    q->n_isolated_vertices = mesh->n_vertices - n_used;
    q->euler_characteristic = (int64_t)n_used - (int64_t)q->n_edges + (int64_t)mesh->n_faces;
    q->valence = figure_of(&valence);
    q->normal_consistency = cosines.mean;
    free(valences);
    free(used);
    splat_mesh_edges_free(&edges);
    return SPLAT_OK;
}

/* Measures a copy of the mesh, because merging vertices changes faces, and computing normals adds them. */
static splat_status measure_copy(const splat_mesh *mesh, splat_mesh_quality *q, splat_error *error)
{
    splat_mesh copy;
    uint32_t *pieces = malloc((mesh->n_faces ? mesh->n_faces : 1) * sizeof *pieces);
    if (!pieces) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to measure a mesh of %zu faces",
                                   mesh->n_faces);
    splat_status status = splat_mesh_copy(mesh, &copy, error);
    if (status == SPLAT_OK) {
        if (!copy.normals) status = splat_mesh_compute_normals(&copy, 1, error);
        for (size_t i = 0; status == SPLAT_OK && i < copy.n_vertices; i++) {
            const float *n = copy.normals + 3 * i;
            double length2 = (double)n[0] * (double)n[0] + (double)n[1] * (double)n[1] + (double)n[2] * (double)n[2];
            q->n_degenerate_normals += !(length2 >= 0.01);
        }
        if (status == SPLAT_OK) status = splat_mesh_components(&copy, 1, pieces, &q->n_components, error);
        if (status == SPLAT_OK) status = splat_mesh_merge_vertices(&copy, 0.0, 1, &q->n_duplicate_vertices, error);
        splat_mesh_free(&copy);
    }
    free(pieces);
    return status;
}

static void measure_box(const splat_mesh *mesh, splat_mesh_quality *q)
{
    float low[3], high[3];
    double sides[3], least, most;
    splat_mesh_bounds(mesh, low, high);
    for (int c = 0; c < 3; c++) {
        q->low[c] = (double)low[c];
        q->high[c] = (double)high[c];
        sides[c] = q->high[c] - q->low[c];
    }
    least = fmin(fmin(sides[0], sides[1]), sides[2]);
    most = fmax(fmax(sides[0], sides[1]), sides[2]);
    q->diagonal = sqrt(sides[0] * sides[0] + sides[1] * sides[1] + sides[2] * sides[2]);
    q->box_volume = sides[0] * sides[1] * sides[2];
    q->box_aspect = least > 0.0 ? most / least : 0.0;
}

static void judge(splat_mesh_quality *q)
{
    q->score = 0;
    if (q->n_faces) {
        q->score += q->is_watertight ? 20 : 0;
        q->score += q->n_boundary_edges == 0 ? 10 : 0;
        q->score += q->aspect.mean > 0.6 ? 20 : 0;
        q->score += q->n_degenerate_faces == 0 ? 10 : 0;
        q->score += q->normal_consistency > 0.8 ? 20 : 0;
        q->score += q->n_flipped_normals == 0 ? 10 : 0;
        q->score += q->edge_uniformity > 0.7 ? 10 : 0;
    }
    q->verdict = q->score >= 90 ? "EXCELLENT" : q->score >= 75 ? "GOOD" : q->score >= 60 ? "FAIR" : "POOR";
}

splat_status splat_mesh_measure(const splat_mesh *mesh, splat_mesh_quality *quality, splat_error *error)
{
    memset(quality, 0, sizeof *quality);
    quality->n_vertices = mesh->n_vertices;
    quality->n_faces = mesh->n_faces;
    measure_faces(mesh, quality);
    SPLAT_TRY(measure_edges(mesh, quality, error));
    SPLAT_TRY(measure_copy(mesh, quality, error));
    measure_box(mesh, quality);
    quality->volume = splat_mesh_volume(mesh);
    judge(quality);
    return SPLAT_OK;
}
