/* Colours of the Poisson mesh: on every level samples spread their colours over the corners of their cell; a vertex
 * takes the mean over all levels, each weighing 32 times as much as the one above, so that the nearest samples decide
 * where there are any and farther ones fill in. */
#include "mesh/poisson/poisson_colors.h"

#include "mesh/poisson/poisson_octree.h"

#include <math.h>

#define FINER 32.0f

/* Colours of samples, spread over the corners of their cells of one level. */
typedef struct spreading {
    const poisson_job *job;
    const poisson_samples *samples;
    const poisson_level *level;
    int d;
    float (*corner)[4]; /* [n_corners] red, green, blue and weight */
} spreading;

/* sums: red, green, blue and weight of the eight corners. */
static void add_colors(const void *user, const poisson_run *run, double *sums)
{
    const spreading *s = user;
    for (uint32_t i = run->begin; i < run->end; i++) {
        const uint8_t *color = s->job->input->colors + 4 * (size_t)s->samples->order[i];
        float weights[8], own = poisson_sample_weight(s->job, s->samples->order[i]);
        poisson_weights(s->level, s->d, run->cell, s->samples->position[i], weights);
        for (int c = 0; c < 8; c++) {
            for (int k = 0; k < 3; k++) sums[4 * c + k] += own * weights[c] * (float)color[k];
            sums[4 * c + 3] += own * weights[c];
        }
    }
}

static void put_colors(const void *user, const poisson_run *run, size_t number, const double *sums)
{
    const spreading *s = user;
    (void)number;
    for (int c = 0; c < 8; c++)
        for (int k = 0; k < 4; k++) s->corner[poisson_corner(s->level, run->cell, c)][k] += (float)sums[4 * c + k];
}

static splat_status spread_colors(poisson_job *job, const poisson_samples *samples, const poisson_level *level, int d,
                                  const uint32_t *cell_of_sample, float (*corner)[4])
{
    spreading s = {job, samples, level, d, corner};
    poisson_summing summing = {32, add_colors, put_colors, &s};
    poisson_runs runs;
    SPLAT_TRY(poisson_runs_make(job, &runs, cell_of_sample, samples->n));
    splat_status status = poisson_sum_runs(job, level, &runs, &summing);
    poisson_free(job, runs.run);
    return status;
}

static void take_colors(const poisson_job *job, const splat_mesh *mesh, const poisson_level *level, int d,
                        const uint32_t *cell_of_vertex, const float (*corner)[4], float (*sum)[4])
{
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        float weights[8];
        if (cell_of_vertex[i] == POISSON_NONE) continue;
        poisson_weights(level, d, cell_of_vertex[i], mesh->vertices + 3 * i, weights);
        for (int k = 0; k < 4; k++) {
            float value = 0;
            for (int c = 0; c < 8; c++) value += weights[c] * corner[poisson_corner(level, cell_of_vertex[i], c)][k];
            sum[i][k] = sum[i][k] / FINER + value;
        }
    }
}

static void step_down(const poisson_job *job, const poisson_octree *tree, int d, size_t n, const float *positions,
                      uint32_t *cells)
{
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < n; i++)
        if (cells[i] != POISSON_NONE) cells[i] = poisson_step_down(tree, d, cells[i], positions + 3 * i);
}

static void write_colors(const poisson_job *job, splat_mesh *mesh, const float (*sum)[4])
{
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < mesh->n_vertices; i++)
        for (int k = 0; k < 3; k++) {
            float value = sum[i][3] > 0 ? sum[i][k] / sum[i][3] : 255;
            mesh->colors[4 * i + (size_t)k] = (uint8_t)fminf(fmaxf(value + 0.5f, 0), 255);
        }
}

splat_status poisson_colors(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                            const poisson_samples *samples)
{
    uint32_t *cell_of_sample = NULL, *cell_of_vertex = NULL;
    float (*sum)[4] = NULL, (*corner)[4] = NULL;
    splat_status status;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_sample, samples->n, sizeof *cell_of_sample));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_vertex, mesh->n_vertices, sizeof *cell_of_vertex));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &sum, mesh->n_vertices, sizeof *sum));
    for (int d = 0; d < tree->n_levels; d++) {
        const poisson_level *level = &tree->level[d];
        SPLAT_TRY_GOTO(status, end, poisson_progress(job, "colours", 0.9 + 0.1 * d / tree->n_levels));
        SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &corner, level->n_corners, sizeof *corner));
        SPLAT_TRY_GOTO(status, end, spread_colors(job, samples, level, d, cell_of_sample, corner));
        take_colors(job, mesh, level, d, cell_of_vertex, (const float (*)[4])corner, sum);
        poisson_free(job, corner);
        corner = NULL;
        step_down(job, tree, d, samples->n, samples->position[0], cell_of_sample);
        step_down(job, tree, d, mesh->n_vertices, mesh->vertices, cell_of_vertex);
    }
    SPLAT_TRY_GOTO(status, end, poisson_count(job, 4 * (uint64_t)mesh->n_vertices));
    SPLAT_TRY_GOTO(status, end, splat_mesh_require_colors(mesh, job->error));
    write_colors(job, mesh, (const float (*)[4])sum);
end:
    poisson_free(job, corner);
    poisson_free(job, cell_of_sample);
    poisson_free(job, cell_of_vertex);
    poisson_free(job, sum);
    return status;
}
