/* The octree, and sums over the samples in its cells. */
#ifndef SPLAT_MESH_POISSON_OCTREE_H
#define SPLAT_MESH_POISSON_OCTREE_H

#include "mesh/poisson/poisson_parts.h"

/* Points of one cell: [begin, end) of the samples. */
typedef struct poisson_run { uint32_t cell, begin, end; } poisson_run;
/* The runs of a level, by cell. */
typedef struct poisson_runs {
    poisson_run *run;
    size_t n;
} poisson_runs;

/* Cells of level d + 1 exist around each sample whose depth is above d (or all, when depth is NULL): in the cell of
 * level d that holds it and, with `ring`, in the 26 around. Everything above level `full` exists. */
splat_status poisson_octree_build(poisson_job *job, poisson_octree *tree, const poisson_samples *samples,
                                  const float *depth, int max_level, int full, bool ring);
void poisson_octree_free(poisson_job *job, poisson_octree *tree);
/* The cell of the same level at an offset of -1 .. 1 a axis, or NONE. */
uint32_t poisson_neighbor(const poisson_octree *tree, int level, uint32_t cell, const int offset[3]);
/* The deepest level with a cell around the position; cells[0 .. it] are set. */
int poisson_descend(const poisson_octree *tree, const float position[3], uint32_t cells[POISSON_MAX_LEVELS]);
/* The cell of level + 1 around the position, from the one of `level`; NONE when there is none. */
uint32_t poisson_step_down(const poisson_octree *tree, int level, uint32_t cell, const float position[3]);
/* The runs of a level, from the cell of each sample (NONE: not there). */
splat_status poisson_runs_make(poisson_job *job, poisson_runs *runs, const uint32_t *cell_of_sample, size_t n);

enum { POISSON_MOST_SUMS = 32 };

/* A sum over the samples of a cell: `add` adds those of a run, or of a piece of one, to sums[n]; `put` brings the sums
 * of runs->run[number] to the cell's corners and to the other data of the run. */
typedef struct poisson_summing {
    int n; /* number of sums, at most POISSON_MOST_SUMS */
    void (*add)(const void *user, const poisson_run *run, double *sums);
    void (*put)(const void *user, const poisson_run *run, size_t number, const double *sums);
    const void *user;
} poisson_summing;

/* For every run of a level. The sums have one order for any number of threads: long runs are cut into pieces of fixed
 * length, and units put theirs colour by colour. Errors: MEMORY. */
splat_status poisson_sum_runs(poisson_job *job, const poisson_level *level, const poisson_runs *runs,
                              const poisson_summing *summing);
/* Memory of the sums, at most. */
double poisson_sums_bytes(double n_points);

#endif
