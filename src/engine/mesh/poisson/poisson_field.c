/* The vector field of the Poisson reconstruction: inward normals, each weighted with the area it stands for and spread
 * over the corners of its cells in the two levels its density lies between. The function's gradient shall fit it. */
#include "mesh/poisson/poisson_field.h"

#include "mesh/poisson/poisson_octree.h"

#include <math.h>
#include <string.h>

void poisson_cell_divergence(const float vectors[8][3], float side, float out[8])
{
    for (int i = 0; i < 8; i++) out[i] = 0;
    for (int a = 0; a < 3; a++) {
        int ba = 1 << a, bb = 1 << (a + 1) % 3, bc = 1 << (a + 2) % 3;
        float sum[4]; /* along the axis; indexed by the bits of the other two axes */
        for (int k = 0; k < 4; k++) {
            int i = (k & 1 ? bb : 0) | (k & 2 ? bc : 0);
            sum[k] = vectors[i][a] + vectors[i | ba][a];
        }
        for (int k = 0; k < 4; k++) { /* products of hats integrate to 1/3 and 1/6, of a hat and a slope to 1/2 */
            float value = side * side * 0.5f / 36.0f * (4 * sum[k] + 2 * sum[k ^ 1] + 2 * sum[k ^ 2] + sum[k ^ 3]);
            int i = (k & 1 ? bb : 0) | (k & 2 ? bc : 0);
            out[i] -= value;
            out[i | ba] += value;
        }
    }
}

/* The share of a sample's normal that belongs to a level. */
static float level_share(float depth, int d)
{
    float t = 1 - fabsf(depth - (float)d);
    return t > 0 ? t : 0;
}

/* Contributions of the samples in one level's cells: their normals at the corners, and their pull on the function. */
typedef struct splatting {
    const poisson_job *job;
    const poisson_samples *samples;
    const poisson_level *level;
    int d;
    float (*normal)[3];     /* [n_corners] */
    poisson_screen *screen; /* a run */
} splatting;

enum { PLACE = 24, PULL = 27, N_SUMS = 28 }; /* sums: normals at the eight corners, positions, pull */

static void add_normals(const void *user, const poisson_run *run, double *sums)
{
    const splatting *s = user;
    double inverse_volume = ldexp(1, 3 * s->d);
    for (uint32_t i = run->begin; i < run->end; i++) {
        const float *n = s->job->input->normals + 3 * (size_t)s->samples->order[i], *p = s->samples->position[i];
        double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        /* fitting on the scale of a cell weighs 1 / side in the integral over the gradient; so does screening */
        double weight = s->samples->area[i] * exp2(fmin(s->d, s->samples->depth[i]));
        double share =
            -s->samples->area[i] * (double)level_share(s->samples->depth[i], s->d) * inverse_volume / length;
        sums[PULL] += weight;
        for (int a = 0; a < 3; a++) sums[PLACE + a] += weight * p[a];
        if (share == 0) continue;
        float weights[8];
        poisson_weights(s->level, s->d, run->cell, p, weights);
        for (int c = 0; c < 8; c++)
            for (int a = 0; a < 3; a++) sums[3 * c + a] += share * weights[c] * n[a];
    }
}

static void put_normals(const void *user, const poisson_run *run, size_t number, const double *sums)
{
    const splatting *s = user;
    poisson_screen *screen = &s->screen[number];
    float mean[3];
    for (int c = 0; c < 8; c++)
        for (int a = 0; a < 3; a++) s->normal[poisson_corner(s->level, run->cell, c)][a] += (float)sums[3 * c + a];
    for (int a = 0; a < 3; a++) mean[a] = (float)(sums[PLACE + a] / sums[PULL]);
    screen->cell = run->cell;
    screen->weight = (float)(s->job->options->screening * sums[PULL]);
    poisson_weights(s->level, s->d, run->cell, mean, screen->corner);
}

static splat_status splat_level(poisson_job *job, poisson_field *field, const poisson_octree *tree,
                                const poisson_samples *samples, int d, const uint32_t *cell_of_sample)
{
    const poisson_level *level = &tree->level[d];
    poisson_runs runs;
    SPLAT_TRY(poisson_alloc(job, &field->normal[d], level->n_corners, sizeof *field->normal[d]));
    SPLAT_TRY(poisson_runs_make(job, &runs, cell_of_sample, samples->n));
    field->n_screens[d] = runs.n;
    splat_status status = poisson_alloc(job, &field->screen[d], runs.n, sizeof *field->screen[d]);
    splatting s = {job, samples, level, d, field->normal[d], field->screen[d]};
    poisson_summing summing = {N_SUMS, add_normals, put_normals, &s};
    if (status == SPLAT_OK) status = poisson_sum_runs(job, level, &runs, &summing);
    poisson_free(job, runs.run);
    return status;
}

/* A cell's right side from the fields of all finer levels: what its children's corners have, spread over its own. */
static void gather_children(const poisson_level *below, uint32_t child, int d, const float (*normal)[3],
                            const float (*right_below)[8], float out[8])
{
    for (uint32_t o = 0; o < 8; o++) {
        float vectors[8][3], right[8];
        for (int c = 0; c < 8; c++) memcpy(vectors[c], normal[poisson_corner(below, child + o, c)], sizeof vectors[c]);
        poisson_cell_divergence(vectors, ldexpf(1, -d - 1), right);
        for (int c = 0; c < 8; c++) {
            if (right_below) right[c] += right_below[child + o][c];
            if (right[c] == 0) continue;
            for (int p = 0; p < 8; p++) out[p] += poisson_child_weight((int)o, c, p) * right[c];
        }
    }
}

/* finer[d] for all levels, from the bottom up. */
static splat_status restrict_field(poisson_job *job, poisson_field *field, const poisson_octree *tree)
{
    float (*below)[8] = NULL, (*here)[8] = NULL;
    splat_status status = SPLAT_OK;
    for (int d = tree->n_levels - 1; d >= 0; d--) {
        const poisson_level *level = &tree->level[d];
        SPLAT_TRY_GOTO(status, end, poisson_progress(job, "normals", 0.3 - 0.04 * (d + 1) / tree->n_levels));
        SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &field->finer[d], level->n_corners, sizeof(float)));
        if (d == tree->n_levels - 1) continue;
        SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &here, level->n_cells, sizeof *here));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (uint32_t i = 0; i < level->n_cells; i++)
            if (level->child[i] != POISSON_NONE)
                gather_children(&tree->level[d + 1], level->child[i], d, (const float (*)[3])field->normal[d + 1],
                                (const float (*)[8])below, here[i]);
        for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(job->options->threads) schedule(dynamic, 1)
            for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
                for (uint32_t i = 8 * level->unit[u].first; i < 8 * level->unit[u].end && i < level->n_cells; i++)
                    if (level->child[i] != POISSON_NONE)
                        for (int c = 0; c < 8; c++) field->finer[d][poisson_corner(level, i, c)] += here[i][c];
        poisson_free(job, below);
        below = here;
        here = NULL;
    }
end:
    poisson_free(job, below);
    poisson_free(job, here);
    return status;
}

splat_status poisson_field_make(poisson_job *job, poisson_field *field, const poisson_octree *tree,
                                const poisson_samples *samples)
{
    uint32_t *cell_of_sample = NULL;
    splat_status status;
    memset(field, 0, sizeof *field);
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_sample, samples->n, sizeof *cell_of_sample));
    for (int d = 0; d < tree->n_levels; d++) {
        SPLAT_TRY_GOTO(status, end, poisson_progress(job, "normals", 0.2 + 0.06 * d / tree->n_levels));
        SPLAT_TRY_GOTO(status, end, splat_level(job, field, tree, samples, d, cell_of_sample));
        if (d + 1 == tree->n_levels) break;
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t i = 0; i < samples->n; i++)
            if (cell_of_sample[i] != POISSON_NONE)
                cell_of_sample[i] = poisson_step_down(tree, d, cell_of_sample[i], samples->position[i]);
    }
    status = restrict_field(job, field, tree);
end:
    poisson_free(job, cell_of_sample);
    return status;
}

void poisson_field_free(poisson_job *job, poisson_field *field)
{
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) {
        poisson_free(job, field->normal[d]);
        poisson_free(job, field->finer[d]);
        poisson_free(job, field->screen[d]);
    }
}
