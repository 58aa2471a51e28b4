/* The steps of a reconstruction in their order: points, octree, field, solve, surface, colours. */
#include "mesh/poisson/poisson_reconstruct.h"

#include "mesh/poisson/poisson_colors.h"
#include "mesh/poisson/poisson_envelope.h"
#include "mesh/poisson/poisson_field.h"
#include "mesh/poisson/poisson_octree.h"
#include "mesh/poisson/poisson_points.h"
#include "mesh/poisson/poisson_solve.h"
#include "mesh/poisson/poisson_surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void splat_poisson_options_default(splat_poisson_options *options)
{
    *options = (splat_poisson_options){
        .depth = 10, .samples_per_node = 1.5, .screening = 4, .scale = 1.1, .threads = 1};
}

static splat_status check_options(const splat_poisson_options *options, splat_error *error)
{
    if (options->depth < SPLAT_POISSON_MIN_DEPTH || options->depth > SPLAT_POISSON_MAX_DEPTH)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the Poisson depth is %d; it must be %d to %d", options->depth,
                          SPLAT_POISSON_MIN_DEPTH, SPLAT_POISSON_MAX_DEPTH);
    if (!(options->samples_per_node >= 0.5 && options->samples_per_node <= 100))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the Poisson samples a node are %g; they must be 0.5 to 100",
                          options->samples_per_node);
    if (!(options->screening >= 0 && options->screening <= 1000))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the Poisson screening weight is %g; it must be 0 to 1000",
                          options->screening);
    if (!(options->scale >= 1.01 && options->scale <= 8))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the Poisson scale is %g; it must be 1.01 to 8", options->scale);
    if (options->threads < 1 || options->threads > 1024)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a Poisson reconstruction with %d threads; 1 to 1024 are "
                          "possible", options->threads);
    return SPLAT_OK;
}

splat_status splat_poisson_estimate(const splat_poisson_options *options, size_t n_points, bool has_colors,
                                    uint64_t *bytes, splat_error *error)
{
    SPLAT_TRY(check_options(options, error));
    if (n_points > INT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a Poisson reconstruction takes up to 2^31 - 1 points");
    /* Cells of the octree, twice. A surface as large as the cube's sides together crosses up to 9 * 4^d cells of level
     * d, and less than 6 cells exist for one that is crossed. Or: points divide a cell until it holds samples_per_node
     * of them; the last level can have four times as many cells as that, the levels above a third of it together. */
    double by_area = 0, by_points = 46 * (double)n_points / options->samples_per_node, n = (double)n_points;
    double density_cells = 1, occupied = 0;
    for (int d = 1; d <= options->depth; d++) {
        double crossed = 9 * ldexp(1, 2 * d);
        if (d > POISSON_FULL_DEPTH) by_area += fmin(ldexp(1, 3 * d), 6 * crossed);
        if (d <= options->depth - 2) density_cells += fmin(ldexp(1, 3 * d), 8 * fmin(n, crossed / 4));
        occupied += fmin(n, crossed);
    }
    double cells = ldexp(1, 3 * POISSON_FULL_DEPTH) * 8 / 7 + fmin(by_area, by_points);
    /* a cell: 20 of its own, 1.2 corners with 4 a value, 12 a normal, 4 a right side; 29 more on one level at a time,
     * or half a face in the mesh and one in arrays that grow by doubling */
    double sum = 60 * n + 66 * cells + 31 * density_cells + 40 * occupied + poisson_sums_bytes(n) + 1e6;
    if (has_colors) sum += 8 * cells;
    if (options->find_empty || options->close_sides) sum += 2 * cells; /* marks of empty cells; lids are few */
    *bytes = (uint64_t)sum;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the whole */

typedef struct reconstruction {
    poisson_samples samples;
    poisson_density density;
    poisson_octree tree;
    poisson_field field;
    poisson_envelope envelope;
    float *values[POISSON_MAX_LEVELS];
} reconstruction;

/* The function's mean at the samples, weighted with the area they stand for. */
static splat_status mean_at_samples(poisson_job *job, const reconstruction *r, splat_poisson_report *report)
{
    size_t n = r->samples.n, n_chunks = (n + POISSON_CHUNK - 1) / POISSON_CHUNK;
    double (*partial)[2] = NULL, value = 0, area = 0;
    SPLAT_TRY(poisson_alloc(job, &partial, n_chunks, sizeof *partial));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < n && i < (k + 1) * POISSON_CHUNK; i++) {
            uint32_t cells[POISSON_MAX_LEVELS];
            float weights[8];
            int d = poisson_descend(&r->tree, r->samples.position[i], cells);
            poisson_weights(&r->tree.level[d], d, cells[d], r->samples.position[i], weights);
            partial[k][0] += (double)r->samples.area[i] *
                             poisson_interpolate(&r->tree.level[d], cells[d], weights, r->values[d]);
            partial[k][1] += r->samples.area[i];
        }
    for (size_t k = 0; k < n_chunks; k++) {
        value += partial[k][0];
        area += partial[k][1];
    }
    poisson_free(job, partial);
    report->iso_value = value / area;
    report->area = area * job->side * job->side;
    return SPLAT_OK;
}

static void report_tree(const poisson_job *job, const poisson_octree *tree, splat_poisson_report *report)
{
    report->depth = tree->n_levels - 1;
    report->cell = ldexp(job->side, -job->options->depth);
    for (int d = 0; d < tree->n_levels; d++) {
        report->n_cells += tree->level[d].n_cells;
        report->n_leaves += tree->level[d].n_cells - (d + 1 < tree->n_levels ? tree->level[d + 1].n_cells / 8 : 0);
    }
}

static splat_status take_densities(poisson_job *job, const reconstruction *r, const splat_mesh *mesh, float **density)
{
    size_t n = mesh->n_vertices;
    SPLAT_TRY(poisson_count(job, 4 * (uint64_t)n));
    *density = malloc(4 * n + 1);
    if (!*density)
        return splat_fail(job->error, SPLAT_ERROR_MEMORY, "no memory for the densities of %zu vertices", n);
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < n; i++)
        (*density)[i] = poisson_density_depth(&r->density, job->options->samples_per_node, mesh->vertices + 3 * i);
    return SPLAT_OK;
}

static void to_scene(const poisson_job *job, splat_mesh *mesh)
{
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < mesh->n_vertices; i++)
        for (size_t a = 0; a < 3; a++)
            mesh->vertices[3 * i + a] = job->origin[a] + job->side * mesh->vertices[3 * i + a];
}

static splat_status reconstruct(poisson_job *job, reconstruction *r, splat_mesh *mesh, float **density,
                                splat_poisson_report *report)
{
    SPLAT_TRY(poisson_progress(job, "points", 0));
    SPLAT_TRY(poisson_samples_make(job, &r->samples));
    SPLAT_TRY(poisson_progress(job, "density", 0.05));
    SPLAT_TRY(poisson_density_make(job, &r->density, &r->samples));
    SPLAT_TRY(poisson_progress(job, "octree", 0.1));
    SPLAT_TRY(poisson_octree_build(job, &r->tree, &r->samples, r->samples.depth, job->options->depth,
                                   POISSON_FULL_DEPTH, true));
    report_tree(job, &r->tree, report);
    SPLAT_TRY(poisson_envelope_make(job, &r->envelope, &r->tree, &r->samples));
    SPLAT_TRY(poisson_progress(job, "normals", 0.2));
    SPLAT_TRY(poisson_field_make(job, &r->field, &r->tree, &r->samples));
    SPLAT_TRY(poisson_solve(job, r->values, &r->tree, &r->field, &r->envelope, report));
    SPLAT_TRY(mean_at_samples(job, r, report));
    poisson_field_free(job, &r->field);
    memset(&r->field, 0, sizeof r->field);
    SPLAT_TRY(poisson_progress(job, "surface", 0.7));
    SPLAT_TRY(poisson_surface(job, mesh, &r->tree, r->values, (float)report->iso_value));
    SPLAT_TRY(poisson_progress(job, "colours", 0.9));
    if (density) SPLAT_TRY(take_densities(job, r, mesh, density));
    if (job->input->colors) SPLAT_TRY(poisson_colors(job, mesh, &r->tree, &r->samples));
    to_scene(job, mesh);
    return poisson_progress(job, "done", 1);
}

splat_status splat_poisson_reconstruct(const splat_poisson_points *points, const splat_poisson_options *options,
                                       splat_mesh *mesh, float **density, splat_poisson_report *report,
                                       splat_error *error)
{
    splat_poisson_report unread;
    reconstruction r = {0};
    poisson_job job = {.input = points, .options = options, .error = error};
    if (!report) report = &unread;
    memset(report, 0, sizeof *report);
    memset(mesh, 0, sizeof *mesh);
    if (density) *density = NULL;
    SPLAT_TRY(check_options(options, error));
    splat_status status = reconstruct(&job, &r, mesh, density, report);
    report->peak_bytes = job.peak_bytes;
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) poisson_free(&job, r.values[d]);
    poisson_field_free(&job, &r.field);
    poisson_envelope_free(&job, &r.envelope);
    poisson_octree_free(&job, &r.tree);
    poisson_density_free(&job, &r.density);
    poisson_samples_free(&job, &r.samples);
    if (status == SPLAT_OK) return SPLAT_OK;
    splat_mesh_free(mesh);
    if (density) {
        free(*density);
        *density = NULL;
    }
    return status;
}
