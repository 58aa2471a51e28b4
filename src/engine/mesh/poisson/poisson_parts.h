/* Declarations shared by the files of the Poisson reconstruction. Positions are in the unit cube from here on.
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
    float origin[3], side; /* corner and side of the cube, scene units */
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
    float *area;      /* area that a point stands for (cube's side 1), by its share of the weights */
    float *depth;     /* depth at which a cell has samples_per_node points, in [POISSON_FULL_DEPTH, options->depth] */
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

/* The samples' tie on the function in a cell: their weight and mean position as weights of the corners. */
typedef struct poisson_screen {
    uint32_t cell;
    float weight, corner[8];
} poisson_screen;

typedef struct poisson_field {
    float (*normal[POISSON_MAX_LEVELS])[3]; /* [n_corners]: the vector field, this level's share */
    float *finer[POISSON_MAX_LEVELS];       /* [n_corners]: right side from the shares of finer levels */
    poisson_screen *screen[POISSON_MAX_LEVELS];
    size_t n_screens[POISSON_MAX_LEVELS];       /* number of screens on each level */
} poisson_field;
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

#endif
