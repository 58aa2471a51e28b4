/* Samples on surfaces and the distances from them. */
#include "base/compare.h"
#include "base/rng.h"
#include "mesh/mesh_bvh.h"
#include "mesh/mesh_quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One sample in each of n equal parts of the area: even, and no two runs of the same seed differ. */
splat_status splat_mesh_sample(const splat_mesh *mesh, uint64_t seed, size_t n, double *samples, splat_error *error)
{
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
        double r = sqrt((double)splat_uniform(random.x[1])), t = (double)splat_uniform(random.x[2]);
        const double weights[3] = {1.0 - r, r * (1.0 - t), r * t};
        double *sample = samples + 3 * i;
        memset(sample, 0, 3 * sizeof *sample);
        for (size_t k = 0; k < 3; k++)
            for (size_t c = 0; c < 3; c++)
                sample[c] += weights[k] * (double)mesh->vertices[3 * (size_t)mesh->faces[3 * face + k] + c];
    }
    return SPLAT_OK;
}

/* What the distances of one side say. */
typedef struct side {
    size_t n;
    double mean, rms, max, p95;
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
    for (size_t k = 0; k < distances->n_thresholds; k++) out->near[k] /= (double)n;
}

/* From samples of one mesh (its vertices when it has no faces) to the other. */
static splat_status measure_side(const splat_mesh *from, const splat_mesh *to,
                                 const splat_mesh_report_options *options, int threads,
                                 const splat_mesh_distances *distances, side *out, splat_error *error)
{
    splat_mesh_bvh bvh;
    size_t n = from->n_faces ? options->n_samples : from->n_vertices;
    SPLAT_TRY(splat_mesh_bvh_make(to, &bvh, error));
    double *samples = malloc((n ? n : 1) * 3 * sizeof *samples), *values = malloc((n ? n : 1) * sizeof *values);
    splat_status status = SPLAT_OK;
    if (!samples || !values)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points to measure distances from", n);
    if (status == SPLAT_OK && from->n_faces) status = splat_mesh_sample(from, options->seed, n, samples, error);
    if (status == SPLAT_OK) {
        for (size_t i = 0; !from->n_faces && i < 3 * n; i++) samples[i] = (double)from->vertices[i];
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
        for (size_t i = 0; i < n; i++) values[i] = splat_mesh_bvh_nearest(&bvh, samples + 3 * i, NULL);
        summarize(values, n, distances, out);
    }
    free(samples);
    free(values);
    splat_mesh_bvh_free(&bvh);
    return status;
}

static splat_status choose_thresholds(const splat_mesh *reference, const splat_mesh_report_options *options,
                                      splat_mesh_distances *out, splat_error *error)
{
    static const double usual[] = {0.0025, 0.005, 0.01, 0.02};
    float low[3], high[3];
    double squares = 0.0;
    splat_mesh_bounds(reference, low, high);
    for (int c = 0; c < 3; c++) squares += ((double)high[c] - (double)low[c]) * ((double)high[c] - (double)low[c]);
    out->reference_diagonal = sqrt(squares);
    if (options->n_thresholds > SPLAT_MESH_THRESHOLDS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there are %zu thresholds; %d are the most",
                          options->n_thresholds, SPLAT_MESH_THRESHOLDS);
    out->n_thresholds = options->n_thresholds ? options->n_thresholds : sizeof usual / sizeof usual[0];
    for (size_t i = 0; i < out->n_thresholds; i++) {
        out->thresholds[i] = options->n_thresholds ? options->thresholds[i] : usual[i] * out->reference_diagonal;
        if (options->n_thresholds && !(out->thresholds[i] > 0.0 && isfinite(out->thresholds[i])))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a threshold is %g, but must be above 0",
                              out->thresholds[i]);
    }
    return SPLAT_OK;
}

splat_status splat_mesh_compare(const splat_mesh *mesh, const splat_mesh *reference,
                                const splat_mesh_report_options *options, int threads,
                                splat_mesh_distances *distances, splat_error *error)
{
    side accuracy, completeness;
    memset(distances, 0, sizeof *distances);
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the mesh has no faces; distances need a surface");
    if (reference->n_vertices == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the reference has no points");
    if (options->n_samples < 1 || options->n_samples > 1000000000 || threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "distances need a thread and 1 to 1,000,000,000 "
                          "samples");
    SPLAT_TRY(choose_thresholds(reference, options, distances, error));
    SPLAT_TRY(measure_side(mesh, reference, options, threads, distances, &accuracy, error));
    SPLAT_TRY(measure_side(reference, mesh, options, threads, distances, &completeness, error));
    distances->n_mesh_samples = accuracy.n;
    distances->n_reference_samples = completeness.n;
    distances->mesh_samples_per_area = (double)accuracy.n / splat_mesh_area(mesh);
    distances->to_reference_mean = accuracy.mean;
    distances->to_reference_rms = accuracy.rms;
    distances->to_reference_max = accuracy.max;
    distances->to_reference_p95 = accuracy.p95;
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
