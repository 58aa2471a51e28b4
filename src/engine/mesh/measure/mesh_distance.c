/* Samples on surfaces and the distances from them. */
#include "mesh/measure/mesh_distance.h"

#include "base/compare.h"
#include "base/rng.h"
#include "mesh/mesh_bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One sample in each of n equal parts of the area, and within large faces even, too: a sequence of low discrepancy,
 * moved by the seed (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences": powers of the plastic
 * number). So parts of 200,000 samples are right to a few in 10,000 even on meshes of few faces. */
splat_status splat_mesh_sample(const splat_mesh *mesh, uint64_t seed, size_t n, double *samples, splat_error *error)
{
    const double steps[2] = {0.7548776662466927, 0.5698402909980532};
    splat_random4 start = splat_random(seed, SPLAT_STREAM_MESH_SAMPLES, 1, 0);
    double total = splat_mesh_area(mesh), before = 0.0;
    size_t face = 0;
    if (!(total > 0.0) || !isfinite(total))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no face of the mesh has an area; distances need a surface");
    double area = splat_mesh_face_area(mesh, 0);
    for (size_t i = 0; i < n; i++) {
        splat_random4 random = splat_random(seed, SPLAT_STREAM_MESH_SAMPLES, 0, i);
        double at = ((double)i + (double)splat_uniform(random.x[0])) * total / (double)n;
        while (face + 1 < mesh->n_faces && before + area <= at) {
            before += area;
            area = splat_mesh_face_area(mesh, ++face);
        }
        double r = sqrt(fmod((double)splat_uniform(start.x[0]) + (double)i * steps[0], 1.0));
        double t = fmod((double)splat_uniform(start.x[1]) + (double)i * steps[1], 1.0);
        const double weights[3] = {1.0 - r, r * (1.0 - t), r * t};
        double *sample = samples + 3 * i;
        memset(sample, 0, 3 * sizeof *sample);
        for (size_t k = 0; k < 3; k++)
            for (size_t c = 0; c < 3; c++)
                sample[c] += weights[k] * (double)mesh->vertices[3 * (size_t)mesh->faces[3 * face + k] + c];
    }
    return SPLAT_OK;
}

/* Statistics of the distances of one side. */
typedef struct side {
    size_t n;
    double mean, rms, max, p95, median;
    double near[SPLAT_MESH_THRESHOLDS]; /* part within each threshold */
} side;

/* values[n], n > 0, are sorted on the way. */
static void summarize(double *values, size_t n, const splat_mesh_distances *distances, side *out)
{
    double sum = 0.0, squares = 0.0;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        for (size_t k = 0; k < distances->n_thresholds; k++) out->near[k] += values[i] <= distances->thresholds[k];
    }
    qsort(values, n, sizeof *values, splat_compare_doubles);
    out->n = n;
    out->mean = sum / (double)n;
    out->rms = sqrt(squares / (double)n);
    out->max = values[n - 1];
    out->p95 = values[(size_t)(0.95 * (double)(n - 1))];
    out->median = values[(n - 1) / 2];
    for (size_t k = 0; k < distances->n_thresholds; k++) out->near[k] /= (double)n;
}

/* Points to measure from. */
typedef struct cloud {
    double *points; /* [n][3] */
    size_t n, n_drawn; /* n_drawn: before those outside of a box went */
    double area;    /* that they were drawn from */
} cloud;

/* Samples of a mesh, or its vertices when it has no faces. */
static splat_status draw(const splat_mesh *from, const splat_mesh_report_options *options, cloud *out,
                         splat_error *error)
{
    out->n = out->n_drawn = from->n_faces ? options->n_samples : from->n_vertices;
    out->area = splat_mesh_area(from);
    out->points = malloc((out->n ? out->n : 1) * 3 * sizeof *out->points);
    if (!out->points)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points to measure distances from", out->n);
    if (from->n_faces) return splat_mesh_sample(from, options->seed, out->n, out->points, error);
    for (size_t i = 0; i < 3 * out->n; i++) out->points[i] = (double)from->vertices[i];
    return SPLAT_OK;
}

/* Computes the statistics of each subset that has points. `part` has room for n values. */
static void summarize_subsets(const double *values, size_t n, const splat_reference_points *points, double *part,
                              splat_mesh_distances *distances)
{
    for (int subset = 0; subset < SPLAT_MESH_SUBSETS; subset++) {
        splat_mesh_subset *row = &distances->subsets[distances->n_subsets];
        side found;
        size_t n_part = 0;
        for (size_t i = 0; i < n; i++)
            if (points->subset[i] == subset) part[n_part++] = values[i];
        if (!n_part) continue;
        summarize(part, n_part, distances, &found);
        memcpy(row->name, points->names[subset], sizeof row->name);
        row->n = n_part;
        row->to_mesh_median = found.median;
        memcpy(row->completeness, found.near, sizeof row->completeness);
        distances->n_subsets++;
    }
}

/* The subset named "far", which is the background of a landscape; -1: none. */
static int far_subset(const splat_reference_points *points)
{
    for (int i = 0; points && i < SPLAT_MESH_SUBSETS; i++)
        if (strcmp(points->names[i], "far") == 0) return i;
    return -1;
}

/* Moves the values of points that are not far to the front; their number. */
static size_t keep_near(double *values, size_t n, const splat_reference_points *points)
{
    const int far = far_subset(points);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (points->subset[i] != far) values[kept++] = values[i];
    return kept;
}

/* Distances from points to a mesh; with subsets also those of each (NULL: none), and far points only there. */
static splat_status measure_side(const cloud *from, const splat_mesh *to, const splat_reference_points *subsets,
                                 int threads, splat_mesh_distances *distances, side *out, splat_error *error)
{
    splat_mesh_bvh bvh;
    size_t n = from->n;
    SPLAT_TRY(splat_mesh_bvh_make(to, threads, &bvh, error));
    double *values = malloc((n ? n : 1) * sizeof *values), *part = NULL;
    splat_status status = SPLAT_OK;
    if (values && subsets) part = malloc((n ? n : 1) * sizeof *part);
    if (!values || (subsets && !part))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points to measure distances from", n);
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
        for (size_t i = 0; i < n; i++) values[i] = splat_mesh_bvh_nearest(&bvh, from->points + 3 * i, NULL);
        if (subsets) summarize_subsets(values, n, subsets, part, distances);
        if (far_subset(subsets) >= 0) n = keep_near(values, n, subsets);
        summarize(values, n, distances, out);
    }
    free(values);
    free(part);
    splat_mesh_bvh_free(&bvh);
    return status;
}

/* ---------------------------------------------------------------- the reference's surroundings */

typedef struct box {
    double low[3], high[3];
} box;

static box box_around(const splat_mesh *reference, double margin)
{
    float low[3], high[3];
    box b;
    splat_mesh_bounds(reference, low, high);
    for (int c = 0; c < 3; c++) {
        b.low[c] = (double)low[c] - margin;
        b.high[c] = (double)high[c] + margin;
    }
    return b;
}

/* The vertices of the part of a reference that is compared: all of it, or without those in the subset "far". */
static splat_status near_part(const splat_mesh *reference, const splat_reference_points *points, splat_mesh *near,
                              splat_error *error)
{
    const int far = far_subset(points);
    const splat_mesh *from = far >= 0 && points->cloud.n_vertices ? &points->cloud : reference;
    *near = (splat_mesh){.vertices = malloc((3 * from->n_vertices + 3) * sizeof *near->vertices)};
    if (!near->vertices) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the points of the reference");
    for (size_t i = 0; i < from->n_vertices; i++)
        if (far < 0 || points->subset[i] != far)
            memcpy(near->vertices + 3 * near->n_vertices++, from->vertices + 3 * i, 3 * sizeof *near->vertices);
    if (near->n_vertices) return SPLAT_OK;
    free(near->vertices);
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "all points of the reference are far; there is nothing to compare");
}

static bool face_meets(const splat_mesh *mesh, size_t face, const box *b)
{
    for (size_t c = 0; c < 3; c++) {
        size_t n_below = 0, n_above = 0;
        for (size_t k = 0; k < 3; k++) {
            double x = (double)mesh->vertices[3 * (size_t)mesh->faces[3 * face + k] + c];
            n_below += x < b->low[c];
            n_above += x > b->high[c];
        }
        if (n_below == 3 || n_above == 3) return false;
    }
    return true;
}

/* The faces that may reach into the box; vertices stay the mesh's. *faces is to be freed. */
static splat_status cut_faces(const splat_mesh *mesh, const box *b, splat_mesh *part, uint32_t **faces,
                              splat_error *error)
{
    *part = *mesh;
    part->n_faces = 0;
    part->faces = *faces = malloc((mesh->n_faces + 1) * 3 * sizeof **faces);
    if (!*faces) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the faces near the reference");
    for (size_t f = 0; f < mesh->n_faces; f++)
        if (face_meets(mesh, f, b)) memcpy(part->faces + 3 * part->n_faces++, mesh->faces + 3 * f, 3 * sizeof **faces);
    return SPLAT_OK;
}

static void drop_outside(cloud *c, const box *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double *p = c->points + 3 * i;
        bool inside = true;
        for (int k = 0; k < 3; k++) inside = inside && p[k] >= b->low[k] && p[k] <= b->high[k];
        if (inside) memmove(c->points + 3 * kept++, p, 3 * sizeof *p);
    }
    c->n = kept;
}

/* Samples of the mesh where the reference can tell anything: a sky that it lacks says nothing about the surface. */
static splat_status draw_near(const splat_mesh *mesh, const splat_mesh *reference, double margin,
                              const splat_mesh_report_options *options, cloud *out, splat_error *error)
{
    box b = box_around(reference, margin);
    splat_mesh part;
    uint32_t *faces;
    SPLAT_TRY(cut_faces(mesh, &b, &part, &faces, error));
    splat_status status = SPLAT_OK;
    if (part.n_faces && splat_mesh_area(&part) > 0) status = draw(&part, options, out, error);
    free(faces);
    if (status != SPLAT_OK) return status;
    drop_outside(out, &b);
    if (out->n) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "no part of the mesh lies in the box of the reference or within %g of it; are both in the same "
                      "coordinates? `reference_margin -1` compares the whole mesh",
                      margin);
}

static splat_status choose_thresholds(const splat_mesh *reference, bool has_subsets,
                                      const splat_mesh_report_options *options, splat_mesh_distances *out,
                                      splat_error *error)
{
    static const double parts[4] = {0.0025, 0.005, 0.01, 0.02}, of_truth[4] = {0.005, 0.01, 0.02, 0.05};
    float low[3], high[3];
    double squares = 0.0;
    splat_mesh_bounds(reference, low, high);
    for (int c = 0; c < 3; c++) squares += ((double)high[c] - (double)low[c]) * ((double)high[c] - (double)low[c]);
    out->reference_diagonal = sqrt(squares);
    if (options->n_thresholds > SPLAT_MESH_THRESHOLDS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there are %zu thresholds; %d are the most",
                          options->n_thresholds, SPLAT_MESH_THRESHOLDS);
    out->n_thresholds = options->n_thresholds ? options->n_thresholds : 4;
    for (size_t i = 0; i < out->n_thresholds; i++) {
        out->thresholds[i] = options->n_thresholds ? options->thresholds[i]
                             : has_subsets         ? of_truth[i]
                                                   : parts[i] * out->reference_diagonal;
        if (options->n_thresholds && !(out->thresholds[i] > 0.0 && isfinite(out->thresholds[i])))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a threshold is %g, but must be above 0",
                              out->thresholds[i]);
    }
    return SPLAT_OK;
}

splat_status splat_mesh_compare(const splat_mesh *mesh, const splat_mesh *reference,
                                const splat_reference_points *points, const splat_mesh_report_options *options,
                                int threads, splat_mesh_distances *distances, splat_error *error)
{
    const splat_reference_points *subsets = points && points->subset ? points : NULL;
    const splat_mesh *wanted = points && points->cloud.n_vertices ? &points->cloud : reference;
    side accuracy = {0}, completeness = {0};
    cloud on_mesh = {0}, on_reference = {0};
    splat_mesh near;
    memset(distances, 0, sizeof *distances);
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the mesh has no faces; distances need a surface");
    if (reference->n_vertices == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the reference has no points");
    if (!(options->reference_margin >= 0 || options->reference_margin == -1) || !isfinite(options->reference_margin))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`reference_margin` is %g, but must be at least 0, or -1 for the whole mesh",
                          options->reference_margin);
    if (options->n_samples < 1 || options->n_samples > 1000000000 || threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "distances need a thread and 1 to 1,000,000,000 "
                          "samples");
    SPLAT_TRY(near_part(reference, subsets, &near, error));
    splat_status status = choose_thresholds(&near, subsets != NULL, options, distances, error);
    double margin = options->reference_margin * distances->reference_diagonal;
    if (status == SPLAT_OK)
        status = options->reference_margin < 0 ? draw(mesh, options, &on_mesh, error)
                                               : draw_near(mesh, &near, margin, options, &on_mesh, error);
    free(near.vertices);
    if (status == SPLAT_OK) status = draw(wanted, options, &on_reference, error);
    if (status == SPLAT_OK) status = measure_side(&on_mesh, reference, NULL, threads, distances, &accuracy, error);
    if (status == SPLAT_OK)
        status = measure_side(&on_reference, mesh, subsets, threads, distances, &completeness, error);
    free(on_mesh.points);
    free(on_reference.points);
    if (status != SPLAT_OK) return status;
    distances->reference_margin = options->reference_margin < 0 ? -1 : margin;
    distances->mesh_part = (double)on_mesh.n / (double)on_mesh.n_drawn * on_mesh.area / splat_mesh_area(mesh);
    distances->n_mesh_samples = accuracy.n;
    distances->n_reference_samples = completeness.n;
    distances->mesh_samples_per_area = (double)on_mesh.n_drawn / on_mesh.area;
    distances->to_reference_mean = accuracy.mean;
    distances->to_reference_rms = accuracy.rms;
    distances->to_reference_max = accuracy.max;
    distances->to_reference_p95 = accuracy.p95;
    distances->to_reference_median = accuracy.median;
    distances->to_mesh_median = completeness.median;
    distances->to_mesh_mean = completeness.mean;
    distances->to_mesh_rms = completeness.rms;
    distances->to_mesh_max = completeness.max;
    distances->to_mesh_p95 = completeness.p95;
    distances->chamfer = 0.5 * (accuracy.mean + completeness.mean);
    for (size_t k = 0; k < distances->n_thresholds; k++) {
        double p = accuracy.near[k], r = completeness.near[k];
        distances->precision[k] = p;
        distances->completeness[k] = r;
        distances->f_score[k] = p + r > 0.0 ? 2.0 * p * r / (p + r) : 0.0;
    }
    return SPLAT_OK;
}
