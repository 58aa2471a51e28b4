/* What the files of the Poisson reconstruction share. Positions are in the unit cube from here on.
 *
 * The octree is graded: the cells of level d are side 2^-d, come in groups of eight siblings and in Morton order, and
 * each level is a plain grid of cells with holes. A function is stored by its values at the corners of every level:
 * trilinear (B-spline of degree 1) in the finest cell around a position. Corners of a level that miss one of their
 * cells keep the value interpolated from the level above, so the function is continuous across levels.
 *
 * Degree 1, not 2: the unknowns are the values themselves, so the surface needs no evaluation; a row of the matrix has
 * 27 entries, not 125; and PoissonRecon, which offers both, has 1 as its default.
 *
 * Sums over cells that meet at corners are made unit by unit: all cells of a level below one cell a few levels up,
 * which stand side by side in memory. A unit's colour is the place of that cell among its siblings, and units of one
 * colour share no corner. So threads need no locks, the order of every sum is fixed, and what a unit touches fits a
 * cache. */
#ifndef SPLAT_MESH_POISSON_PARTS_H
#define SPLAT_MESH_POISSON_PARTS_H

#include "mesh/poisson/poisson.h"

#include <stdint.h>

#define POISSON_NONE UINT32_MAX
enum { POISSON_MAX_LEVELS = SPLAT_POISSON_MAX_DEPTH + 1, POISSON_FULL_DEPTH = 5, POISSON_CHUNK = 4096 };

typedef struct poisson_job {
    const splat_poisson_points *input;
    const splat_poisson_options *options;
    splat_error *error;
    uint64_t used_bytes, peak_bytes;
    float origin[3], side; /* of the cube, scene units */
} poisson_job;

/* Zeroed memory, counted; freed with poisson_free, which takes NULL. MEMORY when the limit would be passed. */
splat_status poisson_alloc(poisson_job *job, void *pointer, size_t n, size_t size);
void poisson_free(poisson_job *job, void *pointer);
/* Counts what somebody else is about to allocate. */
splat_status poisson_count(poisson_job *job, uint64_t bytes);
splat_status poisson_progress(poisson_job *job, const char *stage, double fraction);

static inline float poisson_sample_weight(const poisson_job *job, uint32_t input_index)
{
    return job->input->weights ? job->input->weights[input_index] : 1;
}

/* The points in Morton order. */
typedef struct poisson_samples {
    size_t n;
    float (*position)[3];
    float *area;      /* of the surface a point stands for, where the cube's side is 1: by its share of the weights */
    float *depth;     /* at which a cell holds samples_per_node points, within [POISSON_FULL_DEPTH, options->depth] */
    uint32_t *order;  /* index among the input */
} poisson_samples;

typedef struct poisson_level {
    uint32_t n_cells, n_corners;
    uint32_t *parent;        /* [groups]: the cell above */
    uint16_t (*origin)[3];   /* [groups]: coordinates of the first sibling */
    uint32_t *child;         /* [n_cells]: first child below, or NONE */
    uint32_t (*corner)[27];  /* [groups]: of the eight cells together, x fastest; the root's other 19 are 0 */
    struct poisson_unit *unit; /* those of colour c are at [unit_first[c], unit_first[c + 1]) */
    size_t unit_first[9];
} poisson_level;

/* Groups [first, end). */
typedef struct poisson_unit { uint32_t first, end; } poisson_unit;

typedef struct poisson_octree {
    int n_levels;
    poisson_level level[POISSON_MAX_LEVELS];
} poisson_octree;

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

/* What is summed over the samples of a cell: `add` adds those of a run, or of a piece of one, to sums[n]; `put` brings
 * the sums of runs->run[number] to the cell's corners and to what else belongs to the run. */
typedef struct poisson_summing {
    int n; /* at most POISSON_MOST_SUMS */
    void (*add)(const void *user, const poisson_run *run, double *sums);
    void (*put)(const void *user, const poisson_run *run, size_t number, const double *sums);
    const void *user;
} poisson_summing;

/* For every run of a level. The sums have one order for any number of threads: long runs are cut into pieces of fixed
 * length, and units put theirs colour by colour. Errors: MEMORY. */
splat_status poisson_sum_runs(poisson_job *job, const poisson_level *level, const poisson_runs *runs,
                              const poisson_summing *summing);
/* What that takes at most. */
double poisson_sums_bytes(double n_points);

static inline size_t poisson_groups(const poisson_level *level)
{
    return ((size_t)level->n_cells + 7) / 8;
}

static inline void poisson_cell_coordinates(const poisson_level *level, uint32_t cell, int coordinates[3])
{
    const uint16_t *origin = level->origin[cell >> 3];
    for (int a = 0; a < 3; a++) coordinates[a] = origin[a] + (int)(cell >> a & 1);
}

/* The weights of a position for the eight corners of a cell. Outside the cell they are those of its nearest side. */
static inline void poisson_weights(const poisson_level *level, int d, uint32_t cell, const float position[3],
                                   float weights[8])
{
    int coordinates[3];
    float t[3];
    poisson_cell_coordinates(level, cell, coordinates);
    for (int a = 0; a < 3; a++) {
        t[a] = position[a] * (float)(1 << d) - (float)coordinates[a];
        t[a] = t[a] < 0 ? 0 : t[a] > 1 ? 1 : t[a];
    }
    for (int c = 0; c < 8; c++)
        weights[c] = (c & 1 ? t[0] : 1 - t[0]) * (c & 2 ? t[1] : 1 - t[1]) * (c & 4 ? t[2] : 1 - t[2]);
}

/* A place among the 27 corners of a group: bits of x, y, z are worth 1, 3, 9. */
static const uint8_t poisson_place[8] = {0, 1, 3, 4, 9, 10, 12, 13};

/* Cells of the group that meet at each of its 27 corners. */
static const uint8_t poisson_cells_at[27] = {1, 2, 1, 2, 4, 2, 1, 2, 1, 2, 4, 2, 4, 8,
                                             4, 2, 4, 2, 1, 2, 1, 2, 4, 2, 1, 2, 1};

/* A corner of a cell; bit 0 is x, 1 is y, 2 is z. */
static inline uint32_t poisson_corner(const poisson_level *level, uint32_t cell, int corner)
{
    return level->corner[cell >> 3][poisson_place[cell & 7] + poisson_place[corner]];
}

static inline float poisson_interpolate(const poisson_level *level, uint32_t cell, const float weights[8],
                                        const float *values)
{
    float sum = 0;
    for (int c = 0; c < 8; c++) sum += weights[c] * values[poisson_corner(level, cell, c)];
    return sum;
}

/* Checks, cube, Morton order; area and depth are filled by the density. */
splat_status poisson_samples_make(poisson_job *job, poisson_samples *samples);
void poisson_samples_free(poisson_job *job, poisson_samples *samples);

/* Samples a corner of an octree of their own, two levels less deep than the one that is solved on. */
typedef struct poisson_density {
    poisson_octree tree;
    float *count[POISSON_MAX_LEVELS];  /* [n_corners] */
    float *weight[POISSON_MAX_LEVELS]; /* [n_corners]: of these samples, where they have weights; else NULL */
} poisson_density;
splat_status poisson_density_make(poisson_job *job, poisson_density *density, poisson_samples *samples);
void poisson_density_free(poisson_job *job, poisson_density *density);
/* The depth at which a cell at the position would hold samples_per_node samples. */
float poisson_density_depth(const poisson_density *density, double samples_per_node, const float position[3]);

/* What ties the function to the samples in a cell: their weight and mean position as weights of the corners. */
typedef struct poisson_screen {
    uint32_t cell;
    float weight, corner[8];
} poisson_screen;

typedef struct poisson_field {
    float (*normal[POISSON_MAX_LEVELS])[3]; /* [n_corners]: the vector field, this level's share */
    float *finer[POISSON_MAX_LEVELS];       /* [n_corners]: right side from the shares of finer levels */
    poisson_screen *screen[POISSON_MAX_LEVELS];
    size_t n_screens[POISSON_MAX_LEVELS];       /* by cell */
} poisson_field;
splat_status poisson_field_make(poisson_job *job, poisson_field *field, const poisson_octree *tree,
                                const poisson_samples *samples);
void poisson_field_free(poisson_job *job, poisson_field *field);
/* How much of a corner C of a cell is at corner c of its child `octant`. */
static inline float poisson_child_weight(int octant, int c, int parent_corner)
{
    float weight = 1;
    for (int a = 0; a < 3; a++) {
        float t = 0.5f * (float)((octant >> a & 1) + (c >> a & 1));
        weight *= parent_corner >> a & 1 ? t : 1 - t;
    }
    return weight;
}

/* The right side of one cell from vectors at its corners: integrals of vector . gradient of a corner's function. */
void poisson_cell_divergence(const float vectors[8][3], float side, float out[8]);

/* The function at the corners of every level into values[level], which are allocated. */
splat_status poisson_solve(poisson_job *job, float *values[POISSON_MAX_LEVELS], const poisson_octree *tree,
                           poisson_field *field, splat_poisson_report *report);

/* The mesh of values == iso, in the unit cube. */
splat_status poisson_surface(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                             float *const values[POISSON_MAX_LEVELS], float iso);
/* Triangles of a closed polygon of 3 to POISSON_MAX_POLYGON vertices inside a cell, in its order, without chords in
 * the cell's sides. sides[i] has bit s when vertex i lies on side s. Returns their number, n - 2, or 0 when there is
 * no such triangulation. */
enum { POISSON_MAX_POLYGON = 48 };
int poisson_triangulate(int n, const float (*positions)[3], const uint8_t *sides, uint8_t (*triangles)[3]);

/* Colours of the vertices (in the unit cube) from those of the samples. */
splat_status poisson_colors(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                            const poisson_samples *samples);

#endif
